package world_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/world"
)

// positions is all bodies at the end of a tick.
type positions map[world.Entity]world.Vec3

func positionsOf(w *world.World) positions {
	all := positions{}
	for slot := range w.Live().All() {
		if at, _, ok := w.Slots().Body(slot); ok {
			all[w.Slots().Handle(slot)] = at
		}
	}
	return all
}

// pastOf interpolates between two lists of positions, for the entities that are live.
func pastOf(w *world.World, from, to positions, fraction float32) positions {
	then := positions{}
	for e, a := range from {
		if _, live := w.Position(e); !live {
			continue
		}
		if b := to[e]; fraction > 0 && distance(a, b) <= 1.01*world.MaxSpeed/float64(w.TickHz()) {
			a = lerp(a, b, float64(fraction))
		}
		then[e] = a
	}
	return then
}

func collected(bodies iter.Seq2[world.Entity, world.Vec3]) (all positions, count int) {
	all = positions{}
	for e, at := range bodies {
		all[e] = at
		count++
	}
	return all, count
}

// Queries at moments agree with lists of all positions at the end of every tick, between
// steps and inside systems, with spawns, deaths, teleports and reused slots.
func TestQueriesAtMomentsAgainstLists(t *testing.T) {
	racetest.SkipSequential(t)
	const back = 20
	for mode, cfg := range []world.Config{
		{Seed: 7, HistoryTicks: back},
		{Seed: 8, HistoryTicks: back, Compaction: world.Stable, TickHz: 20},
		{Seed: 9, HistoryTicks: back, Compaction: world.InPlace, CellMetres: 3},
	} {
		s := newSceneIn(t, cfg, 40, 2, 1)
		r := rand.New(rand.NewPCG(3, uint64(mode)))
		programs := []*field.Program{compile(t, gust), compile(t, blast)}
		ends := []positions{{}} // by tick; entities that exist before the first step appeared after tick 0
		teleports, found, hits := 0, 0, 0
		check := func(w *world.World, inStep bool) {
			newest := w.Tick()
			tick := newest - min(newest, uint64(r.IntN(back+1)))
			at := world.Moment{Tick: tick, Fraction: []float32{0, 0.5, 0.9999, r.Float32(), math.Nextafter32(1, 0)}[r.IntN(5)]}
			if tick == newest {
				at.Fraction = 0
			}
			end := func(tick uint64) positions {
				tick = min(tick, newest)
				if inStep && tick == newest {
					return positionsOf(w)
				}
				return ends[tick]
			}
			then := pastOf(w, end(tick), end(tick+1), at.Fraction)
			for e := range positionsOf(w) {
				want, was := then[e]
				got, ok := w.PositionAt(e, at)
				require.Equal(t, was, ok, "%v at %v, now %d", e, at, newest)
				require.Equal(t, want, got, "%v at %v, now %d", e, at, newest)
			}
			center, radius := world.Vec3{X: spread(r, 100), Y: 3, Z: spread(r, 100)}, 60*r.Float32()*r.Float32()
			in, box := positions{}, positions{}
			low, high := center.Sub(world.Vec3{X: radius, Y: 2, Z: radius / 2}), center.Add(world.Vec3{X: 1, Y: 20, Z: radius})
			for e, p := range then {
				if distance(p, center) <= float64(radius) {
					in[e] = p
				}
				if p.X >= low.X && p.X <= high.X && p.Y >= low.Y && p.Y <= high.Y && p.Z >= low.Z && p.Z <= high.Z {
					box[e] = p
				}
			}
			got, n := collected(w.WithinAt(at, center, radius))
			require.Equal(t, in, got, "at %v, now %d", at, newest)
			require.Len(t, in, n, "each once")
			found += n
			got, n = collected(w.WithinBoxAt(at, low, high))
			require.Equal(t, box, got, "at %v, now %d", at, newest)
			require.Len(t, box, n, "each once")

			to, thickness := world.Vec3{X: spread(r, 128), Y: spread(r, 5), Z: spread(r, 128)}, r.Float32()*2
			wanted := everyHitOf(w, func(e world.Entity) (world.Vec3, bool) { p, ok := then[e]; return p, ok }, center, to, thickness)
			hit := w.AppendRayAt(nil, at, center, to, thickness)
			distances := map[world.Entity]float32{}
			for i, h := range hit {
				require.True(t, i == 0 || hit[i-1].Distance <= h.Distance, "nearest first")
				distances[h.Entity] = h.Distance
			}
			require.Len(t, distances, len(wanted), "from %v to %v at %v", center, to, at)
			require.Len(t, hit, len(wanted), "each once")
			for _, h := range wanted {
				require.InDelta(t, h.Distance, distances[h.Entity], 0.1)
			}
			hits += len(hit)
		}
		for _, phase := range []world.Phase{world.Before, world.After} {
			require.NoError(t, s.AddSystem(phase, fmt.Sprint("ask ", phase), func(w *world.World) {
				for r.IntN(3) == 0 {
					at := world.Vec3{X: spread(r, 120), Y: 3, Z: spread(r, 120)}
					if w.SetPosition(w.Slots().Handle(uint32(r.IntN(60))), at) {
						teleports++
					}
				}
				check(w, true)
			}))
		}
		for range 400 {
			for r.IntN(2) == 0 {
				outside(s, r, programs)
			}
			s.Step()
			require.NoError(t, s.CheckInvariants())
			ends = append(ends, positionsOf(s.World))
			for r.IntN(2) == 0 {
				outside(s, r, programs) // changes after the tick do not affect its recorded end
				require.NoError(t, s.CheckInvariants())
			}
			check(s.World, false)
		}
		require.Greater(t, teleports, 100)
		require.Greater(t, found, 1000)
		require.Greater(t, hits, 300)
	}
}

