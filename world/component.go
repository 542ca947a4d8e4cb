package world

import (
	"fmt"
	"iter"
	"math/bits"
	"reflect"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/columns"
)

// Component is a registered component type with its values.
type Component[T any] struct {
	w      *World
	name   string
	id     int
	local  bool
	layout layout
	values columns.Column[T]
	every  *Query // all entities that have the component
	storage
	changes  changeMarks
	deferred []T // values of pending DeferSets, in order
}

// changeMarks holds the slots marked as changed; see Component.Changed.
type changeMarks struct {
	past   bulk.Bitset  // marks of the current step and since the step before: the result of Changed
	imaged bulk.Bitset  // marks between the end of the last step and the newest image
	next   bulk.Bitset  // marks since the last step ended, and since an image was taken after it
	marks  *bulk.Bitset // where a mark goes now: past during a step, else next
}

func (c *changeMarks) begin() {
	c.marks = &c.past
	if c.next.Any() || c.imaged.Any() || c.past.Any() {
		c.past.SetOr(c.next.View(), c.imaged.View())
		c.next.Reset()
		c.imaged.Reset()
	}
}

func (c *changeMarks) end() { c.marks = &c.next }

// noteImage separates the marks of values that an image contains from those that follow.
func (c *changeMarks) noteImage() {
	if c.next.Any() {
		c.imaged.SetOr(c.imaged.View(), c.next.View())
		c.next.Reset()
	}
}

// restore marks the slots that were marked in an image since its last step.
func (c *changeMarks) restore(marks bulk.BitsetView) {
	c.imaged.CopyFrom(marks)
	c.next.Reset()
}

func (c *changeMarks) add(word uint32, mask uint64) {
	c.marks.SetWord(word, c.marks.Word(word)|mask)
}

func (c *changeMarks) forget(word uint32, mask uint64) {
	c.past.SetWord(word, c.past.Word(word)&^mask)
	c.imaged.SetWord(word, c.imaged.Word(word)&^mask)
	c.next.SetWord(word, c.next.Word(word)&^mask)
}

// markSpawned marks spawned entities as dirty and their components as changed, 64 slots
// at a time. It is deferred until a system returns or a caller reads the marks, because
// marking each component would dominate the cost of a spawn.
func (w *World) markSpawned() {
	w.marked++
	for word := range bulk.And(w.unmarked.View()) {
		mask := w.unmarked.Word(word)
		w.dirty.SetWord(word, w.dirty.Word(word)|mask)
		for id, present := range w.presences {
			if has := present.Word(word) & mask; has != 0 {
				w.components[id].changed().add(word, has)
			}
		}
		w.unmarked.SetWord(word, 0)
	}
}

// storage is the part of a component that is independent of its type.
type storage struct {
	presence bulk.Bitset
	blocks   []unsafe.Pointer // blocks of the column
}

// valueAt returns the address of a slot's value of size bytes.
func (s *storage) valueAt(slot uint32, size uintptr) unsafe.Pointer {
	return unsafe.Add(s.blocks[slot/bulk.BlockLen], uintptr(slot%bulk.BlockLen)*size)
}

// column is a Component of any type.
type column interface {
	info() ComponentInfo
	present() *bulk.Bitset
	changed() *changeMarks
	references() []uintptr // offsets of the handles in a value
	at(slot uint32) unsafe.Pointer
	value(slot uint32) any // *T, or nil if the slot lacks it
	grow(slots uint32)
	clear(word uint32, mask uint64) // mask: slots that have the component
	hash(h hash, slot uint32) hash
	setDeferred(slot, n uint32) // n: index of the pending value
	dropDeferred()
}

// ComponentInfo describes a registered component.
type ComponentInfo struct {
	ID    int // for SlotView.ComponentValue: from 0, in order of registration
	Name  string
	Type  reflect.Type
	Local bool // registered with RegisterLocal
}

// Register adds a component type to the world under a name. T must contain its values:
// no pointer, map, interface, function, channel or slice at any depth (the error names
// the field), except strings and []byte. RegisterLocal accepts all types. Existing
// entities do not get the component.
//
// A component owns the bytes of its []byte fields: Set, DeferSet and SetDefault copy them.
// Write to them through Mut only. After Restore an empty []byte is nil.
func Register[T any](w *World, name string) (*Component[T], error) {
	layout, err := layoutOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, fmt.Errorf("%w: component %q: %w", ErrType, name, err)
	}
	return register[T](w, name, layout, false)
}

