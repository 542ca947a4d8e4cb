package world_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world"
)

// model is a world as one would write it first: a map of bodies that know
// themselves whether they are awake, all of them visited each tick, all effects
// evaluated one point at a time, queries by looking at everybody.
type model struct {
	cfg     world.Config
	tick    uint64
	kinds   []world.Kind
	bodies  map[world.Entity]*modelBody
	effects map[world.EffectID]*modelEffect
}

type modelBody struct {
	kind    world.KindID
	at, v   world.Vec3
	rest    int
	awake   bool
	doomed  bool
	expires uint64
}

type modelEffect struct {
	def     world.EffectDef
	born    uint64
	expires uint64
}

func (m *model) step() {
	m.tick++
	for _, b := range m.bodies {
		if b.awake {
			m.move(b)
		}
	}
	for e, b := range m.bodies {
		if b.doomed || b.expires == m.tick {
			delete(m.bodies, e)
		}
	}
	for id, e := range m.effects {
		if e.expires == m.tick {
			m.removeEffect(id)
		}
	}
}

func (m *model) move(b *modelBody) {
	def := m.kinds[b.kind].Body
	dt := float32(1 / float64(m.cfg.TickHz))
	v := b.v
	if !def.Kinematic {
		wind, push := m.forces(b.at)
		d := float32(def.Drag * dt)
		k := d / (1 + d)
		v = v.Add(wind.Sub(v).Scale(k)).Add(push.Scale(dt))
		v.Y -= float32(m.cfg.Gravity * dt)
	}
	if v.Dot(v) > world.MaxSpeed*world.MaxSpeed {
		v = capped(v)
	}
	at := b.at
	at.Y += float32(v.Y * dt)
	if !def.Kinematic && at.Y <= def.Radius {
		deep := def.Radius - at.Y
		at.Y = def.Radius
		v = m.ground(def, v, deep)
	}
	at.X += float32(v.X * dt)
	at.Z += float32(v.Z * dt)
	e := m.cfg.HalfExtent
	v.X, at.X = wall(v.X, at.X, -e.X, e.X)
	v.Y, at.Y = wall(v.Y, at.Y, 0, e.Y)
	v.Z, at.Z = wall(v.Z, at.Z, -e.Z, e.Z)
	b.at, b.v = at, v
	b.rest = m.rested(def, b.rest, v)
	if b.rest >= m.cfg.RestTicks {
		b.sleep()
	}
}

// rested is a rest timer after a tick that ended at velocity v: one more for a
// body that rests, nothing for one that moves, and as much as before for one
// between Config.RestSpeed and twice that. A kinematic body rests or moves.
func (m *model) rested(def *world.BodyDef, rest int, v world.Vec3) int {
	slow, fast := m.cfg.RestSpeed, float32(2*m.cfg.RestSpeed)
	switch square := v.Dot(v); {
	case def.Kinematic && v != world.Vec3{}:
		return 0
	case def.Kinematic || square <= float32(slow*slow):
		return rest + 1
	case square > float32(fast*fast):
		return 0
	}
	return rest
}

// capped is a velocity of MaxSpeed at most, in double precision.
func capped(v world.Vec3) world.Vec3 {
	x, y, z := float64(v.X), float64(v.Y), float64(v.Z)
	square := float64(x*x) + float64(y*y) + float64(z*z)
	if square <= world.MaxSpeed*world.MaxSpeed {
		return v
	}
	s := world.MaxSpeed / math.Sqrt(square)
	return world.Vec3{X: float32(x * s), Y: float32(y * s), Z: float32(z * s)}
}

func wall(v, at, low, high float32) (float32, float32) {
	if at < low {
		return 0, low
	}
	if at > high {
		return 0, high
	}
	return v, at
}

func (m *model) ground(def *world.BodyDef, v world.Vec3, deep float32) world.Vec3 {
	if v.Y >= 0 {
		return v
	}
	g := float32(m.cfg.Gravity * float32(1/float64(m.cfg.TickHz)))
	up := float32(0)
	slow := float32(2*g) + 0.25
	if square := float32(v.Y*v.Y) - float32(2*m.cfg.Gravity*deep); square > float32(slow*slow) {
		up = float32(float32(math.Sqrt(float64(square))) * def.Restitution)
	}
	grip := float32(def.Friction * (up - v.Y))
	slide := world.Vec3{X: v.X, Z: v.Z}
	if slide.Dot(slide) <= float32(grip*grip) {
		return world.Vec3{Y: up}
	}
	slide = slide.Scale(1 - grip/slide.Len())
	slide.Y = up
	return slide
}

