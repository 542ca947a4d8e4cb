package predict

import "reflect"

// Ring is a list of values of one type, by slot. Only its functions know the type.
type Ring struct {
	typ       reflect.Type
	resize    func(slots int) // the new list is all zero
	copyValue func(to, from int)
	zero      func(slot int)
	at        func(slot int) any // returns a pointer
}

// RingIn returns the Ring whose values are in list.
func RingIn[T any](list *[]T) Ring {
	return Ring{
		typ:       reflect.TypeFor[T](),
		resize:    func(slots int) { *list = make([]T, slots) },
		copyValue: func(to, from int) { (*list)[to] = (*list)[from] },
		zero:      func(slot int) { (*list)[slot] = *new(T) },
		at:        func(slot int) any { return &(*list)[slot] },
	}
}

// RingOf returns a Ring of values of type t.
func RingOf(t reflect.Type) Ring {
	list := reflect.MakeSlice(reflect.SliceOf(t), 0, 0)
	return Ring{
		typ:       t,
		resize:    func(slots int) { list = reflect.MakeSlice(reflect.SliceOf(t), slots, slots) },
		copyValue: func(to, from int) { list.Index(to).Set(list.Index(from)) },
		zero:      func(slot int) { list.Index(slot).SetZero() },
		at:        func(slot int) any { return list.Index(slot).Addr().Interface() },
	}
}

// PointerAt returns a pointer to the value in a slot.
func (r Ring) PointerAt(slot int) any { return r.at(slot) }

const (
	// Slots of states in front of the ring.
	scratch = 0
	older   = 1
	// heldSlot, in front of the ring of inputs, has the input in force at the confirmed tick.
	heldSlot = 0
	// zeroSlot, in front of the ring of inputs, has the input in force before the first one.
	zeroSlot = 1
	// ringSlot is the first slot of the rings.
	ringSlot = 2
)
