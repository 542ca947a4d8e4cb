package replication

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Viewer is one session's view of the world: what its client knows, what it should
// know, and what is in flight. All methods belong to the goroutine that owns the world.
// Each part owns its fields; the methods of Viewer coordinate them.
type Viewer struct {
	replicator *Replicator
	interest   interest    // what the client is to have in view
	members    members     // what it has in view
	knowledge  knowledge   // what it was sent besides
	outbox     outbox      // what it is to be sent in order
	datagrams  datagrams   // the newest snapshot
	delivery   delivery    // datagrams in flight
	simulation *simulation // nil unless the client simulates
	resync     bool        // the next snapshots enter every member again
	stats      ViewerStats
}

// AddViewer makes a viewer that views the world from the entity focus.
func (r *Replicator) AddViewer(focus bulk.Handle) *Viewer {
	v := &Viewer{
		replicator: r,
		interest:   newInterest(focus, r.changes.captures),
		knowledge:  knowledge{deathsSeen: r.deathsDropped + uint64(len(r.deaths))},
		datagrams:  datagrams{limit: wire.MaxDatagram},
	}
	r.viewers = append(r.viewers, v)
	return v
}

// SetFocus sets the entity that the viewer owns and views the world from, from the next
// snapshot on. While h is not in the frame or has no body, the viewer keeps its last
// centre, at first the origin. A handle that was never issued counts as 0.
func (v *Viewer) SetFocus(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	before, owned := v.interest.focus, v.Owns(h)
	v.interest.setFocus(h)
	if h == before {
		return
	}
	if !v.Owns(before) {
		v.members.reenterMember(before)
	}
	if !owned {
		v.members.reenterMember(h)
	}
}

// SetViewpoint sets an entity from which the viewer views the world in place of its focus, or 0
// for the focus. The viewer neither owns h nor sees it if a rule hides it.
func (v *Viewer) SetViewpoint(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	v.interest.setViewpoint(h)
}

// Viewpoint returns the point from which the client views the world.
func (v *Viewer) Viewpoint() world.Vec3 {
	if at, ok := v.replicator.world.Position(v.interest.viewEntity()); ok {
		return at
	}
	return v.interest.center
}

// SetFilter replaces the viewer's filter, from the next snapshot on.
func (v *Viewer) SetFilter(f Filter) { v.interest.setFilter(f) }

// Own makes the viewer an owner of h: h is visible at any distance and through any
// filter, Config.Private included, and its owner-only fields are sent. An entity may
// have several owners. Own ignores a handle that is not live: one that was never issued
// may name another entity later.
func (v *Viewer) Own(h bulk.Handle) {
	if v.replicator.world.Status(h) != bulk.Live || v.interest.owned.has(h) {
		return
	}
	owned := v.Owns(h) // as its focus, perhaps, which may change
	v.interest.owned.add(h)
	if !owned {
		v.members.reenterMember(h)
	}
}

// Disown undoes Own. The focus stays owned.
func (v *Viewer) Disown(h bulk.Handle) {
	owned := v.Owns(h)
	v.interest.removeOwned(h)
	if owned && !v.Owns(h) {
		v.members.reenterMember(h)
	}
}

// Owns reports whether h is the viewer's focus or was given to it by Own. It decides
// what the viewer is sent, and lets callers check that.
func (v *Viewer) Owns(h bulk.Handle) bool { return v.interest.owns(h) }

// Simulate makes the viewer's client compute clean bodies. It is called before the first
// snapshot. It returns false, and changes nothing, if there are none: no kind of the world is
// exact, or the schema lacks the component schema.BodyComponent, the kinds or the motion.
func (v *Viewer) Simulate() bool {
	r := v.replicator
	if r.clean == nil || v.simulation != nil {
		return v.simulation != nil
	}
	r.clean.addKinds(r.world, r.frame.schema)
	if !r.clean.anyExact() {
		return false
	}
	if r.clean.viewers == 0 {
		r.beginClean()
	}
	r.clean.addViewer()
	v.simulation = &simulation{restart: true}
	return true
}

// Simulates reports whether the viewer's client computes clean bodies.
func (v *Viewer) Simulates() bool { return v.simulation != nil }

// NoteInput tells the viewer the tick of the newest input of its client that was applied,
// for the snapshots that follow. It is at most the next frame's tick, and not 0.
func (v *Viewer) NoteInput(tick uint32) { v.datagrams.noteInput(tick) }

