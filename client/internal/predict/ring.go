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