// A query never hits an entity that did not exist at the moment, an earlier tenant of its
// slot, or an entity that has died since.
func TestPastOfReusedSlots(t *testing.T) {
	w, _, _, lift := newWorld(t, world.Config{HistoryTicks: 30, Gravity: -1})
	here := world.Vec3{X: 5, Y: 5}
	first := spawn(t, w, lift, here)
	steps(w, 4)
	w.Destroy(first)
	w.Step()
	second := spawn(t, w, lift, world.Vec3{X: 5.5, Y: 5})
	require.Equal(t, first.Index(), second.Index())
	steps(w, 3)
	for tick := range w.Tick() + 1 {
		at := world.Moment{Tick: tick}
		got, _ := collected(w.WithinAt(at, here, 2))
		hits := w.AppendRayAt(nil, at, world.Vec3{X: -9, Y: 5}, world.Vec3{X: 9, Y: 5}, 0)
		if tick <= 5 {
			require.Empty(t, got, "at %d", tick)
			require.Empty(t, hits, "at %d", tick)
			continue
		}
		require.Equal(t, positions{second: {X: 5.5, Y: 5}}, got)
		require.Len(t, hits, 1)
	}
}

// Between two ticks, positions are interpolated; a teleported body stays until the end of
// the tick.
func TestPastBetweenTicks(t *testing.T) {
	w, _, _, lift := newWorld(t, world.Config{HistoryTicks: 30, Gravity: -1})
	e := must.Get(w.Spawn(lift, world.Vec3{Y: 5}, world.Vec3{X: 60}))
	steps(w, 4)
	at := func(tick uint64, fraction float32) float32 {
		p := must.Have(w.PositionAt(e, world.Moment{Tick: tick, Fraction: fraction}))
		return p.X
	}
	require.Equal(t, float32(2), at(2, 0))
	require.Equal(t, float32(2.25), at(2, 0.25))
	require.Equal(t, float32(2+float64(float32(0.9999))), at(2, 0.9999))
	require.LessOrEqual(t, at(2, math.Nextafter32(1, 0)), float32(3), "rounded, never beyond")
	require.True(t, w.SetPosition(e, world.Vec3{X: 100, Y: 5}))
	require.Equal(t, float32(4), at(4, 0), "before the teleport")
	steps(w, 2)
	require.Equal(t, float32(4), at(4, 0.9999), "not on the way")
	require.Equal(t, float32(101), at(5, 0))
	for _, bad := range []world.Moment{
		{Tick: 6, Fraction: 0.5},
		{Tick: 7},
		{Tick: math.MaxUint64, Fraction: 0.5},
		{Tick: 5, Fraction: 1},
		{Tick: 5, Fraction: -0.1},
		{Tick: 5, Fraction: float32(math.NaN())},
		{Tick: 5, Fraction: float32(math.Inf(1))},
	} {
		_, ok := w.PositionAt(e, bad)
		require.False(t, ok, "%v", bad)
		_, n := collected(w.WithinAt(bad, world.Vec3{X: 100}, 1e9))
		require.Zero(t, n, "%v", bad)
		require.Empty(t, w.AppendRayAt(nil, bad, world.Vec3{Y: 5}, world.Vec3{X: 200, Y: 5}, 1))
	}
	require.Zero(t, w.OldestTick())
	steps(w, 40)
	require.EqualValues(t, 16, w.OldestTick())
}

func TestPastQueriesAllocateNothing(t *testing.T) {
	s := newSceneIn(t, world.Config{Seed: 7, HistoryTicks: 20}, 100, 2, 2)
	steps(s.World, 100)
	list, at, n := make([]world.Hit, 0, 300), world.Moment{Tick: 90, Fraction: 0.5}, 0
	require.Zero(t, testing.AllocsPerRun(20, func() {
		for range s.WithinAt(at, world.Vec3{}, 60) {
			n++
		}
		n += len(s.AppendRayAt(list, at, world.Vec3{X: -100}, world.Vec3{X: 100}, 5))
	}))
	require.NotZero(t, n)
}

