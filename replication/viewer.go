package replication

import (
	"cmp"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Viewer is one session's view of the world: what its client knows, what it should
// know, and what is in flight. All methods belong to the goroutine that owns the world.
type Viewer struct {
	replicator *Replicator
	focus      bulk.Handle
	viewpoint  bulk.Handle // 0: the focus
	center     world.Vec3

	owned       ownedSet
	filter      Filter
	ruleChanged bool // focus, viewpoint, owned or filter changed since the last snapshot
	boundary    boundary

	members     members               // the interest set
	hidden      slotSet               // slots whose tenant the client knows but does not have in view
	dead        generations           // by slot, the newest generation that the client knows to be destroyed (R10)
	queue       []queuedEnter         // newcomers that the budget has not admitted, ascending by slot
	lastCapture uint64                // captures up to the last snapshot
	deathsSeen  uint64                // deaths recorded so far, counted with those dropped by the replicator
	causes      map[bulk.Handle]uint8 // causes of the deaths of members, until their Destroy

	textQueue   []bulk.Handle // members with a text that the client was not sent, longest waiting first
	structure   structure
	events      eventQueue
	newborn     []newbornEvent
	sent        sentLog
	repeats     repetition
	before      uint32 // newest snapshot in earlier rooms
	ackedTick   uint32 // of the newest snapshot acknowledged; 0: none
	tokens      int    // bytes that may be sent now; negative after a burst of structure
	maxDatagram int    // size limit of a datagram on the client's path
	resync      bool
	input       uint32 // tick of the newest input applied; 0: none
	inputSent   uint32 // input as of the newest snapshot
	overflow    int    // rows waiting when they last did not fit into one datagram; 0: they all fitted
	rowBits     int    // of a row in the newest datagram with rows, on average; 0: unknown
	stats       ViewerStats
	delays      ackDelays
	lostTick    uint32   // of the newest snapshot that was lost
	ahead       bool     // the open datagram depends on no record that the client may lack
	unsure      uint32   // first tick whose Enters the client is not known to have
	lacks       bool     // scratch of findLate
	datagrams   [][]byte // of the newest snapshot, copies included
	buffers     [maxDatagrams][]byte

	simulation *simulation // nil unless the client simulates

	work        *workspace                           // workspace of the newest snapshot
	teachFunc   func(bulk.Handle)                    // Teach, bound once because binding allocates
	requestFunc func(word uint32, mask, sure uint64) // requestEnters, likewise
	allowedFunc func(word uint32) uint64             // allowedByRules, likewise
	lacksFunc   func(bulk.Handle)                    // noteLacked, likewise
}

// queuedEnter is an entity that has waited to enter since a tick.
type queuedEnter struct {
	handle bulk.Handle
	since  uint32
}

// NoteInput tells the viewer the tick of the newest input of its client that was applied,
// for the snapshots that follow. It is at most the next frame's tick, and not 0.
func (v *Viewer) NoteInput(tick uint32) { v.input = tick }

// writeRecord writes a record and returns the bytes it takes. It closes the open
// message when full, so that no message exceeds what a frame may hold, however many
// entities die or leave in one tick.
func (v *Viewer) writeRecord(r wire.Record) int {
	if v.structure.full() {
		v.structure.close(v.replicator.frame.tick)
	}
	return v.structure.append(r)
}

// recordDeaths processes the deaths since its last call. Destroyed entities are no
// longer owned, and the client gets a Destroy for each one that it knows and does not
// have in view (R5). Deaths in view are found by comparing frames.
func (v *Viewer) recordDeaths() {
	r := v.replicator
	deaths := r.deaths[v.deathsSeen-r.deathsDropped:]
	v.deathsSeen += uint64(len(deaths))
	if v.hidden.size == 0 && len(v.owned.generations) == 0 && r.causes == 0 {
		return
	}
	for _, d := range deaths {
		h := d.handle
		v.owned.remove(h)
		if slot := h.Index(); v.hidden.has(slot) {
			v.hidden.clear(slot)
			v.writeDestroy(h, d.cause)
		} else if d.cause != 0 && v.members.handleIn(slot) == h {
			if v.causes == nil {
				v.causes = map[bulk.Handle]uint8{}
			}
			v.causes[h] = d.cause
		}
	}
}

func (v *Viewer) writeDestroy(h bulk.Handle, cause uint8) {
	v.writeRecord(wire.Record{Op: wire.OpDestroy, Handle: h, Cause: cause})
	v.dead.raise(h.Index(), h.Generation())
	v.work.stats.Destroys++
}

// Teach notes that the client is about to be sent h outside of structure: in a
// component, an event, an answer or a control message. If h is already dead, its Destroy is
// written, so that h does not stay Pending for ever (H3).
func (v *Viewer) Teach(h bulk.Handle) {
	if !v.replicator.issues(h) {
		return // not a handle, or of an earlier run or another room: Stale to every client already (H5)
	}
	v.recordDeaths()
	slot := h.Index()
	if old := v.members.handleIn(slot); old != 0 && old.Generation() < h.Generation() {
		v.destroyMember(v.members.rowRef(slot)) // the client learns of the tenants of a slot in their order
	}
	switch status := v.replicator.world.Status(h); {
	case v.members.handleIn(slot) == h && status == bulk.Stale:
		v.destroyMember(v.members.rowRef(slot)) // it died since the last snapshot
	case v.members.handleIn(slot) == h: // nothing to do
	case status == bulk.Live:
		v.hidden.set(slot)
	case status == bulk.Stale:
		// Having sent a later tenant's handle is not enough: the datagram that carried
		// it may be lost.
		if v.members.handleIn(slot).Generation() > h.Generation() || v.isEntering(slot) || v.dead.at(slot) >= h.Generation() {
			return // the client has a later tenant, or its Destroy was sent
		}
		v.writeDestroy(h, 0) // the client did not know h when it died
	}
}

// Resolve returns this client's verdict on h. Live: h is in the interest set. Hidden:
// the client was sent h, and h is out of view. Stale: h is destroyed, and the client
// was sent h or a later tenant of its slot; or no entity of this run can have the
// handle. Pending: anything else, whether h is live, destroyed or was never issued. The
// answer depends only on what the client was sent (R10).
func (v *Viewer) Resolve(h bulk.Handle) wire.Verdict {
	w := v.replicator.world
	slot := h.Index()
	if !v.replicator.issues(h) || int(slot) >= w.Config().MaxEntities {
		return wire.Stale
	}
	v.recordDeaths()
	shown := v.members.handleIn(slot)
	switch {
	case h.Generation() <= v.dead.at(slot), h.Generation() < shown.Generation():
		return wire.Stale
	case h == shown && w.Status(h) == bulk.Stale:
		return wire.Stale // the next snapshot sends its Destroy
	case h == shown:
		return wire.Live
	case v.hidden.has(slot) && w.Slots().Handle(slot) == h:
		return wire.Hidden
	}
	return wire.Pending
}

// SetFocus sets the entity that the viewer owns and views the world from, from the next
// snapshot on. While h is not in the frame or has no body, the viewer keeps its last
// centre, at first the origin. A handle that was never issued counts as 0.
func (v *Viewer) SetFocus(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	if before := v.focus; h != before {
		owned := v.Owns(h)
		v.focus = h
		if !v.Owns(before) {
			v.members.reenter(before)
		}
		if !owned {
			v.members.reenter(h)
		}
	}
	v.ruleChanged = true
}

// SetViewpoint sets an entity from which the viewer views the world in place of its focus, or 0
// for the focus. The viewer neither owns h nor sees it if a rule hides it.
func (v *Viewer) SetViewpoint(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	v.viewpoint, v.ruleChanged = h, true
}

// eye returns the entity from which the viewer views the world.
func (v *Viewer) eye() bulk.Handle { return cmp.Or(v.viewpoint, v.focus) }

// Resync makes the next snapshots enter the whole interest set again, for a client that
// found its state faulty.
func (v *Viewer) Resync() { v.resync = true }

// StructureUnacked reports whether structure was sent that the client has not
// acknowledged as applied.
func (v *Viewer) StructureUnacked() bool { return v.structure.applied != v.structure.written }

// Exhausted reports whether the viewer's 32-bit structure record or snapshot numbers
// are nearly used up, so that its client must start another session.
func (v *Viewer) Exhausted() bool { return max(v.structure.written, v.sent.newest) > lastUsableNumber }

// Budget returns how many bytes may be sent now. It is negative after a burst of
// structure.
func (v *Viewer) Budget() int { return v.tokens }

// Seq returns the sequence number of the newest snapshot.
func (v *Viewer) Seq() uint32 { return v.sent.newest }

// InterestSize returns the number of entities in the interest set.
func (v *Viewer) InterestSize() int { return v.members.count() }

// InterestSet returns the live handles of the interest set, in no particular order.
func (v *Viewer) InterestSet() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		for _, rowIndex := range v.members.indexes {
			if rowIndex == noRow {
				continue
			}
			if h := v.members.handles[rowIndex]; v.replicator.world.Status(h) == bulk.Live && !yield(h) {
				return
			}
		}
	}
}
