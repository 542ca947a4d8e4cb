package world

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

// Cells against sorted lists: both runs of a cell ascend after any sequence of insertions
// and removals.
func TestCellsAgainstSortedLists(t *testing.T) {
	racetest.SkipSequential(t)
	r := rand.New(rand.NewPCG(4, 5))
	g := newGrid(Config{HalfExtent: Vec3{X: 4, Y: 4, Z: 4}, CellMetres: 4})
	want := make([][]uint32, len(g.cells))
	where := map[uint32]int{}
	settled := 0
	for op := range 20_000 {
		slot, c := r.Uint32N(300), r.IntN(len(want))
		if from, there := where[slot]; there {
			i, _ := slices.BinarySearch(want[from], slot)
			want[from] = slices.Delete(want[from], i, i+1)
			g.remove(int32(from), slot)
			delete(where, slot)
		}
		if op/2000%3 < 2 || r.IntN(4) == 0 { // empty the cells from time to time
			i, _ := slices.BinarySearch(want[c], slot)
			want[c] = slices.Insert(want[c], i, slot)
			before := g.cells[c].recent
			g.insert(int32(c), slot)
			where[slot] = c
			if before > g.cells[c].recent {
				settled++
			}
		}
		for i := range want {
			settled, recent := g.runs(int32(i))
			require.Equal(t, want[i], listed(settled, recent, nil))
		}
		settledRun, recentRun := g.runs(int32(c))
		i, _ := slices.BinarySearch(want[c], slot+1)
		require.Equal(t, want[c][i:], listed(slotsAbove(slot, settledRun), slotsAbove(slot, recentRun), want[c][:0:0]))
		require.LessOrEqual(t, g.cells[c].recent, uint8(maxRecent))
	}
	require.Greater(t, settled, 100, "the runs were merged")
	require.Less(t, len(g.store.room), 4*1024, "blocks are reused")
}

func listed(settled, recent, list []uint32) []uint32 {
	for len(recent) != 0 {
		var slots []uint32
		slots, settled, recent = takeLowest(settled, recent)
		list = append(list, slots...)
	}
	return append(list, settled...)
}

// A body that crosses a cell of sleepers is listed behind all of them, whatever its slot,
// and the sleepers' run does not move.
func TestNewcomersAreAtTheEnd(t *testing.T) {
	g := newGrid(Config{HalfExtent: Vec3{X: 4, Y: 4, Z: 4}, CellMetres: 4})
	for slot := range uint32(64) {
		g.insert(0, slot*10)
	}
	require.Zero(t, g.cells[0].recent, "ascending slots are one run")
	before := slices.Clone(g.slots(0))
	for slot := uint32(5); slot < 600; slot += 10 {
		g.insert(0, slot)
		list := g.slots(0)
		require.Equal(t, slot, list[64])
		require.Equal(t, before, list[:64])
		g.remove(0, slot)
	}
	require.Equal(t, before, g.slots(0))
}
