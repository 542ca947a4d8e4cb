package replication

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Viewer is one session's view of the world: what its client knows, what it should know,
// and what is in flight. Only the goroutine that owns the world may call its methods. Each
// part owns its fields; the methods of Viewer coordinate the parts.
type Viewer struct {
	replicator *Replicator
	members    members   // which entities are in view, and their rows
	knowledge  knowledge // other handles that the client was sent
	resync     bool      // the next snapshots enter every member again
	stats      ViewerStats

	interest    // which entities should be in view
	outbox      // records, events and texts to send, and the budget
	datagrams   // State datagrams of the newest snapshot
	delivery    // datagrams in flight, losses and delays
	*simulation // nil unless the client simulates
}

// AddViewer makes a viewer that views the world from the entity focus.
func (r *Replicator) AddViewer(focus bulk.Handle) *Viewer {
	v := &Viewer{
		replicator: r,
		interest:   newInterest(focus, r.changes.captures()),
		knowledge:  knowledge{deathsSeen: r.deaths.count()},
		datagrams:  newDatagrams(),
	}
	r.viewers = append(r.viewers, v)
	return v
}

// SetFocus sets the entity that the viewer owns and views the world from. It applies from
// the next snapshot on. While h is not in the frame or has no body, the viewer keeps its
// last centre, initially the origin. A handle that was never issued counts as 0.
func (v *Viewer) SetFocus(h bulk.Handle) {
	if !v.replicator.frame.issued(h) {
		h = 0
	}
	before, owned := v.interest.focus, v.interest.owns(h)
	v.interest.setFocus(h)
	if h == before {
		return
	}
	if !v.interest.owns(before) {
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

// Own makes the viewer an owner of h: the viewer sees h at any distance and through any
// filter, including Config.Private, and receives its owner-only fields. An entity may have
// several owners. Own ignores a handle that is not live: a handle that was never issued may
// name another entity later.
func (v *Viewer) Own(h bulk.Handle) {
	if v.replicator.world.Status(h) != bulk.Live || v.interest.owned.has(h) {
		return
	}
	owned := v.interest.owns(h) // true if h is the focus, which may change later
	v.interest.addOwned(h)
	if !owned {
		v.members.reenterMember(h)
	}
}

// Disown undoes Own. The focus stays owned.
func (v *Viewer) Disown(h bulk.Handle) {
	owned := v.interest.owns(h)
	v.interest.removeOwned(h)
	if owned && !v.interest.owns(h) {
		v.members.reenterMember(h)
	}
}

// Simulate makes the viewer one whose client computes clean bodies. Call it before the
// first snapshot. It returns false and changes nothing if no body can be clean: no kind of
// the world is exact, or the schema lacks schema.BodyComponent, the kinds or the motion.
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
		r.clean.beginClean(r.world, r.frame.schema, r.Tick())
	}
	r.clean.addViewer()
	v.simulation = &simulation{restart: true}
	v.datagrams.reserveAudits()
	return true
}

// SendPlainRows makes the viewer one whose client receives every row in full. Call it before
// the first snapshot.
func (v *Viewer) SendPlainRows() { v.members.sendPlainRows() }

// Resync makes the next snapshots enter the whole interest set again, for a client that
// found its state faulty.
func (v *Viewer) Resync() { v.resync = true }

// Acknowledge processes a client's acknowledgement (H6). An error is the client's fault: it
// acknowledged a record or datagram that was never sent. Baselines advance in the next
// snapshot, when the rows are in the CPU's caches.
func (v *Viewer) Acknowledge(a wire.Ack) error {
	if err := v.outbox.structure.checkAck(a.Structure); err != nil {
		return err
	}
	v.outbox.structure.acknowledgeRecords(a.Structure)
	if !a.Seen {
		return nil
	}
	r := v.replicator
	pause := longestPause(uint32(r.world.TickHz()), r.interval)
	lost, err := v.delivery.acknowledgeDatagrams(a, r.Tick(), pause, &v.members)
	v.stats.countLost(&r.ownWorkspace().stats, lost)
	return err
}

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

// Stats returns the viewer's counters since it was added, and its present state.
func (v *Viewer) Stats() ViewerStats {
	s := v.stats
	s.Interest, s.Budget, s.Loss = v.members.countMembers(), v.outbox.tokens, v.delivery.lossShare()
	return s
}

