package client

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// readBody reads the exact part that follows a row. values are the row's; kind and mask are
// its entity's.
func (b *bodies) readBody(r *bitio.Reader, form wire.Form, kind, mask uint32, values []uint32) (s wire.BodyState, err error) {
	if err := b.checkBody(kind, mask); err != nil {
		return s, err
	}
	grid := b.grid(values)
	s = wire.ReadBody(r, form, &grid, b.restTicks)
	return s, wire.Malformed(r.Err())
}

// checkBody checks that entities of a kind can have exact states.
func (b *bodies) checkBody(kind, mask uint32) error {
	if mask>>b.part&1 == 0 {
		return protocolError("an exact state of an entity without a body")
	}
	if _, ok := b.kinds[kind]; !ok {
		return protocolError("an exact state of kind %d, which has no body", kind)
	}
	return nil
}

// Exact returns the newest state of e's body that the client computed or received, and the
// tick after which the server's body had it, to the bit. It returns false for entities of
// which the server sends ordinary rows, and without Config.Simulate.
func (e *Entity) Exact() (s motion.State, tick uint32, ok bool) {
	b := e.layout.bodies
	t := b.of(e)
	if t == nil || t.lost {
		return s, 0, false
	}
	if t.fresh {
		return t.given, t.at, true
	}
	return b.state(t, b.now), b.now, true
}

// current returns the newest values of component n of e: computed ones, valid until the next
// call, if it is the body of an exact entity.
func (e *Entity) current(n int) []uint32 {
	if b := e.layout.bodies; b != nil && n == b.part {
		if s, _, ok := e.Exact(); ok {
			return b.quantise(&s)
		}
	}
	return e.values(n, int(e.states.newest))
}

// quantise returns the values of a body in a row, valid until the next call.
func (b *bodies) quantise(s *motion.State) []uint32 {
	state := bodyOf(*s)
	b.quantised = schema.Body{Position: state.Position, Velocity: state.Velocity}
	bodyForm.Quantise(0, &b.quantised, b.values[:])
	return b.values[:]
}

// bodyFields are where a struct type has the position and the velocity of a body.
type bodyFields struct{ position, velocity uintptr }

// bodyFieldsOf returns them for a component, or nil if it is not the body or its struct has
// other types.
func bodyFieldsOf(name string, t reflect.Type) *bodyFields {
	vector := reflect.TypeFor[[3]float32]()
	if name != schema.BodyComponent {
		return nil
	}
	if t == reflect.TypeFor[schema.Body]() {
		return ownBody
	}
	p, ok := t.FieldByName("Position")
	v, moves := t.FieldByName("Velocity")
	if !ok || !moves || p.Type != vector || v.Type != vector || len(p.Index) != 1 || len(v.Index) != 1 {
		return nil
	}
	return &bodyFields{p.Offset, v.Offset}
}

// ownBody are the fields of schema.Body.
var ownBody = &bodyFields{unsafe.Offsetof(schema.Body{}.Position), unsafe.Offsetof(schema.Body{}.Velocity)}

func (f *bodyFields) set(v unsafe.Pointer, s *motion.State) {
	*(*[3]float32)(unsafe.Add(v, f.position)) = [3]float32{s.Position.X, s.Position.Y, s.Position.Z}
	*(*[3]float32)(unsafe.Add(v, f.velocity)) = [3]float32{s.Velocity.X, s.Velocity.Y, s.Velocity.Z}
}

func (f *bodyFields) equal(v unsafe.Pointer, s *motion.State) bool {
	p, w := *(*[3]float32)(unsafe.Add(v, f.position)), *(*[3]float32)(unsafe.Add(v, f.velocity))
	return vec(p) == s.Position && vec(w) == s.Velocity
}

// between returns the state at moment m, and the states next to it.
func (b *bodies) between(t *track, m Moment) (s, from, to motion.State) {
	b.sync(t)
	now := b.now
	if t.fresh { // not computed yet, or again
		now = max(now, t.last)
	}
	tick := uint32(min(max(m.Tick, 0), math.MaxUint32-1))
	from = t.state(min(tick, now))
	if tick < now {
		to = t.state(tick + 1)
		return mix(&from, &to, float32(m.Tick-float64(tick))), from, to
	}
	before := t.state(now - min(now, 1))
	return mix(&before, &from, float32(1+min(m.Tick-float64(now), m.maxExtrapolate))), from, from
}

func mix(a, b *motion.State, share float32) motion.State {
	return motion.State{
		Position: a.Position.Add(b.Position.Sub(a.Position).Scale(share)),
		Velocity: a.Velocity.Add(b.Velocity.Sub(a.Velocity).Scale(share)),
	}
}
