package replication

import (
	"iter"

	"github.com/worldd/worldd/bulk"
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

	owned       ownedSet
	filter      Filter
	ruleChanged bool // focus, owned or filter, since the last snapshot
	boundary    boundary

	// The rows of the interest set, by place, which a row keeps while it is there.
	rows       []viewerRow
	handles    []bulk.Handle
	priorities []float32
	free       []uint32 // places without a row

	members     members       // the interest set: places by slot, and who is not dormant
	hidden      slotSet       // slots whose tenant the client knows and has not in view
	dead        generations   // by slot: the newest generation that the client knows to be destroyed (R10)
	queue       []queuedEnter // newcomers that the budget has not let in, ascending by slot
	uncompacted bool          // members has some without a row
	lastCapture uint64        // captures up to the last snapshot
	deathsSeen  uint64        // deaths that the client was told of, as far as they concern it

	structure structure
	sent      sentLog
	tokens    int // bytes that may be sent now; negative after a burst of structure
	resync    bool
	overflow  int // how many rows did not fit into one datagram when it was last tried; 0: all have fitted
	stats     ViewerStats
	datagrams [][]byte // of the newest snapshots
	buffers   [maxDatagrams][]byte

	work        *workspace                           // where its newest snapshot was made
	teachFunc   func(bulk.Handle)                    // Teach; bound once, since binding allocates
	requestFunc func(word uint32, mask, sure uint64) // wantAll, likewise
	allowedFunc func(word uint32) uint64             // allowedOf, likewise
}

// queued is an entity that has waited to enter since a tick.
type queuedEnter struct {
	handle bulk.Handle
	since  uint32
}

// Update is what one Snapshot call produced. The slices are valid until the
// next call.
type Update struct {
	Stream    []byte   // framed structure messages
	Datagrams [][]byte // State datagrams, in order
}

// Snapshot brings the viewer to the newest frame within its budget.
func (v *Viewer) Snapshot() Update { return v.snapshot(v.replicator.workspaces[0]) }

func (v *Viewer) snapshot(w *workspace) Update {
	v.work = w
	w.beginFrame(v.replicator)
	v.refillTokens()
	if v.resync {
		v.reenterAll()
	}
	v.updateInterest()
	newcomers := len(w.requests)
	rowsWait := v.collectWaiting()
	v.writeEnters(newcomers, rowsWait)
	v.tokens -= v.structure.takeUnbilled()
	datagrams := v.encodeSnapshots()
	stream := v.takeStructure()
	v.tokens -= v.structure.takeUnbilled()
	v.replicator.audit(v)
	return Update{Stream: stream, Datagrams: datagrams}
}

// takeStructure returns the structure that is to be sent, and counts it.
func (v *Viewer) takeStructure() []byte {
	stream := v.structure.take(v.replicator.frame.tick)
	v.countStructure(stream)
	return stream
}

func (v *Viewer) countStructure(stream []byte) {
	v.work.stats.StructureBytes += uint64(len(stream))
	v.stats.StructureBytes += uint64(len(stream))
}

func (v *Viewer) refillTokens() {
	c := v.replicator.config
	perSnapshot := c.BudgetBytesPerSecond / c.SnapshotHz
	v.tokens = min(v.tokens+perSnapshot, burstSnapshots*perSnapshot)
}

// tell writes a record and returns the bytes it takes. Whatever a tick destroys
// or a viewer leaves behind, no message grows beyond what a frame may hold.
func (v *Viewer) writeRecord(r wire.Record) int {
	if v.structure.full() {
		v.structure.close(v.replicator.frame.tick)
	}
	return v.structure.append(r)
}

// bury takes in the deaths since it was last called: what is owned is forgotten, and
// the client receives a Destroy for each handle that it knows and has not in view
// (R5). Deaths in view are found by comparing frames.
func (v *Viewer) recordDeaths() {
	r := v.replicator
	deaths := r.deaths[v.deathsSeen-r.deathsDropped:]
	v.deathsSeen += uint64(len(deaths))
	if v.hidden.size == 0 && len(v.owned.generations) == 0 {
		return
	}
	for _, h := range deaths {
		v.owned.remove(h)
		if slot := h.Index(); v.hidden.has(slot) {
			v.hidden.clear(slot)
			v.writeDestroy(h)
		}
	}
}

func (v *Viewer) writeDestroy(h bulk.Handle) {
	v.writeRecord(wire.Record{Op: wire.OpDestroy, Reason: wire.ReasonDestroyed, Handle: h})
	v.dead.raise(h.Index(), h.Generation())
	v.work.stats.Destroys++
}

