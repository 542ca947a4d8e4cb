package world

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unsafe"
)

// columnSource is a component of a file, and the conversion of its values to the world's
// values.
type columnSource struct {
	name       string
	shape      shape       // shape of the values in the file
	column     int         // component of the world, by ID; -1: the values are dropped
	into       int         // component of the image, by index
	conversion *conversion // nil: the values are the same
	migrations []*migration
	own        shape  // of the values that migrations end with
	old        values // scratch: the values before migrations
}

// savedComponent is a component as a file describes it.
type savedComponent struct {
	name, text string
	size       uintptr // size of a value; 0: unknown, in versions before 5
}

// mapComponent finds the conversion of a component of the file.
func (m *imageMapper) mapComponent(file *savedComponent) {
	source := &columnSource{name: file.name, column: m.componentFor(file.name)}
	m.columns = append(m.columns, source)
	var own shape
	if source.column >= 0 {
		own = newShape(m.w.components[source.column].info().Type)
		source.into = m.w.savedNumbers()[source.column]
		if own.text == file.text && (file.size == 0 || file.size == own.size) {
			source.shape = own
			return
		}
	}
	tree, err := parseShape(file.text, file.size)
	if err != nil {
		m.wrong.add("its component %q is %s: %v", file.name, file.text, err)
		return
	}
	source.shape = tree.shapeOf()
	if source.column < 0 {
		return
	}
	source.own = own
	source.conversion, source.migrations = m.w.conversionFrom(tree, source.column)
	if why := source.conversion.misfits; len(why) > 0 {
		m.wrong.add("its component %q is %s, the world's %s: %s; world.Migrate registers a function that converts it",
			file.name, file.text, own.text, strings.Join(why, ", "))
	}
}

// componentFor returns the ID of the component with this name or former name, or -1.
func (m *imageMapper) componentFor(name string) int {
	for id, c := range m.w.components {
		if info := c.info(); info.Name == name && !info.Local {
			return id
		}
	}
	id, found := m.w.formerNames[name]
	if !found || slices.ContainsFunc(m.file.components, func(c savedComponent) bool { return c.name == m.w.components[id].info().Name }) {
		return -1
	}
	return id
}

// addComponents gives the image an empty column for each component of the world, as TakeImage does.
func (m *imageMapper) addComponents() {
	m.w.eachColumn(m.img, func(column, *columnImage) {})
	for _, info := range m.w.Components() {
		known := slices.ContainsFunc(m.columns, func(s *columnSource) bool { return s.column == info.ID })
		if !known && !info.Local && len(m.file.components) > 0 {
			m.note(fmt.Sprintf("component %q", info.Name), 0, false, "new: no entity has it")
		}
	}
}

// noteColumn notes the changes to a component. count is the number of entities that have
// it.
func (m *imageMapper) noteColumn(s *columnSource, count int) {
	part := fmt.Sprintf("component %q", s.name)
	if s.column < 0 {
		m.note(part, count, count > 0, "dropped: the world lacks it")
		return
	}
	if name := m.w.components[s.column].info().Name; name != s.name {
		m.note(part, 0, false, "is now component %q", name)
	}
	for _, step := range s.migrations {
		m.note(part, count, false, "migrated from %v to %v", step.old, step.new)
	}
	if c := s.conversion; c != nil && len(s.migrations) == 0 {
		for _, list := range []struct {
			what   string
			fields []string
			losing bool
		}{{"added", c.added, false}, {"dropped", c.dropped, count > 0}, {"renamed", c.renamed, false}, {"widened", c.widened, false}} {
			for _, field := range list.fields {
				m.note(part, count, list.losing, "field %s %s", list.what, field)
			}
		}
	}
}

// values are the values of a component of some slots, up to one word, in the format of memory.
type values struct {
	bytes []byte
	texts []string // by slot and text field
}

