package main

import (
	"errors"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// event is a wd_event that waits, with its body and text.
type event struct {
	kind           int
	tick, number   uint32
	handle         bulk.Handle
	id             uint32
	code           int32
	verdict, state int32
	reason, flags  uint32
	body           []byte
	text           string
}

const (
	defaultMaxEvents = 1 << 18
	// maxEventBytes bounds the bodies and texts that wait.
	maxEventBytes = 16 << 20
)

// events are the events that wait for the host, which may forget to ask for them (E5).
type events struct {
	list  []event
	next  int // index in list of the oldest
	bytes int
	most  int
	full  bool // some were dropped since the last eventLost
	lost  uint64
}

// add queues e, unless too many wait.
func (q *events) add(e event) {
	size := len(e.body) + len(e.text)
	if q.full || len(q.list)-q.next >= q.most || q.bytes+size > maxEventBytes {
		q.full = true
		q.lost++
		return
	}
	q.bytes += size
	q.list = append(q.list, e)
}

// oldest returns the event to take next, or nil.
func (q *events) oldest() *event {
	if q.next == len(q.list) {
		q.list, q.next = q.list[:0], 0
		if !q.full {
			return nil
		}
		q.full = false
		q.list = append(q.list, event{kind: eventLost})
	}
	return &q.list[q.next]
}

// drop removes the oldest event.
func (q *events) drop() {
	e := &q.list[q.next]
	q.bytes -= len(e.body) + len(e.text)
	*e = event{}
	q.next++
}

// pollEvent takes the oldest event, and copies its body. badSize: the body is longer, and the event stays.
func (h *hostedClient) pollEvent(body []byte) (e event, r result) {
	if h.client == nil && !h.over {
		return e, none // the queue is the goroutine's that connects
	}
	waiting := h.events.oldest()
	if waiting == nil {
		return e, none
	}
	e = *waiting
	if len(body) > 0 && len(body) < len(e.body) {
		return e, badSize
	}
	copy(body, e.body)
	h.eventText = e.text
	h.events.drop()
	return e, ok
}

// addState queues a change of state.
func (h *hostedClient) addState(s client.StateChange) {
	e := event{kind: eventState, state: int32(s.State), code: codeOf(s.Err)}
	for i, set := range []bool{s.Resumed, s.Restored, s.Moved, s.NewWorld} {
		if set {
			e.flags |= 1 << i
		}
	}
	if s.Err != nil {
		e.text = s.Err.Error()
	}
	h.code = e.code
	h.events.add(e)
}

// codeOf returns the code of PROTOCOL.md for err, 0 for nil.
func codeOf(err error) int32 {
	if errors.Is(err, client.ErrUnanswered) {
		return -1
	}
	return int32(wire.CodeOf(err))
}

// addResult queues the answer to a command.
func (h *hostedClient) addResult(r client.Result) {
	number, known := h.commands[r.ID]
	if !known {
		return // wd_do was never told of it
	}
	delete(h.commands, r.ID)
	e := event{kind: eventResult, id: r.ID, number: number, handle: r.Target, verdict: int32(r.Verdict), code: codeOf(r.Err)}
	if rejection, rejected := errors.AsType[*client.Rejection](r.Err); rejected {
		e.code, e.text = int32(rejection.Code), rejection.Text
	}
	if answer := h.game.answers[number]; answer != nil && r.Answer != nil {
		e.body = answer.fromValue(r.Answer)
	}
	h.events.add(e)
}

// observer queues what happens to entities.
func (h *hostedClient) observer(updates bool) client.Observer {
	o := client.Observer{
		Enter: func(e *client.Entity) { h.events.add(event{kind: eventEnter, handle: e.Handle(), tick: e.Tick()}) },
		Leave: func(of bulk.Handle, why wire.Reason) {
			h.events.add(event{kind: eventLeave, handle: of, reason: uint32(why)})
		},
		Destroy: func(of bulk.Handle, cause uint8) {
			h.events.add(event{kind: eventDestroy, handle: of, reason: uint32(cause)})
		},
	}
	if updates {
		o.Update = func(e *client.Entity) {
			h.events.add(event{kind: eventUpdate, handle: e.Handle(), tick: e.Tick()})
		}
	}
	return o
}

// messages queues the events of the game.
func (h *hostedClient) messages() *client.Events {
	all := &client.Events{}
	for i, r := range h.game.events {
		client.OnEventValue(all, r.goType, func(tick uint32, v any) {
			h.events.add(event{kind: eventMessage, tick: tick, number: uint32(i), body: r.fromPointer(v)})
		})
	}
	return all
}