// RegisterLocal registers a component for data that stays in this process: a path, a
// connection, a cache. T may be any type. The component is not part of the world's state:
// StateHash, images and replication ignore it.
func RegisterLocal[T any](w *World, name string) (*Component[T], error) {
	return register[T](w, name, layout{}, true)
}

func register[T any](w *World, name string, l layout, local bool) (*Component[T], error) {
	if err := w.checkComponentName(name); err != nil {
		return nil, err
	}
	c := &Component[T]{w: w, name: name, id: len(w.components), local: local, layout: l}
	err := w.addColumn(c)
	if err != nil {
		return nil, err
	}
	c.every, err = w.NewQuery(QueryDef{With: []Term{c}})
	return c, err
}

func (w *World) checkComponentName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: a component needs a name", ErrName)
	}
	if _, taken := w.formerNames[name]; taken {
		return fmt.Errorf("%w: %q is a former name of another component", ErrName, name)
	}
	for _, other := range w.components {
		if other.info().Name == name {
			return fmt.Errorf("%w: component %q is already registered", ErrName, name)
		}
	}
	return nil
}

// addColumn adds a component of any type: the compiler makes a copy of generic code for each.
func (w *World) addColumn(c column) error {
	if err := w.volumes.register(c); err != nil {
		return err
	}
	changes := c.changed()
	changes.marks = &changes.next
	if w.running {
		changes.marks = &changes.past
	}
	c.grow(w.pool.Slots())
	w.components = append(w.components, c)
	w.presences = append(w.presences, c.present())
	w.noteSetupChange()
	return nil
}

// SetDefault gives every entity that is spawned later as kind k its own copy of v. The
// error names a kind or component that does not belong to this world.
func SetDefault[T any](w *World, k KindID, c *Component[T], v T) error {
	if int(k) >= len(w.kinds) {
		return fmt.Errorf("%w: kind %d; this world has %d kinds", ErrUnknown, k, len(w.kinds))
	}
	if c == nil || c.w != w {
		return fmt.Errorf("%w: the component was not registered with this world", ErrUnknown)
	}
	w.noteSetupChange()
	kind := &w.kinds[k]
	i, found := slices.BinarySearchFunc(kind.defaults, c.id, func(d kindDefault, id int) int { return d.component - id })
	if !found {
		kind.defaults = slices.Insert(kind.defaults, i, kindDefault{})
	}
	kind.defaults[i] = newDefault(c, &v)
	return nil
}

// Get returns the entity's value for reading, or nil unless the entity is live and has the
// component. The address is stable while the entity has the component.
func (c *Component[T]) Get(e Entity) *T {
	slot := e.Index()
	if c.w.pool.Get(e) == nil || !c.presence.Has(slot) {
		return nil
	}
	return c.values.At(slot)
}

// Mut returns the entity's value for writing, like Get: it marks the value as Changed, and
// the slot for every ChangeReader. Later steps do not see writes through an old pointer as
// changes, nor does a recording or journal after TakeImage.
func (c *Component[T]) Mut(e Entity) *T {
	v := c.Get(e)
	if v != nil {
		c.mark(e.Index())
	}
	return v
}

// Word returns the values of slots 64*word to 64*word+63 for reading, to be combined
// with a mask of Query.Words. Slots without the component hold zeros. It returns nil
// beyond Slots.
func (c *Component[T]) Word(word uint32) *[64]T { return c.values.Word(word) }

// MutWord returns the same values as Word for writing. Like Mut, it marks the slots of mask
// that have the component; only values of these slots may be written.
func (c *Component[T]) MutWord(word uint32, mask uint64) *[64]T {
	mask &= c.presence.Word(word)
	if mask != 0 {
		c.changes.add(word, mask)
		c.w.dirty.SetWord(word, c.w.dirty.Word(word)|mask)
	}
	return c.values.Word(word)
}

// Set sets the entity's value, adding the component if the entity lacks it. It returns
// false unless the entity is live.
func (c *Component[T]) Set(e Entity, v T) bool {
	if c.w.pool.Get(e) == nil {
		return false
	}
	c.put(e.Index(), &v)
	c.mark(e.Index())
	return true
}

