package world

import (
	"iter"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// Reference is a handle inside a component.
type Reference struct {
	Component string
	Field     string // from the type's name on: "game.Guard.Master"
	Target    Entity
}

// Resolve follows a reference: it returns the target's value, and a verdict. The
// value is nil unless the target is live and has the component. Stale means that
// the target was destroyed, and Unissued that this world never had it, so that
// the handle is forged or another world's.
func (c *Component[T]) Resolve(target Entity) (*T, bulk.Status) {
	return c.Get(target), c.w.pool.Status(target)
}

// References yields the handles in the components of an entity, with what has
// become of their targets, in the order of components and fields. Zero handles
// refer to nobody and are left out, as are those in local components. A
// reference is weak: nothing happens to it when its target goes.
func (w *World) References(e Entity) iter.Seq2[Reference, bulk.Status] {
	return func(yield func(Reference, bulk.Status) bool) {
		if w.pool.Get(e) == nil {
			return
		}
		slot := e.Index()
		for _, c := range w.components {
			if !c.present().Has(slot) {
				continue
			}
			for _, r := range c.references() {
				target := *(*Entity)(unsafe.Add(c.at(slot), r.offset))
				if target != 0 && !yield(Reference{c.info().Name, r.path, target}, w.pool.Status(target)) {
					return
				}
			}
		}
	}
}
