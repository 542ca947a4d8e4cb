package replication

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestCodingKey: a key holds every input that affects the bits of a row, and orders rows by
// slot.
func TestCodingKey(t *testing.T) {
	keys := map[codingKey]bool{}
	for _, slot := range []uint32{0, 1, 77, wire.MaxSlots - 1} {
		for _, b := range []wire.Baseline{{}, {Age: 1}, {Age: 1<<ageBits - 1}, {Age: 7, Gap: 1}, {Age: 1<<ageBits - 1, Gap: 1<<gapBits - 1}} {
			k := codingKey(slot)<<slotShift | codingKey(b.Age)<<ageShift | codingKey(b.Gap)<<gapShift | nonzeroKey
			for _, k := range []codingKey{k, k | anchoredKey, k | ownedKey} {
				require.Equal(t, slot, k.slot())
				require.Equal(t, b, k.baseline())
				require.Equal(t, k&anchoredKey != 0, k.anchored())
				require.Equal(t, k&ownedKey != 0, k.owned())
				require.NotZero(t, k)
				keys[k] = true
			}
			require.LessOrEqual(t, codingKey(slot)<<slotShift, k)
			require.Less(t, (k | anchoredKey).slot(), slot+1)
			require.Equal(t, k.baselineBits(), (k | anchoredKey).baselineBits())
		}
	}
	require.Len(t, keys, 4*5*3)
}

// TestMajorityBaseline: the baseline of more than half of the rows is found, whatever
// their order, ownership and anchors.
func TestMajorityBaseline(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		of := wire.Baseline{Age: 1 + r.Uint32N(9), Gap: r.Uint32N(4)}
		n := 1 + r.IntN(40)
		var keys []codingKey
		for i := range n {
			b := of
			if i >= n/2+1 {
				b = wire.Baseline{Age: 10 + r.Uint32N(3), Gap: r.Uint32N(3)}
			}
			keys = append(keys, codingKey(b.Age)<<ageShift|codingKey(b.Gap)<<gapShift|nonzeroKey|codingKey(r.Uint64N(4))<<1)
		}
		r.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		for i := range keys {
			keys[i] |= codingKey(i) << slotShift
		}
		require.Equal(t, of, majorityBaseline(keys))
	}
}

// TestHorizon: a row has no baseline if the key has no room for the baseline, or if the
// server or the client has forgotten it.
func TestHorizon(t *testing.T) {
	const day = 24 * 3600 * 60
	h := horizon{tick: 10 * day, keptTicks: 31 * 3}
	at := func(acked, sent, oldest uint32, gap uint16) wire.Baseline {
		k := h.keyFor(5, &viewerRow{ackedTick: acked, sentTick: sent, olderGap: gap}, &slotSummary{oldest: oldest})
		require.Equal(t, uint32(5), k.slot())
		return k.baseline()
	}
	now := h.tick
	require.Equal(t, wire.Baseline{Age: 10, Gap: 3}, at(now-10, now-1, now-13, 3))
	require.Equal(t, wire.Baseline{Age: 10}, at(now-10, now-1, now-13, 0), "there is no older state")
	require.Equal(t, wire.Baseline{Age: 10}, at(now-10, now-1, now-12, 3), "the server forgot the older state")
	require.Equal(t, wire.Baseline{Age: 49}, at(now-49, now-1, now-60, 3), "the motion is too old")
	require.Equal(t, wire.Baseline{Age: 48, Gap: 3}, at(now-48, now-1, now-60, 3))
	require.Equal(t, wire.Baseline{}, at(now-10, now-1, now-9, 3), "the server forgot the baseline")
	require.Equal(t, wire.Baseline{}, at(now-94, now-1, 1, 3), "the client forgot the baseline")
	require.Equal(t, wire.Baseline{Age: 93}, at(now-93, now-1, 1, 3), "the client forgot the older state")
	require.Equal(t, wire.Baseline{}, at(now-4*day, now-4*day, 1, 3), "no room for an age of days")
	require.Equal(t, wire.Baseline{Age: day}, at(now-day, now-day, 1, 3))
	h.keptTicks = 1 << 20
	require.Equal(t, wire.Baseline{Age: 2, Gap: 1<<gapBits - 1}, at(now-2, now-1, 1, 1<<gapBits-1))
	require.Equal(t, wire.Baseline{Age: 2}, at(now-2, now-1, 1, 1<<gapBits), "no room for a gap of minutes")
}

