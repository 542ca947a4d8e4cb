package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// newbornEvent is an event for a viewer that may see entity, which is in no frame yet.
type newbornEvent struct {
	entity bulk.Handle
	event  *Event
}

// eventQueue holds the unreliable events that wait for a datagram, oldest first.
type eventQueue struct {
	events  []*Event
	share   int           // bytes that rows must leave for events
	handles []bulk.Handle // scratch: handles in the events of the datagram being made
	bytes   []byte        // scratch: the encoded events of that datagram
}

// addEvent adds e, and drops the oldest event if the queue is full. It returns the number
// of dropped events.
func (q *eventQueue) addEvent(e *Event) (dropped int) {
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

// fitInto calls take for the newest events that fit into room bytes, newest first, and
// returns their size.
func (q *eventQueue) fitInto(tick uint32, room int, take func(i int)) (bytes int) {
	for i := len(q.events) - 1; i >= 0 && bytes < room; i-- {
		if n := q.events[i].datagramBytes(tick); bytes+n <= room {
			bytes += n
			take(i)
		}
	}
	return bytes
}

// beginSnapshot prepares the queue for a snapshot with datagrams of up to datagramBytes,
// and returns how many late events it dropped.
func (q *eventQueue) beginSnapshot(tick, maxAge uint32, datagramBytes int) (dropped int) {
	if len(q.events) == 0 {
		q.share = 0
		return 0
	}
	dropped = q.dropLate(tick, maxAge)
	q.share = min(q.share+(datagramBytes-wire.StateHeaderBytes)/eventShare, eventsHeaderBytes+maxEventBytes)
	return dropped
}

// reservedBytes returns how many bytes of a datagram rows must leave for events.
func (q *eventQueue) reservedBytes(tick uint32) int {
	if n := q.fitInto(tick, q.share-eventsHeaderBytes, func(int) {}); n > 0 {
		return eventsHeaderBytes + n
	}
	return 0
}

// takeFitting removes the newest events that fit into room bytes of a datagram. It returns
// their number, their handles and their encoding, oldest first; both slices are valid until
// the next call.
func (q *eventQueue) takeFitting(tick uint32, room int) (taken int, handles []bulk.Handle, encoded []byte) {
	var chosen [(maxQueuedEvents + 63) / 64]uint64
	n := q.fitInto(tick, room-eventsHeaderBytes, func(i int) { chosen[i>>6] |= 1 << (i & 63) })
	if n == 0 {
		return 0, nil, nil
	}
	q.share = max(q.share-eventsHeaderBytes-n, 0)
	q.handles, q.bytes = q.handles[:0], q.bytes[:0]
	waiting := q.events[:0]
	for i, e := range q.events {
		if chosen[i>>6]>>(i&63)&1 == 0 {
			waiting = append(waiting, e)
			continue
		}
		taken++
		q.handles = append(q.handles, e.handles...)
		q.bytes = wire.AppendEvent(q.bytes, wire.Event{Number: e.number, Age: tick - e.tick, Body: e.body})
	}
	clear(q.events[len(waiting):])
	q.events = waiting
	return taken, q.handles, q.bytes
}
