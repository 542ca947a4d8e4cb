package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// recordDeaths processes the deaths since the last call. Destroyed entities are no longer
// owned, and the client gets a Destroy for each destroyed entity of its hidden set (R5).
// updateWord finds the destroyed members.
func (v *Viewer) recordDeaths(w *workspace) {
	r, k, in := v.replicator, &v.knowledge, &v.interest
	deaths := k.takeDeaths(r)
	if k.hidden.size == 0 && in.owned.slots.size == 0 && r.causes == 0 {
		return
	}
	for _, d := range deaths {
		h := d.handle
		in.dropDead(h)
		if slot := h.Index(); k.removeHidden(slot) {
			v.writeDestroy(w, h, d.cause)
		} else if d.cause != 0 && v.members.handleIn(slot) == h {
			k.setCause(h, d.cause)
		}
	}
}

// writeDestroy writes that h is destroyed.
func (v *Viewer) writeDestroy(w *workspace, h bulk.Handle, cause uint8) {
	v.outbox.writeRecord(w, wire.Record{Op: wire.OpDestroy, Handle: h, Cause: cause})
	v.knowledge.addDead(h)
}

// destroyMember writes the Destroy of a member and frees its row (R5).
func (v *Viewer) destroyMember(w *workspace, rowIndex *uint32) {
	h := v.members.handles[*rowIndex]
	v.writeDestroy(w, h, v.knowledge.takeCause(h))
	v.members.freeRow(rowIndex)
}

// NoteSent records that the client is about to be sent h outside of structure: in a
// component, an event, an answer or a control message. If h is already destroyed, NoteSent
// writes its Destroy, so that h does not stay Pending for ever (H3).
func (v *Viewer) NoteSent(h bulk.Handle) { v.noteSent(v.replicator.ownWorkspace(), h) }

func (v *Viewer) noteSent(w *workspace, h bulk.Handle) {
	if !v.replicator.canIssue(h) {
		return // an invalid handle, or one of an earlier run or another room: Stale to every client (H5)
	}
	v.recordDeaths(w)
	slot, m := h.Index(), &v.members
	if old := m.handleIn(slot); old != 0 && old.Generation() < h.Generation() {
		v.destroyMember(w, m.rowRef(slot)) // the client must learn of a slot's tenants in order
	}
	switch status := v.replicator.world.Status(h); {
	case m.handleIn(slot) == h && status == bulk.Stale:
		v.destroyMember(w, m.rowRef(slot)) // h died since the last snapshot
	case m.handleIn(slot) == h: // the client has h in view
	case status == bulk.Live:
		v.knowledge.addHidden(h)
	case status == bulk.Stale:
		// A hidden later tenant proves nothing: the datagram with its handle may be lost.
		if m.handleIn(slot).Generation() > h.Generation() || w.isEntering(slot) || v.knowledge.dead.generationOf(slot) >= h.Generation() {
			return // the client has a later tenant in view, or was sent the Destroy of h
		}
		v.writeDestroy(w, h, 0) // the client did not know h when it died
	}
}

// Resolve returns this client's verdict on h. Live: h is in the interest set. Hidden: the
// client was sent h, and h is out of view. Stale: h is destroyed, and the client was sent
// its Destroy or a later tenant of its slot; or no entity of this run can have the handle.
// Pending: any other handle, whether live, destroyed or never issued. The verdict depends
// only on what the client was sent (R10).
func (v *Viewer) Resolve(h bulk.Handle) wire.Verdict {
	w := v.replicator.world
	slot := h.Index()
	if !v.replicator.canIssue(h) || int(slot) >= w.Config().MaxEntities {
		return wire.Stale
	}
	v.recordDeaths(v.replicator.ownWorkspace())
	shown := v.members.handleIn(slot)
	switch {
	case h.Generation() <= v.knowledge.dead.generationOf(slot), h.Generation() < shown.Generation():
		return wire.Stale
	case h == shown && w.Status(h) == bulk.Stale:
		return wire.Stale // the next snapshot sends the Destroy of h
	case h == shown:
		return wire.Live
	case v.knowledge.hidden.has(slot) && w.Slots().Handle(slot) == h:
		return wire.Hidden
	}
	return wire.Pending
}

// Judge returns Resolve(h) for a message to the client. If the verdict rests on a Destroy
// that is not written yet, it writes the Destroy. The message must follow TakeStructure
// (R10).
func (v *Viewer) Judge(h bulk.Handle) wire.Verdict {
	verdict := v.Resolve(h)
	if verdict == wire.Stale && h.Valid() && v.members.handleIn(h.Index()) == h {
		v.destroyMember(v.replicator.ownWorkspace(), v.members.rowRef(h.Index())) // h died since the last snapshot
	}
	return verdict
}

// Bind tells the client that its provisional handle index stands for h (H7). The Answer
// becomes the next structure record and so precedes the Enter of h. Bind returns false and
// writes nothing if h is not live or is in the frame already: the client might know it.
func (v *Viewer) Bind(index uint32, h bulk.Handle) bool {
	if v.replicator.world.Status(h) != bulk.Live || v.replicator.frame.tenantOf(h) != nil {
		return false
	}
	v.NoteSent(h) // if h dies before it enters, the client still learns of it (H3)
	v.outbox.writeAnswer(v.replicator, index, h)
	return true
}

// Reject tells the client that its provisional handle index stands for no entity.
func (v *Viewer) Reject(index uint32) {
	v.outbox.writeAnswer(v.replicator, index, 0)
}
