package replication

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// benchWorld is a world of walkers, with the time that each part of a tick takes. It has no
// sockets: clients acknowledge each snapshot before the next.
type benchWorld struct {
	tb      testing.TB
	world   *world.World
	rep     *Replicator
	kind    world.KindID
	half    float32
	walkers []bulk.Handle
	avatars []bulk.Handle
	sparks  []bulk.Handle // oldest first
	rand    *rand.Rand
	tick    int

	turnEvery int    // ticks after which a walker turns
	evicted   []byte // written between ticks: the transport also evicts the memory that snapshots read

	capture, acks, interest, collect, enters, encode []float64 // ms a tick
}

// newBenchWorld makes a square world with resting and walking entities. Each viewer's focus is a
// walking one.
func newBenchWorld(tb testing.TB, half float32, resting, walking, viewers int, c Config) *benchWorld {
	w := must.Get(world.New(world.Config{Seed: 1, Gravity: -1, TickHz: 20, MaxEntities: 1 << 16, HalfExtent: world.Vec3{X: half, Y: 64, Z: half}}))
	s := &benchWorld{tb: tb, world: w, half: half, turnEvery: 1, evicted: make([]byte, 4<<20), rand: rand.New(rand.NewPCG(1, 5))}
	s.kind = must.Get(w.AddKind(world.Kind{Name: "walker", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	sch := schema.New()
	schema.Define[schema.Body](sch, schema.BodyComponent)
	require.NoError(tb, sch.Err())
	s.rep = must.Get(New(w, sch, c))
	tb.Cleanup(s.rep.Close)
	var all []bulk.Handle
	for range resting + walking + viewers {
		all = append(all, s.spawn())
	}
	s.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	s.avatars, s.walkers = all[:viewers], all[viewers:viewers+walking]
	for _, h := range s.avatars {
		s.rep.AddViewer(h)
	}
	return s
}

func (s *benchWorld) spawn() bulk.Handle {
	anywhere := func() float32 { return (2*s.rand.Float32() - 1) * s.half * 0.99 }
	return must.Get(s.world.Spawn(s.kind, world.Vec3{X: anywhere(), Y: 2 * s.rand.Float32(), Z: anywhere()}, world.Vec3{}))
}

// step turns every walker, moves the avatars in circles, and replaces the oldest sparks by
// the births of a tick.
func (s *benchWorld) step(sparks, births int) {
	s.tick++
	for i, h := range s.walkers {
		if (s.tick+i)%s.turnEvery != 0 {
			continue
		}
		angle := 2 * math.Pi * s.rand.Float64()
		at, _ := s.world.Position(h)
		up := 2*s.rand.Float32() - 1 - at.Y/4
		s.world.SetVelocity(h, world.Vec3{X: 2 * float32(math.Cos(angle)), Y: up, Z: 2 * float32(math.Sin(angle))})
	}
	for i, h := range s.avatars {
		angle := float64(s.tick)/60 + float64(i)
		s.world.SetVelocity(h, world.Vec3{X: 3 * float32(math.Cos(angle)), Z: 3 * float32(math.Sin(angle))})
	}
	for range births {
		h := s.spawn()
		s.world.SetVelocity(h, world.Vec3{X: s.rand.Float32() - 0.5, Y: 1, Z: s.rand.Float32() - 0.5})
		s.sparks = append(s.sparks, h)
	}
	for len(s.sparks) > sparks {
		require.True(s.tb, s.world.Destroy(s.sparks[0]))
		s.sparks = s.sparks[1:]
	}
	s.world.Step()
	for i := 0; i < len(s.evicted); i += 64 {
		s.evicted[i]++
	}
}

// frame makes a frame and the snapshots of all viewers, and times the parts.
func (s *benchWorld) frame() {
	r := s.rep
	began := time.Now()
	r.AfterStep()
	r.Capture()
	s.capture = append(s.capture, milliseconds(time.Since(began)))
	began = time.Now()
	for _, v := range r.viewers {
		if v.delivery.newestSeq() > 0 {
			require.NoError(s.tb, v.Acknowledge(wire.Ack{Seen: true, Newest: v.delivery.newestSeq(), Mask: 1<<64 - 1, Structure: v.outbox.structure.written}))
		}
	}
	s.acks = append(s.acks, milliseconds(time.Since(began)))
	var interest, collect, enters, encode time.Duration
	for _, v := range r.viewers {
		start := time.Now()
		w := r.workers.workspaces[0]
		w.packer.beginFrame(r.changes.captures())
		w.packer.beginSnapshot(false)
		v.outbox.refillTokens(r.config.BudgetBytesPerSecond / r.config.SnapshotHz)
		since := v.interest.lastCapture
		v.updateInterest(w)
		sawAll := time.Now()
		newcomers := len(w.requests)
		rowsWaiting := v.collectRows(w)
		collected := time.Now()
		v.outbox.sendTexts(w, r, &v.members, &v.interest, since)
		v.writeEnters(w, newcomers, rowsWaiting)
		v.outbox.billRecords()
		entered := time.Now()
		v.sendRows(w)
		v.outbox.structure.takeForSnapshot(w.frame.tick)
		v.outbox.billRecords()
		interest, collect = interest+sawAll.Sub(start), collect+collected.Sub(sawAll)
		enters, encode = enters+entered.Sub(collected), encode+time.Since(entered)
	}
	s.interest, s.collect = append(s.interest, milliseconds(interest)), append(s.collect, milliseconds(collect))
	s.enters, s.encode = append(s.enters, milliseconds(enters)), append(s.encode, milliseconds(encode))
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// run settles the world and reports the time of each part of a tick, as the lowest eighth:
// on a shared machine, higher times include other work.
func (s *benchWorld) run(b *testing.B, sparks, births int) {
	for range 100 {
		s.step(sparks, births)
		s.frame()
	}
	s.capture, s.acks, s.interest, s.collect, s.enters, s.encode = nil, nil, nil, nil, nil, nil
	before := s.rep.Stats()
	for b.Loop() {
		b.StopTimer()
		s.step(sparks, births)
		b.StartTimer()
		s.frame()
	}
	after := s.rep.Stats()
	whole := 0.0
	for _, part := range []struct {
		name  string
		times []float64
	}{{"capture", s.capture}, {"acks", s.acks}, {"interest", s.interest}, {"collect", s.collect}, {"enters", s.enters}, {"encode", s.encode}} {
		slices.Sort(part.times)
		typical := part.times[len(part.times)/8]
		whole += typical
		b.ReportMetric(typical, part.name+"-ms")
	}
	known := 0
	for _, v := range s.rep.viewers {
		known += v.Stats().Interest
	}
	n := float64(b.N * len(s.rep.viewers))
	b.ReportMetric(whole, "all-ms")
	b.ReportMetric(float64(known)/float64(len(s.rep.viewers)), "known")
	b.ReportMetric(float64(after.Rows-before.Rows)/n, "rows")
	b.ReportMetric(float64(after.StateBytes-before.StateBytes)/n, "bytes")
	b.ReportMetric(float64(after.RowsCopied-before.RowsCopied)/float64(after.Rows-before.Rows), "shared")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkScene measures a square of 512 m with 10,000 entities and 200 viewers. In each
// tick 1,000 entities move and 15 are born. Each viewer knows about 230 entities.
func BenchmarkScene(b *testing.B) {
	for _, viewers := range []int{50, 200} {
		b.Run(fmt.Sprintf("viewers=%d", viewers), func(b *testing.B) {
			s := newBenchWorld(b, 256, 9_000, 700, viewers, Config{SnapshotHz: 20, EnterRadius: 40, LeaveRadius: 48})
			s.run(b, 300-viewers/2, 15)
		})
	}
}

// BenchmarkHerd measures 200 viewers in a world of 1,200 moving entities. Each viewer knows
// about 460 entities.
func BenchmarkHerd(b *testing.B) {
	s := newBenchWorld(b, 60, 0, 1_000, 200, Config{SnapshotHz: 20})
	s.turnEvery = 40
	s.run(b, 0, 0)
}
