package client_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// memoryFlooder is a server that makes a client keep as much memory as possible per byte: handles,
// entities without components, and their states in rows of a few bits.
type memoryFlooder struct {
	session *client.Session
	codec   *rowcodec.Codec
	number  uint32 // structure records sent
	seq     uint32
	sent    int // bytes
	now     time.Duration
}

const floodTick = 1000

func newMemoryFlooder(t testing.TB, limits client.SessionConfig) *memoryFlooder {
	limits.Schema = schema.New()
	schema.Define[schema.Body](limits.Schema, "body")
	schema.Define[rider](limits.Schema, "rider")
	require.NoError(t, limits.Schema.Err())
	return newMemoryFlooderOf(t, limits)
}

// newMemoryFlooderOf is newMemoryFlooder with the schema of limits.
func newMemoryFlooderOf(t testing.TB, limits client.SessionConfig) *memoryFlooder {
	f := &memoryFlooder{codec: rowcodec.New(limits.Schema, rowcodec.DefaultTables())}
	f.session = must.Get(client.NewSession(limits))
	w := stage.Welcome(limits.Schema)
	w.SnapshotHz, w.MaxSlots, w.Tick = 60, wire.MaxSlots, 1
	require.NoError(t, f.stream(wire.AppendMessage(nil, w)))
	return f
}

// stream sends bytes of the stream, slowly enough that memory is the only limit.
func (f *memoryFlooder) stream(b []byte) error {
	f.sent += len(b)
	f.now += time.Second
	return f.session.Receive(f.now, b)
}

// enterEmpty enters an entity without a component.
func enterEmpty(h bulk.Handle) wire.Record {
	return wire.Record{Op: wire.OpEnter, Handle: h, Row: []byte{0}}
}

// records sends n records in one message, about slots first, first+apart and so on.
func (f *memoryFlooder) records(of func(bulk.Handle) wire.Record, first, apart, n uint32) error {
	var records []wire.Record
	for i := range n {
		records = append(records, of(h(first+i*apart, 1)))
	}
	return f.structure(records...)
}

func (f *memoryFlooder) structure(records ...wire.Record) error {
	body := stage.Structure(f.number+1, floodTick, records...)
	f.number += uint32(len(records))
	return f.stream(wire.AppendFrame(nil, wire.TypeStructure, body))
}

// state sends a state of tick for n entities from slot first on.
func (f *memoryFlooder) state(tick, first, n uint32) error {
	f.seq++
	var fold uint64
	for i := range n {
		fold = wire.Fold(fold, h(first+i, 1))
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: f.seq, Tick: tick, Structure: f.number, Fold: wire.Fold16(fold), Rows: int(n)}))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	for i := range n {
		skip := uint32(0)
		if i == 0 {
			skip = first
		}
		wire.AppendRowHeader(&w, wire.RowCoding{}, skip, wire.Baseline{})
	}
	row := rowschema.Row{Values: make([]uint32, f.codec.Schema().Values())}
	for range n {
		f.codec.Append(&w, row, nil)
	}
	f.sent += len(w.Bytes())
	outcome, err := f.session.ReceiveDatagram(w.Bytes(), 0)
	if err == nil && outcome != client.Applied {
		panic(outcome)
	}
	return err
}