func (m *model) forces(at world.Vec3) (wind, push world.Vec3) {
	ids := make([]world.EffectID, 0, len(m.effects))
	for id := range m.effects {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b world.EffectID) int { return cmp.Compare(a.Index(), b.Index()) })
	for _, id := range ids {
		e := m.effects[id]
		sum := &wind
		if e.def.Mode == world.Acceleration {
			sum = &push
		}
		if _, boxed := e.def.Program.Box(); !boxed || e.has(at) {
			*sum = m.evaluate(e, at, *sum)
		}
	}
	return wind, push
}

func (m *model) evaluate(e *modelEffect, at, sum world.Vec3) world.Vec3 {
	p := at.Sub(e.def.Center)
	points := field.Planes{X: []float32{p.X}, Y: []float32{p.Y}, Z: []float32{p.Z}}
	out := field.Planes{X: []float32{sum.X}, Y: []float32{sum.Y}, Z: []float32{sum.Z}}
	env := field.Env{Time: float32(float64(m.tick-e.born) / float64(m.cfg.TickHz)), Params: e.def.Params}
	if err := e.def.Program.Evaluate(points, out, env, make([]float32, e.def.Program.Scratch())); err != nil {
		panic(err)
	}
	return world.Vec3{X: out.X[0], Y: out.Y[0], Z: out.Z[0]}
}

func (e *modelEffect) has(at world.Vec3) bool {
	box, boxed := e.def.Program.Box()
	p := at.Sub(e.def.Center)
	for i, x := range []float32{p.X, p.Y, p.Z} {
		if boxed && (x < box.Min[i] || x > box.Max[i]) {
			return false
		}
	}
	return true
}

func (b *modelBody) wake() { b.awake, b.rest = true, 0 }

func (b *modelBody) sleep() { b.awake, b.rest, b.v = false, 0, world.Vec3{} }

func (m *model) wakeIn(e *modelEffect) {
	for _, b := range m.bodies {
		if !m.kinds[b.kind].Body.Kinematic && e.has(b.at) {
			b.wake()
		}
	}
}

func (m *model) removeEffect(id world.EffectID) {
	m.wakeIn(m.effects[id])
	delete(m.effects, id)
}

// pair is the world and its model, given the same commands.
type pair struct {
	w        *world.World
	m        *model
	kinds    []world.KindID
	programs []*field.Program
	ever     []world.Entity
	effects  []world.EffectID
}

func newPair(t testing.TB, mode world.Compaction) *pair {
	w, crate, _, lift := newWorld(t, world.Config{
		HalfExtent: world.Vec3{X: 40, Y: 30, Z: 24}, RestTicks: 4, MaxEntities: 200, Compaction: mode,
	})
	ice := addKind(t, w, world.Kind{Name: "ice", Body: &world.BodyDef{Radius: 0.2, Restitution: 0.9, Drag: 1}})
	return &pair{
		w: w, kinds: []world.KindID{crate, ice, lift},
		m: &model{
			cfg: w.Config(), kinds: w.Kinds(),
			bodies: map[world.Entity]*modelBody{}, effects: map[world.EffectID]*modelEffect{},
		},
		programs: []*field.Program{compile(t, gust), compile(t, blast), compile(t, updraft)},
	}
}

func vec(t *rapid.T, name string, limit float32) world.Vec3 {
	part := rapid.Float32Range(-limit, limit)
	return world.Vec3{X: part.Draw(t, name+".x"), Y: part.Draw(t, name+".y"), Z: part.Draw(t, name+".z")}
}

func (p *pair) clamp(v world.Vec3) world.Vec3 {
	e := p.m.cfg.HalfExtent
	return world.Vec3{X: min(max(v.X, -e.X), e.X), Y: min(max(v.Y, 0), e.Y), Z: min(max(v.Z, -e.Z), e.Z)}
}

func (p *pair) spawn(t *rapid.T) {
	k := rapid.SampledFrom(p.kinds).Draw(t, "kind")
	at, v := vec(t, "at", 45), vec(t, "v", 20)
	life := rapid.SampledFrom([]uint32{0, 0, 1, 7, 30}).Draw(t, "life")
	e, err := p.w.SpawnFor(k, at, v, life)
	if len(p.m.bodies) == p.m.cfg.MaxEntities {
		require.ErrorIs(t, err, world.ErrFull)
		return
	}
	require.NoError(t, err)
	b := &modelBody{kind: k, at: p.clamp(at), v: v, awake: true}
	if life != 0 {
		b.expires = p.m.tick + uint64(life)
	}
	p.m.bodies[e] = b
	p.ever = append(p.ever, e)
}

// entity draws one that was live once, and its model if it still is.
func (p *pair) entity(t *rapid.T) (world.Entity, *modelBody) {
	if len(p.ever) == 0 {
		t.Skip("nobody yet")
	}
	e := rapid.SampledFrom(p.ever).Draw(t, "entity")
	return e, p.m.bodies[e]
}

