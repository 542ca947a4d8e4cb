package world

import (
	"fmt"

	"github.com/worldd/worldd/internal/invariants"
)

// Phase says when in a step a system runs.
type Phase int

const (
	// Before: ahead of the sleep flush and the forces. What a system sets here
	// moves in this step.
	Before Phase = iota
	// After: when bodies have moved and the grid is up to date, ahead of the
	// deferred destroys.
	After
)

// String returns "before" or "after".
func (p Phase) String() string {
	switch p {
	case Before:
		return "before"
	case After:
		return "after"
	}
	return fmt.Sprintf("Phase(%d)", int(p))
}

type system struct {
	name string
	run  func(*World)
}

// AddSystem appends f to a phase of every later step. Systems of a phase run in
// the order in which they were added. The error names an unknown phase, an
// empty or taken name, or a missing function.
func (w *World) AddSystem(p Phase, name string, f func(*World)) error {
	if p != Before && p != After {
		return fmt.Errorf("%w: system %q: no phase %d; use Before or After", ErrValue, name, int(p))
	}
	if f == nil {
		return fmt.Errorf("%w: system %q has no function", ErrValue, name)
	}
	if name == "" {
		return fmt.Errorf("%w: a system needs one", ErrName)
	}
	for _, phase := range w.systems {
		for _, s := range phase {
			if s.name == name {
				return fmt.Errorf("%w: system %q was added already", ErrName, name)
			}
		}
	}
	w.systems[p] = append(w.systems[p], system{name, f})
	w.changesSetup()
	return nil
}

// Step advances the world by one tick, in the order that the package comment
// draws. A warm step allocates nothing by itself. Step must not be called by a
// system; it panics then.
func (w *World) Step() {
	if w.running {
		panic("world: Step was called by a system of the same step")
	}
	if w.recorder != nil {
		w.recorder.beforeStep()
	}
	w.running = true
	w.events.begin()
	for _, c := range w.components {
		c.changed().begin()
	}
	w.ApplyDeferred()
	w.markFurnished()
	w.tick++
	w.runSystems(Before)
	w.flushSleep()
	w.noteAwake()
	w.move()
	w.follow()
	w.collide()
	w.settle()
	w.runSystems(After)
	w.expireEntities()
	w.expireEffects()
	w.destroyDoomed()
	w.events.end()
	w.history.turn()
	for _, c := range w.components {
		c.changed().end()
	}
	w.running = false
	w.followPrepared()
	if w.recorder != nil {
		w.recorder.afterStep()
	}
	if invariants.Enabled {
		invariants.Check(w.CheckInvariants())
	}
}

func (w *World) runSystems(p Phase) {
	for _, s := range w.systems[p] {
		s.run(w)
		w.ApplyDeferred()
		w.markFurnished()
	}
}
