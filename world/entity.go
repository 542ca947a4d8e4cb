package world

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// Spawn creates an entity of a kind at once, in the lowest free slot, with the kind's
// default components. Its body starts awake, with its position clamped to the bounds
// and its velocity capped at MaxSpeed; a kind without a body ignores both. The error is
// ErrFull, ErrUnknown for the kind, or ErrValue for a number that is not finite.
func (w *World) Spawn(k KindID, at, velocity Vec3) (Entity, error) {
	return w.SpawnFor(k, at, velocity, 0)
}

// SpawnFor spawns an entity like Spawn, with a limited lifetime: the entity is destroyed at
// the end of the step that advances the world to Tick() + lifeTicks. Spawned between steps,
// it lives for lifeTicks steps. Zero means no limit.
func (w *World) SpawnFor(k KindID, at, velocity Vec3, lifeTicks uint32) (Entity, error) {
	e, record, err := w.reserve(k, at, velocity)
	if err != nil {
		return 0, err
	}
	kind := &w.kinds[k]
	if lifeTicks != 0 || kind.def.Body != nil {
		w.embody(e.Index(), record, at, velocity, lifeTicks)
	}
	kind.fill(e.Index())
	if word, bit := wordOf(e.Index()); !w.unmarked.Join(word, bit) {
		w.unmarked.Set(e.Index())
	}
	w.counts.spawned++
	w.events.spawned.add(e)
	for _, r := range w.recording() {
		r.spawn(opSpawn, e, k, at, velocity, lifeTicks)
	}
	return e, nil
}

// reserve takes a slot for an entity. The entity is live from now on, and has a kind only.
func (w *World) reserve(k KindID, at, velocity Vec3) (Entity, *entity, error) {
	if int(k) >= len(w.kinds) {
		return 0, nil, fmt.Errorf("%w: kind %d; this world has %d kinds", ErrUnknown, k, len(w.kinds))
	}
	if def := &w.kinds[k].def; def.Body != nil && !(motion.Finite(at) && motion.Finite(velocity)) {
		return 0, nil, fmt.Errorf("%w: spawn of %q at %v with velocity %v: not finite", ErrValue, def.Name, at, velocity)
	}
	used := w.pool.Slots()
	e, record := w.pool.Add()
	if record == nil {
		return 0, nil, fmt.Errorf("%w: %d entities live, %d slots retired, MaxEntities is %d", ErrFull, w.pool.Len(), w.pool.Retired(), w.cfg.MaxEntities)
	}
	slot := e.Index()
	if slot < used {
		w.counts.reused++
	} else {
		w.growSlots()
	}
	w.generations[slot] = e.Generation()
	record.kind = k
	return e, record, nil
}

// embody gives a reserved entity its lifetime and body, if any.
func (w *World) embody(slot uint32, record *entity, at, velocity Vec3, lifeTicks uint32) {
	if lifeTicks != 0 {
		record.expires = w.tick + uint64(lifeTicks)
		w.wheel.insert(w.pool, slot)
		w.expiring.Set(slot)
	}
	if w.kinds[record.kind].def.Body != nil {
		if w.kinds[record.kind].def.Exact {
			at, velocity = onGrid(at, positionSteps), onGrid(velocity, velocitySteps)
		}
		at, velocity = w.motion.Clamp(at), motion.CapSpeed(velocity)
		w.addBody(slot, record.kind, at, velocity)
		if w.kinds[record.kind].def.Exact {
			w.noteSpawn(slot, at, velocity)
		}
	}
}

// growSlots makes every array by slot as long as the pool.
func (w *World) growSlots() {
	n := w.pool.Slots()
	if uint32(len(w.rowOf)) >= n {
		return
	}
	for uint32(len(w.rowOf)) < n {
		w.rowOf = append(w.rowOf, noRow)
		w.generations = append(w.generations, 0)
	}
	w.causes = append(w.causes, make([]uint8, int(n)-len(w.causes))...)
	w.disturbed = append(w.disturbed, make([]uint64, int(n)-len(w.disturbed))...)
	w.sleepState.slotSet.reserve(int(n))
	for _, c := range w.components {
		c.grow(n)
	}
}