// SetMaxDatagram sets the size limit of the datagrams of the next snapshots: what the client's
// path carries, within wire.MinDatagram and wire.MaxDatagram, the default.
func (v *Viewer) SetMaxDatagram(bytes int) { v.datagrams.setLimit(bytes) }

// Resync makes the next snapshots enter the whole interest set again, for a client that
// found its state faulty.
func (v *Viewer) Resync() { v.resync = true }

// Acknowledge processes a client's report of what it has applied (H6). An error is the
// client's fault: it acknowledges what was never sent. Baselines advance in the next snapshot,
// which reads the rows in any case: now they are not in the core's caches.
func (v *Viewer) Acknowledge(a wire.Ack) error {
	if err := v.outbox.structure.checkAck(a.Structure); err != nil {
		return err
	}
	v.outbox.structure.acknowledgeRecords(a.Structure)
	if !a.Seen {
		return nil
	}
	r := v.replicator
	lost, err := v.delivery.acknowledgeDatagrams(a, r.Tick(), r.world.TickHz(), &v.members)
	v.stats.countLost(&r.ownWorkspace().stats, lost)
	return err
}

// AckedTick returns the tick of the newest datagram that the client has acknowledged, or 0.
func (v *Viewer) AckedTick() uint32 { return v.delivery.ackedTick }

// StructureUnacked reports whether structure was sent that the client has not
// acknowledged as applied.
func (v *Viewer) StructureUnacked() bool {
	return v.outbox.structure.applied != v.outbox.structure.written
}

// Loss returns the estimated share of datagrams, 0 to 1, that the link to the client loses or
// delivers too late to be applied.
func (v *Viewer) Loss() float64 { return v.delivery.lossShare() }

// Budget returns how many bytes may be sent now. It is negative after a burst of
// structure.
func (v *Viewer) Budget() int { return v.outbox.tokens }

// Seq returns the sequence number of the newest State datagram.
func (v *Viewer) Seq() uint32 { return v.delivery.sent.newest }

// Exhausted reports whether the viewer's 32-bit structure record or datagram numbers
// are nearly used up, so that its client must start another session.
func (v *Viewer) Exhausted() bool {
	return max(v.outbox.structure.written, v.delivery.sent.newest) > lastUsableNumber
}

// InterestSize returns the number of entities in the interest set.
func (v *Viewer) InterestSize() int { return v.members.countMembers() }

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

// Stats returns the viewer's counters since it was added.
func (v *Viewer) Stats() ViewerStats { return v.stats }

// Numbers counts a session's structure records and State datagrams. Both continue when the session moves
// to another room.
type Numbers struct {
	Structure uint32 // of the newest record
	Seq       uint32 // of the newest datagram
}

// Numbers returns the newest numbers that the viewer has used.
func (v *Viewer) Numbers() Numbers {
	return Numbers{v.outbox.structure.written, v.delivery.sent.newest}
}

// Continue makes the viewer's records and datagrams follow numbers, as if it had sent those up to
// numbers and the client had applied the records. It must be called before the first record and
// the first snapshot.
func (v *Viewer) Continue(numbers Numbers) {
	v.outbox.structure.continueFrom(numbers.Structure)
	v.delivery.continueFrom(numbers.Seq)
}

// Resume continues the viewer over another connection, for a client that has applied
// the structure records up to number and nothing after. stream holds the records sent
// after number. It is valid until the next snapshot or acknowledgement, and must be sent before
// anything else that mentions handles: until then the client knows less than the viewer assumes.
// To the viewer, a broken connection is a link that lost everything for a while: the
// client's knowledge, baselines and datagram numbers all stay. Resume returns false and
// changes nothing if the client is further behind than the kept log (R8), or cannot be
// at that number.
func (v *Viewer) Resume(number uint32) (stream []byte, ok bool) {
	if !v.outbox.structure.rewindTo(number) {
		return nil, false
	}
	w := v.replicator.ownWorkspace()
	v.stats.countDropped(&w.stats, v.outbox.events.dropAll()) // they were for the broken connection
	v.delivery.forgetLink()
	stream = v.outbox.structure.takeRewound()
	v.stats.countStructure(&w.stats, stream)
	return stream, true
}

// TakeStructure returns the structure written since the newest snapshot, for messages that
// must follow it. It is valid until the next snapshot or acknowledgement, and must be sent before
// the next snapshot.
func (v *Viewer) TakeStructure() []byte {
	stream := v.outbox.structure.takeMessages(v.replicator.Tick())
	v.stats.countStructure(&v.replicator.ownWorkspace().stats, stream)
	return stream
}
