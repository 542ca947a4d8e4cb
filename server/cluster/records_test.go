package cluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	oneToken   = "00000000000000a1"
	otherToken = "00000000000000b2"

	oneFingerprint = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// goodRecords are one of each kind, as the directory has them.
var goodRecords = map[string]string{
	"id":           `{"v":1,"id":"00000000000000a1","settled":true,"was":["00000000000000b2"]}`,
	"node/a":       `{"v":1,"incarnation":"00000000000000a1","addrs":["a.example:4433"],"lease_ms":5000,"fingerprint":"` + oneFingerprint + `","seq":7}`,
	"node/old":     `{"v":1,"incarnation":"00000000000000a1","addrs":["a.example:4433"],"lease_ms":5000,"seq":7}`,
	"room/arena/1": `{"v":1,"state":"open","node":"a","incarnation":"00000000000000a1","epoch":3,"nonce":"00000000000000b2","block":17}`,
	"room/arena/2": `{"v":1,"state":"kept","keeper":"a","epoch":3,"block":18}`,
	"room/arena/3": `{"v":1,"state":"free","epoch":3,"block":-1}`,
	"room/arena/4": `{"v":1,"state":"free","epoch":3,"block":-1,"image":{"epoch":3,"tick":9,"bytes":5,"sum":"` + strings.Repeat("0a", 32) + `","nodes":["a","b"]}}`,
	"room/arena/5": `{"v":2,"state":"kept","keeper":"a","epoch":3,"block":19,"image":{"epoch":3,"tick":9,"bytes":5,"sum":"` + strings.Repeat("0a", 32) + `","nodes":["a"]}}`,
	"block/0017":   `{"v":1,"room":"arena/1"}`,
	"block/0018":   `{"v":1}`,
}

// parseAny parses the record of a key, and returns its text again.
func parseAny(key string, value []byte) (text []byte, err error) {
	var r any
	switch {
	case key == identityKey:
		r, err = parseIdentity(value)
	case strings.HasPrefix(key, nodePrefix):
		r, err = parseNode(key, value)
	case strings.HasPrefix(key, roomPrefix):
		r, err = parseRoom(key, value)
	default:
		r, err = parseBlock(key, value)
	}
	return encode(r), err
}

func TestRecords(t *testing.T) {
	for key, text := range goodRecords {
		again, err := parseAny(key, []byte(text))
		require.NoError(t, err)
		require.Equal(t, text, string(again))
	}
}

// A record of a newer program, of another program or of a person is refused, and the error names its key.
func TestUnusableRecords(t *testing.T) {
	for _, c := range []struct{ key, old, changed, want string }{
		{"id", `"v":1`, `"v":2`, "version 2, this program knows 1"},
		{"room/arena/5", `"v":2`, `"v":3`, "version 3, this program knows 2"},
		{"id", oneToken, "A1", "id \"A1\": it must have 16 hexadecimal digits"},
		{"id", otherToken, "00000000000000B2", "16 hexadecimal digits"},
		{"node/a", "}", "", "unexpected end"},
		{"room/arena/4", `0a"`, `0A"`, "it must have 64 hexadecimal digits"},
		{"room/arena/4", `"bytes":5`, `"bytes":-5`, "an image of -5 bytes"},
		{"room/arena/4", `"a","b"`, `"a b"`, "visible ASCII"},
		{"room/arena/4", `"a"`, strings.Repeat(`"a",`, 16) + `"a"`, "an image on 18 nodes"},
		{"node/a", `"a.example:4433"`, "", "0 addresses"},
		{"node/a", `"a.example:4433"`, strings.Repeat(`"a",`, 8) + `"a"`, "9 addresses"},
		{"node/a", "a.example", "a b", "visible ASCII"},
		{"node/a", "5000", "0", "a lease of 0 ms"},
		{"node/a", "5000", "3600001", "a lease of 3600001 ms"},
		{"node/a", "5000", `"5s"`, "cannot unmarshal"},
		{"node/a", oneFingerprint, "0123", "it must have 64 hexadecimal digits"},
		{"node/a", "cdef", "CDEF", "it must have 64 hexadecimal digits"},
		{"room/arena/1", "17", "4096", "state \"open\" with block 4096"},
		{"room/arena/1", "17", "-1", "state \"open\" with block -1"},
		{"room/arena/1", "open", "shut", "state \"shut\""},
		{"room/arena/1", `"node":"a"`, `"node":"a\u0000"`, "visible ASCII"},
		{"room/arena/1", `"epoch":3`, `"epoch":18446744073709551615`, "epoch 18446744073709551615"},
		{"room/arena/2", `"keeper":"a",`, "", "visible ASCII"},
		{"room/arena/3", `"epoch"`, `"node":"a","epoch"`, "state \"free\" with node \"a\""},
		{"block/0017", "arena/1", strings.Repeat("a", 129), "1 to 128"},
		{"block/0017", "arena/1", strings.Repeat("a", maxRecord), "at most 4096"},
	} {
		_, err := parseAny(c.key, []byte(strings.Replace(goodRecords[c.key], c.old, c.changed, 1)))
		var refused *RecordError
		require.ErrorAs(t, err, &refused, "%s: %s", c.key, c.changed)
		require.Equal(t, c.key, refused.Key)
		require.ErrorContains(t, err, c.want)
		require.NotNil(t, errors.Unwrap(err))
	}
}

// FuzzRecords gives a machine records that anybody may have written. It must not fail, and must not change what it cannot read.
func FuzzRecords(f *testing.F) {
	for key, text := range goodRecords {
		f.Add(key, []byte(text))
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		text, err := parseAny(key, value)
		var refused *RecordError
		if err == nil {
			again, err := parseAny(key, text)
			require.NoError(t, err)
			require.Equal(t, text, again)
		} else {
			require.ErrorAs(t, err, &refused)
		}
		c := newDesk(t, "a")
		c.store.serve(request{swaps: []Swap{{key, value, c.store.entries[key].Revision}}})
		before := c.store.entries[key]
		c.run(2 * time.Second)
		c.take("arena/1", noBlock)
		c.take("arena/2", 18)
		c.run(30 * time.Second)
		if err != nil && strings.ContainsAny(key, "/") {
			require.Equal(t, before, c.store.entries[key])
		}
	})
}
