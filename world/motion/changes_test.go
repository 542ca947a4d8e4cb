package motion

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
)

// CopyChanges copies the states that Changed passes to its function.
func TestCopyChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	program := lift()
	s := NewSim(*testStepper(BoundsClamp), 5)
	var c Changes
	settled := 0
	for tick := range uint64(600) {
		for range r.IntN(3) {
			n := r.Uint32N(60)
			s.Put(n, 0, State{Position: Vec3{X: r.Float32() * 9}, Velocity: Vec3{X: float32(r.IntN(2))}, Awake: r.IntN(3) > 0})
			if r.IntN(9) == 0 {
				s.Drop(r.Uint32N(60))
			}
		}
		if r.IntN(20) == 0 { // wakes those that settle in its last tick
			require.NoError(t, s.SetEffect(3, &Source{
				Program: program, Params: []field.Vec4{{0, 0.1}}, Born: s.Now(), First: s.Now() + 1, Last: s.Now() + 1 + r.Uint64N(9),
			}, r.IntN(2) == 0))
		}
		s.Tick()
		s.CopyChanges(&c)
		require.Equal(t, s.Now(), c.Tick())
		want := map[uint32]State{}
		s.Changed(func(n uint32, state State) { want[n] = state })
		for n := range uint32(80) {
			state, ok := c.State(n)
			expected, changed := want[n]
			require.Equal(t, changed, ok, "tick %d, body %d", tick, n)
			require.Equal(t, expected, state, "tick %d, body %d", tick, n)
		}
		for _, n := range c.Asleep() {
			settled++
			require.False(t, want[n].Awake)
		}
	}
	require.Positive(t, settled)
}
