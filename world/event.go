package world

import (
	"iter"
	"slices"

	"github.com/worldd/worldd/bulk"
)

// eventList holds the events since the end of the step before last. The next step drops the
// events that readers saw after the last step, and keeps later ones.
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
	causes             []uint8  // causes of destroyed
	slept, woke        []Entity // bodies that the current step's flush put to sleep or woke
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

// Spawned yields the entities spawned since the end of the step before the last one, oldest
// first: before the last step, by its systems, and since then. A reader that calls it once
// after every step sees every entity once. Destroyed also yields an entity that was spawned
// and destroyed in one step. Valid until the next Step.
func (w *World) Spawned() iter.Seq[Entity] { return slices.Values(w.events.spawned.list) }

// Destroyed yields the entities that the last step destroyed, in ascending order of slots,
// with the cause given to DestroyBecause, or 0. After a restore all causes are 0. The
// entities are already Stale. Valid until the next Step.
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
// of slots. Valid until the next Step. Its After systems see the bodies of that step.
func (w *World) Slept() iter.Seq[Entity] { return slices.Values(w.events.slept) }

// Woke yields the bodies that the last step's flush woke, in ascending order of slots. New
// bodies begin awake and are not listed. Valid until the next Step. Its After systems
// see the bodies of that step.
func (w *World) Woke() iter.Seq[Entity] { return slices.Values(w.events.woke) }