// liveBytes returns how much live memory do adds.
func liveBytes(do func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	do()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// A hostile server cannot make a client keep more than MaxBytes: the message that
// exceeds it ends the session and does not change the replica.
func TestMemoryIsBounded(t *testing.T) {
	const (
		perMessage = 4096
		most       = 4 << 20 // of MaxBytes
		// For these sizes the allocator rounds up by a fifth at most. The session has buffers
		// for two messages.
		allowed = most*6/5 + 4*wire.MaxStreamMessage
	)
	for _, c := range []struct {
		name string
		next func(f *memoryFlooder, i uint32) error
	}{
		{"entities", func(f *memoryFlooder, i uint32) error { return f.records(enterEmpty, i*perMessage, 1, perMessage) }},
		{"dead", func(f *memoryFlooder, i uint32) error { return f.records(destroy, i*perMessage, 1, perMessage) }},
		{"hidden, far apart", func(f *memoryFlooder, i uint32) error { return f.records(leave, i*512, 4096, 512) }},
		{"the last slot", func(f *memoryFlooder, i uint32) error { return f.records(leave, wire.MaxSlots-1-i*1024, 1, 1) }},
		{"states", func(f *memoryFlooder, i uint32) error {
			if i == 0 {
				return f.records(enterEmpty, 0, 1, perMessage)
			}
			const datagrams = perMessage / wire.MaxRows
			return f.state(floodTick+1+i/datagrams, i%datagrams*wire.MaxRows, wire.MaxRows)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			racetest.SkipUnchecked(t)
			f := newMemoryFlooder(t, client.SessionConfig{MaxEntities: 1 << 24, MaxBytes: most})
			var err error
			var before uint64
			began := mutate.Allocated()
			live := liveBytes(func() {
				for i := uint32(0); err == nil && f.sent < 10_500_000; i++ {
					before = f.session.Replica().Digest()
					err = c.next(f, i)
				}
			})
			require.ErrorIs(t, err, client.ErrLimit)
			require.ErrorContains(t, err, "MaxBytes is "+strconv.Itoa(most))
			require.ErrorIs(t, err, &wire.Error{Code: wire.TooMuch})
			r := f.session.Replica()
			require.Equal(t, before, r.Digest(), "a rejected message changes nothing")
			require.Equal(t, r.CountedBytes(), r.KeptBytes())
			t.Logf("%d bytes sent, %d counted, %d live, %d allocated", f.sent, r.Stats().Bytes, live, mutate.Allocated()-began)
			require.LessOrEqual(t, r.Stats().Bytes, most+wire.MaxStreamMessage*8, "scratch of the rejected message")
			require.LessOrEqual(t, live, int64(allowed))
			runtime.KeepAlive(f)
		})
	}
}

// MaxEntities bounds the entities in view after each record of a message.
func TestEntitiesAreBounded(t *testing.T) {
	enter := func(slot, generation uint32) wire.Record { return enterEmpty(h(slot, generation)) }
	for _, c := range []struct {
		name    string
		records []wire.Record
		breach  bool
	}{
		{"one more", []wire.Record{enter(4, 1)}, true},
		{"one more, and one leaves", []wire.Record{enter(4, 1), leave(h(1, 1))}, true},
		{"one leaves, and one more", []wire.Record{leave(h(1, 1)), enter(4, 1)}, false},
		{"one dies, and one more", []wire.Record{destroy(h(1, 1)), enter(4, 1)}, false},
		{"one dies twice, and two more", []wire.Record{destroy(h(1, 1)), destroy(h(1, 1)), enter(4, 1), enter(5, 1)}, true},
		{"a stranger leaves, and one more", []wire.Record{leave(h(1, 3)), enter(4, 1)}, true},
		{"the dead leaves, and one more", []wire.Record{destroy(h(1, 1)), leave(h(1, 1)), enter(4, 1), enter(5, 1)}, true},
		{"one that is there", []wire.Record{enter(1, 1), enter(1, 1)}, false},
		{"in the place of another", []wire.Record{enter(1, 3), enter(2, 3)}, false},
		{"a later tenant dies, and one more", []wire.Record{destroy(h(1, 5)), enter(4, 1)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newMemoryFlooder(t, client.SessionConfig{MaxEntities: 3})
			require.NoError(t, f.records(enterEmpty, 1, 1, 3))
			before := f.session.Replica().Digest()
			err := f.structure(c.records...)
			if !c.breach {
				require.NoError(t, err)
				require.LessOrEqual(t, f.session.Replica().Len(), 3)
				return
			}
			require.ErrorIs(t, err, client.ErrLimit)
			require.ErrorContains(t, err, "MaxEntities is 3")
			require.Equal(t, before, f.session.Replica().Digest(), "a rejected message changes nothing")
		})
	}
}

func TestLimitsAreChecked(t *testing.T) {
	for _, c := range []struct {
		entities, bytes int
		want            string
	}{
		{0, 0, ""},
		{1, 1 << 20, ""},
		{-1, 0, "MaxEntities is -1"},
		{0, -1, "MaxBytes is -1"},
		{0, 1<<20 - 1, "MaxBytes is 1048575, want at least 1048576"},
	} {
		_, err := client.NewSession(client.SessionConfig{Schema: schema.New(), MaxEntities: c.entities, MaxBytes: c.bytes})
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}
