package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
)

// vectorStep is a line of the conformance vectors: what pageDecoder understands of it.
type vectorStep struct {
	Case     string
	Schema   string
	Stream   []byte
	Datagram []byte
	Expect   struct{ Outcome, Error string }
}

// pageDecoder accepts and rejects the same datagrams of the load vectors as a client.
func TestConformanceLoad(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors/load.jsonl")
	require.NoError(t, err)
	tables := readTables(rowcodec.DefaultTables().Bytes())
	var schema []pageComponent
	var tenants map[uint32]tenant
	seen := map[string]int{}
	for n, line := range bytes.Split(bytes.TrimSpace(text), []byte{'\n'}) {
		var step vectorStep
		require.NoError(t, json.Unmarshal(line, &step))
		switch {
		case step.Case != "":
			schema, tenants = parseSchemaText(t, step.Schema), map[uint32]tenant{}
		case len(step.Stream) > 0:
			applyEnters(step.Stream, schema, tenants)
		default:
			err := readDatagram(&pageDecoder{b: step.Datagram}, schema, &tables, tenants)
			seen[step.Expect.Outcome+step.Expect.Error]++
			switch {
			case step.Expect.Error != "":
				require.ErrorContains(t, err, "of load 1281", "line %d", n+1)
			case step.Expect.Outcome == "faulty":
				require.ErrorContains(t, err, "fold", "line %d", n+1)
			default:
				require.NoError(t, err, "line %d", n+1)
			}
		}
	}
	require.Equal(t, map[string]int{"applied": 3, "bad-message": 1, "faulty": 1}, seen)
}

// applyEnters reads the Structure messages among frames, sections 3 and 6.
func applyEnters(b []byte, schema []pageComponent, tenants map[uint32]tenant) {
	tick := uint32(0)
	for len(b) > 0 {
		frame := pageDecoder{b: b}
		length := int(frame.uvarint("length"))
		kind := frame.readNamed(8, "type")
		end := frame.bit/8 + length - 1
		if kind == 18 {
			body := pageDecoder{b: b[:end], bit: frame.bit}
			c := body.structure(schema)
			tick += c.Ticks
			for i, r := range c.Records {
				row := c.Rows[i]
				tenants[r.Handle.Index()] = tenant{handle: r.Handle, mask: row.Mask, states: map[uint32][]uint32{tick: row.Values}}
			}
		}
		b = b[end:]
	}
}

// readDatagram reads a State datagram and returns the decoder's error.
func readDatagram(s *pageDecoder, schema []pageComponent, tables *codingTables, tenants map[uint32]tenant) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%v", why)
		}
	}()
	s.state(schema, tables, tenants)
	return nil
}
