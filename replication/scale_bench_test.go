package replication_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// manyViewers is a world with many viewers, spread evenly and at random.
type manyViewers struct {
	t        testing.TB
	world    *world.World
	rep      *replication.Replicator
	crate    world.KindID
	crowd    []bulk.Handle
	viewers  []*replication.Viewer
	written  []uint32 // structure records sent, by viewer
	rand     *rand.Rand
	half     float32
	bytes    int
	messages wire.FrameReader
}

// newManyViewers spreads entities over a square. On average, nearby entities are within a
// viewer's enter radius.
func newManyViewers(t testing.TB, entities, viewers, nearby int, c replication.Config) *manyViewers {
	skipWithoutWorkers(t, c)
	a := &manyViewers{t: t, rand: rand.New(rand.NewPCG(1, 2)), written: make([]uint32, viewers)}
	// The square is larger than the circle by the ratio of the entities.
	radius := c.WithDefaults().EnterRadius
	a.half = radius / 2 * float32(math.Sqrt(math.Pi*float64(entities)/float64(nearby)))
	w := must.Get(world.New(world.Config{
		Seed: 1, Gravity: -1, TickHz: 30, MaxEntities: 1 << 20,
		HalfExtent: world.Vec3{X: max(a.half+radius, 512), Y: 64, Z: max(a.half+radius, 512)},
	}))
	a.crate = must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	a.world = w
	a.rep = must.Get(replication.New(w, s, c))
	for range entities {
		a.crowd = append(a.crowd, a.spawn())
	}
	for i := range viewers {
		a.viewers = append(a.viewers, a.rep.AddViewer(a.crowd[i]))
	}
	return a
}

func (a *manyViewers) spawn() bulk.Handle {
	return must.Get(a.world.Spawn(a.crate, world.Vec3{X: a.anywhere(), Y: 1 + 4*a.rand.Float32(), Z: a.anywhere()}, world.Vec3{}))
}

func (a *manyViewers) anywhere() float32 { return (2*a.rand.Float32() - 1) * a.half }

// step moves a share of the entities and steps the world.
func (a *manyViewers) step(share float32, speed float32) {
	for _, h := range a.crowd {
		if a.rand.Float32() < share {
			a.world.SetVelocity(h, world.Vec3{X: speed * (2*a.rand.Float32() - 1), Z: speed * (2*a.rand.Float32() - 1)})
		} else if v, _ := a.world.Velocity(h); v != (world.Vec3{}) {
			a.world.SetVelocity(h, world.Vec3{})
		}
	}
	a.world.Step()
	a.rep.AfterStep()
}

// send makes a snapshot for every viewer.
func (a *manyViewers) send() {
	a.rep.Capture()
	a.snapshots()
}

func (a *manyViewers) snapshots() {
	for i, u := range a.rep.Snapshots(a.viewers) {
		a.bytes += bytesOf(u)
		if len(u.Stream) > 0 {
			a.written[i] += a.records(u.Stream)
		}
	}
}

// records counts the structure records of a stream.
func (a *manyViewers) records(stream []byte) (n uint32) {
	a.messages.Feed(stream)
	for {
		_, body, ok, err := a.messages.Next()
		require.NoError(a.t, err)
		if !ok {
			return n
		}
		m := must.Get(wire.ParseStructure(body))
		for _, err := range m.Records() {
			require.NoError(a.t, err)
			n++
		}
	}
}

// acknowledge makes every client apply everything that it was sent.
func (a *manyViewers) acknowledge() {
	for i, v := range a.viewers {
		require.NoError(a.t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: a.written[i]}))
	}
}

// settle runs until no more entities enter.
func (a *manyViewers) settle() {
	for {
		before := a.interest()
		a.step(0, 0)
		a.send()
		a.acknowledge()
		if a.interest() == before && before > 0 {
			return
		}
	}
}

func (a *manyViewers) interest() (n int) {
	for _, v := range a.viewers {
		n += v.Stats().Interest
	}
	return n
}

// reportLeast runs f for each of b's rounds and reports the median and the minimum time
// in microseconds a viewer. On a shared machine the minimum is the cost of the work.
func (a *manyViewers) reportLeast(b *testing.B, before, f, after func()) {
	var rounds []float64
	for b.Loop() {
		b.StopTimer()
		before()
		from := b.Elapsed()
		b.StartTimer()
		f()
		b.StopTimer()
		rounds = append(rounds, float64((b.Elapsed()-from).Nanoseconds())/1000)
		after()
		b.StartTimer()
	}
	slices.Sort(rounds)
	b.ReportMetric(rounds[0]/1000, "least-ms")
	b.ReportMetric(rounds[len(rounds)/2]/1000, "median-ms")
	b.ReportMetric(float64(a.interest())/float64(len(a.viewers)), "nearby")
}

// BenchmarkInterest measures 200 viewers, each with 1,000 of 10,000 entities nearby. In
// "still" nothing moves, in "walking" the viewers do.
func BenchmarkInterest(b *testing.B) {
	for _, name := range []string{"still", "walking"} {
		b.Run(name, func(b *testing.B) {
			a := newManyViewers(b, 10_000, 200, 1_240, replication.Config{SnapshotHz: 30, BudgetBytesPerSecond: 4_000_000})
			a.settle()
			a.reportLeast(b, func() {
				if name == "walking" {
					a.walk()
				}
				a.world.Step()
				a.rep.AfterStep()
				a.rep.Capture()
			}, a.snapshots, a.acknowledge)
		})
	}
}

// walk moves the viewers' foci.
func (a *manyViewers) walk() {
	for i := range a.viewers {
		a.world.SetVelocity(a.crowd[i], world.Vec3{X: 6 * (2*a.rand.Float32() - 1), Z: 6 * (2*a.rand.Float32() - 1)})
	}
}

// BenchmarkReplicate measures 1,000 viewers at 30 Hz, each with 200 of 20,000 entities in
// view. A fifth of the entities change in each tick.
func BenchmarkReplicate(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) { benchmarkReplicate(b, workers) })
	}
}

func benchmarkReplicate(b *testing.B, workers int) {
	a := newManyViewers(b, 20_000, 1_000, 220, replication.Config{SnapshotHz: 30, Workers: workers})
	defer a.rep.Close()
	a.settle()
	for range 20 {
		a.step(0.2, 2)
		a.send()
		a.acknowledge()
	}
	a.bytes = 0
	n, before := 0, a.rep.Stats()
	a.reportLeast(b, func() { a.step(0.2, 2); n++ }, func() { a.send(); a.acknowledge() }, func() {})
	b.ReportMetric(float64(a.bytes)/float64(n)/1000, "B/viewer")
	after := a.rep.Stats()
	rows := float64(after.Rows - before.Rows)
	b.ReportMetric(rows/float64(n)/1000, "rows/viewer")
	b.ReportMetric(float64(after.RowsCopied-before.RowsCopied)/rows, "shared")
}
