package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Keys of the directory.
const (
	identityKey = "id"
	nodePrefix  = "node/"
	roomPrefix  = "room/"
	blockPrefix = "block/"
)

// Blocks is the number of blocks of generations in a cluster, and so the most rooms that are open at once. A block has
// world.RunGenerations generations.
const Blocks = 4096

const (
	recordVersion = 1
	// imageVersion is the version of the record of a room that has an image. Programs that know version 1 alone would take the room, and forget the image.
	imageVersion = 2

	maxRecord = 4 << 10 // bytes of a record
	maxName   = 128     // bytes of the name of a node or of a room
	maxAddrs  = 8
	maxAddr   = 256
	maxEpoch  = 1 << 62
	noBlock   = -1
	maxWas    = 4 // each costs bytes with every renewal

	minLease = 10 * time.Millisecond
	maxLease = time.Hour
)

// A RecordError reports a record that this program cannot use: a newer program, another program or a person wrote it. No node
// changes such a record.
type RecordError struct {
	Key string
	Err error
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("cluster: record %q: %v: a newer worldd or another program wrote it; update this node, or mend or delete the record", e.Key, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// identityRecord names the directory. Only a wiped directory gets another one.
type identityRecord struct {
	Version int    `json:"v"`
	ID      string `json:"id"`
	// LeaseMS is the lease of all nodes: a node that waits for the end of a lease knows only its own (C4, C9). 0: the program that
	// made the record did not say.
	LeaseMS int64 `json:"lease_ms,omitempty"`
	// Settled: a lease has passed since the record was made. No room may be taken before.
	Settled bool `json:"settled,omitempty"`
	// Reclaimed: another lease has passed, in which the rooms that stood still have taken their blocks. Only then does a new run get a
	// block of an adopted directory.
	Reclaimed bool `json:"reclaimed,omitempty"`
	// Was are the identities that this one replaces: an operator adopts the directory for the nodes that know them (C9).
	Was []string `json:"was,omitempty"`
}

// nodeRecord is the life of one incarnation of a node.
type nodeRecord struct {
	Version     int      `json:"v"`
	Incarnation string   `json:"incarnation"`
	Addrs       []string `json:"addrs"`
	LeaseMS     int64    `json:"lease_ms"`
	// Fingerprint is of the process's certificate for other nodes (package link). Records of older programs have none.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Was are the newest earlier incarnations, the newest last, whose runs this one has on its disk (C12). Records of older programs have none.
	Was  []string `json:"was,omitempty"`
	Seq  uint64   `json:"seq"`            // of the renewal
	Dead bool     `json:"dead,omitempty"` // the tombstone (C4)
}

func (r nodeRecord) lease() time.Duration { return time.Duration(r.LeaseMS) * time.Millisecond }

// roomState says what a room's record means.
type roomState string

const (
	roomOpen roomState = "open" // a node has taken the room
	roomKept roomState = "kept" // nobody runs the room, but its stored run continues in its block
	roomFree roomState = "free" // nobody runs the room; most such rooms have no record
)

// roomRecord says who has taken a room. The zero value stands for no record.
type roomRecord struct {
	Version int       `json:"v"`
	State   roomState `json:"state"`
	Node    string    `json:"node,omitempty"`   // that runs the room
	Keeper  string    `json:"keeper,omitempty"` // that has the stored run of a kept room
	// Offered: the node that ran the kept room has handed it over to the keeper, for which the others wait a while (C11).
	Offered bool `json:"offered,omitempty"`
	// Heir is the incarnation of the keeper to which the room was handed over, and Source the node that did. Records of older programs
	// have neither.
	Heir        string `json:"heir,omitempty"`
	Source      string `json:"source,omitempty"`
	Incarnation string `json:"incarnation,omitempty"`
	Epoch       uint64 `json:"epoch"`
	Exact       bool   `json:"exact,omitempty"` // the record is not the one that took the room (epochAt)
	Nonce       string `json:"nonce,omitempty"` // of the swap that took the room
	Block       int    `json:"block"`           // noBlock in a free room
	Image       *Image `json:"image,omitempty"` // the room's newest; nil: nothing is saved
}

// epochAt returns the epoch of a record that was swapped in at a revision. The epoch of a taking is no lower than its revision: so epochs
// rise although a deleted record tells the next one nothing (C2).
func (r roomRecord) epochAt(revision uint64) uint64 {
	if r.State != roomOpen || r.Exact {
		return r.Epoch
	}
	return max(r.Epoch, revision)
}

// isHeir reports whether a room was released for an incarnation of a node. Older programs name the node alone.
func (r *roomRecord) isHeir(node, incarnation string) bool {
	return r.Keeper == node && (r.Heir == incarnation || r.Source == "")
}

// blockRecord says which room has a block.
type blockRecord struct {
	Version int    `json:"v"`
	Room    string `json:"room,omitempty"` // empty: free
}

// encodeRoom returns the text of a room's record.
func encodeRoom(r roomRecord) []byte {
	r.Version = recordVersion
	if r.Image != nil {
		r.Version = imageVersion
	}
	return encode(r)
}

// encode returns the text of a record.
func encode(record any) []byte {
	text, err := json.Marshal(record)
	if err != nil {
		panic(err) // records have texts and numbers only
	}
	return text
}

func parseIdentity(value []byte) (r identityRecord, err error) {
	err = parseRecord(identityKey, value, &r, func() error {
		err := cmp.Or(wrongVersion(r.Version, recordVersion), wrongToken("id", r.ID))
		if r.LeaseMS != 0 {
			err = cmp.Or(err, wrongLease(r.LeaseMS))
		}
		return cmp.Or(err, wrongTokens("was", r.Was, maxAdopted))
	})
	return r, err
}

func parseNode(key string, value []byte) (r nodeRecord, err error) {
	err = parseRecord(key, value, &r, func() error {
		return cmp.Or(wrongVersion(r.Version, recordVersion), wrongName(strings.TrimPrefix(key, nodePrefix)), wrongToken("incarnation", r.Incarnation), wrongAddrs(r.Addrs), wrongLease(r.LeaseMS), wrongFingerprint(r.Fingerprint), wrongTokens("was", r.Was, maxWas))
	})
	return r, err
}

// wrongFingerprint reports why a text is no SHA-256 in hexadecimal digits. None is allowed.
func wrongFingerprint(text string) error {
	sum, err := hex.DecodeString(text)
	if err != nil || len(sum) != 0 && len(sum) != sha256.Size || hex.EncodeToString(sum) != text {
		return fmt.Errorf("fingerprint %.70q: it must have %d hexadecimal digits", text, 2*sha256.Size)
	}
	return nil
}

func wrongLease(ms int64) error {
	if ms < minLease.Milliseconds() || ms > maxLease.Milliseconds() {
		return fmt.Errorf("a lease of %d ms: it must have %d to %d", ms, minLease.Milliseconds(), maxLease.Milliseconds())
	}
	return nil
}

func parseRoom(key string, value []byte) (r roomRecord, err error) {
	err = parseRecord(key, value, &r, func() error {
		err := cmp.Or(wrongVersion(r.Version, imageVersion), wrongName(strings.TrimPrefix(key, roomPrefix)))
		if err == nil && r.Image != nil {
			err = r.Image.Check()
		}
		switch hasBlock := r.Block >= 0 && r.Block < Blocks; {
		case err != nil:
			return err
		case r.Epoch > maxEpoch:
			return fmt.Errorf("epoch %d, at most %d", r.Epoch, uint64(maxEpoch))
		case r.State == roomOpen && hasBlock:
			return cmp.Or(wrongName(r.Node), wrongToken("incarnation", r.Incarnation), wrongToken("nonce", r.Nonce))
		case r.State == roomKept && hasBlock:
			return cmp.Or(wrongName(r.Keeper), wrongFree(r), wrongOffer(r))
		case r.State == roomFree && r.Block == noBlock:
			return wrongFree(r)
		}
		return fmt.Errorf("state %.20q with block %d", r.State, r.Block)
	})
	return r, err
}

// wrongFree reports that a record names a node although nobody runs the room.
func wrongFree(r roomRecord) error {
	if r.Node != "" || r.Incarnation != "" {
		return fmt.Errorf("state %q with node %.20q", r.State, r.Node)
	}
	return nil
}

// wrongOffer reports that an offer names no node or no incarnation.
func wrongOffer(r roomRecord) error {
	if r.Source == "" {
		return wrongOptionalToken("heir", r.Heir)
	}
	return cmp.Or(wrongName(r.Source), wrongOptionalToken("heir", r.Heir))
}

func parseBlock(key string, value []byte) (r blockRecord, err error) {
	err = parseRecord(key, value, &r, func() error {
		err := wrongVersion(r.Version, recordVersion)
		if err == nil && r.Room != "" {
			err = wrongName(r.Room)
		}
		return err
	})
	return r, err
}

// parseRecord parses the text of a record that anybody may have written, and checks its fields.
func parseRecord(key string, value []byte, record any, check func() error) error {
	if len(value) > maxRecord {
		return &RecordError{key, fmt.Errorf("%d bytes, at most %d", len(value), maxRecord)}
	}
	if err := json.Unmarshal(value, record); err != nil {
		return &RecordError{key, err}
	}
	if err := check(); err != nil {
		return &RecordError{key, err}
	}
	return nil
}

func wrongVersion(version, newest int) error {
	if version < 1 || version > newest {
		return fmt.Errorf("version %d, this program knows %d", version, newest)
	}
	return nil
}

// wrongName reports why a text cannot name a node or a room.
func wrongName(name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("name %.*q: it must have 1 to %d visible ASCII characters", maxName+8, name, maxName)
	}
	return nil
}

// wrongToken reports why a text is no incarnation, nonce or identity: 16 hexadecimal digits.
func wrongToken(field, token string) error {
	n, err := strconv.ParseUint(token, 16, 64)
	if err != nil || token != tokenText(n) {
		return fmt.Errorf("%s %.20q: it must have 16 hexadecimal digits", field, token)
	}
	return nil
}

func wrongTokens(field string, tokens []string, most int) error {
	if len(tokens) > most {
		return fmt.Errorf("%s: %d, at most %d", field, len(tokens), most)
	}
	for _, token := range tokens {
		if err := wrongToken(field, token); err != nil {
			return err
		}
	}
	return nil
}

func wrongOptionalToken(field, token string) error {
	if token == "" {
		return nil
	}
	return wrongToken(field, token)
}

func tokenText(n uint64) string { return fmt.Sprintf("%016x", n) }

func wrongAddrs(addrs []string) error {
	if len(addrs) == 0 || len(addrs) > maxAddrs {
		return fmt.Errorf("%d addresses: 1 to %d are allowed", len(addrs), maxAddrs)
	}
	for _, a := range addrs {
		if a == "" || len(a) > maxAddr || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("address %.*q: it must have 1 to %d visible ASCII characters", maxAddr, a, maxAddr)
		}
	}
	return nil
}

func nodeKey(name string) string { return nodePrefix + name }
func roomKey(name string) string { return roomPrefix + name }
func blockKey(block int) string  { return fmt.Sprintf("%s%04d", blockPrefix, block) }

// blockOfKey returns the block of a key, or false if the key is no block's.
func blockOfKey(key string) (int, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(key, blockPrefix), 10, 16)
	return int(n), err == nil && n < Blocks && blockKey(int(n)) == key
}