// TestAcknowledgeModel compares the tick differences of a row with ticks stored in
// full.
func TestAcknowledgeModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		tick := 1 + r.Uint32N(1000)
		row := viewerRow{ackedTick: tick}
		acked, older, next := tick, uint32(0), tick
		for range 200 {
			step := 1 + r.Uint32N(5)
			if r.UintN(20) == 0 {
				step = r.Uint32N(200_000)
			}
			tick += step
			if step == 0 {
				continue
			}
			if tick-next >= minMotionTicks {
				older, next = next, tick
			} else if tick-acked == 1 && tick%minMotionTicks == 0 {
				next = tick
			}
			acked = tick
			row.advanceBaseline(tick)
			require.Equal(t, acked, row.ackedTick)
			require.Equal(t, next, tick-uint32(row.nextGap))
			switch {
			case row.olderGap != 0:
				require.Equal(t, older, tick-uint32(row.olderGap))
			case older != 0:
				require.Greater(t, tick-older, uint32(1<<gapBits), "forgotten, though near")
				older = 0
			}
		}
	}
}

// TestRowCacheFull: when the cache is full, rows are still coded, and stored rows stay
// unchanged.
func TestRowCacheFull(t *testing.T) {
	racetest.SkipSequential(t)
	const slots = maxCachedRows + 500
	rep, _, all := newRocks(t, slots, Config{})
	bits := func(c *rowCache, chunk rowcodec.Chunk) []byte {
		var out bitio.Writer
		c.chunks.Copy(&out, chunk)
		return out.Bytes()
	}
	var c rowCache
	for range 2 { // a second frame has room again
		c.dropRows()
		chunks := make([]rowcodec.Chunk, slots)
		for i, h := range all {
			chunks[i] = c.encodeRow(rep.frame, codingKey(h.Index())<<slotShift|nonzeroKey, nil)
			if i%100 == 99 {
				c.dropUnstored()
			}
		}
		c.dropUnstored()
		require.Equal(t, maxCachedRows, c.count)
		made := c.encoded
		for i, h := range all {
			key := codingKey(h.Index())<<slotShift | nonzeroKey
			again := c.encodeRow(rep.frame, key, nil)
			if i < maxCachedRows {
				if again != chunks[i] || c.encoded != made {
					require.Fail(t, "not kept", "coding %d: %v, want %v", i, again, chunks[i])
				}
				if i%997 != 0 {
					continue
				}
			}
			var fresh rowCache
			fresh.dropRows()
			require.Equal(t, bits(&fresh, fresh.encodeRow(rep.frame, key, nil)), bits(&c, again), "slot %d", h.Index())
			c.dropUnstored()
		}
		require.Equal(t, made+slots-maxCachedRows, c.encoded, "rows that were not stored are encoded again")
		require.Equal(t, c.keptLen, c.chunks.Len(), "and dropped")
	}
}

// newRocks makes a world of rocks within 20 m, and its first frame.
func newRocks(t *testing.T, rocks int, c Config) (*Replicator, *world.World, []bulk.Handle) {
	w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1, MaxEntities: rocks + 1}))
	kind := must.Get(w.AddKind(world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	rep := must.Get(New(w, s, c))
	random := rand.New(rand.NewPCG(4, 4))
	var all []bulk.Handle
	for range rocks {
		h := must.Get(w.Spawn(kind, world.Vec3{X: 20 * random.Float32(), Z: 20 * random.Float32()}, world.Vec3{}))
		all = append(all, h)
	}
	w.Step()
	rep.AfterStep()
	rep.Capture()
	return rep, w, all
}

// TestSharedDatagram: a datagram made for one viewer is copied for the next with the
// same rows, but not for a viewer with too little budget.
func TestSharedDatagram(t *testing.T) {
	rep, w, all := newRocks(t, 60, Config{SnapshotHz: 30, BudgetBytesPerSecond: 60_000})
	var viewers []*Viewer
	for range 3 {
		viewers = append(viewers, rep.AddViewer(all[0]))
	}
	for range 4 {
		w.Step()
		rep.AfterStep()
		rep.Capture()
		for _, v := range viewers {
			v.Snapshot()
			require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Structure: v.outbox.structure.written}))
		}
	}
	for _, h := range all {
		w.SetVelocity(h, world.Vec3{X: 1})
	}
	w.Step()
	rep.AfterStep()
	rep.Capture()

	var datagrams [][][]byte
	viewers[1].outbox.tokens = -1800 // the snapshot refills the budget by 2,000 bytes
	copied := rep.Stats().RowsCopied
	for _, v := range viewers {
		datagrams = append(datagrams, v.Snapshot().Datagrams)
	}
	require.Len(t, datagrams[0], 1)
	require.Greater(t, len(datagrams[0][0]), 250)
	for _, d := range datagrams[1] {
		require.LessOrEqual(t, len(d), 200)
	}
	require.Equal(t, datagrams[0], datagrams[2])
	require.Equal(t, uint64(60), rep.Stats().RowsCopied-copied-uint64(rowsOf(datagrams[1])))
}

func rowsOf(datagrams [][]byte) (n int) {
	for _, d := range datagrams {
		var rows bitio.Reader
		h := must.Get(wire.ParseStateHeader(d, &rows))
		n += h.Rows
	}
	return n
}
