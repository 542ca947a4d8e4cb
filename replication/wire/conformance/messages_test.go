package conformance

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
)

// valuesOf returns the fields of a message in the form that pageDecoder.message returns.
func valuesOf(message any) (values []any) {
	v := reflect.ValueOf(message)
	for i := range v.NumField() {
		if f := v.Field(i); f.CanUint() {
			values = append(values, f.Uint())
		} else {
			values = append(values, fmt.Sprintf("%s", f.Interface()))
		}
	}
	return values
}

// decodeByPage decodes a sample and returns the decoder's notes.
func decodeByPage(t testing.TB, m wiretest.Sample) (notes []string) {
	schema := rowtest.SampleSchema()
	components := parseSchemaText(t, schema.Text())
	s := &pageDecoder{b: m.Bytes}
	defer func() {
		if err := recover(); err != nil {
			require.Fail(t, "page and package differ", "%s: %v\n%s", m.Name, err, strings.Join(s.notes, "\n"))
		}
	}()
	switch m.Name {
	case "state":
		_, tenants, rows := wiretest.State(schema)
		tables := readTables(rowcodec.DefaultTables().Bytes())
		pageTenants := map[uint32]pageTenant{}
		for slot, e := range tenants {
			pageTenants[slot] = pageTenant{e.Handle, e.Mask, e.Owned, e.States}
		}
		require.Equal(t, rows, s.state(components, &tables, pageTenants))
	case "structure":
		require.Equal(t, m.Want, wiretest.Structure(s.structure(components)))
	case "exact":
		require.Equal(t, m.Want, readExactByPage(s, components))
	case "input":
		require.Equal(t, m.Want, s.input())
	case "resync", "arrived", "pad":
		s.expectEnd()
	default:
		elements := messageTable(t)[m.Kind]
		require.NotEmpty(t, elements, m.Name)
		require.Equal(t, valuesOf(m.Want), s.message(elements, false))
	}
	return s.notes
}

func TestConformance(t *testing.T) {
	for _, m := range wiretest.Samples() {
		t.Run(m.Name, func(t *testing.T) { decodeByPage(t, m) })
	}
}

func TestConformanceSchemaHash(t *testing.T) {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	h := uint64(0xcbf29ce484222325)
	for _, c := range []byte(s.Text()) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	require.Equal(t, h, s.Hash())
	page := must.Get(os.ReadFile("../PROTOCOL.md"))
	require.Contains(t, string(page), fmt.Sprintf("has the hash `%016x`", h))
}

func TestConformanceFoldExample(t *testing.T) {
	page := must.Get(os.ReadFile("../PROTOCOL.md"))
	m := regexp.MustCompile("17v3, 18v1, 500v7 is `([0-9a-f]{4})`").FindStringSubmatch(string(page))
	require.NotNil(t, m)
	var x uint32
	for _, h := range [][2]uint32{{17, 3}, {18, 1}, {500, 7}} {
		x = (x ^ h[0]) * 0x9e3779b1
		x ^= x >> 15
		x = (x ^ h[1]) * 0x85ebca77
		x ^= x >> 13
	}
	require.Equal(t, m[1], fmt.Sprintf("%04x", (x^x>>16)&0xffff))
}

// readExactByPage reads a State datagram like the sample with an exact row.
func readExactByPage(s *pageDecoder, components []pageComponent) (c wiretest.ExactState) {
	h := s.stateHeader()
	c.Header = wiretest.Exact().Header
	c.Header.Complete, c.Header.Continued, c.Header.Audited, c.Header.Audit = h.complete, h.continued, h.audited, h.audit
	c.Header.Exact = h.exact
	s.readNamed(4, "order of skips")
	s.baseline(h.tick)
	s.golomb(0, "skip")
	s.readNamed(1, "own baseline")
	if h.exact {
		s.readNamed(1, "exact")
	}
	page := exactPage{s}
	c.Exact = page.exactHeader(h.tick, 0, exactTickHz)
	c.Row = s.wholeRow(components, wiretest.Exact().Row.Mask, false)
	c.Body = page.body(c.Exact.Form, gridOf(components, c.Row.Values), 1<<32-1)
	s.expectEnd()
	return c
}

var update = flag.Bool("update", false, "rewrite the golden files in ../testdata")

// A golden file holds the bytes of a message and pageDecoder's notes on them. A
// difference is a new protocol version, unless the sample changed.
func TestGolden(t *testing.T) {
	for _, m := range wiretest.Samples() {
		t.Run(m.Name, func(t *testing.T) {
			got := hex.Dump(m.Bytes) + "\n" + strings.Join(decodeByPage(t, m), "\n") + "\n"
			path := filepath.Join("../testdata", m.Name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll("../testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "write it with go test -run TestGolden -update")
			require.Equal(t, string(want), got)
		})
	}
}