func (p *pair) destroy(t *rapid.T) {
	e, b := p.entity(t)
	require.Equal(t, b != nil && !b.doomed, p.w.Destroy(e))
	if b != nil {
		b.doomed = true
	}
}

func (p *pair) word(t *rapid.T) {
	e, b := p.entity(t)
	wake := rapid.Bool().Draw(t, "wake")
	say := p.w.Sleep
	if wake {
		say = p.w.Wake
	}
	require.Equal(t, b != nil, say(e))
	switch {
	case b == nil:
	case wake:
		b.wake()
	default:
		b.sleep()
	}
}

func (p *pair) put(t *rapid.T) {
	e, b := p.entity(t)
	v := vec(t, "to", 50)
	require.Equal(t, b != nil, p.w.SetPosition(e, v))
	if b != nil {
		b.at = p.clamp(v)
		b.wake()
	}
}

func (p *pair) push(t *rapid.T) {
	e, b := p.entity(t)
	v := vec(t, "push", 150)
	if rapid.Bool().Draw(t, "impulse") {
		steered := b != nil && p.m.kinds[b.kind].Body.Kinematic
		require.Equal(t, b != nil && !steered, p.w.Impulse(e, v))
		if b != nil && !steered {
			b.v = capped(b.v.Add(v.Scale(1 / p.m.kinds[b.kind].Body.Mass)))
			b.wake()
		}
		return
	}
	require.Equal(t, b != nil, p.w.SetVelocity(e, v))
	if b != nil {
		b.v = capped(v)
		b.wake()
	}
}

func (p *pair) addEffect(t *rapid.T) {
	if len(p.m.effects) == 6 {
		t.Skip("enough")
	}
	def := world.EffectDef{
		Program: rapid.SampledFrom(p.programs).Draw(t, "program"), Center: vec(t, "center", 30),
		LifeTicks: rapid.SampledFrom([]uint32{0, 1, 20}).Draw(t, "life"),
	}
	if def.Program == p.programs[2] {
		def.Mode = world.Acceleration
	}
	id, err := p.w.AddEffect(def)
	require.NoError(t, err)
	e := &modelEffect{def: def, born: p.m.tick}
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
		to := vec(t, "center", 30)
		require.Equal(t, e != nil, p.w.MoveEffect(id, to))
		if e != nil && e.def.Center != to {
			p.m.wakeIn(e)
			e.def.Center = to
			p.m.wakeIn(e)
		}
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

func (p *pair) step(t *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(t, "steps") {
		p.w.Step()
		p.m.step()
	}
}

// compare is run after every command.
func (p *pair) compare(t require.TestingT) {
	require.NoError(t, p.w.CheckInvariants())
	require.Equal(t, len(p.m.bodies), p.w.Stats().Entities)
	require.Equal(t, len(p.m.effects), p.w.Stats().Effects)
	awake := 0
	for e, b := range p.m.bodies {
		at, _ := p.w.Position(e)
		v, _ := p.w.Velocity(e)
		require.Equal(t, b.at, at, "position of %v at tick %d", e, p.m.tick)
		require.Equal(t, b.v, v, "velocity of %v at tick %d", e, p.m.tick)
		require.Equal(t, b.awake, p.w.Awake(e), "%v at tick %d", e, p.m.tick)
		if b.awake {
			awake++
		}
	}
	require.Equal(t, awake, p.w.Stats().Awake)
}

func (p *pair) query(t *rapid.T) {
	center, radius := vec(t, "center", 50), rapid.Float32Range(0, 40).Draw(t, "radius")
	var got, want []world.Entity
	p.w.Within(center, radius, func(e world.Entity, at world.Vec3) bool {
		require.Equal(t, p.m.bodies[e].at, at)
		got = append(got, e)
		return true
	})
	for e, b := range p.m.bodies {
		d := [3]float64{float64(b.at.X) - float64(center.X), float64(b.at.Y) - float64(center.Y), float64(b.at.Z) - float64(center.Z)}
		if d[0]*d[0]+d[1]*d[1]+d[2]*d[2] <= float64(radius)*float64(radius) {
			want = append(want, e)
		}
	}
	require.ElementsMatch(t, want, got)
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		mode := rapid.SampledFrom([]world.Compaction{world.Exchange, world.Stable, world.InPlace})
		p := newPair(t, mode.Draw(r, "compaction"))
		r.Repeat(map[string]func(*rapid.T){
			"spawn": p.spawn, "spawn2": p.spawn, "destroy": p.destroy, "word": p.word, "put": p.put, "push": p.push,
			"addEffect": p.addEffect, "changeEffect": p.changeEffect, "step": p.step, "query": p.query, "": func(t *rapid.T) { p.compare(t) },
		})
	})
}
