package main

import (
	"fmt"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/cstruct"
	"github.com/worldd/worldd/replication/wire"
)

// reading is one component of several entities, to be read.
type reading struct {
	component uint32
	rendered  bool // at the moment of the newest render
	handles   []bulk.Handle
	verdicts  []byte // as long as handles; nil: not wanted
}

// lacking is the verdict WD_LACKING.
const lacking = wire.Provisional + 1

// each reads the component of each entity into the record's scratch, and calls f with its number and the Go struct; nil
// for those that cannot be read.
func (h *hostedClient) each(in reading, r *record, f func(i int, from unsafe.Pointer)) {
	scratch, p := r.value.Interface(), r.value.UnsafePointer()
	for i, of := range in.handles {
		e, verdict := h.entity(of), wire.Live
		switch {
		case e == nil:
			verdict = h.resolve(of)
			f(i, nil)
		case !h.readInto(in, r, e, scratch):
			verdict = lacking
			f(i, nil)
		default:
			f(i, p)
		}
		if in.verdicts != nil {
			in.verdicts[i] = byte(verdict)
		}
	}
}

// readInto reads the component of e into v, the scratch of r.
func (h *hostedClient) readInto(in reading, r *record, e *client.Entity, v any) bool {
	r.value.Elem().SetZero() // fields that the client does not receive
	if in.rendered {
		return e.ReadValueAt(int(in.component), h.moment, v)
	}
	return e.ReadValue(int(in.component), v)
}

// failSize says that a record has another size.
func (h *hostedClient) failSize(size uint64, of *record) result {
	return h.fail(badSize, fmt.Sprintf("worldd: the record has %d bytes, and %d by the schema that the client was created with: use the header that was generated with it", size, of.layout.Size))
}

// readRecords reads records of size bytes each.
func (h *hostedClient) readRecords(in reading, out unsafe.Pointer, size uint64) result {
	if in.component >= uint32(len(h.game.components)) {
		return h.fail(badArgument, "worldd: the program's schema has no such component")
	}
	r := h.game.components[in.component]
	if size != uint64(r.layout.Size) {
		return h.failSize(size, r)
	}
	h.each(in, r, func(i int, from unsafe.Pointer) {
		to := unsafe.Add(out, uintptr(i)*uintptr(size))
		clear(unsafe.Slice((*byte)(to), size))
		if from != nil {
			r.writeTo(to, from)
		}
	})
	return ok
}

// readNumbers reads one field as numbers of type T.
func readNumbers[T float32 | float64 | uint64](h *hostedClient, in reading, field uint32, out *T) result {
	r, m := h.game.field(in.component, field)
	if m == nil {
		return h.fail(badArgument, "worldd: the program's schema has no such field")
	}
	convert := converterTo[T](m.Type)
	if convert == nil {
		return h.fail(badArgument, fmt.Sprintf("worldd: field %s has values of another type", m.Path))
	}
	if len(in.handles) == 0 {
		return ok
	}
	numbers := unsafe.Slice(out, len(in.handles)*m.Count)
	step := uintptr(m.Size() / m.Count)
	h.each(in, r, func(i int, from unsafe.Pointer) {
		to := numbers[i*m.Count:][:m.Count]
		if from == nil {
			clear(to)
			return
		}
		for j := range to {
			to[j] = convert(unsafe.Add(from, m.at+uintptr(j)*step))
		}
	})
	return ok
}

// converterTo returns the function that reads an element of a type as T, or nil. Integers are read as uint64, and all others as
// floats.
func converterTo[T float32 | float64 | uint64](t cstruct.Type) func(unsafe.Pointer) T {
	var zero T
	if _, integer := any(zero).(uint64); integer == (t == cstruct.Float32 || t == cstruct.Float64 || t == cstruct.Quaternion) {
		return nil
	}
	switch t {
	case cstruct.Float32, cstruct.Quaternion:
		return func(p unsafe.Pointer) T { return T(*(*float32)(p)) }
	case cstruct.Float64:
		return func(p unsafe.Pointer) T { return T(*(*float64)(p)) }
	case cstruct.Bool:
		return func(p unsafe.Pointer) T { return T(*(*uint8)(p)) }
	case cstruct.Uint32:
		return func(p unsafe.Pointer) T { return T(*(*uint32)(p)) }
	case cstruct.Int32:
		return func(p unsafe.Pointer) T { return T(int64(*(*int32)(p))) }
	case cstruct.Uint64, cstruct.Int64, cstruct.Handle:
		return func(p unsafe.Pointer) T { return T(*(*uint64)(p)) }
	}
	return nil
}
