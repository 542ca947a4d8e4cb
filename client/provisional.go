package client

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

const (
	// maxProvisional bounds the unanswered provisional handles, unused ones included.
	maxProvisional = 256
	// keptProvisional is how many of the newest provisional handles are remembered.
	keptProvisional = 4096
)

// ErrTooManyProvisional is Provisional's error while 256 provisional handles await answers, or
// the oldest that awaits one was taken 4,096 handles ago. Predict fewer entities at a time.
var ErrTooManyProvisional = fmt.Errorf("client: %d provisional handles await answers: take fewer", maxProvisional)

// Provisional returns a handle for an entity that the next command or input will ask for: the
// game can show the entity before the server has made it. Put the handle into the arguments
// of one command, or into inputs, and nowhere else. A command may hold 16, taken one right
// after the other.
//
// Repeat the handle in the inputs of a few ticks, since an input may be lost. The first
// input that the server applies creates the entity; in later inputs the server ignores the handle. The
// step function of Predict sees the handle in all of them: its result must not depend on the
// handle.
//
// Resolve says Provisional until the server has answered. From then on, in Resolve and Entity,
// the handle stands for the entity that its command or input created. If the command or input
// was rejected or lost, the handle is Stale (H7). The answer precedes the entity's Enter: the
// verdict may be Pending in between, and is Stale if the entity died meanwhile. Commands and
// inputs carry an answered handle as the entity's, or as none if it was rejected.
//
// A new session (StateChange without Resumed) rejects unanswered handles. The client remembers
// the newest 4,096; older ones are Stale. If 256 are unanswered, the oldest that no command or
// input names becomes Stale. The error is ErrNotJoined before the first Welcome, or
// ErrTooManyProvisional.
func (s *Session) Provisional() (bulk.Handle, error) {
	if s.welcome == nil {
		return 0, ErrNotJoined
	}
	return s.provisionals.takeNext()
}

// Provisional returns a new name for an entity that is about to be asked for; see
// Session.Provisional.
func (c *Client) Provisional() (bulk.Handle, error) { return c.session.Provisional() }

// Real returns the handle of the entity that a provisional handle stands for; see
// Session.Real.
func (c *Client) Real(h bulk.Handle) bulk.Handle { return c.session.Real(h) }

// provisionalState is the state of a provisional handle. States before bound are unanswered.
type provisionalState uint8

const (
	unused    provisionalState = iota
	inInput                    // inputs name the handle
	inCommand                  // a sent command names the handle
	executed                   // the Result of its command was lost; a snapshot after provisional.tick is later than its Answer
	bound                      // to an entity
	rejected
)

// provisional is a provisional handle.
type provisional struct {
	state   provisionalState
	entity  bulk.Handle // bound
	command uint32      // inCommand, executed: the command's number in the session, from 1
	tick    uint32      // inInput: of the newest input; executed: of the Welcome
}

// provisionals holds a client's provisional handles, of all its sessions. The zero value has
// none.
type provisionals struct {
	list      []provisional // the newest, by index
	first     uint32        // index of list[0]; earlier handles are forgotten
	answered  uint32        // every lower index is answered
	open      int           // number of unanswered handles
	waiting   int           // of open: inInput or executed
	nextInput uint32        // lowest index that may be new in an input
	nextSent  uint32        // lowest index that the next command may name
}

// Real returns the handle of the entity that a provisional handle stands for, 0 before the
// answer or if it was rejected. It returns any other handle unchanged.
func (w *provisionals) Real(h bulk.Handle) bulk.Handle {
	if !wire.IsProvisional(h) {
		return h
	}
	entity, _ := w.entityOf(h)
	return entity
}

// nextIndex returns the index of the next provisional handle.
func (w *provisionals) nextIndex() uint32 { return w.first + uint32(len(w.list)) }

