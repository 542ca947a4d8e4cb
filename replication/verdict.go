package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// recordDeaths processes the deaths since the last call: the client gets a Destroy for each
// destroyed entity of its hidden set (R5). members.updateWord finds the destroyed
// members.
func (k *knowledge) recordDeaths(w *workspace, m *members, out *outbox) {
	deaths := k.takeDeaths(w.replicator)
	if k.hidden.size == 0 && w.replicator.deaths.causes == 0 {
		return
	}
	for _, d := range deaths {
		h := d.handle
		if slot := h.Index(); k.removeHidden(slot) {
			k.writeDestroy(w, out, h, d.cause)
		} else if d.cause != 0 && m.handleIn(slot) == h {
			k.setCause(h, d.cause)
		}
	}
}

// writeDestroy writes that h is destroyed.
func (k *knowledge) writeDestroy(w *workspace, out *outbox, h bulk.Handle, cause uint8) {
	out.writeRecord(w, wire.Record{Op: wire.OpDestroy, Handle: h, Cause: cause})
	k.addDead(h)
}

// destroyMember writes the Destroy of a member and frees its row (R5).
func (k *knowledge) destroyMember(w *workspace, m *members, out *outbox, rowIndex *uint32) {
	h := m.handles[*rowIndex]
	k.writeDestroy(w, out, h, k.takeCause(h))
	m.freeRow(rowIndex)
}

// leaveMember writes that a member leaves view, and frees its row.
func (k *knowledge) leaveMember(w *workspace, m *members, out *outbox, rowIndex *uint32, reason wire.Reason) {
	h := m.handles[*rowIndex]
	out.writeRecord(w, wire.Record{Op: wire.OpLeave, Reason: reason, Handle: h})
	k.hideMember(h)
	m.freeRow(rowIndex)
}

// admitNewcomers makes the newcomers with a written Enter members.
func (k *knowledge) admitNewcomers(w *workspace, m *members, requests []enterRequest) {
	w.newcomers = w.newcomers[:0]
	for i := range requests {
		if e := &requests[i]; e.row != noRow {
			k.showMember(e.handle)
			w.newcomers = append(w.newcomers, newcomer{e.handle.Index(), e.row})
		}
	}
	m.insertNewcomers(w.newcomers)
	w.newcomers = w.newcomers[:0]
}

// noteReferences records that the client is about to be sent the handles in rows.
func (k *knowledge) noteReferences(w *workspace, m *members, out *outbox, keys []codingKey) {
	f := w.frame
	if !f.rows.Refers() {
		return
	}
	for _, key := range keys {
		row := f.currentRow(&f.tenants[key.slot()], key.owned())
		f.rows.References(row, func(h bulk.Handle) { k.noteSent(w, m, out, h) })
	}
}

// noteSent implements Viewer.NoteSent.
func (k *knowledge) noteSent(w *workspace, m *members, out *outbox, h bulk.Handle) {
	r := w.replicator
	if !r.canIssue(h) {
		return // an invalid handle, or one of an earlier run or another room: Stale to every client (H5)
	}
	k.recordDeaths(w, m, out)
	slot := h.Index()
	if old := m.handleIn(slot); old != 0 && old.Generation() < h.Generation() {
		k.destroyMember(w, m, out, m.rowRef(slot)) // the client must learn of a slot's tenants in order
	}
	switch status := r.world.Status(h); {
	case m.handleIn(slot) == h && status == bulk.Stale:
		k.destroyMember(w, m, out, m.rowRef(slot)) // h died since the last snapshot
	case m.handleIn(slot) == h: // the client has h in view
	case status == bulk.Live:
		k.addHidden(h)
	case status == bulk.Stale:
		// A hidden later tenant proves nothing: the datagram with its handle may be lost.
		if m.handleIn(slot).Generation() > h.Generation() || w.isEntering(slot) || k.dead.generationOf(slot) >= h.Generation() {
			return // the client has a later tenant in view, or was sent the Destroy of h
		}
		k.writeDestroy(w, out, h, 0) // the client did not know h when it died
	}
}

// resolveHandle implements Viewer.Resolve.
func (k *knowledge) resolveHandle(w *workspace, m *members, out *outbox, h bulk.Handle) wire.Verdict {
	r := w.replicator
	slot := h.Index()
	if !r.canIssue(h) || int(slot) >= r.world.Config().MaxEntities {
		return wire.Stale
	}
	k.recordDeaths(w, m, out)
	shown := m.handleIn(slot)
	switch {
	case h.Generation() <= k.dead.generationOf(slot), h.Generation() < shown.Generation():
		return wire.Stale
	case h == shown && r.world.Status(h) == bulk.Stale:
		return wire.Stale // the next snapshot sends the Destroy of h
	case h == shown:
		return wire.Live
	case k.hidden.has(slot) && r.world.Slots().Handle(slot) == h:
		return wire.Hidden
	}
	return wire.Pending
}

// judgeHandle implements Viewer.Judge.
func (k *knowledge) judgeHandle(w *workspace, m *members, out *outbox, h bulk.Handle) wire.Verdict {
	verdict := k.resolveHandle(w, m, out, h)
	if verdict == wire.Stale && h.Valid() && m.handleIn(h.Index()) == h {
		k.destroyMember(w, m, out, m.rowRef(h.Index())) // h died since the last snapshot
	}
	return verdict
}
