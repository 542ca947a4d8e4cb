package etcd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/cluster"
)

func TestRangeOf(t *testing.T) {
	for prefix, want := range map[string]string{"a": "b", "a\xff": "b", "a\xff\xff": "b", "ab\xfe": "ab\xff", "\xff": "\x00", "a/": "a0"} {
		key, end := rangeOf(prefix)
		require.Equal(t, prefix, string(key))
		require.Equal(t, want, string(end))
	}
}

func TestIsRecent(t *testing.T) {
	for version, want := range map[string]bool{
		"3.4.23": true, "3.4": true, "3.10.0": true, "3.7.0-rc.1": true, "4.0.0": true,
		"3.3.27": false, "2.9.9": false, "3": false, "": false, "three.four": false,
	} {
		require.Equal(t, want, isRecent(version), version)
	}
}

// Whatever an endpoint sends, accepted entries are within the range, in order and within the limits (E4).
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"header":{"cluster_id":"7","revision":"5"},"kvs":[{"key":"cC9h","mod_revision":"2","value":"MQ=="}],"more":true,"count":"1"}`), uint64(1))
	f.Add([]byte(`{"result":{"header":{"cluster_id":"7","revision":"5"},"events":[{"kv":{"key":"cC9h","mod_revision":"2"}},{"type":"DELETE","kv":{"key":"cC9h","mod_revision":"4"}}]}}`), uint64(1))
	f.Add([]byte(`{"result":{"header":{"cluster_id":"7"},"canceled":true,"compact_revision":"4"}}`), uint64(0))
	f.Add([]byte(`{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader"}}`), uint64(0))
	f.Add([]byte(`{"error":"x","message":"etcdserver: duplicate key","code":3}`), uint64(0))
	f.Fuzz(func(t *testing.T, body []byte, revision uint64) {
		var pages rangeAnswer
		if parse(body, &pages) == nil {
			p := page{prefix: "p/", below: "a", after: "aa", revision: revision}
			if entries, err := p.entries(pages); err == nil {
				last := p.after
				for _, e := range entries {
					wantEntry(t, e)
					require.Greater(t, e.Key, last)
					require.LessOrEqual(t, e.Revision, revision)
					require.NotNil(t, e.Value)
					last = e.Key
				}
			}
		}
		if result, refused, err := parseWatch(body); err == nil && refused == nil {
			if entries, err := changes(result.Events, "p/", "a", revision); err == nil {
				last := revision + 1
				for _, e := range entries {
					wantEntry(t, e)
					require.GreaterOrEqual(t, e.Revision, last)
					last = e.Revision
				}
			}
		}
		err := errorOf(&endpoint{url: "http://engine"}, 400, body)
		require.NotEqual(t, Unreachable, kindOf(err))
		require.Less(t, len(err.Error()), 2000)
	})
}

func wantEntry(t *testing.T, e cluster.Entry) {
	require.True(t, strings.HasPrefix(e.Key, "a"))
	require.LessOrEqual(t, len(e.Key), cluster.MaxKey)
	require.LessOrEqual(t, len(e.Value), cluster.MaxValue)
	require.NotZero(t, e.Revision)
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	r := bufio.NewReaderSize(strings.NewReader("a\n"+long+"\n\nrest"), 64)
	for _, want := range []string{"a\n", long + "\n", "\n", "rest"} {
		line, err := readLine(r)
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	_, err := readLine(r)
	require.Error(t, err)
	_, err = readLine(bufio.NewReader(bytes.NewReader(make([]byte, 2*maxAnswer))))
	require.ErrorIs(t, err, bufio.ErrTooLong)
}

// A nil value deletes, an empty one does not, and any byte of a key arrives.
func TestRequestOf(t *testing.T) {
	swaps := []cluster.Swap{{Key: "\x00\xff", Value: []byte{}, Revision: 1 << 63}, {Key: "b"}}
	require.JSONEq(t, `{"compare":[{"key":"cC8A/w==","target":"MOD","result":"EQUAL","mod_revision":"9223372036854775808"},
		{"key":"cC9i","target":"MOD","result":"EQUAL","mod_revision":"0"}],
		"success":[{"request_put":{"key":"cC8A/w==","value":""}},{"request_delete_range":{"key":"cC9i"}}]}`, string(mustMarshal(requestOf("p/", swaps))))
	require.True(t, json.Valid(mustMarshal(watchRequest{})))
}
