package world

import (
	"iter"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// eventList holds the events since the end of the step before last. The next step drops
// those that readers saw after the last step, and keeps those added since.
type eventList struct {
	list []Entity
	seen int // number of entries at the end of the last step
}

func (l *eventList) add(e Entity) { l.list = append(l.list, e) }

func (l *eventList) begin() {
	n := copy(l.list, l.list[l.seen:])
	l.list, l.seen = l.list[:n], 0
}

type events struct {
	spawned, destroyed eventList
	causes             []uint8  // of destroyed
	slept, woke        []Entity // of the flush of the current step
	quarantined        []Quarantine
	stopped            bulk.Bitset // the slots in quarantined
}

func (e *events) begin() {
	e.spawned.begin()
	e.destroyed.begin()
	e.causes = e.causes[:0]
	e.slept, e.woke = e.slept[:0], e.woke[:0]
	e.quarantined = e.quarantined[:0]
	if e.stopped.Any() {
		e.stopped.Reset()
	}
}

func (e *events) end() {
	e.spawned.seen = len(e.spawned.list)
	e.destroyed.seen = len(e.destroyed.list)
}

// Spawned yields the entities spawned since the end of the step before the last one,
// oldest first: by inputs before the last step, by its systems, and since. A reader
// that calls it once after every step sees every entity once. An entity spawned and
// destroyed in one step is in Destroyed too. Valid until the next Step.
func (w *World) Spawned() iter.Seq[Entity] { return slices.Values(w.events.spawned.list) }

// Destroyed yields the entities that the last step destroyed, in ascending order of
// slots, and their causes: the argument of DestroyBecause, or 0, as for all after a
// restore. The entities are already Stale. Valid until the next Step.
func (w *World) Destroyed() iter.Seq2[Entity, uint8] {
	return func(yield func(Entity, uint8) bool) {
		for i, e := range w.events.destroyed.list {
			if !yield(e, w.events.causes[i]) {
				return
			}
		}
	}
}

// Slept yields the bodies that the last step's flush put to sleep, in ascending order
// of slots. Valid until the next Step, whose After systems see its own bodies.
func (w *World) Slept() iter.Seq[Entity] { return slices.Values(w.events.slept) }

// Woke yields the bodies that the last step's flush woke, in ascending order of slots,
// without new bodies, which begin awake. Valid until the next Step, whose After systems
// see its own bodies.
func (w *World) Woke() iter.Seq[Entity] { return slices.Values(w.events.woke) }
