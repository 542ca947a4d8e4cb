package world

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/world/motion"
)

// SlotView reads a world by slot, for replication, which visits slots to find changed
// entities and to send exact states. Making a SlotView costs nothing. Games name entities
// by handles: a slot may belong to another entity after the next step.
//
// Every method accepts every slot, and reads the same state as World's methods. Call them
// between steps or at a step's end: during a step, some bodies have moved and others have
// not. An exact state is the body's float32 bits: motion.Sim continues from it as the world
// does.
type SlotView struct{ w *World }

// Slots returns the view of the world by slot.
func (w *World) Slots() SlotView { return SlotView{w} }

// Len returns the number of slots ever used. Every slot is below it.
func (v SlotView) Len() uint32 { return v.w.pool.Slots() }

// Handle returns the handle of the entity in a slot, or 0.
func (v SlotView) Handle(slot uint32) Entity { return v.w.pool.HandleAt(slot) }

// Body returns the position and velocity of the body on a slot; false if the slot is
// free or its entity has no body.
func (v SlotView) Body(slot uint32) (position, velocity Vec3, ok bool) {
	w := v.w
	if uint64(slot) >= uint64(len(w.rowOf)) || w.rowOf[slot] == noRow {
		return Vec3{}, Vec3{}, false
	}
	row := int(w.rowOf[slot])
	return w.bodies.Position(row), w.bodies.Velocity(row), true
}

// Disturbed returns the last tick in which anything but motion changed the body on a slot,
// by one of the causes listed in the package comment; 0 for a slot never used. A change
// between steps counts for the next tick. The state of a body not disturbed after tick T
// follows from its exact state after T and the effects: motion.Sim computes it.
func (v SlotView) Disturbed(slot uint32) uint64 {
	w := v.w
	if uint64(slot) >= uint64(len(w.disturbed)) {
		return 0
	}
	return w.disturbed[slot]
}

// AppendDisturbed appends the slots disturbed in the last step or after it to list, in
// ascending order. Its cost depends on their number, not on the world's size.
func (v SlotView) AppendDisturbed(list []uint32) []uint32 {
	w := v.w
	for word, slots := range bulk.Or(w.recent[0].View(), w.recent[1].View()) {
		for slot := range bulk.Bits(word<<6, slots) {
			list = append(list, slot)
		}
	}
	return list
}

// AppendTeleported appends the slots teleported in the last step or after it to list, in
// ascending order (World.MarkTeleported).
func (v SlotView) AppendTeleported(list []uint32) []uint32 {
	w := v.w
	for word, slots := range bulk.Or(w.teleported[0].View(), w.teleported[1].View()) {
		for slot := range bulk.Bits(word<<6, slots) {
			list = append(list, slot)
		}
	}
	return list
}

// Exact returns the exact state of the body on a slot; false if the slot is free or its
// entity has no body.
func (v SlotView) Exact(slot uint32) (motion.State, bool) {
	w := v.w
	if uint64(slot) >= uint64(len(w.rowOf)) || w.rowOf[slot] == noRow {
		return motion.State{}, false
	}
	b, row := &w.bodies, int(w.rowOf[slot])
	return motion.State{Position: b.Position(row), Velocity: b.Velocity(row), Rest: b.Rest[row], Awake: b.willBeAwake(row)}, true
}

// WasAwake reports whether the body on a slot was awake in the last step. The end of the
// step may have put it to sleep.
func (v SlotView) WasAwake(slot uint32) bool {
	w := v.w
	return uint64(slot) < uint64(len(w.rowOf)) && w.rowOf[slot] != noRow && w.bodies.isAwake(int(w.rowOf[slot]))
}

// SpawnState returns the state in which the body on a slot was spawned, and the tick after
// which the body had that state. Together with the effects, state and tick determine the
// body's present state. It returns false unless the body's kind is exact and only motion
// has changed the body since.
func (v SlotView) SpawnState(slot uint32) (s motion.State, tick uint64, ok bool) {
	w := v.w
	if uint64(slot) >= uint64(len(w.spawned)) || !w.spawned[slot].known || w.rowOf[slot] == noRow {
		return motion.State{}, 0, false
	}
	b := &w.spawned[slot]
	return motion.State{Position: b.position, Velocity: b.velocity, Awake: true}, b.tick, true
}

// ComponentValue returns the value of component id at a slot as a *T to read, where T
// is the component's ComponentInfo.Type. It returns nil if the component does not exist
// or the slot lacks it. The pointer is valid while the entity has the component. Callers
// that know T use Component.Get. ComponentValue does not allocate.
func (v SlotView) ComponentValue(id int, slot uint32) any {
	w := v.w
	if uint(id) >= uint(len(w.components)) {
		return nil
	}
	return w.components[id].value(slot)
}

// EffectEnd returns the first tick without an effect, if the effect ended in the last step
// or between the last two steps; otherwise 0.
func (v SlotView) EffectEnd(id EffectID) uint64 {
	w := v.w
	for _, e := range w.effects.ended {
		if e.id == id {
			return e.first
		}
	}
	return 0
}

// AppendActedEffects appends to list the effects that changed or ended after they acted on
// bodies in the last step, in the state in which they acted: effects changed by a second
// call, and effects whose centre moves. The effects are in the order of the changes and
// valid until the next step. Memory of list is reused as by AppendEffects.
func (v SlotView) AppendActedEffects(list []EffectState) []EffectState {
	w := v.w
	for _, e := range w.effects.acted {
		var params []field.Vec4
		list, params = growEffects(list)
		e.Params = append(params[:0], e.Params...)
		list[len(list)-1] = e
	}
	return list
}
