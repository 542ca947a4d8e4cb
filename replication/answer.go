package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Bind tells the client that h is the entity that its provisional handle index stands for
// (H7). The Answer becomes the next structure record and so precedes the Enter of h. Bind
// returns false and tells nothing unless h is live and new: in no frame that a snapshot was
// made from, or the client might have it already.
func (v *Viewer) Bind(index uint32, h bulk.Handle) bool {
	if v.replicator.world.Status(h) != bulk.Live || v.replicator.frame.tenantOf(h) != nil {
		return false
	}
	v.Teach(h) // the client learns of its death even if it never enters (H3)
	v.answer(wire.Record{Op: wire.OpAnswer, Number: index, Handle: h})
	return true
}

// Reject tells the client that its provisional handle index will stand for no entity.
func (v *Viewer) Reject(index uint32) {
	v.answer(wire.Record{Op: wire.OpAnswer, Number: index})
}

func (v *Viewer) answer(r wire.Record) {
	v.structure.notBefore = v.replicator.Tick()
	v.writeRecord(r)
}

// Judge returns Resolve(h) for a message to the client, and writes the record that the verdict
// rests on, unless it is written. The message must follow TakeStructure (R10).
func (v *Viewer) Judge(h bulk.Handle) wire.Verdict {
	verdict := v.Resolve(h)
	if verdict == wire.Stale && h.Valid() && v.members.handleIn(h.Index()) == h {
		v.destroyMember(v.members.rowRef(h.Index())) // it died since the last snapshot
	}
	return verdict
}

// TakeStructure returns the structure written since the newest snapshot, for messages that
// must follow it. It is valid until the next snapshot, and must be sent before that.
func (v *Viewer) TakeStructure() []byte {
	stream := v.structure.take(v.replicator.Tick())
	v.countStructure(stream)
	return stream
}
