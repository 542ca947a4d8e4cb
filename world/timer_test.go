package world_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// timedWorld is a world with two timers, and a record of their calls.
type timedWorld struct {
	*world.World
	kind  world.KindID
	bell  *world.Timer[int32]
	chain *world.Timer[world.Entity]
	made  []string
	also  func(e world.Entity, n int32) // in each call of bell
}

func newTimedWorld(t testing.TB) *timedWorld {
	w, _, ghost, _ := newWorld(t, world.Config{Seed: 7})
	c := &timedWorld{World: w, kind: ghost}
	c.bell = must.Get(world.NewTimer(w, "bell", func(e world.Entity, n int32) {
		c.made = append(c.made, fmt.Sprintf("%d: %v %d", w.Tick(), e, n))
		if c.also != nil {
			c.also(e, n)
		}
	}))
	c.chain = must.Get(world.NewTimer(w, "chain", func(e, next world.Entity) {
		c.made = append(c.made, fmt.Sprintf("%d: %v to %v", w.Tick(), e, next))
		c.chain.After(next, 2, e)
	}))
	return c
}

func (c *timedWorld) ghost(t testing.TB) world.Entity { return spawn(t, c.World, c.kind, world.Vec3{}) }

func TestTimer(t *testing.T) {
	c := newTimedWorld(t)
	a, b := c.ghost(t), c.ghost(t)
	steps(c.World, 4)
	require.True(t, c.bell.After(b, 3, 1))
	require.True(t, c.bell.After(a, 2, 2))
	c.also = func(e world.Entity, n int32) {
		if n == 2 {
			c.bell.After(e, 2, n) // repeats
		}
	}
	steps(c.World, 6)
	require.Equal(t, []string{"6: 0v1 2", "7: 1v1 1", "8: 0v1 2", "10: 0v1 2"}, c.made)
	require.False(t, c.bell.Stop(b), "the call was made")

	c.made = nil
	require.True(t, c.bell.After(a, 0, 3), "instead of the repeated call")
	require.True(t, c.bell.After(b, 5, 4))
	require.True(t, c.bell.After(b, 1, 5), "instead of the later one")
	steps(c.World, 6)
	require.Equal(t, []string{"11: 0v1 3", "11: 1v1 5"}, c.made, "the next step, by slots")

	c.made = nil
	c.bell.After(a, 0, 6)
	c.bell.After(b, 2, 7)
	c.Destroy(b)
	c.Step()
	require.False(t, c.bell.After(b, 1, 8), "stale")
	require.Equal(t, b.Index(), c.ghost(t).Index())
	c.bell.After(a, 3, 9)
	c.Destroy(a)
	require.True(t, c.bell.After(a, 1, 9), "it is live until the end of the step")
	steps(c.World, 3)
	require.Equal(t, []string{"17: 0v1 6"}, c.made, "a call ends with its entity, whatever gets its slot")
}

// Calls of one tick may stop, change and repeat each other.
func TestTimerCallsOthers(t *testing.T) {
	c := newTimedWorld(t)
	var all []world.Entity
	for range 6 {
		all = append(all, c.ghost(t))
	}
	c.also = func(_ world.Entity, n int32) {
		if n == 0 {
			require.True(t, c.bell.Stop(all[1]))
			require.True(t, c.Destroy(all[2]))
			require.True(t, c.bell.After(all[3], 1, 30))
			require.True(t, c.bell.After(all[0], 2, 10), "itself")
			require.True(t, c.bell.After(all[5], 0, 50), "the next step is the earliest")
		}
	}
	for i, e := range all[:5] {
		c.bell.After(e, 1, int32(i))
	}
	steps(c.World, 4)
	require.Equal(t, []string{"1: 0v1 0", "1: 4v1 4", "2: 3v1 30", "2: 5v1 50", "3: 0v1 10"}, c.made)
}