// Remove removes the component from the entity. It returns false unless the entity is
// live and has the component.
func (c *Component[T]) Remove(e Entity) bool {
	if !c.Has(e) {
		return false
	}
	c.clear(wordOf(e.Index()))
	c.w.dirty.Set(e.Index())
	for _, r := range c.w.recording() {
		r.unset(c.id, e)
	}
	return true
}

// Has reports whether the entity is live and has the component.
func (c *Component[T]) Has(e Entity) bool { return c.Get(e) != nil }

// All yields the entities that have the component, and its values for reading: use Mut to
// write some, or MutWord to write all. It skips entities that lose the component earlier in
// the loop.
func (c *Component[T]) All() iter.Seq2[Entity, *T] {
	return func(yield func(Entity, *T) bool) {
		began := c.w.beginLoop()
		for word, mask := c.every.nextOf(began, 0); mask != 0; word, mask = c.every.nextOf(began, word+1) {
			values := c.values.Word(word)
			for ; mask != 0; mask &= (mask - 1) & c.presence.Word(word) {
				i := uint32(bits.TrailingZeros64(mask)) & 63
				if !yield(c.w.tenant(word<<6|i), &values[i]) {
					return
				}
			}
		}
	}
}

// Presence returns the slots that have the component.
func (c *Component[T]) Presence() bulk.BitsetView { return c.presence.View() }

// Changed returns the slots whose value was set, opened with Mut or MutWord, or spawned
// since the end of the step before the last one. Marks made between two steps count for the
// later step; spawned values count when their system returns. A reader that calls it once
// after every step sees every change once. Removing a component is not a change, but a
// ChangeReader reports the slot.
func (c *Component[T]) Changed() bulk.BitsetView { return c.changes.past.View() }

// owner returns nil for a component whose registration failed.
func (c *Component[T]) owner() *World {
	if c == nil {
		return nil
	}
	return c.w
}

func (c *Component[T]) mark(slot uint32) {
	c.changes.marks.Set(slot)
	c.w.dirty.Set(slot)
}

// put sets a value. The caller marks the change.
func (c *Component[T]) put(slot uint32, v *T) {
	c.assign(slot, v)
	c.presence.Set(slot)
}

// assign copies v to a slot.
func (c *Component[T]) assign(slot uint32, v *T) {
	to := c.values.At(slot)
	*to = *v
	c.layout.own(unsafe.Pointer(to))
}

func (c *Component[T]) info() ComponentInfo {
	return ComponentInfo{ID: c.id, Name: c.name, Type: reflect.TypeFor[T](), Local: c.local}
}

func (c *Component[T]) present() *bulk.Bitset { return &c.presence }

func (c *Component[T]) changed() *changeMarks { return &c.changes }

func (c *Component[T]) references() []uintptr { return c.layout.references }

func (c *Component[T]) at(slot uint32) unsafe.Pointer {
	return unsafe.Pointer(c.values.At(slot))
}

func (c *Component[T]) value(slot uint32) any {
	if !c.presence.Has(slot) {
		return nil
	}
	return c.values.At(slot)
}

func (c *Component[T]) grow(slots uint32) {
	c.values.Grow(slots)
	for first := uint32(len(c.blocks)) * bulk.BlockLen; first < slots; first += bulk.BlockLen {
		c.blocks = append(c.blocks, unsafe.Pointer(c.values.At(first)))
	}
}

// clear removes the component and zeroes the values (W7).
func (c *Component[T]) clear(word uint32, mask uint64) {
	c.presence.SetWord(word, c.presence.Word(word)&^mask)
	c.changes.forget(word, mask)
	values := c.values.Word(word)
	if mask == 1<<64-1 {
		clear(values[:])
		return
	}
	var zero T
	for ; mask != 0; mask &= mask - 1 {
		values[bits.TrailingZeros64(mask)&63] = zero
	}
}

func (c *Component[T]) hash(h hash, slot uint32) hash {
	return c.layout.hash(h, c.at(slot))
}

// Components describes all components in the order of their IDs.
func (w *World) Components() []ComponentInfo {
	all := make([]ComponentInfo, len(w.components))
	for i, c := range w.components {
		all[i] = c.info()
	}
	return all
}

// wordOf returns the word of a slot, and the slot's bit in it.
func wordOf(slot uint32) (word uint32, bit uint64) { return slot >> 6, 1 << (slot & 63) }