// The results of queries at moments depend on the calls alone, and queries do not change
// the state. The hash is equal on every machine and with every Compaction.
func TestGoldenPast(t *testing.T) {
	for mode, cfg := range []world.Config{
		{Compaction: world.Exchange}, {Compaction: world.Stable, Workers: 2}, {Compaction: world.InPlace, Workers: 4},
	} {
		without := storm(t, cfg)
		defer without.Close()
		cfg.HistoryTicks = 15
		w := storm(t, cfg)
		defer w.Close()
		r, sum := rand.New(rand.NewPCG(5, 5)), fnv.New64a()
		add := func(v ...uint32) {
			for _, v := range v {
				_ = binary.Write(sum, binary.LittleEndian, v)
			}
		}
		for range 60 {
			for back := range uint64(15) {
				at := world.Moment{Tick: w.Tick() - 1 - back, Fraction: r.Float32()}
				center, radius := world.Vec3{X: spread(r, 60), Y: 2, Z: spread(r, 60)}, 40*r.Float32()
				for e, p := range w.WithinAt(at, center, radius) {
					add(e.Index(), math.Float32bits(p.X), math.Float32bits(p.Y), math.Float32bits(p.Z))
				}
				for _, h := range w.AppendRayAt(nil, at, center, world.Vec3{X: spread(r, 120), Z: spread(r, 120)}, 1) {
					add(h.Entity.Index(), math.Float32bits(h.Distance))
				}
			}
			w.Step()
			without.Step()
		}
		require.Equal(t, without.StateHash(), w.StateHash())
		require.Equal(t, uint64(goldenPast), sum.Sum64(), "mode %d: %#x", mode, sum.Sum64())
	}
}

const goldenPast = 0x12003dfeebcee37f

// FuzzPast moves bodies, queries any moments, and compares the results with PositionAt.
func FuzzPast(f *testing.F) {
	f.Add([]byte{0, 1, 4, 4, 4, 0, 0, 0, 0, 15, 15, 3, 0x10, 50, 1, 1, 15, 14, 1, 128, 0, 0, 0, 30, 14, 2, 5, 0, 0, 0, 99})
	f.Add([]byte{0, 0, 0, 2, 0, 9, 9, 9, 0, 14, 0, 0, 0, 0, 0, 40, 15, 14, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 40})
	programs := []*field.Program{compile(f, gust)}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 600 {
			t.Skip("long enough")
		}
		w, _, _, _ := newWorld(t, world.Config{MaxEntities: 40, HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, RestSeconds: 3.0 / 60, HistoryTicks: 5, Bounds: world.BoundsDestroy})
		hp := must.Get(world.Register[health](w, "health"))
		in := &fuzzedBytes{b}
		for len(in.b) > 0 {
			if in.b[0]%16 != 14 {
				command(w, hp, programs, in)
				require.NoError(t, w.CheckInvariants())
				continue
			}
			in.byte()
			at := world.Moment{Tick: w.Tick() - uint64(in.byte()%8), Fraction: float32(in.byte()) / 256}
			if in.byte() == 0xff {
				at.Fraction = in.number()
			}
			center, radius := in.vec(), in.number()
			want := positions{}
			for e := range positionsOf(w) {
				p, ok := w.PositionAt(e, at)
				if d := distance(p, center); ok && d <= float64(radius) {
					want[e] = p
				}
			}
			got, n := collected(w.WithinAt(at, center, radius))
			require.Equal(t, want, got)
			require.Len(t, want, n)
			for range w.WithinAt(at, center, radius) {
				command(w, hp, programs, in)
			}
			for _, h := range w.AppendRayAt(nil, at, center, in.vec(), in.number()) {
				must.Have(w.PositionAt(h.Entity, at))
			}
		}
	})
}

// BenchmarkWithinAt compares a query at a moment with a query at present, among bodies that
// all move at 2 to 3 m/s. BenchmarkHistory measures the cost of the history in a step.
func BenchmarkWithinAt(b *testing.B) {
	w := must.Get(world.New(world.Config{HistoryTicks: 15, Gravity: -1}))
	kind := addKind(b, w, world.Kind{Name: "bird", Body: &world.BodyDef{Radius: 0.5}})
	r := w.Rand()
	for range 10_000 {
		must.Get(w.Spawn(kind, world.Vec3{X: spread(r, 500), Y: 100, Z: spread(r, 500)}, world.Vec3{X: spread(r, 1) + 2}))
	}
	steps(w, 70)
	var list []world.Hit
	from, to := world.Vec3{X: -30, Y: 100}, world.Vec3{X: 30, Y: 100, Z: 20}
	for _, back := range []uint64{0, 1, 6, 15} {
		at := world.Moment{Tick: w.Tick() - back, Fraction: 0.5}
		name := fmt.Sprint(back, " ticks ago")
		if back == 0 {
			name = "now"
		}
		b.Run("within 20 m/"+name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				bodies := w.WithinAt(at, world.Vec3{Y: 100}, 20)
				if back == 0 {
					bodies = w.Within(world.Vec3{Y: 100}, 20)
				}
				for range bodies {
					n++
				}
			}
			b.ReportMetric(float64(n)/float64(b.N), "found")
		})
		b.Run("ray of 63 m/"+name, func(b *testing.B) {
			for b.Loop() {
				list = list[:0]
				if back == 0 {
					list = w.AppendRay(list, from, to, 1)
				} else {
					list = w.AppendRayAt(list, at, from, to, 1)
				}
			}
			b.ReportMetric(float64(len(list)), "found")
		})
	}
}