func (w *provisionals) takeNext() (bulk.Handle, error) {
	if w.open >= maxProvisional && !w.rejectUnused() {
		return 0, ErrTooManyProvisional
	}
	if len(w.list) == keptProvisional {
		if oldest := &w.list[0]; oldest.state == unused {
			w.setAnswer(w.first, 0)
		} else if oldest.state < bound {
			return 0, ErrTooManyProvisional
		}
		w.list = w.list[1:]
		w.first++
	}
	index := w.nextIndex()
	if index == math.MaxUint32 {
		return 0, errors.New("client: all provisional handles are used up: connect with a new Client")
	}
	w.list = append(w.list, provisional{})
	w.open++
	return wire.ProvisionalHandle(index), nil
}

// rejectUnused rejects the oldest handle that no command or input names, and returns false if
// there is none: a game may give up between Provisional and Do.
func (w *provisionals) rejectUnused() bool {
	for i := max(w.answered, w.first); i < w.nextIndex(); i++ {
		if w.handleAt(i).state == unused {
			w.setAnswer(i, 0)
			return true
		}
	}
	return false
}

// handleAt returns the handle of an index, nil if it was never taken or is forgotten.
func (w *provisionals) handleAt(index uint32) *provisional {
	if index < w.first || index >= w.nextIndex() {
		return nil
	}
	return &w.list[index-w.first]
}

// entityOf returns the entity that a provisional handle stands for. If there is none, the
// verdict is Provisional or Stale.
func (w *provisionals) entityOf(h bulk.Handle) (entity bulk.Handle, v wire.Verdict) {
	x := w.handleAt(h.Index())
	switch {
	case x == nil || x.state == rejected:
		return 0, wire.Stale
	case x.state == bound:
		return x.entity, wire.Pending
	}
	return 0, wire.Provisional
}

// awaitsAnswer reports whether the server may send an Answer to index.
func (w *provisionals) awaitsAnswer(index uint32) bool {
	x := w.handleAt(index)
	return x != nil && x.state != unused && x.state < bound
}

// setAnswer ends an unanswered handle; entity is 0 if it is rejected.
func (w *provisionals) setAnswer(index uint32, entity bulk.Handle) {
	x := w.handleAt(index)
	w.open--
	if x.state == inInput || x.state == executed {
		w.waiting--
	}
	*x = provisional{state: rejected}
	if entity != 0 {
		*x = provisional{state: bound, entity: entity}
	}
}

// rejectIf rejects the unanswered handles for which doomed returns true.
func (w *provisionals) rejectIf(doomed func(*provisional) bool) {
	w.answered = max(w.answered, w.first)
	settled := true
	for i := w.answered; i < w.nextIndex(); i++ {
		x := w.handleAt(i)
		if x.state < bound && doomed(x) {
			w.setAnswer(i, 0)
		}
		settled = settled && x.state >= bound
		if settled {
			w.answered = i + 1
		}
	}
}

// noteSnapshot rejects the handles whose Answer would have preceded the snapshot of tick. input
// is the newest input that the server had applied.
func (w *provisionals) noteSnapshot(input, tick uint32) {
	if w.waiting == 0 {
		return
	}
	w.rejectIf(func(x *provisional) bool {
		return x.state == inInput && input >= x.tick || x.state == executed && tick > x.tick
	})
}

// resumeSession handles the Welcome of a resumed session, whose server has received commands up
// to that number: later ones are lost.
func (w *provisionals) resumeSession(commands, tick uint32) {
	w.rejectIf(func(x *provisional) bool {
		if x.state == inCommand {
			x.state = executed
			w.waiting++
		}
		if x.state != executed {
			return false
		}
		x.tick = tick
		return int32(x.command-commands) > 0
	})
}

// rejectAll rejects all unanswered handles, at the start of a new session.
func (w *provisionals) rejectAll() { w.rejectIf(func(*provisional) bool { return true }) }

// forgetAll makes every handle Stale: the world is gone.
func (w *provisionals) forgetAll() {
	w.first = w.nextIndex()
	w.list, w.open, w.waiting = nil, 0, 0
}

