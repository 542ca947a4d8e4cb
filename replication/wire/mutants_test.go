package wire_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/wire"
)

var mutantsFlag = flag.Int("mutants", 2_000, "number of mutants per parser in TestMutants")

// target is a parser under test. read must reject an input with a code, or accept it and
// check what was read.
type target struct {
	name string
	pool [][]byte // valid inputs to mutate
	read func(t *testing.T, b []byte) error
	cost int // cost relative to other parsers, which get more mutants by this factor; 0 means 1
}

// TestMutants feeds every parser with mutated messages. A parser must not panic. It must
// reject a mutant with a code, or read a value that can be written and read again. Its
// allocations must be proportional to the bytes present (E2).
func TestMutants(t *testing.T) {
	for i, target := range targets(t) {
		t.Run(target.name, func(t *testing.T) {
			s, began, accepted := mutate.NewSource(uint64(i), target.pool...), time.Now(), 0
			n := mutate.Count(*mutantsFlag) / max(target.cost, 1)
			var current []byte
			number := 0
			defer func() {
				if r := recover(); r != nil {
					t.Fatalf("mutant %d: %v\n%x", number, r, current)
				}
				if t.Failed() {
					t.Logf("mutant %d\n%x", number, current)
				}
			}()
			const batch = 64
			for number < n {
				before := mutate.Allocated()
				for range batch {
					current = s.Next()
					switch err := target.read(t, current); wire.CodeOf(err) {
					case wire.OK:
						accepted++
					case wire.BadMessage, wire.IdentityFault:
					default:
						t.Fatalf("rejected without a code: %v", err)
					}
					number++
				}
				if spent := mutate.Allocated() - before; spent > batch*uint64(max(target.cost, 1))*(128<<10) {
					t.Fatalf("%d bytes allocated for %d inputs", spent, batch)
				}
			}
			t.Logf("%d inputs, %d accepted, %v", number, accepted, time.Since(began).Round(time.Second))
			require.NotZero(t, accepted, "every mutant is rejected: the code behind the checks is not reached")
		})
	}
}

func targets(t *testing.T) []target {
	var all []target
	for _, m := range wiretest.Samples() {
		if len(m.Bytes) == 0 {
			continue // Pad and Resync are empty
		}
		all = append(all, target{name: m.Name, pool: [][]byte{m.Bytes}, read: readAgain(m)})
	}
	stream, _, _ := stream()
	var extensions [][]byte
	for _, l := range exactVectors(t) {
		if l.Structure != nil && l.Error == "" && len(l.Structure) < 1000 {
			extensions = append(extensions, l.Structure)
		}
	}
	return append(
		all,
		target{name: "extensions", pool: extensions, read: readExtensions},
		target{name: "stream", pool: [][]byte{stream}, read: readFrames, cost: 4},
		target{name: "msgpack", pool: msgpackValues(), read: readAny},
		target{name: "row", pool: [][]byte{codecBytes()}, read: readRow(t)},
		target{name: "tables", pool: [][]byte{rowcodec.DefaultTables().Bytes(), rowcodec.Untrained().Tables().Bytes()}, read: makeCodec(t), cost: 100},
	)
}

// readAgain parses a message. If the message is valid, readAgain writes it and parses the
// result.
func readAgain(m wiretest.Sample) func(*testing.T, []byte) error {
	return func(t *testing.T, b []byte) error {
		got, err := m.Parse(b)
		if m.Kind != 0 {
			require.NotEmpty(t, wiretest.Describe(m.Kind, b))
		}
		if message, ok := got.(wire.Message); ok && err == nil {
			again := must.Get(m.Parse(message.Append(nil)))
			require.Equal(t, got, again)
		}
		if input, ok := got.(wire.Input); ok && err == nil {
			require.Equal(t, b, input.Append(nil), "an input has one form")
		}
		if s, ok := got.(wiretest.Structure); ok {
			again := wire.AppendStructureHeader(nil, s.First, s.Ticks)
			for _, r := range s.Records {
				again = wire.AppendRecord(again, r)
			}
			require.Equal(t, b, again, "structure has one form")
		}
		return err
	}
}

