package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

func TestStructureWaitsForItsSnapshot(t *testing.T) {
	frame := func(kind byte, size int) []byte { return wire.AppendFrame(nil, kind, make([]byte, size)) }
	pad, structure, result := frame(wire.TypePad, 0), frame(wire.TypeStructure, 300), frame(wire.TypeResult, 9)
	type piece struct {
		bytes []byte
		wakes bool
	}
	for name, pieces := range map[string][]piece{
		"structure":        {{structure, false}, {pad, false}, {append(pad, structure...), false}},
		"result":           {{result, true}, {pad, false}},
		"result behind":    {{append(structure, result...), true}},
		"result in two":    {{result[:2], true}, {result[2:], true}, {pad, false}},
		"structure in two": {{structure[:7], false}, {append(structure[7:], pad...), false}, {result, true}},
		"type cut off":     {{structure[:2], true}, {structure[2:], true}, {pad, true}},
		"length cut off":   {{structure[:1], true}, {structure[1:], true}},
		"too long":         {{[]byte{0xff, 0xff, 0xff, 0xff, 0x7f, wire.TypePad}, true}, {pad, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var f client.FrameTypes
			for i, p := range pieces {
				require.Equal(t, p.wakes, f.Wake(p.bytes), "piece %d", i)
			}
		})
	}
}