// replaceAnswered replaces each answered handle in a body by its entity's, and returns the
// indexes of the unanswered ones, ascending. may reports whether the body may hold a handle.
// Handles in fields that the server lacks are among them: they end as if it had rejected them.
func (w *provisionals) replaceAnswered(m *rowschema.Message, body *rowschema.Payload, indexes []uint32, may func(index uint32, x *provisional) bool) ([]uint32, error) {
	var err error
	replace := func(h bulk.Handle) bulk.Handle {
		if h.Valid() {
			return h
		}
		index := h.Index()
		switch x := w.handleAt(index); {
		case !wire.IsProvisional(h) || index >= w.nextIndex():
			err = fmt.Errorf("client: %v is no handle of this client: take one by Provisional", h)
		case x == nil || x.state >= bound:
			entity, _ := w.entityOf(h)
			return entity
		case !may(index, x):
			err = fmt.Errorf("client: %v belongs to another command or input, or to an older one than the last: take another by Provisional", h)
		case !slices.Contains(indexes, index):
			indexes = append(indexes, index)
		}
		return h
	}
	m.MapReferences(body, replace)
	for _, h := range body.Lacked {
		replace(h)
	}
	slices.Sort(indexes)
	return indexes, err
}

// forCommand prepares the arguments of a command: see replaceAnswered.
func (w *provisionals) forCommand(m *rowschema.Message, body *rowschema.Payload) ([]uint32, error) {
	return w.replaceAnswered(m, body, nil, func(index uint32, x *provisional) bool { return x.state == unused && index >= w.nextSent })
}

// forInput prepares an input: see replaceAnswered.
func (w *provisionals) forInput(m *rowschema.Message, body *rowschema.Payload, indexes []uint32) ([]uint32, error) {
	return w.replaceAnswered(m, body, indexes[:0], func(index uint32, x *provisional) bool {
		return x.state == inInput || x.state == unused && index >= w.nextInput
	})
}

// indexesOf returns the indexes of the provisional handles that a raw command names.
func (w *provisionals) indexesOf(handles []bulk.Handle) (indexes []uint32, err error) {
	for _, h := range handles {
		x := w.handleAt(h.Index())
		if !wire.IsProvisional(h) || x == nil || x.state != unused || h.Index() < w.nextSent {
			return nil, fmt.Errorf("client: %v cannot be bound by a command: take a handle by Provisional for each", h)
		}
		indexes = append(indexes, h.Index())
	}
	slices.Sort(indexes)
	return indexes, nil
}

// setProvisional sets a command's provisional handles.
func setProvisional(m *wire.Command, indexes []uint32) error {
	n := len(indexes)
	if n == 0 {
		return nil
	}
	if n > wire.MaxProvisionals || indexes[n-1]-indexes[0] != uint32(n-1) {
		return fmt.Errorf("client: command %q has %d provisional handles: want at most %d, taken one right after the other", m.Name, n, wire.MaxProvisionals)
	}
	m.FirstProvisional, m.Provisionals = indexes[0], uint8(n)
	return nil
}

// noteCommand notes that a command was sent, as number of the session.
func (w *provisionals) noteCommand(m *wire.Command, number uint32) {
	for i := range uint32(m.Provisionals) {
		*w.handleAt(m.FirstProvisional + i) = provisional{state: inCommand, command: number}
	}
	if m.Provisionals > 0 {
		w.nextSent = m.FirstProvisional + uint32(m.Provisionals)
	}
}

// noteInput records which provisional handles the input for tick names.
func (w *provisionals) noteInput(indexes []uint32, tick uint32) {
	for _, index := range indexes {
		x := w.handleAt(index)
		if x.state == unused {
			x.state = inInput
			w.waiting++
		}
		x.tick = max(x.tick, tick)
		w.nextInput = max(w.nextInput, index+1)
	}
}

// rejectEach rejects the unanswered handles of an input that is not sent.
func (w *provisionals) rejectEach(indexes []uint32) {
	for _, index := range indexes {
		w.setAnswer(index, 0)
	}
}

// rejectUnanswered rejects the handles of a command whose Result arrived: its Answers would
// have preceded it.
func (w *provisionals) rejectUnanswered(first uint32, n uint8) {
	for i := range uint32(n) {
		if x := w.handleAt(first + i); x != nil && x.state < bound {
			w.setAnswer(first+i, 0)
		}
	}
}
