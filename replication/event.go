package replication

import (
	"fmt"
	"math/bits"
	"reflect"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Event is an encoded event, for any number of viewers.
type Event struct {
	number     uint32
	unreliable bool
	tick       uint32
	body       []byte
	handles    []bulk.Handle // non-null handles in body
}

// NewEvent encodes event, a struct of a type that the schema declares as an event or a
// pointer to one, at the present tick. Handles that were never issued become null. An error
// is the game's fault: the schema has no event of that type.
func (r *Replicator) NewEvent(event any) (*Event, error) {
	t := reflect.TypeOf(event)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	number, ok := r.frame.schema.EventOf(t)
	if !ok {
		return nil, fmt.Errorf("replication: the schema has no event of type %v: declare it with schema.DefineEvent or schema.DefineUnreliableEvent", t)
	}
	declared := &r.frame.schema.Events()[number]
	message := r.frame.events[number]
	body := &r.event
	if err := message.Quantise(event, body); err != nil {
		return nil, fmt.Errorf("replication: event %q: %w", declared.Name, err)
	}
	message.KeepReferences(body, r.frame.issued)
	e := &Event{number: uint32(number), unreliable: declared.Unreliable, tick: r.Tick()}
	message.References(body, func(h bulk.Handle) { e.handles = append(e.handles, h) })
	e.body = message.Append(make([]byte, 0, 32), body)
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
// precedes the Enters and Destroys of the next frame. Send returns false if it refuses the
// event, because 64 KiB of structure await acknowledgement or the budget for events is
// exhausted (R11). An unreliable event waits for room in a datagram, and is dropped if
// newer events displace it or it is late.
func (v *Viewer) Send(e *Event) bool { return v.sendEvent(v.replicator.ownWorkspace(), e) }

func (v *Viewer) sendEvent(w *workspace, e *Event) bool {
	o := &v.outbox
	if e.unreliable {
		v.stats.countDropped(&w.stats, o.events.addEvent(e))
		return true
	}
	if !o.acceptsEvent(e.recordBytes(), v.replicator.config.BudgetBytesPerSecond) {
		v.stats.countRefused(&w.stats)
		return false
	}
	for _, h := range e.handles {
		v.knowledge.noteSent(w, &v.members, o, h)
	}
	o.writeReport(w, v.replicator.Tick(), wire.Record{Op: wire.OpEvent, Number: e.number, Data: e.body})
	v.stats.countReliable()
	return true
}

// SendSeen sends e if the client has h in view. If h is in no frame yet, e waits for the
// next snapshot, and follows the Enter of h if that snapshot has it. If the budget delays
// that Enter, e is dropped and counted.
func (v *Viewer) SendSeen(h bulk.Handle, e *Event) {
	switch {
	case h.Valid() && v.members.handleIn(h.Index()) == h:
		v.Send(e)
	case v.replicator.world.Status(h) != bulk.Live || v.replicator.frame.tenantOf(h) != nil:
	case len(v.outbox.newborn) < maxNewbornEvents:
		v.outbox.addNewborn(h, e)
	default:
		v.stats.countUnsent(&v.replicator.ownWorkspace().stats, e)
	}
}

// sendNewborn sends the waiting events of entities that this snapshot entered. It drops the
// events of entities that the budget leaves waiting.
func (v *Viewer) sendNewborn(w *workspace) {
	if len(v.outbox.newborn) == 0 {
		return
	}
	for _, n := range v.outbox.newborn {
		switch {
		case v.members.handleIn(n.entity.Index()) == n.entity:
			v.sendEvent(w, n.event)
		case v.interest.isQueued(n.entity):
			v.stats.countUnsent(&w.stats, n.event)
		}
	}
	v.outbox.clearNewborn()
}

// takeEvents removes the newest waiting events that fit into a datagram with this many
// bytes of rows and teleports, and returns their encoding, oldest first.
func (v *Viewer) takeEvents(w *workspace, rows int, carries contents) []byte {
	q := &v.outbox.events
	if len(q.events) == 0 {
		return nil
	}
	room := v.datagrams.roomWithin(v.outbox.tokens) - rows
	if carries == rowsFirst {
		room = min(room, q.share)
	}
	taken, handles, encoded := q.takeFitting(w.frame.tick, room)
	for _, h := range handles {
		v.knowledge.noteSent(w, &v.members, &v.outbox, h)
	}
	v.stats.countUnreliable(&w.stats, taken, len(encoded))
	return encoded
}
