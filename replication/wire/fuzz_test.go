package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/wire"
)

// For any input, a parser does not panic, and returns an *Error or a value that can be
// written again.

func FuzzStream(f *testing.F) {
	whole, _, _ := stream()
	f.Add(whole, uint8(7))
	for _, m := range wiretest.Samples() {
		f.Add(wire.AppendFrame(nil, m.Kind, m.Bytes), uint8(255))
	}
	s := rowtest.SampleSchema()
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8) {
		var r wire.FrameReader
		var frames []byte
		read := 0
		for len(b) > read {
			n := min(int(chunk)+1, len(b)-read)
			r.Feed(b[read : read+n])
			read += n
			for {
				kind, body, ok, err := r.Next()
				if err != nil {
					require.Equal(t, wire.BadMessage, wire.CodeOf(err))
					require.True(t, bytes.HasPrefix(b, frames))
					return
				}
				if !ok {
					break
				}
				frames = wire.AppendFrame(frames, kind, body)
				require.NotEmpty(t, wiretest.Describe(kind, body))
				if kind == wire.TypeStructure {
					_, err := wiretest.ParseStructure(s, body)
					require.NotEqual(t, wire.Internal, wire.CodeOf(err))
				}
			}
		}
		require.True(t, bytes.HasPrefix(b, frames), "a frame has one form")
		require.Equal(t, len(b)-len(frames), r.Buffered())
	})
}

func FuzzState(f *testing.F) {
	s := rowtest.SampleSchema()
	d, tenants, _ := wiretest.State(s)
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	f.Add(d)
	f.Add(d[:22])
	f.Add(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 1}))
	f.Fuzz(func(t *testing.T, d []byte) {
		h, rows, err := wiretest.ReadState(codec, d, tenants)
		if err != nil {
			code := wire.CodeOf(err)
			require.True(t, code == wire.BadMessage || code == wire.IdentityFault, "%v", err)
			return
		}
		require.Len(t, rows, h.Rows)
		for _, row := range rows { // every row that was read can be written
			var w bitio.Writer
			rowschema.New(s).AppendFull(&w, row)
			var r bitio.Reader
			r.Reset(w.Bytes())
			again := rowtest.NewRow(s, 0)
			require.NoError(t, rowschema.New(s).ReadFull(&r, &again))
			require.Equal(t, row, again)
		}
	})
}

// exactVector is a line of exact.jsonl: see testdata/vectors/README.md.
type exactVector struct {
	Structure, State []byte
	Row              *struct{ Bits []byte }
	Error            string
}

func exactVectors(t testing.TB) (lines []exactVector) {
	text := must.Get(os.ReadFile("testdata/vectors/exact.jsonl"))
	for line := range bytes.Lines(text) {
		var l exactVector
		require.NoError(t, json.Unmarshal(line, &l))
		lines = append(lines, l)
	}
	return lines[1:] // behind the schema
}

// A Structure message, its Extensions, and a State header have one form each.
func FuzzExact(f *testing.F) {
	for _, l := range exactVectors(f) {
		f.Add(append(l.Structure, l.State...))
	}
	f.Add(wiretest.Exact().Bytes())
	s := rowtest.SampleSchema()
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := wire.ParseStructure(b); err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
		} else {
			require.Equal(t, b, writeAgain(t, m))
		}
		var r bitio.Reader
		if h, err := wire.ParseStateHeader(b, &r); err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
		} else {
			head := wire.AppendStateHeader(nil, h)
			require.Equal(t, b[:len(head)], head)
		}
		_, err := wiretest.ReadExactState(s, b)
		require.NotEqual(t, wire.Internal, wire.CodeOf(err), "%v", err)
	})
}

// FuzzExactBody reads the exact part of a row from any bits, and writes it again.
func FuzzExactBody(f *testing.F) {
	for _, l := range exactVectors(f) {
		if l.Row != nil {
			f.Add(l.Row.Bits, uint8(2), uint32(0x41898000))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, form uint8, grid uint32) {
		x := math.Float32frombits(grid)
		if x-x != 0 {
			x = 0
		}
		g := wire.Grid{x, -x, x / 3, 0, 0, 0}
		var r bitio.Reader
		r.Reset(b)
		e := wire.Exact{Form: wire.Form(form%4) + 1}
		body := wire.ReadBody(&r, e.Form, &g, 1<<32-1)
		if r.Err() != nil {
			return
		}
		var w bitio.Writer
		wire.AppendBody(&w, e.Form, &body, &g)
		require.Equal(t, len(b)*8-r.Left(), w.Bits(), "an exact part has one form")
		var again bitio.Reader
		again.Reset(w.Bytes())
		require.Equal(t, body, wire.ReadBody(&again, e.Form, &g, 1<<32-1))
	})
}

// writeAgain writes a message's records from their parsed fields.
func writeAgain(t testing.TB, m wire.Structure) []byte {
	b := wire.AppendStructureHeader(nil, m.First, m.Ticks)
	for r, err := range m.Records() {
		require.NoError(t, err)
		require.NotEmpty(t, r.String())
		switch {
		case r.Op != wire.OpExtension:
			b = wire.AppendRecord(b, r)
		case wire.Extension(r.Number) == wire.ExtendProgram:
			b = r.Program().Append(b)
		case wire.Extension(r.Number) == wire.ExtendEffectAdded:
			b = r.EffectAdded().Append(b)
		case wire.Extension(r.Number) == wire.ExtendEffectChanged:
			b = r.EffectChanged().Append(b)
		case wire.Extension(r.Number) == wire.ExtendKind:
			b = r.KindAdded().Append(b)
		default:
			b = r.EffectEnded().Append(b)
		}
	}
	return b
}

func FuzzInput(f *testing.F) {
	for _, m := range wiretest.Samples() {
		if m.Name == "input" {
			f.Add(m.Bytes)
		}
	}
	empty := wire.Input{}
	f.Add(empty.Append(nil))
	f.Fuzz(func(t *testing.T, d []byte) {
		var in wire.Input
		err := in.Parse(d)
		if err != nil {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
			return
		}
		require.Equal(t, d, in.Append(nil), "an input has one form")
		require.NotEmpty(t, in.String())
	})
}

func FuzzMsgpack(f *testing.F) {
	for _, m := range wiretest.Samples() {
		if m.Kind != 0 && m.Kind != wire.TypeStructure {
			f.Add(m.Kind, m.Bytes)
		}
	}
	f.Add(wire.TypeBye, []byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Add(wire.TypeCommand, []byte{0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, kind byte, body []byte) {
		require.NotEmpty(t, wiretest.Describe(kind, body))
		if wire.CheckMsgpack(body) == nil && len(body) < wire.MaxStreamMessage {
			// A value that passes is safe for a decoder without expected types.
			var anything any
			_ = msgpack.Unmarshal(body, &anything)
		}
		if kind == wire.TypeRoomList {
			if m, err := wire.Parse[wire.RoomList](body); err == nil {
				must.Get(wire.Parse[wire.RoomList](m.Append(nil)))
				require.LessOrEqual(t, len(must.Get(m.Infos())), len(m.Rooms)/8)
			}
		}
		if kind == wire.TypeCommand {
			if m, err := wire.Parse[wire.Command](body); err == nil {
				require.Equal(t, m, must.Get(wire.Parse[wire.Command](m.Append(nil))))
			}
		}
	})
}