// Numbers are the newest record and datagram numbers of a session. They continue when the
// session moves to another room.
type Numbers struct {
	Structure uint32 // number of the newest structure record
	Seq       uint32 // number of the newest State datagram
}

// Exhausted reports whether the 32-bit numbers are nearly used up: the client must then
// start another session.
func (n Numbers) Exhausted() bool { return max(n.Structure, n.Seq) > lastUsableNumber }

// Numbers returns the newest numbers that the viewer has used.
func (v *Viewer) Numbers() Numbers {
	return Numbers{v.outbox.structure.written, v.delivery.newestSeq()}
}

// Continue makes the numbers of the viewer's records and datagrams follow numbers, as if
// the client had applied all earlier records. Call it before the first record and the first
// snapshot.
func (v *Viewer) Continue(numbers Numbers) {
	v.outbox.structure.continueFrom(numbers.Structure)
	v.delivery.continueFrom(numbers.Seq)
}

// Resume continues the viewer over another connection, for a client that has applied
// exactly the structure records up to number. stream holds the later records that were
// sent. stream is valid until the next snapshot or acknowledgement. It must precede every
// other message with handles: before it arrives, the client knows less than the viewer
// assumes. Knowledge, baselines and datagram numbers stay: to the viewer, a broken
// connection is a link that lost every packet for a while. Resume returns false and changes
// nothing if the log no longer holds the records after number (R8), or if no message ends
// with number.
func (v *Viewer) Resume(number uint32) (stream []byte, ok bool) {
	if !v.outbox.structure.rewindTo(number) {
		return nil, false
	}
	w := v.replicator.ownWorkspace()
	v.stats.countDropped(&w.stats, v.outbox.dropUnreliable()) // queued for the broken connection
	v.delivery.forgetLink()
	stream = v.outbox.structure.takeRewound()
	v.stats.countStructure(&w.stats, stream)
	return stream, true
}

// Restart forgets all that the client was sent, for a client that has lost it: the next snapshots fill an
// empty replica. Events that wait are dropped. Focus, filter and owned entities stay, and so do the
// counters. Numbers continue, after one more record: the Welcome that says so.
func (v *Viewer) Restart() {
	r, numbers := v.replicator, v.Numbers()
	simulates := v.simulation != nil
	*v = Viewer{
		replicator: r,
		members:    members{plain: v.members.plain},
		interest:   v.interest.restarted(r.changes.captures()),
		knowledge:  knowledge{deathsSeen: r.deaths.count()},
		datagrams:  newDatagrams(),
		stats:      v.stats,
	}
	if simulates {
		v.simulation = &simulation{restart: true}
		v.datagrams.reserveAudits()
	}
	numbers.Structure++
	v.Continue(numbers)
}

// TakeStructure returns the structure written since the newest snapshot, for messages that
// must follow that structure. The result is valid until the next snapshot or
// acknowledgement, and must be sent before the next snapshot.
func (v *Viewer) TakeStructure() []byte {
	stream := v.outbox.structure.takeMessages(v.replicator.Tick())
	v.stats.countStructure(&v.replicator.ownWorkspace().stats, stream)
	return stream
}

// NoteSent records that the client is about to be sent h outside of structure: in a
// component, an event, an answer or a control message. If h is already destroyed, NoteSent
// writes its Destroy, so that h does not stay Pending for ever (H3).
func (v *Viewer) NoteSent(h bulk.Handle) {
	v.knowledge.noteSent(v.replicator.ownWorkspace(), &v.members, &v.outbox, h)
}

// Resolve returns this client's verdict on h. Live: h is in the interest set. Hidden: the
// client was sent h, and h is out of view. Stale: h is destroyed, and the client was sent
// its Destroy or a later tenant of its slot; or no entity of this run can have the handle.
// Pending: any other handle, whether live, destroyed or never issued. The verdict depends
// only on what the client was sent (R10).
func (v *Viewer) Resolve(h bulk.Handle) wire.Verdict {
	return v.knowledge.resolveHandle(v.replicator.ownWorkspace(), &v.members, &v.outbox, h)
}

// Judge returns Resolve(h) for a message to the client. If the verdict rests on a Destroy
// that is not written yet, it writes the Destroy. The message must follow TakeStructure
// (R10).
func (v *Viewer) Judge(h bulk.Handle) wire.Verdict {
	return v.knowledge.judgeHandle(v.replicator.ownWorkspace(), &v.members, &v.outbox, h)
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
