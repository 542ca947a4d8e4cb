package world_test

import (
	"math"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world"
)

func vec(t *rapid.T, name string, limit float32) world.Vec3 {
	part := rapid.Float32Range(-limit, limit)
	return world.Vec3{X: part.Draw(t, name+".x"), Y: part.Draw(t, name+".y"), Z: part.Draw(t, name+".z")}
}

// position is mostly inside the bounds.
func (p *pair) position(t *rapid.T, name string) world.Vec3 {
	e, v := p.m.cfg.HalfExtent, vec(t, name, 1.2)
	return world.Vec3{X: v.X * e.X, Y: v.Y * e.Y, Z: v.Z * e.Z}
}

func (p *pair) spawn(t *rapid.T) {
	k := world.KindID(rapid.IntRange(0, len(p.m.kinds)-1).Draw(t, "kind"))
	at, v := p.position(t, "at"), vec(t, "v", 20)
	life := rapid.SampledFrom([]uint32{0, 0, 1, 7, 30}).Draw(t, "life")
	e, err := p.w.SpawnFor(k, at, v, life)
	if len(p.m.entities) == p.m.cfg.MaxEntities {
		require.ErrorIs(t, err, world.ErrFull)
		return
	}
	require.NoError(t, err)
	if b := p.addEntity(e, k, at, v); life != 0 {
		b.expires = p.m.tick + uint64(life)
	}
}

// spawnSome spawns several bodies of a kind, overlapping or in a row on the ground in which
// neighbours touch.
func (p *pair) spawnSome(t *rapid.T) {
	k := rapid.SampledFrom([]world.KindID{kindBall, kindBall, kindRock, kindRam, kindCrate}).Draw(t, "kind")
	at, by := p.position(t, "at"), vec(t, "by", 1.5)
	if rapid.Bool().Draw(t, "in a row") {
		r := p.m.kinds[k].Body.Radius
		at.Y, by = r, world.Vec3{Z: 2 * r}
	}
	asleep := rapid.Bool().Draw(t, "asleep")
	for range rapid.IntRange(2, 12).Draw(t, "number") {
		if len(p.m.entities) == p.m.cfg.MaxEntities {
			return
		}
		e := must.Get(p.w.Spawn(k, at, world.Vec3{}))
		b := p.addEntity(e, k, at, world.Vec3{})
		if asleep {
			p.w.Sleep(e)
			b.sleep()
		}
		at = at.Add(by)
	}
}

// sleepAll puts all bodies to sleep, even in the air.
func (p *pair) sleepAll(*rapid.T) {
	for _, e := range p.m.allBySlot() {
		if b := p.m.entities[e]; b.def != nil {
			p.w.Sleep(e)
			b.sleep()
		}
	}
}

// entity draws an entity that is or was live; its model is nil if it is not.
func (p *pair) entity(t *rapid.T) (world.Entity, *modelEntity) {
	if len(p.ever) == 0 {
		t.Skip("no entity yet")
	}
	e := rapid.SampledFrom(p.ever).Draw(t, "entity")
	return e, p.m.entities[e]
}

// body draws like entity; the model is also nil if the entity has no body.
func (p *pair) body(t *rapid.T) (world.Entity, *modelEntity) {
	e, b := p.entity(t)
	if b != nil && b.def == nil {
		return e, nil
	}
	return e, b
}

func (p *pair) destroy(t *rapid.T) {
	e, b := p.entity(t)
	require.Equal(t, b != nil && !b.doomed, p.w.Destroy(e))
	if b != nil {
		b.doomed = true
	}
}

func (p *pair) setAwake(t *rapid.T) {
	e, b := p.body(t)
	wake := rapid.Bool().Draw(t, "wake")
	set := p.w.Sleep
	if wake {
		set = p.w.Wake
	}
	require.Equal(t, b != nil, set(e))
	switch {
	case b == nil:
	case wake:
		p.m.wake(b)
	default:
		b.sleep()
	}
}

func (p *pair) put(t *rapid.T) {
	e, b := p.body(t)
	v := p.position(t, "to")
	require.Equal(t, b != nil, p.w.SetPosition(e, v))
	if b != nil {
		p.m.wakeGroup(b)
		b.at = p.m.clamped(v)
		p.m.wakeGroup(b)
		if rapid.Bool().Draw(t, "asleep") {
			p.w.Sleep(e)
			b.sleep()
		}
	}
}

func (p *pair) push(t *rapid.T) {
	e, b := p.body(t)
	v := rapid.OneOf(rapid.Just(float32(150)), rapid.Just(float32(0.3))).Draw(t, "strength")
	push := vec(t, "push", v)
	if rapid.Bool().Draw(t, "impulse") {
		steered := b != nil && b.def.Kinematic
		require.Equal(t, b != nil && !steered, p.w.Impulse(e, push))
		if b != nil && !steered {
			p.accelerate(b, b.v.Add(push.Scale(1/b.def.Mass)))
		}
		return
	}
	require.Equal(t, b != nil, p.w.SetVelocity(e, push))
	if b != nil {
		p.accelerate(b, push)
	}
}

// accelerate wakes touching bodies as well, unless the velocity is very small.
func (p *pair) accelerate(b *modelEntity, v world.Vec3) {
	b.v = capped(v)
	if p.m.moves(b, v) {
		p.m.wakeGroup(b)
	} else {
		p.m.wake(b)
	}
}

