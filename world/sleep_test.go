package world

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// sleepers returns a world of n bodies in the air. The first bodies, awake of them, are
// awake.
func sleepers(t testing.TB, n, awake int) *World {
	t.Helper()
	return compacted(t, Exchange, n, awake)
}

func compacted(t testing.TB, mode Compaction, n, awake int) *World {
	t.Helper()
	w := must.Get(New(Config{Gravity: -1, MaxEntities: n, Compaction: mode}))
	k := must.Get(w.AddKind(Kind{Name: "body", Body: &BodyDef{}}))
	for i := range n {
		must.Get(w.Spawn(k, Vec3{X: float32(i%1000) - 500, Y: 1, Z: float32(i/1000) - 50}, Vec3{}))
	}
	for i := awake; i < n; i++ {
		w.bodies.requestSleep(i)
	}
	w.flushSleep()
	require.Equal(t, awake, w.bodies.awake)
	return w
}

func TestFlushMovesOnlyMisplacedRows(t *testing.T) {
	w := sleepers(t, 200, 100)
	before := slices.Clone(w.bodies.slot)
	for range 3 { // each changes state three times
		w.bodies.requestWake(150)
		w.bodies.requestSleep(150)
		w.bodies.requestSleep(20)
		w.bodies.requestWake(20)
	}
	w.flushSleep()
	require.Equal(t, before, w.bodies.slot, "reversed requests move no rows")

	w.bodies.requestSleep(0) // body 0 is valid
	w.bodies.requestSleep(7)
	w.bodies.requestWake(199)
	w.bodies.requestWake(120)
	w.flushSleep()
	want := slices.Clone(before)
	want[0], want[120] = want[120], want[0]
	want[7], want[199] = want[199], want[7]
	require.Equal(t, want, w.bodies.slot, "pairs in ascending order")
	require.NoError(t, w.CheckInvariants())
}

func TestFlushShiftsTheBoundary(t *testing.T) {
	w := sleepers(t, 10, 5)
	for _, row := range []int{5, 6, 9} { // two need no move
		w.bodies.requestWake(row)
	}
	w.flushSleep()
	require.Equal(t, []uint32{0, 1, 2, 3, 4, 5, 6, 9, 8, 7}, w.bodies.slot)
	for _, row := range []int{1, 6, 7} {
		w.bodies.requestSleep(row)
	}
	w.flushSleep()
	require.Equal(t, []uint32{0, 5, 2, 3, 4, 1, 6, 9, 8, 7}, w.bodies.slot)
	require.Equal(t, 5, w.bodies.awake)
	require.NoError(t, w.CheckInvariants())
}

func TestFlushIsAFunctionOfTheSets(t *testing.T) {
	racetest.SkipSequential(t)
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		n := 1 + r.IntN(300)
		awake := r.IntN(n + 1)
		a, b := sleepers(t, n, awake), sleepers(t, n, awake)
		requested := make([]bool, n)
		for row := range n {
			requested[row] = r.IntN(3) == 0 != (row < awake)
			setAwake(a, row, requested[row])
		}
		for _, row := range r.Perm(n) {
			setAwake(b, row, r.IntN(2) == 0)
			setAwake(b, row, requested[row])
		}
		a.flushSleep()
		b.flushSleep()
		require.Equal(t, a.bodies.slot, b.bodies.slot)
		require.Equal(t, a.rowOf, b.rowOf)
		require.Equal(t, a.bodies.awake, b.bodies.awake)
		for slot, want := range requested {
			require.Equal(t, want, int(a.rowOf[slot]) < a.bodies.awake)
		}
		require.NoError(t, a.CheckInvariants())
		require.Equal(t, a.StateHash(), b.StateHash())
	}
}

func setAwake(w *World, row int, wake bool) {
	if wake {
		w.bodies.requestWake(row)
	} else {
		w.bodies.requestSleep(row)
	}
}

func TestStateHashIgnoresRowOrder(t *testing.T) {
	a, b := sleepers(t, 100, 50), sleepers(t, 100, 50)
	for _, pair := range [][2]int{{0, 49}, {3, 4}, {50, 99}, {60, 77}} {
		for _, column := range b.bodies.columns {
			column.exchange([]uint32{uint32(pair[0])}, []uint32{uint32(pair[1])})
		}
		renumber([]uint32{uint32(pair[0]), uint32(pair[1])}, b.bodies.slot, b.rowOf)
	}
	require.NoError(t, b.CheckInvariants())
	for range 40 {
		require.Equal(t, a.StateHash(), b.StateHash())
		a.Step()
		b.Step()
	}
}

func TestRemovalKeepsAwakeState(t *testing.T) {
	racetest.SkipSequential(t)
	for _, mode := range compactions {
		removeAll(t, compacted(t, mode, 300, 120))
	}
}

func removeAll(t *testing.T, w *World) {
	r := rand.New(rand.NewPCG(5, 6))
	for w.bodies.len() > 0 {
		for range 5 {
			setAwake(w, r.IntN(w.bodies.len()), r.IntN(2) == 0)
		}
		row := r.IntN(w.bodies.len())
		requested := map[uint32]bool{}
		for row, slot := range w.bodies.slot {
			requested[slot] = w.bodies.willBeAwake(row)
		}
		w.remove(wordOf(w.bodies.slot[row]))
		require.NoError(t, w.CheckInvariants())
		for row, slot := range w.bodies.slot {
			require.Equal(t, requested[slot], w.bodies.willBeAwake(row), "pending requests move with their row")
		}
		if r.IntN(4) == 0 {
			w.flushSleep()
		}
	}
}

func TestAuditFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(*World){
		"W1":  func(w *World) { w.rowOf[3] = 4 },
		"W2":  func(w *World) { w.bodies.awake = 11 },
		"W3":  func(w *World) { w.bodies.flips.words[0] |= 1 << 40 },
		"W4":  func(w *World) { w.bodies.Vel.X[7] = 1 },
		"W5":  func(w *World) { w.bodies.Pos.Y[2] = -1 },
		"W6":  func(w *World) { w.bodies.Pos.X[2] += 100 },
		"W7":  func(w *World) { w.dirty.Set(500) },
		"W8":  func(w *World) { w.pool.At(1).expires = 9 },
		"W9":  func(w *World) { w.effects.pool.Add(); w.effects.programs = append(w.effects.programs, nil) },
		"W10": func(w *World) { w.generations[0]++ },
		"W13": func(w *World) { w.bodies.Moved, w.bodies.crossed = []uint64{4}, []uint64{0} },
	} {
		w := sleepers(t, 10, 5)
		require.NoError(t, w.CheckInvariants())
		damage(w)
		require.ErrorContains(t, w.CheckInvariants(), name+":")
	}
}
