package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// steps steps both, and compares them after each tick.
func (p *pair) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		p.w.Step()
		p.m.step()
		p.compare(t)
	}
}

// A crate that is put into the ground in a breeze is thrown up, is slow for one
// tick at the top, falls for one at a speed between RestSpeed and twice that, and
// lies still: the tick at the top counts.
func TestModelTurnsAtTheTop(t *testing.T) {
	p := newPair(t, world.Exchange)
	breeze := world.EffectDef{Program: p.programs[0], Params: []field.Vec4{{1, 1, 2, 0}}}
	p.m.effects[addEffect(t, p.w, breeze)] = &modelEffect{def: breeze}
	v := world.Vec3{X: 1, Y: -3.546875, Z: 1}
	e, err := p.w.Spawn(p.kinds[0], world.Vec3{X: 1, Z: 1}, v)
	require.NoError(t, err)
	p.m.bodies[e] = &modelBody{kind: p.kinds[0], at: world.Vec3{X: 1, Z: 1}, v: v, awake: true}

	limit := p.m.cfg.RestSpeed
	var speeds []float32
	for range 4 {
		p.steps(t, 1)
		now, _ := p.w.Velocity(e)
		speeds = append(speeds, now.Len())
	}
	require.Less(t, speeds[2], limit, "rests")
	require.Greater(t, speeds[3], limit, "does not rest")
	require.Less(t, speeds[3], 2*limit, "nor move")
	p.steps(t, p.m.cfg.RestTicks-2)
	require.True(t, p.w.Awake(e))
	p.steps(t, 1)
	require.False(t, p.w.Awake(e), "the rest of the ticks, less one")
}
