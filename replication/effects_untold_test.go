package replication

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// newUntold returns a world with a viewer that simulates, and with so many programs that no
// number is left: clients receive no effect.
func newUntold(t *testing.T, c world.Config) *hiddenEffects {
	h := newHiddenEffects(t, c)
	h.clean.effects.programs = make([]loggedProgram, maxLoggedPrograms)
	return h
}

func (h *hiddenEffects) push(force string, d world.EffectDef) {
	d.Program = must.Get(field.Compile("effect push\nbox (-5,-5,-5) (5,5,5)\noutput = add output, (" + force + ",0,0,0)\n"))
	d.Mode = world.Acceleration
	must.Get(h.world.AddEffect(d))
}

// An effect that clients do not know also acts in its last step, at the newest centre of
// its path: the bodies at that centre are disturbed.
func TestUntoldEffectEndsFarAlongItsPath(t *testing.T) {
	const eighth = 1 << 29 // of a turn
	for _, life := range []uint32{2, 3, 5} {
		for name, d := range map[string]world.EffectDef{ // all are at X = 100 in their last step
			"velocity": {Center: world.Vec3{X: 100 - 20*float32(life)}, Velocity: world.Vec3{X: 20 * 60}},
			"orbit": {Orbit: world.EffectOrbit{
				AxisU: world.Vec3{X: 100}, AxisV: world.Vec3{Z: 100}, Phase: -life * eighth, Rate: eighth,
			}},
		} {
			h := newUntold(t, world.Config{})
			reached := h.spawn(h.leaf, world.Vec3{X: 100, Y: 1})
			h.step(1)
			d.LifeTicks = life
			h.push("10", d)
			for range life - 1 {
				h.step(1)
				require.False(t, h.disturbed(reached), "%s, life of %d steps", name, life)
			}
			h.step(1)
			v, _ := h.world.Velocity(reached)
			require.Positive(t, v.X, "the effect acted")
			require.True(t, h.disturbed(reached), "%s, life of %d steps", name, life)
		}
	}
}

// A body may fall asleep in a step in which an effect that clients do not know acts on it.
// The body is disturbed, although it is no longer awake after the step.
func TestUntoldEffectOnBodyThatFallsAsleep(t *testing.T) {
	for _, rest := range []int{1, 2} {
		h := newUntold(t, world.Config{RestSeconds: float32(rest) / 60})
		ball := h.spawn(h.onGround, world.Vec3{X: 40, Y: 0.5})
		h.step(100)
		require.False(t, h.world.Awake(ball))
		at, _ := h.world.Position(ball)
		h.push("0.001", world.EffectDef{Center: at})
		for range rest {
			require.True(t, h.world.Awake(ball))
			h.step(1)
			require.True(t, h.disturbed(ball), "rests after %d ticks", rest)
		}
		require.False(t, h.world.Awake(ball))
		h.step(1)
		require.False(t, h.disturbed(ball), "it sleeps")
	}
}
