package world_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

// steps steps the world and the model, and compares them after each tick.
func (p *pair) steps(t *testing.T, n int) {
	t.Helper()
	for range n {
		p.step()
		p.compare(t)
	}
}

// add spawns an entity in the world and in the model.
func (p *pair) add(t *testing.T, k world.KindID, at, v world.Vec3) world.Entity {
	t.Helper()
	e := must.Get(p.w.Spawn(k, at, v))
	p.addEntity(e, k, at, v)
	return e
}

// A crate placed inside the ground in a breeze is thrown up. At the top it is slow for one
// tick, and that tick counts as rest. It then falls for one tick at a speed between
// RestSpeed and twice RestSpeed, and lies still.
func TestModelTurnsAtTheTop(t *testing.T) {
	p := newPair(t, world.Config{HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}})
	breeze := world.EffectDef{Program: p.programs[0], Params: []field.Vec4{{1, 1, 2, 0}}}
	p.m.effects[addEffect(t, p.w, breeze)] = &modelEffect{def: breeze}
	v := world.Vec3{X: 1, Y: -3.546875, Z: 1}
	e := p.add(t, kindCrate, world.Vec3{X: 1, Z: 1}, v)

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
	p.steps(t, restTicks-2)
	require.True(t, p.w.Awake(e))
	p.steps(t, 1)
	require.False(t, p.w.Awake(e), "the rest of the ticks, less one")
}

// A body that hits a sleeper pushes it into a volume. In the step of the hit, the sleeper
// is not awake yet.
func TestModelIsPushedIntoAVolume(t *testing.T) {
	p := newPair(t, world.Config{HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, Gravity: -1, HistoryTicks: 9})
	sleeper := p.add(t, kindBall, world.Vec3{Y: 5}, world.Vec3{})
	p.w.Sleep(sleeper)
	p.m.entities[sleeper].sleep()
	volume := p.add(t, kindGhost, world.Vec3{}, world.Vec3{})
	shape := world.Volume{Center: world.Vec3{X: 10.001, Y: 5}, Radius: 10}
	require.True(t, p.zones.Set(volume, shape))
	p.m.volumes[volume] = shape
	p.steps(t, 3)
	p.add(t, kindBall, world.Vec3{X: -1.3, Y: 5}, world.Vec3{X: 20})
	p.steps(t, 2)
	require.True(t, p.w.Inside(volume, sleeper))
	p.steps(t, 60)
}

// A kinematic body at rest is ground: a body touching it on one side sleeps, although a
// body on the other side does not sleep and keeps the kinematic body awake.
func TestModelStandsBetweenTwo(t *testing.T) {
	p := newPair(t, world.Config{HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, Gravity: -1})
	ram := p.add(t, kindRam, world.Vec3{Y: 5}, world.Vec3{})
	sleepy := p.add(t, kindBall, world.Vec3{X: 1.5, Y: 5}, world.Vec3{})
	restless := p.add(t, kindBall, world.Vec3{X: -1.5, Y: 5}, world.Vec3{})
	for range restTicks + 1 {
		p.steps(t, 1)
		p.w.Wake(restless)
		p.m.wake(p.m.entities[restless])
	}
	require.False(t, p.w.Awake(sleepy))
	require.True(t, p.w.Awake(ram))
	require.True(t, p.w.Awake(restless))
}
