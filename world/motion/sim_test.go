package motion

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// lift accelerates everything upwards.
func lift() *field.Program {
	return must.Get(field.Compile("effect lift\nparam force = (0,30,0,0)\neverywhere\noutput = add output, force\n"))
}

// An effect acts until its Last. It never acts if Last has passed when it is set.
func TestSimEffectEnds(t *testing.T) {
	program := lift()
	for last, acts := range map[uint64]int{4: 0, 5: 0, 6: 1, 8: 3, 0: 5} {
		s := NewSim(*testStepper(BoundsClamp), 5)
		s.Put(1, 0, State{Position: Vec3{Y: 10}, Awake: true})
		require.NoError(t, s.SetEffect(3, &Source{Program: program, Params: []field.Vec4{{0, 30}}, Born: 1, First: 2, Last: last}, false))
		lifted := 0
		for range 5 {
			before, _ := s.State(1)
			s.Tick()
			after, _ := s.State(1)
			if after.Velocity.Y > before.Velocity.Y {
				lifted++
			}
		}
		require.Equal(t, acts, lifted, "last %d", last)
		require.Equal(t, last == 0, s.Effects() == 1, "last %d", last)
	}
}

// Setting an effect that is over still ends the previous effect in its slot, and wakes the
// bodies within reach of the previous effect.
func TestSimEffectReplacedByEnded(t *testing.T) {
	program := lift()
	for _, wake := range []bool{false, true} {
		s := NewSim(*testStepper(BoundsClamp), 5)
		require.NoError(t, s.SetEffect(3, &Source{Program: program, Params: []field.Vec4{{0, 30}}, Born: 1, First: 2}, false))
		s.Put(1, 0, State{})
		require.NoError(t, s.SetEffect(3, &Source{Program: program, Params: []field.Vec4{{0, 30}}, Born: 1, First: 2, Last: 4}, wake))
		require.Zero(t, s.Effects())
		state, _ := s.State(1)
		require.Equal(t, wake, state.Awake)
	}
}

// More bodies than are evaluated at once fall asleep together. The limit includes the
// points at which Sim evaluates whether bodies are still.
func TestSimManyFallAsleep(t *testing.T) {
	const bodies = 3*BatchRows + 5
	for _, most := range []int{bodies, 2 * bodies} {
		s := NewSim(*testStepper(BoundsClamp), 5)
		for i := range uint32(bodies) {
			s.Put(i, 0, State{Position: Vec3{X: float32(i) / 100, Y: 0.5 + float32(i%2)*9}, Rest: s.stepper.RestTicks, Awake: true})
		}
		require.NoError(t, s.SetEffect(3, &Source{Program: lift(), Params: []field.Vec4{{}}, Born: 1, First: 2}, false))
		points, ok := s.TickWithin(most)
		require.Equal(t, most == 2*bodies, ok, "%d points", points)
		if !ok {
			continue
		}
		for i := range uint32(bodies) {
			state, _ := s.State(i)
			require.Equal(t, i%2 == 1, state.Awake, "half of them lie on the ground")
		}
	}
}