// readExtensions parses a Structure message and writes it again from the records' fields.
func readExtensions(t *testing.T, b []byte) error {
	m, err := wire.ParseStructure(b)
	if err == nil {
		require.Equal(t, b, writeAgain(t, m))
	}
	return err
}

// readFrames splits a stream that arrives in pieces.
func readFrames(t *testing.T, b []byte) error {
	var r wire.FrameReader
	var frames []byte
	for rest := b; len(rest) > 0; {
		n := min(1+len(rest)/3, len(rest))
		r.Feed(rest[:n])
		rest = rest[n:]
		for {
			kind, body, ok, err := r.Next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			frames = wire.AppendFrame(frames, kind, body)
			require.NotEmpty(t, wiretest.Describe(kind, body))
		}
	}
	require.True(t, bytes.HasPrefix(b, frames), "a frame has one form")
	require.Equal(t, len(b)-len(frames), r.Buffered())
	return nil
}

// msgpackValues returns typical arguments of commands.
func msgpackValues() (all [][]byte) {
	for _, v := range []any{
		map[string]any{"a": []any{1, -1, 2.5, nil, true, "x", []byte{1}, map[string]int64{"b": 1 << 40}}},
		[]any{uint64(1) << 63, float32(1), []string{"one", "two"}, [][]int{{1, 2}, {}, {3}}},
		make([]byte, 300), "some text that is longer than thirty-one bytes", uint16(7), nil,
	} {
		b := must.Get(msgpack.Marshal(v))
		all = append(all, b)
	}
	return all
}

// readAny checks that a value which passes CheckMsgpack is safe for a decoder without
// expected types.
func readAny(_ *testing.T, b []byte) error {
	if err := wire.CheckMsgpack(b); err != nil {
		return err
	}
	var anything any
	_ = msgpack.Unmarshal(b, &anything)
	return nil
}

func codecBytes() []byte {
	_, _, _, b := rowtest.Coded(6)
	return b
}

// readRow reads a row against its past, writes it, and reads it again.
func readRow(t *testing.T) func(*testing.T, []byte) error {
	c, row, past, _ := rowtest.Coded(6)
	got, again := rowtest.BlankRow(c.Schema(), row), rowtest.BlankRow(c.Schema(), row)
	var r bitio.Reader
	return func(t *testing.T, b []byte) error {
		r.Reset(b)
		if err := c.Read(&r, &got, past); err != nil {
			return err
		}
		require.NoError(t, rowtest.CheckRoundTrip(c.Schema(), got))
		var w bitio.Writer
		c.Append(&w, got, past)
		r.Reset(w.Bytes())
		require.NoError(t, c.Read(&r, &again, past))
		require.Equal(t, got, again)
		return nil
	}
}

// makeCodec checks that a codec made from any accepted tables reads what it writes.
func makeCodec(t *testing.T) func(*testing.T, []byte) error {
	random := rand.New(rand.NewPCG(1, 1))
	s := rowtest.RandomSchema(random)
	rows, older := rowtest.States(s, random, 3), rowtest.States(s, random, 3)
	return func(t *testing.T, b []byte) error {
		tables, err := rowcodec.ParseTables(b)
		if err != nil {
			return err
		}
		require.Equal(t, b, tables.Bytes(), "tables have one form")
		c := rowcodec.New(s, tables)
		past := rowtest.RandomPast(c, random, rows, older)
		var w bitio.Writer
		var r bitio.Reader
		c.Append(&w, rows[2], past)
		r.Reset(w.Bytes())
		got := rowtest.BlankRow(s, rows[2])
		require.NoError(t, c.Read(&r, &got, past))
		require.Equal(t, rows[2], got)
		return nil
	}
}
