package bodies

import (
	"math"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// ReadBody reads the exact part after a row. values are the row's; kind and mask are the
// entity's.
func (b *Bodies) ReadBody(r *bitio.Reader, form wire.Form, kind, mask uint32, values []uint32) (s wire.BodyState, err error) {
	if err := b.CheckBody(kind, mask); err != nil {
		return s, err
	}
	grid := b.form.gridOf(values)
	s = wire.ReadBody(r, form, &grid, b.restTicks)
	return s, wire.Malformed(r.Err())
}

// MaxBack returns the most ticks by which an exact state may precede its message's tick.
func (b *Bodies) MaxBack() uint32 { return b.effects.maxBack }

// CheckBody checks that entities of a kind can have exact states.
func (b *Bodies) CheckBody(kind, mask uint32) error {
	if mask>>b.form.component&1 == 0 {
		return badMessage("an exact state of an entity without a body")
	}
	if _, ok := b.kinds[kind]; !ok {
		return badMessage("an exact state of kind %d, which has no body", kind)
	}
	return nil
}

// Computes reports whether an entity's body is computed, or will be when the server has sent
// its state again.
func (b *Bodies) Computes(index uint32) bool { return b.tracks.trackAt(index) != nil }

// Newest returns the newest state of an entity's body, computed or received, and its tick. It
// returns false for ordinary entities, and for bodies that stand still because computing took
// too long.
func (b *Bodies) Newest(index uint32) (s motion.State, tick uint32, ok bool) {
	t := b.tracks.trackAt(index)
	switch {
	case t == nil || t.state == trackLost:
		return s, 0, false
	case t.waits():
		return t.given, t.at, true
	}
	return b.tracks.stateAfter(t, b.tracks.now), b.tracks.now, true
}

// At returns the state of an entity's body at a moment in ticks, extrapolated by at most
// maxExtrapolate ticks. from and to are the states of the ticks around the moment. It returns
// false for ordinary entities.
func (b *Bodies) At(index uint32, moment, maxExtrapolate float64) (s, from, to motion.State, ok bool) {
	t := b.tracks.trackAt(index)
	if t == nil {
		return s, from, to, false
	}
	b.tracks.syncTrack(t)
	now := b.tracks.now
	if t.waits() {
		now = max(now, t.last)
	}
	tick := uint32(min(max(moment, 0), math.MaxUint32-1))
	from = t.stateAfter(min(tick, now))
	if s, ok := t.leap.stateAt(moment, from); ok {
		return s, s, s, true
	}
	if tick < now {
		to = t.stateAfter(tick + 1)
		return mixStates(&from, &to, float32(moment-float64(tick))), from, to, true
	}
	if t.leap.tick != 0 && t.leap.landed == now {
		return from, from, from, true // the way to here shows no motion
	}
	before := t.stateAfter(now - min(now, 1))
	return mixStates(&before, &from, float32(1+min(moment-float64(now), maxExtrapolate))), from, from, true
}

func mixStates(a, b *motion.State, share float32) motion.State {
	return motion.State{
		Position: a.Position.Add(b.Position.Sub(a.Position).Scale(share)),
		Velocity: a.Velocity.Add(b.Velocity.Sub(a.Velocity).Scale(share)),
	}
}

// Quantise returns the values of a body in a row, valid until the next call.
func (b *Bodies) Quantise(s *motion.State) []uint32 { return b.form.quantise(s) }

func bodyOf(s motion.State) wire.BodyState {
	return wire.BodyState{Position: s.Position.Array(), Velocity: s.Velocity.Array(), Awake: s.Awake, Rest: s.Rest}
}

func stateOf(s *wire.BodyState) motion.State {
	return motion.State{Position: motion.VecOf(s.Position), Velocity: motion.VecOf(s.Velocity), Awake: s.Awake, Rest: s.Rest}
}
