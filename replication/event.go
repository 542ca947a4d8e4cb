package replication

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Event is an event as it is sent, for any number of viewers.
type Event struct {
	number     uint32
	unreliable bool
	tick       uint32
	body       []byte
	handles    []bulk.Handle // those in body that are not null
}

// NewEvent encodes event, a struct of a type that the schema declares as an event or a
// pointer to one, at the present tick. Handles that were never issued become null. An
// error is the game's fault: the schema has no such event.
func (r *Replicator) NewEvent(event any) (*Event, error) {
	t := reflect.TypeOf(event)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	number, ok := r.frame.schema.EventOf(t)
	if !ok {
		return nil, fmt.Errorf("replication: the schema has no event of type %v: declare it with schema.DefineEvent or schema.DefineUnreliableEvent", t)
	}
	declared := r.frame.schema.Event(number)
	body := &r.event
	if err := declared.Message.Quantise(event, body); err != nil {
		return nil, fmt.Errorf("replication: event %q: %w", declared.Name, err)
	}
	declared.Message.KeepReferences(body, r.frame.issued)
	e := &Event{number: uint32(number), unreliable: declared.Unreliable, tick: r.Tick()}
	declared.Message.References(body, func(h bulk.Handle) { e.handles = append(e.handles, h) })
	e.body = declared.Message.Append(make([]byte, 0, 32), body)
	return e, nil
}

func uvarintBytes(v uint32) int { return (bits.Len32(v|1) + 6) / 7 }

// datagramBytes returns the size of an unreliable event in a datagram of a tick.
func (e *Event) datagramBytes(tick uint32) int {
	return uvarintBytes(e.number) + uvarintBytes(tick-e.tick) + uvarintBytes(uint32(len(e.body))) + len(e.body)
}

// recordBytes returns the maximum size of a reliable event's record.
func (e *Event) recordBytes() int { return 5 + len(e.body) }

// Send sends e to the client. A reliable event becomes the next structure record: it
// precedes the Enters and Destroys of the next frame. Send returns false if it was not
// accepted, because 64 KiB of structure await acknowledgement, or the events are
// too many for its budget (R11). An unreliable event waits for room in a datagram, and is
// dropped for newer ones or when it is late.
func (v *Viewer) Send(e *Event) bool { return v.send(v.replicator.ownWorkspace(), e) }

func (v *Viewer) send(w *workspace, e *Event) bool {
	o := &v.outbox
	if e.unreliable {
		v.countDropped(w, o.events.add(e))
		return true
	}
	if !o.accepts(e.recordBytes(), v.replicator.config.BudgetBytesPerSecond) {
		v.countRefused(w)
		return false
	}
	for _, h := range e.handles {
		v.teach(w, h)
	}
	o.structure.notBefore = v.replicator.Tick()
	o.write(w, wire.Record{Op: wire.OpEvent, Number: e.number, Data: e.body})
	v.stats.Events++
	return true
}

// SendSeen is Send if the client has h in view. An entity that is in no frame yet may come
// into view with the next snapshot: e then follows its Enter.
func (v *Viewer) SendSeen(h bulk.Handle, e *Event) {
	newborn := &v.outbox.newborn
	switch {
	case h.Valid() && v.members.handleIn(h.Index()) == h:
		v.Send(e)
	case v.replicator.world.Status(h) != bulk.Live || v.replicator.frame.tenantOf(h) != nil:
	case len(*newborn) < maxNewbornEvents:
		*newborn = append(*newborn, newbornEvent{h, e})
	case e.unreliable:
		v.countDropped(v.replicator.ownWorkspace(), 1)
	default:
		v.countRefused(v.replicator.ownWorkspace())
	}
}

// newbornEvent is an event for the viewers that see an entity, which is in no frame yet.
type newbornEvent struct {
	entity bulk.Handle
	event  *Event
}

// sendNewborn sends the events of entities that entered with this snapshot.
func (v *Viewer) sendNewborn(w *workspace) {
	newborn := v.outbox.newborn
	for _, n := range newborn {
		if v.members.handleIn(n.entity.Index()) == n.entity {
			v.send(w, n.event)
		}
	}
	clear(newborn)
	v.outbox.newborn = newborn[:0]
}

// eventQueue holds the unreliable events that wait for a datagram, oldest first.
type eventQueue struct {
	events []*Event
	share  int      // bytes that rows must leave to events
	taken  []*Event // scratch: the events of the datagram being made
	bytes  []byte   // scratch: their bytes
}