func (p *pair) addEffect(t *rapid.T) {
	if len(p.m.effects) == 6 {
		t.Skip("enough")
	}
	def := world.EffectDef{
		Program: rapid.SampledFrom(p.programs).Draw(t, "program"), Center: p.position(t, "center"),
		LifeTicks: rapid.SampledFrom([]uint32{0, 1, 20}).Draw(t, "life"),
		Layers:    rapid.SampledFrom([]world.Layers{0, 0, 1, 2, 6, 8}).Draw(t, "layers"),
	}
	if def.Program == p.programs[2] {
		def.Mode = world.Acceleration
	}
	e := &modelEffect{born: p.m.tick}
	switch rapid.IntRange(0, 3).Draw(t, "path") {
	case 1:
		def.Velocity = vec(t, "velocity", 30)
	case 2:
		def.Orbit = world.EffectOrbit{
			AxisU: vec(t, "u", 9), AxisV: vec(t, "v", 9),
			Phase: rapid.Uint32().Draw(t, "phase"), Rate: rapid.Uint32().Draw(t, "rate"),
		}
	}
	e.def = def
	e.center = p.m.path(e, p.m.tick+1)
	if def.Orbit == (world.EffectOrbit{}) && def.Velocity == (world.Vec3{}) && len(p.ever) > 0 && rapid.Bool().Draw(t, "follow") {
		leader, b := p.body(t)
		def.Center, def.Follow = vec(t, "offset", 3), leader
		if b == nil {
			require.ErrorIs(t, must.Fail(p.w.AddEffect(def)), world.ErrValue)
			return
		}
		e.center = b.at.Add(def.Center)
	}
	id := must.Get(p.w.AddEffect(def))
	e.def = def
	if def.LifeTicks != 0 {
		e.expires = p.m.tick + uint64(def.LifeTicks)
	}
	p.m.effects[id] = e
	p.effects = append(p.effects, id)
	p.m.wakeIn(e)
}

func (p *pair) changeEffect(t *rapid.T) {
	if len(p.effects) == 0 {
		t.Skip("none yet")
	}
	id := rapid.SampledFrom(p.effects).Draw(t, "effect")
	e := p.m.effects[id]
	switch rapid.IntRange(0, 2).Draw(t, "change") {
	case 0:
		to := p.position(t, "center")
		require.Equal(t, e != nil, p.w.MoveEffect(id, to))
		if e == nil {
			return
		}
		e.def.Center, e.def.Velocity, e.def.Orbit = to, world.Vec3{}, world.EffectOrbit{}
		if leader := p.m.entities[e.def.Follow]; leader != nil {
			to = leader.at.Add(to)
		}
		p.m.center(e, to)
	case 1:
		strength := rapid.OneOf(rapid.Just(float32(6)), rapid.Float32Range(-50, 50))
		params := []field.Vec4{{strength.Draw(t, "param"), 1, 2, 0}}
		has := e != nil && len(e.def.Program.Params()) == 1
		require.Equal(t, has, p.w.SetEffectParams(id, params))
		if has && !slices.Equal(e.def.Params, params) {
			e.def.Params = params
			p.m.wakeIn(e)
		}
	case 2:
		require.Equal(t, e != nil, p.w.RemoveEffect(id))
		if e != nil {
			p.m.removeEffect(id)
		}
	}
}

// volume gives an entity a volume, or removes it.
func (p *pair) volume(t *rapid.T) {
	e, b := p.entity(t)
	if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		_, has := p.m.volumes[e]
		require.Equal(t, has, p.zones.Remove(e))
		delete(p.m.volumes, e)
		return
	}
	shape := world.Volume{
		Center: vec(t, "center", 3), Half: vec(t, "half", 12),
		Layers: rapid.SampledFrom([]world.Layers{0, 0, 1, 2, 4, 8}).Draw(t, "layers"),
	}
	if rapid.Bool().Draw(t, "sphere") {
		shape.Radius = rapid.Float32Range(-1, 15).Draw(t, "radius")
	} else {
		shape.Half = world.Vec3{X: abs(shape.Half.X), Y: abs(shape.Half.Y), Z: shape.Half.Z}
	}
	if rapid.IntRange(0, 9).Draw(t, "strange") == 0 {
		strange := rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}).Draw(t, "number")
		*rapid.SampledFrom([]*float32{&shape.Radius, &shape.Half.Y, &shape.Center.Z}).Draw(t, "where") = strange
	}
	require.Equal(t, b != nil, p.zones.Set(e, shape))
	if b != nil {
		p.m.volumes[e] = shape
	}
}

func abs(x float32) float32 { return max(x, -x) }

func (p *pair) someSteps(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		p.step()
		p.compareEvents(t)
	}
}

func (p *pair) query(t *rapid.T) {
	center, radius := p.position(t, "center"), rapid.Float32Range(0, 40).Draw(t, "radius")
	var got, want []world.Entity
	for e, at := range p.w.Within(center, radius) {
		require.Equal(t, p.m.entities[e].at, at)
		got = append(got, e)
	}
	for e, b := range p.m.entities {
		d := [3]float64{float64(b.at.X) - float64(center.X), float64(b.at.Y) - float64(center.Y), float64(b.at.Z) - float64(center.Z)}
		if b.def != nil && d[0]*d[0]+d[1]*d[1]+d[2]*d[2] <= float64(radius)*float64(radius) {
			want = append(want, e)
		}
	}
	require.ElementsMatch(t, want, got)
}
