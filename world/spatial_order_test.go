package world

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"

	"github.com/worldd/worldd/field"
)

// puff pushes everything within two metres upwards.
const puff = `box (-2,-2,-2) (2,2,2)
output += (0, 3, 0)
`

// swarm is a world of flying bodies in random row order with effects small effects. Some
// bodies sleep.
func swarm(t testing.TB, cfg Config, bodies, effects int, text string) *World {
	cfg.Gravity, cfg.HalfExtent, cfg.CellMetres = -1, Vec3{X: 64, Y: 32, Z: 64}, 4
	w := must.Get(New(cfg))
	t.Cleanup(w.Close)
	k := must.Get(w.AddKind(Kind{Name: "fly", Body: &BodyDef{Drag: 0.1}}))
	r := rand.New(rand.NewPCG(3, 4))
	somewhere := func(half float32) Vec3 {
		return Vec3{X: half * (r.Float32() - 0.5), Y: 5 + half/10*r.Float32(), Z: half * (r.Float32() - 0.5)}
	}
	for i := range bodies {
		e := must.Get(w.Spawn(k, somewhere(120), somewhere(20).Sub(Vec3{Y: 6})))
		if i%8 == 0 {
			w.Sleep(e)
		}
	}
	program := must.Get(field.Compile(text))
	for range effects {
		must.Get(w.AddEffect(EffectDef{Program: program, Center: somewhere(120), Mode: Acceleration}))
	}
	return w
}

// spatial reports whether the awake rows are in sorted order.
func spatial(w *World) bool {
	b := &w.bodies
	return slices.IsSortedFunc(b.slot[:b.awake], func(s, o uint32) int {
		return cmp.Or(
			cmp.Compare(w.grid.mortonCode(b.cell[w.rowOf[s]]), w.grid.mortonCode(b.cell[w.rowOf[o]])),
			cmp.Compare(s, o),
		)
	})
}

// The result of a sort depends on positions alone: two equal worlds get equal rows, even if
// requests that were reversed later have shuffled the rows.
func TestSortedRowsHaveNoHistory(t *testing.T) {
	for _, mode := range []Compaction{Exchange, Stable} {
		a, b := swarm(t, Config{Compaction: mode}, 1500, 0, puff), swarm(t, Config{Compaction: mode}, 1500, 0, puff)
		a.flushSleep()
		b.flushSleep()
		r := rand.New(rand.NewPCG(5, 6))
		for range 5 {
			chosen := r.Perm(b.bodies.awake)[:200]
			for _, row := range chosen {
				b.bodies.requestAwake(row, false)
			}
			slots := make([]uint32, 0, 200)
			for _, row := range chosen {
				slots = append(slots, b.bodies.slot[row])
			}
			b.flushSleep()
			for _, slot := range slots {
				b.bodies.requestWake(int(b.rowOf[slot]))
			}
			b.flushSleep()
		}
		require.NotEqual(t, a.bodies.slot, b.bodies.slot)
		for _, w := range []*World{a, b} {
			require.False(t, spatial(w))
			w.reserveSort()
			w.computeOrder()
			w.bodies.permute(w.order.source, w.rowOf)
			require.True(t, spatial(w))
			require.NoError(t, w.CheckInvariants())
		}
		require.Equal(t, a.bodies.slot[:a.bodies.awake], b.bodies.slot[:b.bodies.awake], mode)
	}
}

// A sort changes the cost of a step and nothing else.
func TestSortsDoNotMatter(t *testing.T) {
	var worlds []*World
	for i, mode := range compactions {
		worlds = append(worlds, swarm(t, Config{Compaction: mode, Workers: 1 << i}, 1000, 40, puff))
	}
	never := swarm(t, Config{}, 1000, 40, puff)
	for range 32 {
		never.order.loss = 0
		never.Step()
		for _, w := range worlds {
			w.Step()
			require.Equal(t, never.StateHash(), w.StateHash(), "%v, tick %d", w.cfg.Compaction, w.tick)
		}
	}
	require.Zero(t, never.order.sorted)
	require.NotZero(t, worlds[Exchange].order.sorted)
	require.Equal(t, worlds[Exchange].order.sorted, worlds[Stable].order.sorted)
	require.Zero(t, worlds[InPlace].order.sorted)
}

// Rows are sorted when that saves work, and the sort does save work.
func TestSortsWhenItPays(t *testing.T) {
	count := func(bodies, effects, ticks int, text string) (sorts int, before, after int) {
		w := swarm(t, Config{}, bodies, effects, text)
		work := func() int { return w.effects.forces.Work(&w.bodies.Bodies, 0, w.bodies.awake) }
		last := uint64(0)
		for range ticks {
			w.Step()
			if before == 0 {
				before = work()
			}
			if last != w.order.sorted {
				last = w.order.sorted
				sorts++
			}
		}
		return sorts, before, work()
	}
	sorts, before, after := count(2000, 60, 40, puff)
	require.Equal(t, 1, sorts, "bodies that fly some metres stay in order")
	require.Less(t, 2*after, before)
	sorts, _, _ = count(2000, 1, 40, puff)
	require.Zero(t, sorts, "one small effect is not worth a sort in so short a time")
	sorts, _, _ = count(200, 60, 40, puff)
	require.Zero(t, sorts, "a chunk is in order by itself")
	sorts, before, after = count(600, 60, 40, "output += (0, 0.1, 0)\n")
	require.Zero(t, sorts, "an effect that is everywhere is never left out")
	require.Equal(t, before, after)
}