// of returns the value of the i-th slot.
func (v *values) of(i int, s *shape) values {
	n := len(s.textFields)
	return values{v.bytes[uintptr(i)*s.size:][:s.size], v.texts[i*n:][:n]}
}

// convertTo converts the values of the slots in mask into to, which holds zeros. defaultOf returns the default value of the world's
// component for a slot, or nil.
func (s *columnSource) convertTo(to values, from values, mask uint64, defaultOf func(i int) unsafe.Pointer) error {
	c := s.conversion
	if !s.shape.isValid(from.bytes) {
		return fmt.Errorf("component %q has a bool that is neither 0 nor 1", s.name)
	}
	if len(s.migrations) > 0 {
		return s.migrateTo(to, from, mask)
	}
	for rest := mask; rest != 0 && c.missing; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		if v := defaultOf(i); v != nil {
			c.fillMissing(to.of(i, &c.to), v)
		}
	}
	c.convertValues(from.bytes, to.bytes)
	for rest := mask; rest != 0 && len(c.texts) > 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		a, b := from.of(i, &c.from), to.of(i, &c.to)
		for _, t := range c.texts {
			b.texts[t.to] = a.texts[t.from]
		}
	}
	return nil
}

// fillMissing makes to a default value, of which the file's fields are then replaced.
func (c *conversion) fillMissing(to values, value unsafe.Pointer) {
	copy(to.bytes, unsafe.Slice((*byte)(value), c.to.size))
	c.to.blank(to.bytes)
	for _, j := range c.absent {
		to.texts[j] = c.to.textFields[j].copy(value)
	}
}

// migrateTo converts values with the functions passed to Migrate.
func (s *columnSource) migrateTo(to values, from values, mask uint64) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("component %q: the function of world.Migrate panicked: %v", s.name, r)
		}
	}()
	c, first := s.conversion, s.migrations[0]
	if s.old.bytes == nil {
		s.old = values{make([]byte, 64*c.to.size), make([]string, 64*len(c.to.textFields))}
	}
	old := &s.old
	c.convertValues(from.bytes, old.bytes)
	for ; mask != 0; mask &= mask - 1 {
		i := bits.TrailingZeros64(mask)
		a, b := from.of(i, &c.from), old.of(i, &c.to)
		for _, t := range c.texts {
			b.texts[t.to] = a.texts[t.from]
		}
		p := first.hold(b)
		for _, step := range s.migrations {
			p = step.apply(p)
		}
		v := to.of(i, &s.own)
		copy(v.bytes, unsafe.Slice((*byte)(p), s.own.size))
		s.own.blank(v.bytes)
		for j, f := range s.own.textFields {
			v.texts[j] = f.copy(p)
		}
	}
	return nil
}

// defaults returns a function for convertTo: the default value of the component for a slot of a word.
func (m *imageMapper) defaults(s *columnSource, word uint32) func(i int) unsafe.Pointer {
	return func(i int) unsafe.Pointer {
		if m.kindOf == nil {
			m.kindOf = m.img.kindsBySlot()
		}
		return m.w.defaultOf(m.kindOf[word<<6|uint32(i)], s.column)
	}
}

// kindsBySlot returns the kinds of the entities in all slots.
func (img *Image) kindsBySlot() []KindID {
	kinds := make([]KindID, (len(img.entities.Generations)+63)&^63)
	for row, slot := range img.rows.slot {
		kinds[slot] = img.rows.kind[row]
	}
	for i, slot := range img.bodiless.slots {
		kinds[slot] = img.bodiless.kinds[i]
	}
	return kinds
}

// defaultOf returns the default value of a component for a kind, or nil.
func (w *World) defaultOf(k KindID, component int) unsafe.Pointer {
	if int(k) >= len(w.kinds) { // of a free slot, which check refuses
		return nil
	}
	defaults := w.kinds[k].defaults
	for i := range defaults {
		if defaults[i].component == component {
			return defaults[i].value
		}
	}
	return nil
}
