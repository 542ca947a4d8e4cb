package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/worldd/worldd/server/cluster"
)

// The gateway's JSON: bytes are base64, 64-bit integers are strings, and zero is left out.

type header struct {
	ClusterID uint64 `json:"cluster_id,string"`
	Revision  uint64 `json:"revision,string"`
}

type statusAnswer struct {
	Header  header `json:"header"`
	Version string `json:"version"`
}

type txnRequest struct {
	Compare []compare   `json:"compare"`
	Success []operation `json:"success"`
}

type compare struct {
	Key         []byte `json:"key"`
	Target      string `json:"target"`
	Result      string `json:"result"`
	ModRevision uint64 `json:"mod_revision,string"`
}

type operation struct {
	Put    *putRequest    `json:"request_put,omitempty"`
	Delete *deleteRequest `json:"request_delete_range,omitempty"`
}

type putRequest struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

type deleteRequest struct {
	Key []byte `json:"key"`
}

type txnAnswer struct {
	Header    header `json:"header"`
	Succeeded bool   `json:"succeeded"`
}

type rangeRequest struct {
	Key      []byte `json:"key"`
	RangeEnd []byte `json:"range_end,omitempty"`
	Limit    int    `json:"limit,string"`
	Revision uint64 `json:"revision,string"`
}

type keyValue struct {
	Key         []byte `json:"key"`
	Value       []byte `json:"value"`
	ModRevision uint64 `json:"mod_revision,string"`
}

type rangeAnswer struct {
	Header header     `json:"header"`
	KVs    []keyValue `json:"kvs"`
	More   bool       `json:"more"`
}

type compactRequest struct {
	Revision uint64 `json:"revision,string"`
}

type watchRequest struct {
	Create watchCreate `json:"create_request"`
}

type watchCreate struct {
	Key            []byte `json:"key"`
	RangeEnd       []byte `json:"range_end"`
	StartRevision  uint64 `json:"start_revision,string"`
	ProgressNotify bool   `json:"progress_notify"`
}

type watchAnswer struct {
	Result *watchResult `json:"result"`
	Error  *refusal     `json:"error"`
}

type watchResult struct {
	Header          header  `json:"header"`
	Created         bool    `json:"created"`
	Canceled        bool    `json:"canceled"`
	CancelReason    string  `json:"cancel_reason"`
	CompactRevision uint64  `json:"compact_revision,string"`
	Events          []event `json:"events"`
}

type event struct {
	Type string   `json:"type"`
	KV   keyValue `json:"kv"`
}

// refusal is an error of etcd. Streams of etcd 3.4 name the code differently.
type refusal struct {
	Code     int    `json:"code"`
	GRPCCode int    `json:"grpc_code"`
	Message  string `json:"message"`
}

// Codes of gRPC that etcd uses.
const (
	codeInvalidArgument    = 3
	codePermissionDenied   = 7
	codeResourceExhausted  = 8
	codeFailedPrecondition = 9
	codeOutOfRange         = 11
	codeUnimplemented      = 12
	codeUnavailable        = 14
	codeUnauthenticated    = 16
)

// Messages of etcd 3.4 and later.
const (
	noLeader         = "etcdserver: no leader"
	alreadyCompacted = "etcdserver: mvcc: required revision has been compacted"
	revisionToCome   = "etcdserver: mvcc: required revision is a future revision"
)

// parse reads a whole answer. encoding/json bounds its depth.
func parse(body []byte, answer any) error {
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("not an answer of etcd: %w", err)
	}
	return nil
}

// mustMarshal writes a request. These types have no value that JSON cannot hold.
func mustMarshal(request any) []byte {
	body, err := json.Marshal(request)
	if err != nil {
		panic("etcd: " + err.Error())
	}
	return body
}

// rangeOf returns the first key with a prefix, and the first key after all of them.
func rangeOf(prefix string) (key, end []byte) {
	key = []byte(prefix)
	end = slices.Clone(key)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) == 0 {
		return key, []byte{0} // no end
	}
	end[len(end)-1]++
	return key, end
}

// page is a part of a Read.
type page struct {
	after    string // the last key before it
	prefix   string // of its keys, which entries lack
	below    string // what its keys begin with, after the prefix
	revision uint64
}

// entries checks an answer against the page that was asked for (E4), and returns its entries.
func (p page) entries(answer rangeAnswer) ([]cluster.Entry, error) {
	kvs := answer.KVs
	if len(kvs) > pageKeys || answer.More && len(kvs) < pageKeys {
		return nil, fmt.Errorf("a page of %d keys instead of %d", len(kvs), pageKeys)
	}
	found := make([]cluster.Entry, 0, len(kvs))
	last := p.after
	for _, kv := range kvs {
		e, err := entryOf(kv, p.prefix, p.below)
		switch {
		case err != nil:
			return nil, err
		case e.Key <= last && last != "", e.Revision > p.revision:
			return nil, fmt.Errorf("key %.80q at revision %d: after key %.80q at revision %d", e.Key, e.Revision, last, p.revision)
		}
		last = e.Key
		found = append(found, e)
	}
	return found, nil
}

// entryOf returns a key without the store's prefix.
func entryOf(kv keyValue, prefix, below string) (cluster.Entry, error) {
	key := string(kv.Key)
	switch {
	case len(key) <= len(prefix) || key[:len(prefix)] != prefix || len(key) < len(prefix)+len(below) || key[len(prefix):][:len(below)] != below:
		return cluster.Entry{}, fmt.Errorf("key %.80q is outside of %.80q", key, prefix+below)
	case len(key) > len(prefix)+cluster.MaxKey || len(kv.Value) > cluster.MaxValue:
		return cluster.Entry{}, fmt.Errorf("key %.80q has %d bytes and its value %d: the limits are %d and %d", key, len(key), len(kv.Value), cluster.MaxKey, cluster.MaxValue)
	case kv.ModRevision == 0:
		return cluster.Entry{}, fmt.Errorf("key %.80q without a revision", key)
	}
	value := kv.Value
	if value == nil {
		value = []byte{}
	}
	return cluster.Entry{Key: key[len(prefix):], Value: value, Revision: kv.ModRevision}, nil
}

// changes checks the events of a watch after a revision (E4), and returns them as entries.
func changes(events []event, prefix, below string, from uint64) ([]cluster.Entry, error) {
	found := make([]cluster.Entry, 0, len(events))
	last := from + 1
	for _, ev := range events {
		e, err := entryOf(ev.KV, prefix, below)
		switch {
		case err != nil:
			return nil, err
		case e.Revision < last:
			return nil, fmt.Errorf("a change of %.80q at revision %d comes after revision %d", e.Key, e.Revision, last)
		case ev.Type == "DELETE":
			e.Value = nil
		case ev.Type != "" && ev.Type != "PUT":
			return nil, fmt.Errorf("a change of %.80q of type %.20q", e.Key, ev.Type)
		}
		last = e.Revision
		found = append(found, e)
	}
	return found, nil
}

// parseWatch reads one message of a watch: a result, or etcd's refusal.
func parseWatch(line []byte) (*watchResult, *refusal, error) {
	var answer watchAnswer
	if err := parse(line, &answer); err != nil {
		return nil, nil, err
	}
	switch {
	case answer.Error != nil:
		return nil, answer.Error, nil
	case answer.Result == nil:
		return nil, nil, errors.New("a message of a watch without a result")
	}
	return answer.Result, nil, nil
}

// code returns the refusal's code of gRPC.
func (r refusal) code() int {
	if r.Code == 0 {
		return r.GRPCCode
	}
	return r.Code
}
