package wire_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/wire"
)

var mutantsFlag = flag.Int("mutants", 2_000, "how many mutants TestMutants makes for each parser")

// breed is a parser with inputs that it takes, and what must hold of any other: read
// refuses it for a reason, or takes it and can show for it.
type breed struct {
	name string
	pool [][]byte
	read func(t *testing.T, b []byte) error
	dear int // it costs about so many times as much as others, and has so many times fewer mutants
}

// TestMutants hands every parser of this package what the product made and something
// has changed since: no panic, a refusal by name or what can be written and read
// again, and no memory but what follows the bytes that are there.
func TestMutants(t *testing.T) {
	for i, breed := range breeds(t) {
		t.Run(breed.name, func(t *testing.T) {
			s, began, taken := mutate.NewSource(uint64(i), breed.pool...), time.Now(), 0
			n := *mutantsFlag / max(breed.dear, 1)
			if testing.Short() {
				n /= 4
			}
			// The reports of the failures are made only if there is one.
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
				before := allocated()
				for range batch {
					current = s.Next()
					switch err := breed.read(t, current); wire.CodeOf(err) {
					case wire.OK:
						taken++
					case wire.BadMessage, wire.IdentityFault:
					default:
						t.Fatalf("refused without a reason: %v", err)
					}
					number++
				}
				if spent := allocated() - before; spent > batch*uint64(max(breed.dear, 1))*(128<<10) {
					t.Fatalf("%d bytes were allocated for %d inputs", spent, batch)
				}
			}
			t.Logf("%d inputs, %d of them taken, %v", number, taken, time.Since(began).Round(time.Second))
			require.NotZero(t, taken, "all are refused: what is behind is not reached")
		})
	}
}

// allocated is how many bytes were allocated since the start.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func breeds(t *testing.T) []breed {
	var all []breed
	for _, m := range samples(t) {
		if len(m.bytes) == 0 {
			continue // Pad and Resync, which have nothing to change
		}
		all = append(all, breed{name: m.name, pool: [][]byte{m.bytes}, read: readAgain(m)})
	}
	stream, _, _ := stream(t)
	return append(
		all,
		breed{name: "stream", pool: [][]byte{stream}, read: readFrames, dear: 4},
		breed{name: "msgpack", pool: msgpackValues(t), read: readAny},
		breed{name: "row", pool: [][]byte{codecBytes(t)}, read: readRow(t)},
		breed{name: "tables", pool: [][]byte{rowcodec.DefaultTables().Bytes(), rowcodec.Untrained().Tables().Bytes()}, read: makeCodec(t), dear: 100},
	)
}

// readAgain parses a message, writes what was read, and reads that.
func readAgain(m sample) func(*testing.T, []byte) error {
	return func(t *testing.T, b []byte) error {
		got, err := m.parse(b)
		if m.kind != 0 {
			require.NotEmpty(t, wire.Describe(m.kind, b))
		}
		if message, ok := got.(wire.Message); ok && err == nil {
			again, err := m.parse(message.Append(nil))
			require.NoError(t, err)
			require.Equal(t, got, again)
		}
		if input, ok := got.(wire.Input); ok && err == nil {
			require.Equal(t, b, input.Append(nil), "an input has one form")
		}
		if s, ok := got.(structureContent); ok {
			again := wire.AppendStructureHeader(nil, s.First, s.Tick)
			for _, r := range s.Records {
				again = wire.AppendRecord(again, r)
			}
			require.Equal(t, b, again, "structure has one form")
		}
		return err
	}
}

// readFrames takes a stream apart, in pieces.
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
			require.NotEmpty(t, wire.Describe(kind, body))
		}
	}
	require.True(t, bytes.HasPrefix(b, frames), "frames have one form")
	require.Equal(t, len(b)-len(frames), r.Buffered())
	return nil
}

// msgpackValues are arguments of commands, as games make them.
func msgpackValues(t *testing.T) (all [][]byte) {
	for _, v := range []any{
		map[string]any{"a": []any{1, -1, 2.5, nil, true, "x", []byte{1}, map[string]int64{"b": 1 << 40}}},
		[]any{uint64(1) << 63, float32(1), []string{"one", "two"}, [][]int{{1, 2}, {}, {3}}},
		make([]byte, 300), "some text that is longer than thirty-one bytes", uint16(7), nil,
	} {
		b, err := msgpack.Marshal(v)
		require.NoError(t, err)
		all = append(all, b)
	}
	return all
}

// readAny: what passes is safe for a decoder, also for one that asks no types.
func readAny(t *testing.T, b []byte) error {
	if err := wire.CheckMsgpack(b); err != nil {
		return err
	}
	var anything any
	_ = msgpack.Unmarshal(b, &anything)
	return nil
}

func codecBytes(t *testing.T) []byte {
	_, _, _, b := rowtest.Coded(6)
	return b
}

// readRow reads a row against its past, writes it, and reads that.
func readRow(t *testing.T) func(*testing.T, []byte) error {
	c, row, past, _ := rowtest.Coded(6)
	got, again := rowtest.BlankRow(c.Schema(), row), rowtest.BlankRow(c.Schema(), row)
	var r bitio.Reader
	return func(t *testing.T, b []byte) error {
		r.Reset(b)
		if err := c.Read(&r, &got, past); err != nil {
			return err
		}
		require.NoError(t, rowtest.Lawful(c.Schema(), got))
		var w bitio.Writer
		c.Append(&w, got, past)
		r.Reset(w.Bytes())
		require.NoError(t, c.Read(&r, &again, past))
		require.Equal(t, got, again)
		return nil
	}
}

// makeCodec: whatever tables are accepted, a codec made of them reads and writes.
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