// Teach notes that the client is about to be sent h outside of structure: in a
// component, an event or a control message. A handle that is dead already is
// followed by its Destroy, so that it does not stay pending for ever (H3).
func (v *Viewer) Teach(h bulk.Handle) {
	if !h.Valid() || h.Generation() < v.replicator.floor {
		return // not a handle, or of an earlier run: Stale to everybody at once (H5)
	}
	v.recordDeaths()
	slot := h.Index()
	if old := v.memberIn(slot); old != 0 && old.Generation() < h.Generation() {
		v.destroyMember(v.members.rowRef(slot)) // the client hears of the tenants of a slot in their order
	}
	switch status := v.replicator.world.Status(h); {
	case v.memberIn(slot) == h: // or its Destroy is due
	case status == bulk.Live:
		v.hidden.set(slot)
	case status == bulk.Stale:
		// That the client was sent a later tenant's handle is not enough: what
		// it was sent in a datagram may be lost.
		if v.memberIn(slot).Generation() > h.Generation() || v.isEntering(slot) || v.dead.at(slot) >= h.Generation() {
			return // the client has a later tenant, or was told
		}
		v.writeDestroy(h)
	}
}

// shown returns the handle of the member in a slot, or none. Its tenant may have
// died since the last snapshot.
func (v *Viewer) memberIn(slot uint32) bulk.Handle {
	if rowIndex, ok := v.members.find(slot); ok {
		return v.handles[rowIndex]
	}
	return 0
}

// Resolve returns this client's verdict on h: Live if h is in the interest set; Hidden
// if the client was sent h and it is out of view; Stale if the client was sent h, or a
// later tenant of its slot, and h is destroyed, and for handles that no entity of this
// run can have. Otherwise Pending, whether h is live, destroyed or was never issued: the
// answer depends only on what the client was sent (R10).
func (v *Viewer) Resolve(h bulk.Handle) wire.Verdict {
	world := v.replicator.world
	slot := h.Index()
	if !h.Valid() || h.Generation() < v.replicator.floor || int(slot) >= world.Config().MaxEntities {
		return wire.Stale
	}
	v.recordDeaths()
	shown := v.memberIn(slot)
	switch {
	case h.Generation() <= v.dead.at(slot), h.Generation() < shown.Generation():
		return wire.Stale
	case h == shown && world.Status(h) == bulk.Stale:
		return wire.Stale // the next snapshot destroys it
	case h == shown:
		return wire.Live
	case v.hidden.has(slot) && world.HandleAt(slot) == h:
		return wire.Hidden
	}
	return wire.Pending
}

// SetFocus makes h what the viewer sees the world from, from the next snapshot on.
// While h is not in the frame, or has no body, it sees from where it was, which at first
// is the origin. A handle that was never issued counts as none.
func (v *Viewer) SetFocus(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	if before := v.focus; h != before {
		mine := v.Owns(h)
		v.focus = h
		if !v.Owns(before) {
			v.reenter(before)
		}
		if !mine {
			v.reenter(h)
		}
	}
	v.ruleChanged = true
}

// Resync makes the next snapshots enter the whole interest set again, for a
// client that found its state at fault.
func (v *Viewer) Resync() { v.resync = true }

func (v *Viewer) reenterAll() {
	v.resync = false
	v.work.stats.Resyncs++
	for _, rowIndex := range v.members.rows {
		if rowIndex != noRow {
			v.rows[rowIndex].enterTick = 0 // before any shape: it enters anew
		}
	}
	v.members.anyActive = true
	for i := range v.members.words {
		w := &v.members.words[i]
		w.active = w.mask
	}
}

// StructureUnacked reports whether structure was sent that the client has not
// acknowledged as applied.
func (v *Viewer) StructureUnacked() bool { return v.structure.applied != v.structure.written }

// Exhausted reports whether the viewer's 32-bit structure record or snapshot numbers
// are nearly used up, so that its client must start another session.
func (v *Viewer) Exhausted() bool { return max(v.structure.written, v.sent.newest) > lastUsableNumber }

// Budget is how many bytes may be sent now; it is negative after a burst of
// structure.
func (v *Viewer) Budget() int { return v.tokens }

// Seq is the sequence number of the newest snapshot made.
func (v *Viewer) Seq() uint32 { return v.sent.newest }

// InterestSize is the number of entities in the interest set.
func (v *Viewer) InterestSize() int { return v.members.count() }

// InterestSet returns the live handles of the interest set, in no particular order.
func (v *Viewer) InterestSet() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		for _, rowIndex := range v.members.rows {
			if rowIndex == noRow {
				continue
			}
			if h := v.handles[rowIndex]; v.replicator.world.Status(h) == bulk.Live && !yield(h) {
				return
			}
		}
	}
}
