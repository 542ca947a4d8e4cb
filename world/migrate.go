package world

import (
	"fmt"
	"reflect"
	"slices"
	"unsafe"
)

// migration makes values of one type from values of an older type of the same component.
type migration struct {
	old, new reflect.Type
	tree     *node                                   // of old
	shape    shape                                   // of old
	held     unsafe.Pointer                          // an Old
	apply    func(old unsafe.Pointer) unsafe.Pointer // returns a value of the new type
}

// hold returns an Old of this value. It is valid until the next call.
func (m *migration) hold(v values) unsafe.Pointer {
	for _, f := range m.shape.textFields {
		f.set(m.held, "") // before the raw copy, which the garbage collector does not see
	}
	copy(unsafe.Slice((*byte)(m.held), m.shape.size), v.bytes)
	for j, f := range m.shape.textFields {
		f.set(m.held, v.texts[j])
	}
	return m.held
}

// Migrate registers a function for values of c from an earlier version of the game, where
// c's type was Old. f returns a value of c's type, or of an Old that is registered already:
//
//	world.Migrate(w, purse, func(old PurseV2) Purse { ... })
//	world.Migrate(w, purse, func(old PurseV1) PurseV2 { ... })
//
// ReadImage and Replay call it for a component with exactly the fields of Old, whatever the type was
// called. Changes that keep every value need no function: see ReadImage. f must depend on its argument
// alone.
//
// The error is ErrUnknown for a component of another world, and ErrType for an Old that no
// component can have. It is ErrValue for a New from which no function leads to c's type,
// and for an Old with the fields of c or of another registered Old.
func Migrate[Old, New, T any](w *World, c *Component[T], f func(Old) New) error {
	if c == nil || c.w != w || c.local {
		return fmt.Errorf("%w: the component was not registered with this world by Register", ErrUnknown)
	}
	old, next := reflect.TypeFor[Old](), reflect.TypeFor[New]()
	if _, err := layoutOf(old); err != nil {
		return fmt.Errorf("%w: component %q: Migrate from %w", ErrType, c.name, err)
	}
	tree, known := nodeOf(old), w.migrations[c.id]
	if next != reflect.TypeFor[T]() && !slices.ContainsFunc(known, func(m *migration) bool { return m.old == next }) {
		return fmt.Errorf("%w: component %q: Migrate to %v, which is neither its type nor one that Migrate takes: register the newest first", ErrValue, c.name, next)
	}
	if tree.sameFields(nodeOf(reflect.TypeFor[T]())) || slices.ContainsFunc(known, func(m *migration) bool { return m.tree.sameFields(tree) }) {
		return fmt.Errorf("%w: component %q: Migrate from %v: the component has these fields, or another Migrate takes them", ErrValue, c.name, old)
	}
	held, result := new(Old), new(New)
	m := &migration{old: old, new: next, tree: tree, shape: newShape(old), held: unsafe.Pointer(held)}
	m.apply = func(p unsafe.Pointer) unsafe.Pointer {
		*result = f(*(*Old)(p))
		return unsafe.Pointer(result)
	}
	if w.migrations == nil {
		w.migrations = map[int][]*migration{}
	}
	w.migrations[c.id] = append(known, m)
	return nil
}

// conversionFrom returns the conversion of values with the fields of tree to the world's
// component. It uses the functions of Migrate if one of them takes exactly these fields,
// and otherwise the names of the fields.
func (w *World) conversionFrom(tree *node, id int) (*conversion, []*migration) {
	for _, m := range w.migrations[id] {
		if !m.tree.sameFields(tree) {
			continue
		}
		steps := []*migration{m}
		for next := m.new; ; {
			i := slices.IndexFunc(w.migrations[id], func(m *migration) bool { return m.old == next })
			if i < 0 {
				break
			}
			steps = append(steps, w.migrations[id][i])
			next = w.migrations[id][i].new
		}
		return newConversion(tree, m.tree, m.shape), steps
	}
	t := w.components[id].info().Type
	return newConversion(tree, nodeOf(t), newShape(t)), nil
}

// Was registers the names that the component had in earlier versions of the game: images and
// recordings that name it so are understood. The error is ErrName for a name that another component
// has or had.
func (c *Component[T]) Was(names ...string) error {
	for _, name := range names {
		id, taken := c.w.formerNames[name]
		taken = taken && id != c.id || slices.ContainsFunc(c.w.components, func(o column) bool { return o.info().Name == name })
		if name == "" || taken {
			return fmt.Errorf("%w: component %q was not %q: another component has or had that name", ErrName, c.name, name)
		}
		if c.w.formerNames == nil {
			c.w.formerNames = map[string]int{}
		}
		c.w.formerNames[name] = c.id
	}
	return nil
}
