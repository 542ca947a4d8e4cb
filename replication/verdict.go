package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// recordDeaths processes the deaths since its last call. Destroyed entities are no
// longer owned, and the client gets a Destroy for each one that it knows and does not
// have in view (R5). Deaths in view are found by comparing frames.
func (v *Viewer) recordDeaths(w *workspace) {
	r, k, owned := v.replicator, &v.knowledge, &v.interest.owned
	deaths := k.takeDeaths(r)
	if k.hidden.size == 0 && len(owned.generations) == 0 && r.causes == 0 {
		return
	}
	for _, d := range deaths {
		h := d.handle
		owned.remove(h)
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

// NoteSent notes that the client is about to be sent h outside of structure: in a
// component, an event, an answer or a control message. If h is already dead, its Destroy is
// written, so that h does not stay Pending for ever (H3).
func (v *Viewer) NoteSent(h bulk.Handle) { v.noteSent(v.replicator.ownWorkspace(), h) }

func (v *Viewer) noteSent(w *workspace, h bulk.Handle) {
	if !v.replicator.canIssue(h) {
		return // not a handle, or of an earlier run or another room: Stale to every client already (H5)
	}
	v.recordDeaths(w)
	slot, m := h.Index(), &v.members
	if old := m.handleIn(slot); old != 0 && old.Generation() < h.Generation() {
		v.destroyMember(w, m.rowRef(slot)) // the client learns of the tenants of a slot in their order
	}
	switch status := v.replicator.world.Status(h); {
	case m.handleIn(slot) == h && status == bulk.Stale:
		v.destroyMember(w, m.rowRef(slot)) // it died since the last snapshot
	case m.handleIn(slot) == h: // nothing to do
	case status == bulk.Live:
		v.knowledge.addHidden(h)
	case status == bulk.Stale:
		// Having sent a later tenant's handle is not enough: the datagram that carried
		// it may be lost.
		if m.handleIn(slot).Generation() > h.Generation() || w.isEntering(slot) || v.knowledge.dead.generationOf(slot) >= h.Generation() {
			return // the client has a later tenant, or its Destroy was sent
		}
		v.writeDestroy(w, h, 0) // the client did not know h when it died
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
	if !v.replicator.canIssue(h) || int(slot) >= w.Config().MaxEntities {
		return wire.Stale
	}
	v.recordDeaths(v.replicator.ownWorkspace())
	shown := v.members.handleIn(slot)
	switch {
	case h.Generation() <= v.knowledge.dead.generationOf(slot), h.Generation() < shown.Generation():
		return wire.Stale
	case h == shown && w.Status(h) == bulk.Stale:
		return wire.Stale // the next snapshot sends its Destroy
	case h == shown:
		return wire.Live
	case v.knowledge.hidden.has(slot) && w.Slots().Handle(slot) == h:
		return wire.Hidden
	}
	return wire.Pending
}

// Judge returns Resolve(h) for a message to the client, and writes the record that the verdict
// rests on, unless it is written. The message must follow TakeStructure (R10).
func (v *Viewer) Judge(h bulk.Handle) wire.Verdict {
	verdict := v.Resolve(h)
	if verdict == wire.Stale && h.Valid() && v.members.handleIn(h.Index()) == h {
		v.destroyMember(v.replicator.ownWorkspace(), v.members.rowRef(h.Index())) // it died since the last snapshot
	}
	return verdict
}

// Bind tells the client that h is the entity that its provisional handle index stands for
// (H7). The Answer becomes the next structure record and so precedes the Enter of h. Bind
// returns false and tells nothing unless h is live and new: in no frame that a snapshot was
// made from, or the client might have it already.
func (v *Viewer) Bind(index uint32, h bulk.Handle) bool {
	if v.replicator.world.Status(h) != bulk.Live || v.replicator.frame.tenantOf(h) != nil {
		return false
	}
	v.NoteSent(h) // the client learns of its death even if it never enters (H3)
	v.outbox.writeAnswer(v.replicator, index, h)
	return true
}

// Reject tells the client that its provisional handle index will stand for no entity.
func (v *Viewer) Reject(index uint32) {
	v.outbox.writeAnswer(v.replicator, index, 0)
}