// add adds e, in place of the oldest event if the queue is full, and returns how many it
// dropped.
func (q *eventQueue) add(e *Event) (dropped int) {
	if len(q.events) == maxQueuedEvents {
		q.dropOldest(1)
		dropped = 1
	}
	q.events = append(q.events, e)
	return dropped
}

// dropAll drops all events and returns how many.
func (q *eventQueue) dropAll() int {
	n := len(q.events)
	q.dropOldest(n)
	return n
}

func (q *eventQueue) dropOldest(n int) {
	kept := copy(q.events, q.events[n:])
	clear(q.events[kept:])
	q.events = q.events[:kept]
}

// dropLate drops the events that are older than maxAge ticks and returns how many. Events that
// waited for an Enter are older than those queued before them.
func (q *eventQueue) dropLate(tick, maxAge uint32) int {
	before := len(q.events)
	q.events = slices.DeleteFunc(q.events, func(e *Event) bool { return tick-e.tick > maxAge })
	return before - len(q.events)
}

// fit returns the bytes of the newest events that fit into room, and calls take for each of
// them, newest first.
func (q *eventQueue) fit(tick uint32, room int, take func(i int)) (bytes int) {
	for i := len(q.events) - 1; i >= 0 && bytes < room; i-- {
		if n := q.events[i].datagramBytes(tick); bytes+n <= room {
			bytes += n
			take(i)
		}
	}
	return bytes
}

// refresh prepares the queue for a snapshot in which a datagram may take so many bytes, and returns
// how many late events it dropped.
func (q *eventQueue) refresh(tick, maxAge uint32, datagramBytes int) (dropped int) {
	if len(q.events) == 0 {
		q.share = 0
		return 0
	}
	dropped = q.dropLate(tick, maxAge)
	q.share = min(q.share+(datagramBytes-wire.StateHeaderBytes)/eventShare, eventsHeaderBytes+maxEventBytes)
	return dropped
}

// reserved returns the bytes of a datagram of a tick that rows leave to events.
func (q *eventQueue) reserved(tick uint32) int {
	if n := q.fit(tick, q.share-eventsHeaderBytes, func(int) {}); n > 0 {
		return eventsHeaderBytes + n
	}
	return 0
}

// take removes the newest events that fit into room bytes of a datagram, and returns them and
// their bytes in their order of sending, valid until the next call.
func (q *eventQueue) take(tick uint32, room int) (taken []*Event, encoded []byte) {
	var chosen [(maxQueuedEvents + 63) / 64]uint64
	n := q.fit(tick, room-eventsHeaderBytes, func(i int) { chosen[i>>6] |= 1 << (i & 63) })
	if n == 0 {
		return nil, nil
	}
	q.share = max(q.share-eventsHeaderBytes-n, 0)
	q.taken, q.bytes = q.taken[:0], q.bytes[:0]
	waiting := q.events[:0]
	for i, e := range q.events {
		if chosen[i>>6]>>(i&63)&1 == 0 {
			waiting = append(waiting, e)
			continue
		}
		q.taken = append(q.taken, e)
		q.bytes = wire.AppendEvent(q.bytes, wire.Event{Number: e.number, Age: tick - e.tick, Body: e.body})
	}
	clear(q.events[len(waiting):])
	q.events = waiting
	return q.taken, q.bytes
}

// maxEventAge returns the age in ticks above which an unreliable event is late.
func (r *Replicator) maxEventAge() uint32 {
	return uint32(maxEventAge.Nanoseconds() * int64(r.world.TickHz()) / 1e9)
}

// takeEvents removes the newest waiting events that fit into a datagram beside rows of some
// bytes, and returns them in their order of sending.
func (v *Viewer) takeEvents(w *workspace, rows int) []byte {
	q := &v.outbox.events
	if len(q.events) == 0 {
		return nil
	}
	room := v.datagramRoom() - rows
	if v.datagrams.overflow > 0 {
		room = min(room, q.share) // rows wait for what this datagram leaves of the budget
	}
	taken, encoded := q.take(w.frame.tick, room)
	for _, e := range taken {
		for _, h := range e.handles {
			v.teach(w, h)
		}
	}
	w.stats.UnreliableEvents += uint64(len(taken))
	w.stats.EventBytes += uint64(len(encoded))
	v.stats.Events += uint64(len(taken))
	return encoded
}

// countDropped counts unreliable events that were dropped.
func (v *Viewer) countDropped(w *workspace, n int) {
	w.stats.UnreliableEventsDropped += uint64(n)
	v.stats.EventsDropped += uint64(n)
}

// countRefused counts a reliable event that was not accepted.
func (v *Viewer) countRefused(w *workspace) {
	w.stats.ReliableEventsDropped++
	v.stats.EventsDropped++
}
