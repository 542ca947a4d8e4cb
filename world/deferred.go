package world

import (
	"unsafe"

	"github.com/worldd/worldd/bulk"
)

// deferred holds the pending changes in the order of the calls. Pending values are in
// their components.
type deferred struct {
	changes  []deferredChange
	spawns   []deferredSpawn
	reserved bulk.Bitset // slots whose spawn is pending
}

type deferredChange struct {
	entity    Entity
	component int32  // or deferredSpawning
	value     uint32 // index of the spawn or of the component's pending value; noValue: remove
}

type deferredSpawn struct {
	at, velocity Vec3
	lifeTicks    uint32
}

const (
	deferredSpawning = -1
	noValue          = 1<<32 - 1
)

// DeferSpawn spawns an entity like SpawnFor, but later: when the running system or Mover
// returns, or when the next Step begins. The handle is valid at once: it can be stored,
// used in further deferred changes, and destroyed. Until the spawn the entity is live but
// empty, and no query yields it. The errors are those that SpawnFor returns.
//
// Deferred changes are applied in the order of the calls. They keep a loop over a query
// from seeing its own changes. (Destroy always waits for the end of the step.)
func (w *World) DeferSpawn(k KindID, at, velocity Vec3, lifeTicks uint32) (Entity, error) {
	e, _, err := w.reserve(k, at, velocity)
	if err != nil {
		return 0, err
	}
	d := &w.deferred
	if word, bit := wordOf(e.Index()); !d.reserved.Join(word, bit) {
		d.reserved.Set(e.Index())
	}
	d.changes = append(d.changes, deferredChange{e, deferredSpawning, uint32(len(d.spawns))})
	d.spawns = append(d.spawns, deferredSpawn{at, velocity, lifeTicks})
	for _, r := range w.recording() {
		r.spawn(opDeferSpawn, e, k, at, velocity, lifeTicks)
	}
	return e, nil
}

// DeferSet calls Set at the time described at DeferSpawn. It returns false unless the
// entity is live.
func (c *Component[T]) DeferSet(e Entity, v T) bool {
	if c.w.pool.Get(e) == nil {
		return false
	}
	d := &c.w.deferred
	d.changes = append(d.changes, deferredChange{e, int32(c.id), uint32(len(c.deferred))})
	c.deferred = append(c.deferred, v)
	c.layout.own(unsafe.Pointer(&c.deferred[len(c.deferred)-1]))
	return true
}

// DeferRemove calls Remove at the time described at DeferSpawn. It returns false unless the
// entity is live. Only the later call checks whether the entity has the component.
func (c *Component[T]) DeferRemove(e Entity) bool {
	if c.w.pool.Get(e) == nil {
		return false
	}
	d := &c.w.deferred
	d.changes = append(d.changes, deferredChange{e, int32(c.id), noValue})
	return true
}

// ApplyDeferred applies the pending changes now. Callers that defer changes between two
// steps use it to see them before the next step. It must not be called while a query is
// being ranged over.
func (w *World) ApplyDeferred() {
	d := &w.deferred
	if len(d.changes) == 0 {
		return
	}
	recording := w.recording()
	for _, r := range recording {
		r.op(opApplyDeferred)
	}
	for i := 0; i < len(d.changes); {
		change := d.changes[i]
		if change.component == deferredSpawning {
			i += w.applyDeferredSpawns(d.changes[i:])
			continue
		}
		i++
		slot := change.entity.Index() // live: only the end of a step destroys
		c := w.components[change.component]
		if change.value != noValue {
			c.setDeferred(slot, change.value)
		} else if c.present().Has(slot) {
			c.clear(wordOf(slot))
			for _, r := range recording {
				r.unset(c.info().ID, change.entity)
			}
		}
		w.dirty.Set(slot)
	}
	for _, c := range w.components {
		c.dropDeferred()
	}
	d.changes, d.spawns = d.changes[:0], d.spawns[:0]
}

// applyDeferredSpawns applies the spawn changes[0], and the directly following spawns of
// the same kind in the same word of slots: it sets bits one word at a time. It returns the
// number of changes applied.
func (w *World) applyDeferredSpawns(changes []deferredChange) int {
	d, n := &w.deferred, 0
	first := changes[0].entity.Index()
	of, word, mask := w.pool.At(first).kind, first>>6, uint64(0)
	kind := &w.kinds[of]
	for _, change := range changes {
		slot := change.entity.Index()
		if change.component != deferredSpawning || slot>>6 != word {
			break
		}
		record := w.pool.At(slot)
		if record.kind != of {
			break
		}
		spawn := &d.spawns[change.value]
		if spawn.lifeTicks != 0 || kind.def.Body != nil {
			w.embody(slot, record, spawn.at, spawn.velocity, spawn.lifeTicks)
		}
		w.events.spawned.add(change.entity)
		mask |= 1 << (slot & 63)
		n++
	}
	d.reserved.SetWord(word, d.reserved.Word(word)&^mask)
	kind.fillWord(word, mask)
	w.unmarked.SetWord(word, w.unmarked.Word(word)|mask)
	w.counts.spawned += uint64(n)
	return n
}

func (c *Component[T]) setDeferred(slot, n uint32) {
	c.put(slot, &c.deferred[n])
	c.mark(slot)
}

// dropDeferred drops the pending values and the memory that they reference.
func (c *Component[T]) dropDeferred() {
	if c.local || len(c.layout.textFields) > 0 {
		clear(c.deferred)
	}
	c.deferred = c.deferred[:0]
}