// Pending calls are part of a world's image, and of its recordings.
func TestTimerIsRestored(t *testing.T) {
	c := newTimedWorld(t)
	a, b := c.ghost(t), c.ghost(t)
	c.bell.After(a, 8, 1)
	c.chain.After(a, 2, b)
	steps(c.World, 5)
	var img world.Image
	c.TakeImage(&img)
	var file, recording bytes.Buffer
	_, err := img.WriteTo(&file)
	require.NoError(t, err)
	rec := must.Get(c.Record(&recording, &img, 1))
	c.made = nil
	steps(c.World, 4)
	require.True(t, c.bell.After(b, 2, 9))
	steps(c.World, 9)
	require.NoError(t, rec.Close())
	require.Len(t, c.made, 9)

	again := newTimedWorld(t)
	require.NoError(t, again.Restore(read(t, again.World, file.Bytes())))
	steps(again.World, 4)
	require.True(t, again.bell.After(b, 2, 9))
	steps(again.World, 9)
	require.Equal(t, c.made, again.made)
	require.Equal(t, c.StateHash(), again.StateHash())

	again = newTimedWorld(t)
	replay := must.Get(again.Replay(&recording))
	for err = replay.Next(); err == nil; {
		err = replay.Next()
	}
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, c.made, again.made, "with the hash of each tick compared")

	w, _, _, _ := newWorld(t, world.Config{Seed: 7})
	for _, name := range []string{"gong", "chain"} {
		must.Get(world.Register[int32](w, name))
	}
	_, err = w.ReadImage(bytes.NewReader(file.Bytes()))
	require.ErrorContains(t, err, `its component "chain" is {Due@0 uint64:8; Args@8 handle}, the world's int32:4: `)
}

// TestTimerModel compares random timers with a list of them.
func TestTimerModel(t *testing.T) {
	type call struct {
		due uint64
		n   int32
	}
	c := newTimedWorld(t)
	rng := rand.New(rand.NewPCG(1, 2))
	var all []world.Entity
	for range 40 {
		all = append(all, c.ghost(t))
	}
	want := map[world.Entity]call{}
	for n := range int32(3000) {
		e, ticks := all[rng.IntN(len(all))], uint32(rng.IntN(9))
		now := c.Tick()
		switch rng.IntN(5) {
		case 0, 1:
			require.True(t, c.bell.After(e, ticks, n))
			want[e] = call{now + uint64(max(ticks, 1)), n}
		case 2:
			_, pending := want[e]
			require.Equal(t, pending, c.bell.Stop(e))
			delete(want, e)
		case 3:
			if rng.IntN(8) == 0 {
				require.True(t, c.Destroy(e))
				delete(want, e)
				all[slices.Index(all, e)] = c.ghost(t)
			}
		default:
			c.made = nil
			c.Step()
			var expected []string
			bySlot := slices.SortedFunc(slices.Values(all), func(a, b world.Entity) int { return int(a.Index()) - int(b.Index()) })
			for _, e := range bySlot {
				if x, ok := want[e]; ok && x.due == c.Tick() {
					expected = append(expected, fmt.Sprintf("%d: %v %d", c.Tick(), e, x.n))
					delete(want, e)
				}
			}
			require.Equal(t, expected, c.made)
		}
	}
}

func TestTimerErrors(t *testing.T) {
	c := newTimedWorld(t)
	require.ErrorContains(t, must.Fail(world.NewTimer(c.World, "bell", func(world.Entity, int) {})), `component "bell" is already registered`)
	require.ErrorIs(t, must.Fail(world.NewTimer[int](c.World, "nothing", nil)), world.ErrValue)
	require.ErrorIs(t, must.Fail(world.NewTimer(c.World, "pointer", func(world.Entity, *int) {})), world.ErrType)
}

func TestTimersAllocateNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	c := newTimedWorld(t)
	calls := 0
	var silent *world.Timer[uint32]
	silent = must.Get(world.NewTimer(c.World, "silent", func(e world.Entity, ticks uint32) {
		calls++
		silent.After(e, ticks, ticks)
	}))
	for i := range uint32(1000) {
		silent.After(c.ghost(t), 1+i%7, 1+i%7)
	}
	steps(c.World, 20)
	require.Zero(t, testing.AllocsPerRun(50, c.Step))
	require.Greater(t, calls, 10_000)
}

// BenchmarkTimers steps a world in which 10,000 calls are pending, a hundredth of them due.
func BenchmarkTimers(b *testing.B) {
	w, _, ghost, _ := newWorld(b, world.Config{MaxEntities: 1 << 14})
	var timer *world.Timer[int32]
	timer = must.Get(world.NewTimer(w, "timer", func(e world.Entity, _ int32) { timer.After(e, 100, 0) }))
	for i := range uint32(10_000) {
		timer.After(spawn(b, w, ghost, world.Vec3{}), i%100, 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Step()
	}
}
