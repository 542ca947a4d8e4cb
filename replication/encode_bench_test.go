package replication

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

type cubePose struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
}

// BenchmarkEncode is 200 viewers of 901 entities of which 72 change in a tick,
// all of them seen by everybody; viewers acknowledge after 2 to 12 ticks. It
// reports the time of encoding for all, the rows and bytes of a tick, and the
// time for one row of one viewer.
func BenchmarkEncode(b *testing.B) {
	const viewers, entities, moving, ages = 200, 901, 72, 11
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(b, err)
	poses, err := world.Register[cubePose](w, "pose")
	require.NoError(b, err)
	kind, err := w.AddKind(world.Kind{Name: "cube"})
	require.NoError(b, err)
	s := wire.NewSchema()
	require.NoError(b, wire.AddComponent[cubePose](s, "pose"))
	r, err := New(w, s, Config{SnapshotHz: 60, BudgetBytesPerSecond: 10_000_000})
	require.NoError(b, err)
	var all []world.Entity
	for i := range entities {
		h, err := w.Spawn(kind, world.Vec3{}, world.Vec3{})
		require.NoError(b, err)
		poses.Set(h, cubePose{Position: [3]float32{float32(i%30) * 2, 1, float32(i/30) * 2}, Facing: [4]float32{3: 1}})
		all = append(all, h)
	}
	for range viewers {
		r.AddViewer(0)
	}
	tick := 0
	step := func() {
		for i := range moving {
			h := all[(i*12+tick/200)%entities]
			p := poses.Mut(h)
			angle := float64(tick)/30 + float64(i)
			p.Position[0] += float32(math.Cos(angle) / 20)
			p.Position[1] = 1 + float32(math.Abs(math.Sin(angle*3)))
			p.Facing = [4]float32{0, float32(math.Sin(angle)), 0, float32(math.Cos(angle))}
		}
		w.Step()
		r.AfterStep()
		r.Capture()
		tick++
	}
	late := func(i int) uint32 { return uint32(2 + i%ages) }
	for range 60 {
		step()
		for i, v := range r.viewers {
			v.Snapshot()
			if v.Seq() > late(i) {
				require.NoError(b, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Seq() - late(i), Mask: 1<<64 - 1, Structure: v.structure.written}))
			}
		}
	}
	before := r.Stats()
	var spent time.Duration
	n := 0
	for b.Loop() {
		step()
		for i, v := range r.viewers {
			require.NoError(b, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Seq() - late(i), Mask: 1<<64 - 1, Structure: v.structure.written}))
			v.work.turnTo(r)
			v.refill()
			v.updateInterest()
		}
		start := time.Now()
		for _, v := range r.viewers {
			v.selectRows()
			v.encodeSnapshots()
		}
		spent += time.Since(start)
		n++
	}
	after := r.Stats()
	rows := float64(after.Rows - before.Rows)
	b.ReportMetric(float64(spent.Microseconds())/float64(n), "µs/tick")
	b.ReportMetric(rows/float64(n), "rows/tick")
	b.ReportMetric(float64(spent.Nanoseconds())/rows, "ns/row")
	b.ReportMetric(float64(after.RowsCopied-before.RowsCopied)/rows, "copied")
	b.ReportMetric(float64(after.StateBytes-before.StateBytes)/float64(n)/viewers, "bytes/viewer")
}
