package world

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

var compactions = []Compaction{Exchange, Stable, InPlace}

// flush applies the requests since the last flush and updates rowOf, as the step does.
func (c *compaction) flush(rowOf []int32) {
	c.collect()
	c.applyFlips(rowOf)
}

// naive is the obvious flush: an awake flag per body, and a new order computed from
// scratch.
type naive struct {
	slot  []uint32
	awake []bool // by row
}

func (n *naive) flush(mode Compaction, requested []bool) {
	switch mode {
	case Exchange:
		to := 0
		for _, awake := range requested {
			if awake {
				to++
			}
		}
		high := to
		for low := range to {
			if requested[low] {
				continue
			}
			for !requested[high] {
				high++
			}
			n.slot[low], n.slot[high] = n.slot[high], n.slot[low]
			requested[low], requested[high] = true, false
		}
	case Stable:
		var parts [4][]uint32 // stayed awake, woke, fell asleep, stayed asleep
		for row, slot := range n.slot {
			part := 0
			switch {
			case requested[row] && !n.awake[row]:
				part = 1
			case !requested[row] && n.awake[row]:
				part = 2
			case !requested[row]:
				part = 3
			}
			parts[part] = append(parts[part], slot)
		}
		n.slot = slices.Concat(parts[:]...)
		for row := range requested {
			requested[row] = row < len(parts[0])+len(parts[1])
		}
	}
	copy(n.awake, requested)
}

// All columns move alike: each holds a number derived from the slot.
func TestFlushAgainstNaive(t *testing.T) {
	racetest.SkipSequential(t)
	r := rand.New(rand.NewPCG(7, 8))
	for _, mode := range compactions {
		for range 60 {
			count := 1 + r.IntN(400)
			c, n := newColumns(mode, count), &naive{awake: make([]bool, count)}
			n.slot = slices.Clone(c.slot)
			for range 20 {
				requested := c.requestRandomStates(r)
				n.flush(mode, requested)
				c.flush(c.rowOf)
				require.Equal(t, n.slot, c.slot, mode)
				require.NoError(t, c.check(count))
				for row, slot := range c.slot {
					if n.awake[row] != c.isAwake(row) || int(c.rowOf[slot]) != row ||
						c.numbers[row] != float32(slot)*3 || c.shorts[row] != uint16(slot+9) {
						require.Fail(t, "row", "%v: row %d, slot %d", mode, row, slot)
					}
				}
			}
		}
	}
}

// compactedColumns is a compaction of three columns.
type compactedColumns struct {
	compaction
	slot    []uint32
	rowOf   []int32
	numbers []float32
	shorts  []uint16
}

func newColumns(mode Compaction, count int) *compactedColumns {
	c := &compactedColumns{}
	c.mode, c.owner = mode, &c.slot
	c.compaction.columns = []rowColumn{
		&rows[uint32]{values: &c.slot}, &rows[float32]{values: &c.numbers}, &rows[uint16]{values: &c.shorts},
	}
	for slot := range count {
		c.slot, c.rowOf = append(c.slot, uint32(slot)), append(c.rowOf, int32(slot))
		c.numbers, c.shorts = append(c.numbers, float32(slot)*3), append(c.shorts, uint16(slot+9))
	}
	c.flips.reserve(count)
	return c
}

// requestRandomStates requests states, for many rows more than once, and returns the expected
// states.
func (c *compactedColumns) requestRandomStates(r *rand.Rand) []bool {
	requested := make([]bool, len(c.slot))
	for row := range requested {
		requested[row] = c.isAwake(row)
	}
	few := 1 + r.IntN(40)
	for range r.IntN(3 * len(requested)) {
		row := r.IntN(len(requested))
		if r.IntN(few) == 0 {
			requested[row] = r.IntN(2) == 0
			c.requestAwake(row, requested[row])
		}
	}
	return requested
}

func TestAwakeAfterFlush(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 8))
	for _, mode := range compactions {
		c := newColumns(mode, 5000)
		for range 20 {
			n := 0
			for row, awake := range c.requestRandomStates(r) {
				if awake != c.willBeAwake(row) {
					require.Fail(t, "row", "%v: row %d", mode, row)
				}
				if awake {
					n++
				}
			}
			require.Equal(t, n, c.awakeAfterFlush(), mode)
			c.flush(c.rowOf)
			require.Equal(t, n, c.awake)
		}
	}
}

// TestFlipsAcrossLevels: each level of flips covers the level below it, at every edge of a
// word.
func TestFlipsAcrossLevels(t *testing.T) {
	const rows = 600_000
	members := []uint32{0, 63, 64, 4095, 4096, 4161, 200_000, 262_143, 262_144, 300_001, rows - 1}
	var f flips
	f.reserve(rows)
	for range 2 { // the second time after a reset
		for _, row := range members {
			f.put(row, true)
		}
		require.True(t, f.check(rows))
		require.False(t, f.check(rows-1), "a member beyond the rows")
		require.Equal(t, members, f.appendTo(nil))
		for level, words := range [][]uint64{f.summary, f.top} {
			was := words[0]
			words[0] = 0
			require.False(t, f.check(rows), "level %d lost a word", level)
			words[0] = was
		}
		f.put(4096, false)
		require.False(t, f.has(4096))
		require.True(t, f.check(rows))
		f.reset()
		require.Empty(t, f.appendTo(nil))
	}
}

func TestFlushAllocatesNothing(t *testing.T) {
	for _, mode := range compactions {
		c := newColumns(mode, 3000)
		flip := func() {
			for row := range 1000 {
				c.requestAwake(row*3, !c.isAwake(row*3))
			}
			c.flush(c.rowOf)
		}
		for range 5 {
			flip()
		}
		require.Zero(t, testing.AllocsPerRun(20, flip), mode)
	}
}

func TestCompactionNames(t *testing.T) {
	require.Equal(t, "exchange", Exchange.String())
	require.Equal(t, "stable", Stable.String())
	require.Equal(t, "in place", InPlace.String())
	require.Equal(t, "Compaction(7)", Compaction(7).String())
	require.ErrorContains(t, Config{Compaction: 3}.Validate(), "Compaction is 3")
}