// If effects are as large as the world, no order helps: the world learns this from one
// sort.
func TestUselessSortHappensOnce(t *testing.T) {
	w := swarm(t, Config{}, 600, 60, "box (-200,-200,-200) (200,200,200)\noutput += (0, 0.1, 0)\n")
	last, sorts := uint64(0), 0
	for range 60 {
		w.Step()
		if last != w.order.sorted {
			last = w.order.sorted
			sorts++
		}
	}
	require.Equal(t, 1, sorts)
}

func TestPermuteAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	for range 200 {
		c := newColumns(Exchange, 1+r.IntN(300))
		first, n := 0, len(c.slot)
		source := make([]uint32, n)
		for i := range source {
			source[i] = uint32(i)
		}
		if n > 4 && r.IntN(2) == 0 { // both ends stay in place
			first = r.IntN(n / 2)
			n = first + r.IntN(n/2)
		}
		r.Shuffle(n-first, func(i, j int) { source[first+i], source[first+j] = source[first+j], source[first+i] })
		for _, column := range c.compaction.columns {
			column.reserve(&c.spare, len(source))
		}
		written := &bulk.Bitset{}
		c.written = written
		c.permute(source, c.rowOf)
		for row, from := range source {
			require.True(t, int(from) == row || written.Has(uint32(row)>>6), "row %d has another owner", row)
			if c.slot[row] != from || c.numbers[row] != float32(from)*3 || c.shorts[row] != uint16(from+9) || c.rowOf[from] != int32(row) {
				require.Fail(t, "row", "%d of %v", row, source)
			}
		}
	}
}

func TestSortDigit(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	keys := make([]uint64, 5000)
	for i := range keys {
		keys[i] = uint64(r.Uint32N(1<<curveBits))<<32 | uint64(i)
	}
	want, spare := slices.Clone(keys), make([]uint64, len(keys))
	slices.Sort(want)
	sortDigit(spare, keys, 32)
	sortDigit(keys, spare, 32+digitBits)
	require.Equal(t, want, keys)
}

// The curve visits each cell of a square grid once, four by four, and merges cells of a
// longer grid.
func TestMortonCode(t *testing.T) {
	g := newGrid(Config{HalfExtent: Vec3{X: 16, Y: 1, Z: 16}, CellMetres: 2})
	at := make([]int32, 256)
	for cell := range int32(256) {
		at[g.mortonCode(cell)] = cell
	}
	require.Equal(t, []int32{0, 1, 16, 17, 2, 3, 18, 19, 32}, at[:9])
	slices.Sort(at)
	require.Equal(t, int32(255), at[255])
	require.Equal(t, int32(0), at[0])

	long := newGrid(Config{HalfExtent: Vec3{X: 1 << 21, Y: 1, Z: 0.5}, CellMetres: 1})
	require.Equal(t, int32(1<<22), long.columns)
	require.Equal(t, uint32(0), long.mortonCode(2047))
	require.Equal(t, uint32(1), long.mortonCode(2048))
	require.Less(t, long.mortonCode(1<<22-1), uint32(1<<curveBits))
	square := newGrid(Config{HalfExtent: Vec3{X: 1024, Y: 1, Z: 1024}, CellMetres: 1})
	require.Equal(t, uint32(1<<curveBits-1), square.mortonCode(1<<22-1))
}

// BenchmarkSortRows measures a sort per row, from random order and from the order half a
// second after a sort.
func BenchmarkSortRows(b *testing.B) {
	for _, c := range []struct {
		name  string
		bends int // rows that swapped with another
	}{{"random", 100_000}, {"after churn", 1000}, {"in order", 0}} {
		b.Run(c.name, func(b *testing.B) {
			w := sleepers(b, 100_000, 100_000)
			w.reserveSort()
			r := rand.New(rand.NewPCG(1, 1))
			sort := func() {
				w.computeOrder()
				w.bodies.permute(w.order.source, w.rowOf)
			}
			sort()
			shuffled := make([]uint32, 100_000)
			for i := range shuffled {
				shuffled[i] = uint32(i)
			}
			for range c.bends {
				i, j := r.IntN(len(shuffled)), r.IntN(len(shuffled))
				shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
			}
			b.ResetTimer()
			for range b.N {
				b.StopTimer()
				w.bodies.permute(shuffled, w.rowOf)
				b.StartTimer()
				sort()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/row")
		})
	}
}

// When effects are removed, fewer points are evaluated than just after the last sort. The
// difference must not count as credit, which would delay the next sort.
func TestLossIsNeverCredit(t *testing.T) {
	w := swarm(t, Config{}, 2000, 60, puff)
	for w.order.sorted == 0 {
		w.Step()
	}
	var effects []EffectID
	for h := range w.effects.pool.All() {
		effects = append(effects, h)
	}
	for _, h := range effects[:50] {
		require.True(t, w.RemoveEffect(h))
	}
	for range 10 * lossTicks {
		w.Step()
		require.GreaterOrEqual(t, w.order.loss, 0)
	}
}
