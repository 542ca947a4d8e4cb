package world

import (
	"fmt"
	"unsafe"
)

// Timer calls a function of the game in a later tick. A pending call is a component of its
// entity: images, recordings and StateHash include it, and it ends with the entity. An
// entity has at most one pending call of each Timer. To repeat, the function calls After again.
//
//	respawn, err := world.NewTimer(w, "respawn", func(player world.Entity, at Spawn) { ... })
//	respawn.After(player, 3*uint32(w.TickHz()), Spawn{Team: 2})
type Timer[A any] struct {
	w       *World
	call    func(e Entity, args A)
	pending *Component[timerCall[A]]
	due     []timerDue // scratch: the calls of this tick
}

// timerCall is a pending call.
type timerCall[A any] struct {
	Due  uint64 // tick
	Args A
}

type timerDue struct {
	entity Entity
	tick   uint64
}

// NewTimer registers a component of this name for the pending calls, and a Before system
// named "timer" and the name. The system calls call for the entities that are due, in
// ascending order of slots. A is plain data, like a component. See Register for A and for
// the error.
func NewTimer[A any](w *World, name string, call func(e Entity, args A)) (*Timer[A], error) {
	if call == nil {
		return nil, fmt.Errorf("%w: timer %q without a function", ErrValue, name)
	}
	pending, err := Register[timerCall[A]](w, name)
	if err != nil {
		return nil, err
	}
	w.timers = append(w.timers, pending.id)
	t := &Timer[A]{w: w, call: call, pending: pending}
	return t, w.AddSystem(Before, "timer "+name, func(*World) { t.run() })
}

// After schedules a call for e in the step that begins the given number of ticks from now,
// in the next step at the earliest. It replaces a pending call. It returns false unless e
// is live.
func (t *Timer[A]) After(e Entity, ticks uint32, args A) bool {
	return t.pending.Set(e, timerCall[A]{t.w.Tick() + uint64(max(ticks, 1)), args})
}

// Stop drops e's pending call. It returns false if there is none.
func (t *Timer[A]) Stop(e Entity) bool { return t.pending.Remove(e) }

// run makes the due calls. A call may stop or reschedule other calls of this tick, which
// run then omits.
func (t *Timer[A]) run() {
	t.due = t.due[:0]
	for slot := range t.pending.presence.All() {
		if c := t.pending.values.At(slot); c.Due <= t.w.tick {
			t.due = append(t.due, timerDue{t.w.pool.HandleAt(slot), c.Due})
		}
	}
	for _, d := range t.due {
		c := t.pending.Get(d.entity)
		if c == nil || c.Due != d.tick || t.w.doomed.Has(d.entity.Index()) {
			continue
		}
		args := c.Args
		t.pending.Remove(d.entity)
		t.call(d.entity, args)
	}
}

// scaleTimer scales the ticks of a timer's component.
func (img *columnImage) scaleTimer(s tickScale, now uint64) {
	for slot := range img.has.All() {
		value := unsafe.Pointer(&img.values[uintptr(slot)*img.size])
		call := (*timerCall[struct{}])(value) // first field of every timerCall
		if call.Due > now {
			call.Due = s.later(call.Due, now)
		}
	}
}
