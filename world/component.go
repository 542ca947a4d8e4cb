package world

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// Component is a registered type: where its values are kept.
type Component[T any] struct {
	w        *World
	name     string
	id       int
	layout   layout
	values   bulk.Column[T]
	presence bulk.Bitset
	defaults []kindDefault[T]
}

type kindDefault[T any] struct {
	kind  KindID
	value T
}

// column is a Component of any type.
type column interface {
	info() ComponentInfo
	present() *bulk.Bitset
	at(slot uint32) unsafe.Pointer
	grow(slots uint32)
	fill(slot uint32, k KindID) // with the kind's default
	clear(slot uint32)
	hash(h hash, slot uint32) hash
}

// ComponentInfo describes a registered component.
type ComponentInfo struct {
	ID   int
	Name string
	Type reflect.Type
}

// Register adds a component type to the world under a name. T must hold its
// values in itself: no pointer, string, slice, map, interface, function or
// channel at any depth; the error names the field. Entities that exist already
// do not have the component.
func Register[T any](w *World, name string) (*Component[T], error) {
	if name == "" {
		return nil, fmt.Errorf("%w: a component needs one", ErrName)
	}
	for _, other := range w.components {
		if other.info().Name == name {
			return nil, fmt.Errorf("%w: component %q was registered already", ErrName, name)
		}
	}
	layout, err := layoutOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, fmt.Errorf("%w: component %q: %w", ErrType, name, err)
	}
	c := &Component[T]{w: w, name: name, id: len(w.components), layout: layout}
	c.values.Grow(w.pool.Slots())
	w.components = append(w.components, c)
	w.changesSetup()
	return c, nil
}

// Default gives every entity that is spawned later as kind k its own copy of v.
// The error names a kind or component that is not of this world.
func Default[T any](w *World, k KindID, c *Component[T], v T) error {
	if int(k) >= len(w.kinds) {
		return fmt.Errorf("%w: kind %d; this world has %d kinds", ErrUnknown, k, len(w.kinds))
	}
	if c == nil || c.w != w {
		return fmt.Errorf("%w: the component was not registered with this world", ErrUnknown)
	}
	w.changesSetup()
	for i := range c.defaults {
		if c.defaults[i].kind == k {
			c.defaults[i].value = v
			return nil
		}
	}
	c.defaults = append(c.defaults, kindDefault[T]{k, v})
	w.kinds[k].addDefault(c.id)
	return nil
}

func (k *kind) addDefault(id int) {
	i := len(k.defaults)
	for i > 0 && k.defaults[i-1] > id {
		i--
	}
	k.defaults = append(k.defaults, 0)
	copy(k.defaults[i+1:], k.defaults[i:])
	k.defaults[i] = id
}

// Get returns the entity's value to read, nil unless the entity is live and has
// the component. The address does not move while it has it.
func (c *Component[T]) Get(e Entity) *T {
	slot := e.Index()
	if c.w.pool.Get(e) == nil || !c.presence.Has(slot) {
		return nil
	}
	return c.values.At(slot)
}

// Mut is Get to write: it marks the entity Dirty. What is written through it
// after the next ClearDirty is not seen as a change.
func (c *Component[T]) Mut(e Entity) *T {
	v := c.Get(e)
	if v != nil {
		c.w.dirty.Set(e.Index())
		if r := c.w.recording(); r != nil {
			r.opened = append(r.opened, mutable{c.id, e})
		}
	}
	return v
}

// Set gives the entity the value, and the component if it lacks it. False unless
// the entity is live.
func (c *Component[T]) Set(e Entity, v T) bool {
	if c.w.pool.Get(e) == nil {
		return false
	}
	slot := e.Index()
	c.put(slot, v)
	c.w.dirty.Set(slot)
	if r := c.w.recording(); r != nil {
		r.set(c, e)
	}
	return true
}

// Remove takes the component from the entity. False unless it is live and had it.
func (c *Component[T]) Remove(e Entity) bool {
	if !c.Has(e) {
		return false
	}
	c.clear(e.Index())
	c.w.dirty.Set(e.Index())
	if r := c.w.recording(); r != nil {
		r.unset(c.id, e)
	}
	return true
}

// Has says whether the entity is live and has the component.
func (c *Component[T]) Has(e Entity) bool { return c.Get(e) != nil }

// Name returns the name it was registered under.
func (c *Component[T]) Name() string { return c.name }

// ID returns its number: 0 for the first component registered, and so on.
func (c *Component[T]) ID() int { return c.id }

// Presence returns the slots that have the component, for queries with bulk.And
// and bulk.AndNot. Read only.
func (c *Component[T]) Presence() *bulk.Bitset { return &c.presence }

func (c *Component[T]) put(slot uint32, v T) {
	*c.values.At(slot) = v
	c.presence.Set(slot)
}

func (c *Component[T]) info() ComponentInfo {
	return ComponentInfo{ID: c.id, Name: c.name, Type: reflect.TypeFor[T]()}
}

func (c *Component[T]) present() *bulk.Bitset { return &c.presence }

func (c *Component[T]) at(slot uint32) unsafe.Pointer {
	return unsafe.Pointer(c.values.At(slot))
}

func (c *Component[T]) grow(slots uint32) { c.values.Grow(slots) }

func (c *Component[T]) fill(slot uint32, k KindID) {
	for i := range c.defaults {
		if c.defaults[i].kind == k {
			c.put(slot, c.defaults[i].value)
			return
		}
	}
}

// clear zeroes the value too: what is free must not keep the past.
func (c *Component[T]) clear(slot uint32) {
	if !c.presence.Has(slot) {
		return
	}
	c.presence.Clear(slot)
	var zero T
	*c.values.At(slot) = zero
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

// ComponentData returns the address of a component's value on a slot, to read by
// the plan of its type; nil if there is no such component or the slot lacks it.
func (w *World) ComponentData(id int, slot uint32) unsafe.Pointer {
	if uint(id) >= uint(len(w.components)) || !w.components[id].present().Has(slot) {
		return nil
	}
	return w.components[id].at(slot)
}
