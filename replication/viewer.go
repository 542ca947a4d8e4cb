package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Viewer is one session's point of view: what it knows, what it should know,
// and what is on the way. All methods belong to the goroutine that owns the
// world.
type Viewer struct {
	replicator *Replicator
	focus      bulk.Handle
	center     world.Vec3

	known    bulk.Bitset       // R2
	toldDead map[uint32]uint32 // slot -> generation that a Destroy went out for without its ever being known
	rows     []viewerRow       // the interest set, in no order
	index    map[uint32]int    // slot -> place in rows
	scan     uint32            // counts interest scans; marks the rows seen by one

	structure structure
	seq       uint32 // newest snapshot's sequence number; the first is 1
	sent      [sentWindow]sentSnapshot
	tokens    int // bytes that may be sent now; negative after a burst of structure

	wanted     []candidate
	candidates []candidate
	resync     bool
	encoder    encoder
	teach      func(bulk.Handle)                   // Teach; bound once, since binding allocates
	near       func(world.Entity, world.Vec3) bool // wants an entity within the enter radius
}

// viewerRow is one entity of the interest set.
type viewerRow struct {
	handle    bulk.Handle
	entered   uint32 // number of its Enter record
	enterTick uint32 // tick of the state in that record
	ackedSeq  uint32 // snapshot whose state is the baseline; 0: the Enter record
	ackedTick uint32 // tick of the baseline
	sentSeq   uint32 // newest snapshot it rode in that may yet arrive; 0: none
	sentTick  uint32
	priority  float32
	seen      uint32
}

// Update is what one Snapshot call produced. The slices are valid until the
// next call.
type Update struct {
	Stream    []byte   // framed structure messages
	Datagrams [][]byte // State datagrams, in order
}

// Snapshot brings the viewer to the newest frame within its budget.
func (v *Viewer) Snapshot() Update {
	v.refill()
	if v.resync {
		v.reenterAll()
	}
	v.updateInterest()
	rowsWait := v.selectRows()
	v.enterWanted(rowsWait)
	v.tokens -= v.structure.bill()
	datagrams := v.encodeSnapshots()
	stream := v.structure.take(v.replicator.frame.tick)
	v.tokens -= v.structure.bill()
	v.replicator.stats.StructureBytes += uint64(len(stream))
	v.replicator.audit(v)
	return Update{Stream: stream, Datagrams: datagrams}
}

func (v *Viewer) refill() {
	c := v.replicator.config
	perSnapshot := c.BudgetBytesPerSecond / c.SnapshotHz
	v.tokens = min(v.tokens+perSnapshot, burstSnapshots*perSnapshot)
}

// tell writes a record and returns the bytes it takes. Whatever a tick destroys
// or a viewer leaves behind, no message grows beyond what a frame may hold.
func (v *Viewer) tell(r wire.Record) int {
	if v.structure.full() {
		v.structure.close(v.replicator.frame.tick)
	}
	return v.structure.append(r)
}

// destroyed tells the client that h is no more, if it ever heard of it (R5).
func (v *Viewer) destroyed(h bulk.Handle) {
	slot := h.Index()
	if !v.known.Has(slot) {
		return
	}
	v.known.Clear(slot)
	v.removeRow(h)
	v.tell(wire.Record{Op: wire.OpDestroy, Reason: wire.ReasonDestroyed, Handle: h})
	v.replicator.stats.Destroys++
}

// Teach notes that the client is about to be sent h outside of structure: in a
// component, an event or a control message. A handle that is dead already is
// followed by its Destroy, so that it does not stay pending for ever (H3).
func (v *Viewer) Teach(h bulk.Handle) {
	if !h.Valid() || h.Generation() < v.replicator.floor {
		return // not a handle, or of an earlier run: Stale to everybody at once (H5)
	}
	slot := h.Index()
	switch v.replicator.world.Status(h) {
	case bulk.Live:
		if !fault.DropKnown {
			v.known.Set(slot)
		}
		delete(v.toldDead, slot)
	case bulk.Stale:
		if i, ok := v.index[slot]; ok && v.rows[i].handle.Generation() > h.Generation() {
			return // the client knows a later tenant, so h is stale to it
		}
		if v.toldDead[slot] >= h.Generation() || fault.SilentDead {
			return
		}
		v.toldDead[slot] = h.Generation()
		v.tell(wire.Record{Op: wire.OpDestroy, Reason: wire.ReasonDestroyed, Handle: h})
		v.replicator.stats.Destroys++
	}
}

// Resolve says what this viewer's client may do with h: Live if it is in the
// interest set; Hidden if the client knows it but has it not in view; Stale if
// it is destroyed; Pending if the client was never sent it, which is also the
// answer for a handle that was never issued, so that probing reveals nothing.
func (v *Viewer) Resolve(h bulk.Handle) wire.Verdict {
	if fault.ResolveByIndex {
		h = v.replicator.world.HandleAt(h.Index())
	}
	if !h.Valid() {
		return wire.Pending
	}
	switch v.replicator.world.Status(h) {
	case bulk.Stale:
		return wire.Stale
	case bulk.Live:
		if v.row(h) != nil {
			return wire.Live
		}
		if v.known.Has(h.Index()) {
			return wire.Hidden
		}
	}
	return wire.Pending
}

// Resync makes the next snapshots enter the whole interest set again, for a
// client that found its state at fault.
func (v *Viewer) Resync() { v.resync = !fault.IgnoreResync }

func (v *Viewer) reenterAll() {
	v.resync = false
	v.replicator.stats.Resyncs++
	for i := range v.rows {
		v.rows[i].enterTick = 0 // before any shape: entersAnew
	}
}

// row returns the row of h, or nil if h is not in the interest set.
func (v *Viewer) row(h bulk.Handle) *viewerRow {
	if i, ok := v.index[h.Index()]; ok && v.rows[i].handle == h {
		return &v.rows[i]
	}
	return nil
}

func (v *Viewer) removeRow(h bulk.Handle) {
	i, ok := v.index[h.Index()]
	if !ok || v.rows[i].handle != h {
		return
	}
	delete(v.index, h.Index())
	last := len(v.rows) - 1
	if i != last {
		v.rows[i] = v.rows[last]
		v.index[v.rows[i].handle.Index()] = i
	}
	v.rows = v.rows[:last]
}

// Seq is the sequence number of the newest snapshot made.
func (v *Viewer) Seq() uint32 { return v.seq }

// Interest is the number of entities in the interest set.
func (v *Viewer) Interest() int { return len(v.rows) }

// InterestSet yields the handles of the interest set, in no order.
func (v *Viewer) InterestSet(yield func(bulk.Handle) bool) {
	for i := range v.rows {
		if !yield(v.rows[i].handle) {
			return
		}
	}
}
