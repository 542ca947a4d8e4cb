package replication

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestMostUrgentFirst: if not all rows fit, a snapshot takes the most urgent ones in
// their order, and nearly fills its datagrams.
func TestMostUrgentFirst(t *testing.T) {
	type pose struct {
		X, Y float32 `net:"range=-512..512,step=1/512,predict=linear"`
	}
	random := rand.New(rand.NewPCG(1, 6))
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	poses, err := world.Register[pose](w, "pose")
	require.NoError(t, err)
	var kinds []world.KindID
	for _, priority := range []float32{1, 2.5, 7} {
		kind, err := w.AddKind(world.Kind{Name: string('a' + rune(len(kinds))), Priority: priority})
		require.NoError(t, err)
		kinds = append(kinds, kind)
	}
	s := schema.New()
	require.NoError(t, schema.Add[pose](s, "pose"))
	r, err := New(w, s, Config{SnapshotHz: 60, BudgetBytesPerSecond: 100_000})
	require.NoError(t, err)
	var all []world.Entity
	for i := range 700 {
		h, err := w.Spawn(kinds[i%len(kinds)], world.Vec3{}, world.Vec3{})
		require.NoError(t, err)
		all = append(all, h)
	}
	v := r.AddViewer(0)
	crowded, room, used := 0, 0, 0
	for range 200 {
		for _, h := range all {
			if random.IntN(3) > 0 {
				poses.Set(h, pose{random.Float32() * 500, random.Float32()})
			}
		}
		w.Step()
		r.AfterStep()
		r.Capture()
		u := v.Snapshot()
		require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Seq(), Mask: 1<<64 - 1, Structure: v.structure.written}))
		chosen, order := &v.work.selection, v.work.ranking.to
		if v.overflow == 0 || len(v.work.waiting) < v.overflow || len(u.Datagrams) < 2 {
			continue
		}
		crowded++
		n := 0
		for n < len(order) && chosen.sent.has(order[n]) {
			n++
		}
		for _, i := range order[n:] {
			require.False(t, chosen.sent.has(i), "row %d was sent before more urgent ones", i)
		}
		rows := 0
		for i, d := range u.Datagrams {
			var bits bitio.Reader
			h, err := wire.ParseStateHeader(d, &bits)
			require.NoError(t, err)
			rows += h.Rows
			if i+1 < len(u.Datagrams) && h.Rows < wire.MaxRows {
				room += wire.MaxDatagram
				used += len(d)
			}
		}
		require.Equal(t, n, rows)
	}
	require.Greater(t, crowded, 50)
	require.Greater(t, float64(used), 0.985*float64(room), "there was room for more rows")
}

// A viewer that sends by priority may have nothing to send.
func TestCodingOfNoRows(t *testing.T) {
	require.Equal(t, wire.RowCoding{}, rowCoding(nil))
}