// Destroy dooms an entity: it stays live and behaves as before until the end of the
// current or next step. It returns false unless the entity is live and not doomed yet.
func (w *World) Destroy(e Entity) bool { return w.DestroyBecause(e, 0) }

// DestroyBecause destroys e like Destroy, with a cause that replication sends to the
// clients that know e. The game defines the causes; 0 is none. Only the first call for e
// counts.
func (w *World) DestroyBecause(e Entity, cause uint8) bool {
	if w.pool.Get(e) == nil || w.doomed.Has(e.Index()) {
		return false
	}
	if word, bit := wordOf(e.Index()); !w.doomed.Join(word, bit) {
		w.doomed.Set(e.Index())
	}
	w.causes[e.Index()] = cause
	for _, r := range w.recording() {
		if cause == 0 {
			r.handleOp(opDestroy, e)
		} else {
			r.handleOp(opDestroyBecause, e)
			r.op(cause)
		}
	}
	return true
}

// KindOf returns the kind of a live entity.
func (w *World) KindOf(e Entity) (KindID, bool) {
	record := w.pool.Get(e)
	if record == nil {
		return 0, false
	}
	return record.kind, true
}

// destroyDoomed removes the doomed entities in ascending order of slots, so that rows and
// events depend on the set alone.
func (w *World) destroyDoomed() {
	for word := range bulk.And(w.doomed.View()) {
		w.remove(word, w.doomed.Word(word))
		w.doomed.SetWord(word, 0)
	}
}

// remove removes the entities in the slots mask of a word. It clears bits one word at a
// time.
func (w *World) remove(word uint32, mask uint64) {
	for slot := range bulk.Bits(word<<6, mask&w.expiring.Word(word)) {
		w.wheel.remove(w.pool, slot)
		w.expiring.Clear(slot)
	}
	for slot := range bulk.Bits(word<<6, mask) {
		if row := w.rowOf[slot]; row != noRow {
			w.removeBody(int(row))
		}
	}
	for id, present := range w.presences {
		if has := present.Word(word) & mask; has != 0 {
			w.components[id].clear(word, has)
		}
	}
	w.forgetChanges(word, mask)
	w.unmarked.SetWord(word, w.unmarked.Word(word)&^mask)
	for slot := range bulk.Bits(word<<6, w.pool.RemoveWord(word, mask)) {
		w.counts.destroyed++
		w.events.destroyed.add(w.tenant(slot))
		w.events.causes = append(w.events.causes, w.causes[slot])
		w.causes[slot] = 0
	}
}

// expireEntities dooms the entities whose last tick is this one.
func (w *World) expireEntities() {
	for next := w.wheel.first(w.tick); next != 0; {
		slot := next - 1
		record := w.pool.At(slot)
		next = record.next
		if record.expires <= w.tick {
			w.doomed.Set(slot)
		}
	}
}

// wheelBuckets is the period of the timing wheel in ticks, 17 s at 60 Hz: each entity is
// checked once per period.
const wheelBuckets = 1024

// wheel is a timing wheel: a ring of lists of the entities with a lifetime, by last tick.
// The lists are linked through the entities, so removing one early costs O(1). Their order
// depends on history and has no effect: they only fill the doomed set.
type wheel struct{ heads [wheelBuckets]uint32 } // slot+1

func (t *wheel) first(tick uint64) uint32 { return t.heads[tick%wheelBuckets] }

func (t *wheel) insert(pool *bulk.Pool[entity], slot uint32) {
	record := pool.At(slot)
	head := &t.heads[record.expires%wheelBuckets]
	record.next, record.prev = *head, 0
	if *head != 0 {
		pool.At(*head - 1).prev = slot + 1
	}
	*head = slot + 1
}

func (t *wheel) remove(pool *bulk.Pool[entity], slot uint32) {
	record := pool.At(slot)
	if record.next != 0 {
		pool.At(record.next - 1).prev = record.prev
	}
	if record.prev != 0 {
		pool.At(record.prev - 1).next = record.next
	} else {
		t.heads[record.expires%wheelBuckets] = record.next
	}
	record.next, record.prev = 0, 0
}
