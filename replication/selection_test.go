package replication

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

type pose struct {
	X, Y float32 `net:"range=-512..512,step=1/512,predict=linear"`
}

// newPoses makes a world of entities with a pose. Their kinds alternate and have these
// priorities.
func newPoses(t *testing.T, entities, budget int, priorities ...float32) (*world.World, *Replicator, *world.Component[pose], []world.Entity) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	poses := must.Get(world.Register[pose](w, "pose"))
	var kinds []world.KindID
	for _, priority := range priorities {
		kind := must.Get(w.AddKind(world.Kind{Name: string('a' + rune(len(kinds))), Priority: priority}))
		kinds = append(kinds, kind)
	}
	s := schema.New()
	schema.Define[pose](s, "pose")
	require.NoError(t, s.Err())
	r := must.Get(New(w, s, Config{SnapshotHz: 60, BudgetBytesPerSecond: budget}))
	var all []world.Entity
	for i := range entities {
		h := must.Get(w.Spawn(kinds[i%len(kinds)], world.Vec3{}, world.Vec3{}))
		all = append(all, h)
	}
	return w, r, poses, all
}

// TestMostUrgentFirst: if not all rows fit, a snapshot takes the most urgent ones in
// their order, and nearly fills its datagrams.
func TestMostUrgentFirst(t *testing.T) {
	racetest.SkipSequential(t)
	random := rand.New(rand.NewPCG(1, 6))
	w, r, poses, all := newPoses(t, 700, 100_000, 1, 2.5, 7)
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
		require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: v.outbox.structure.written}))
		p := &r.workers.workspaces[0].packer
		chosen, order := &p.selection, p.ranking.to
		if v.datagrams.overflow == 0 || len(p.waiting) < v.datagrams.overflow || len(u.Datagrams) < 2 {
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
			h := must.Get(wire.ParseStateHeader(d, &bits))
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

// newDrifting makes a world of entities that all change in each tick, and a viewer of them.
func newDrifting(t *testing.T, entities, budget int) (v *Viewer, _ []world.Entity, snapshot func() Update) {
	random := rand.New(rand.NewPCG(1, 8))
	w, r, poses, all := newPoses(t, entities, budget, 1)
	v = r.AddViewer(all[entities-1])
	return v, all, func() Update {
		for _, h := range all {
			poses.Set(h, pose{random.Float32() * 500, random.Float32()})
		}
		w.Step()
		r.AfterStep()
		r.Capture()
		u := v.Snapshot()
		require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: v.outbox.structure.written}))
		return u
	}
}

// Rows that fill several datagrams and fit the budget are sent in the order of their slots;
// only the focus is always in the first datagram.
func TestBySlotWhileAllFit(t *testing.T) {
	v, all, snapshot := newDrifting(t, 700, 1_000_000)
	for range 10 {
		snapshot()
	}
	for range 20 {
		datagrams := uint32(len(snapshot().Datagrams))
		require.Greater(t, datagrams, uint32(1))
		last, rows := -1, 0
		for back := int(datagrams) - 1; back >= 0; back-- {
			sent := v.delivery.sent.rowsOf(v.delivery.sent.datagramAt(uint32(back)))
			rows += len(sent)
			for i, rowIndex := range sent {
				if v.members.handles[rowIndex] == v.interest.focus {
					require.Equal(t, int(datagrams)-1, back)
					require.Equal(t, len(sent)-1, i)
					continue
				}
				require.Greater(t, int(v.members.handles[rowIndex].Index()), last)
				last = int(v.members.handles[rowIndex].Index())
			}
		}
		require.Equal(t, len(all), rows)
		for _, row := range v.members.rows {
			require.Zero(t, row.flags&passedOver)
		}
	}
}

// If rows that seemed to fit do not, the next snapshot selects rows by priority.
func TestByPriorityAfterAWrongGuess(t *testing.T) {
	v, all, snapshot := newDrifting(t, 700, 100_000)
	for range 10 {
		snapshot()
	}
	require.Len(t, v.members.rows, len(all))
	for range 20 {
		v.datagrams.rowBits = 1
		snapshot()
		require.Zero(t, v.datagrams.rowBits)
		require.Greater(t, len(v.replicator.workers.workspaces[0].packer.waiting), 256)
		snapshot()
		waiting := 0
		for i := range v.members.rows {
			if v.members.rows[i].flags&passedOver != 0 {
				waiting++
			}
		}
		require.Positive(t, waiting)
	}
}
