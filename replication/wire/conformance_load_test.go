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

// strangerStep is a line of the conformance vectors, as far as the decoder that was
// written from the pages knows what to do with it.
type strangerStep struct {
	Case     string
	Schema   string
	Stream   []byte
	Datagram []byte
	Expect   struct{ Outcome, Error string }
}

// The decoder that was written from the pages plays the conformance vectors about the
// load of a datagram, and takes and refuses what a client does.
func TestConformanceLoad(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors/load.jsonl")
	require.NoError(t, err)
	tables := readTables(rowcodec.DefaultTables().Bytes())
	var schema []strangerComponent
	var tenants map[uint32]tenant
	seen := map[string]int{}
	for n, line := range bytes.Split(bytes.TrimSpace(text), []byte{'\n'}) {
		var step strangerStep
		require.NoError(t, json.Unmarshal(line, &step))
		switch {
		case step.Case != "":
			schema, tenants = strangerSchema(t, step.Schema), map[uint32]tenant{}
		case len(step.Stream) > 0:
			enterStrangers(step.Stream, schema, tenants)
		default:
			err := readDatagram(&stranger{b: step.Datagram}, schema, &tables, tenants)
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

// enterStrangers reads the Structure messages among frames, sections 3 and 6.
func enterStrangers(b []byte, schema []strangerComponent, tenants map[uint32]tenant) {
	for len(b) > 0 {
		frame := stranger{b: b}
		length := int(frame.uvarint("length"))
		kind := frame.named(8, "type")
		end := frame.bit/8 + length - 1
		if kind == 18 {
			body := stranger{b: b[:end], bit: frame.bit}
			c := body.structure(schema)
			for i, r := range c.Records {
				who := tenant{handle: r.Handle, mask: c.Rows[i].Mask, states: map[uint32][]uint32{c.Tick: c.Rows[i].Words}}
				tenants[r.Handle.Index()] = who
			}
		}
		b = b[end:]
	}
}

// readDatagram reads a State datagram, and returns what is wrong with it.
func readDatagram(s *stranger, schema []strangerComponent, tables *strangerTables, tenants map[uint32]tenant) (err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%v", why)
		}
	}()
	s.state(schema, tables, tenants)
	return nil
}
