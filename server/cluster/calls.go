package cluster

import (
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/invariants"
)

const (
	// maxRoomCalls bounds the requests for rooms that are under way at once, so that they delay no renewal.
	maxRoomCalls = 16
	// silentAnswers is after how many requests without an answer an operator learns of it.
	silentAnswers = 3
)

// calls are the requests under way. There is at most one for each subject: the room, the node or the read that it serves (C8).
type calls struct {
	last uint64
	open []*call // in the order of sending
	busy map[string]bool
	// silent is how many requests in a row had no answer.
	silent int
}

type call struct {
	id       uint64
	subject  string
	deadline time.Duration
	// floor is a revision that the directory had when the request was sent: a lower one in the answer says that the directory has
	// been replaced (C9).
	floor uint64
	then  func(answer)
}

// send begins a request. then gets its answer, or unknown at the deadline.
func (c *calls) send(m *machine, subject string, r request, then func(answer)) {
	if c.busy[subject] && invariants.Enabled {
		panic("cluster: two requests for " + subject + " at once (C8)")
	}
	c.last++
	r.id = c.last
	c.busy[subject] = true
	c.open = append(c.open, &call{id: r.id, subject: subject, deadline: m.now + m.settings.patience(), floor: m.view.highest, then: then})
	m.out.requests = append(m.out.requests, r)
}

// finish passes an answer on, unless nobody waits for it any more.
func (c *calls) finish(m *machine, id uint64, a answer) {
	i := slices.IndexFunc(c.open, func(call *call) bool { return call.id == id })
	if i < 0 {
		m.counters.LateAnswers++
		return
	}
	call := c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	delete(c.busy, call.subject)
	if a.outcome == done || a.outcome == conflict {
		m.peers.noteContact(m)
	}
	if a.outcome == done && m.identity.state != identityForeign {
		if a.revision < call.floor {
			m.identity.freeze(m, "its revision has fallen")
			return
		}
		m.view.highest = max(m.view.highest, a.revision)
	}
	c.count(m, a)
	call.then(a)
}

// expire ends the requests that have waited too long: their outcome is unknown.
func (c *calls) expire(m *machine) {
	for {
		i := slices.IndexFunc(c.open, func(call *call) bool { return call.deadline <= m.now })
		if i < 0 {
			return
		}
		call := c.open[i]
		c.open = slices.Delete(c.open, i, i+1)
		delete(c.busy, call.subject)
		m.out.abandoned = append(m.out.abandoned, call.id)
		c.count(m, answer{outcome: unknown})
		call.then(answer{outcome: unknown})
	}
}

// count counts an answer, and notes when the answers end and begin.
func (c *calls) count(m *machine, a answer) {
	m.counters.add(a.outcome)
	if a.outcome == unknown || a.outcome == refused {
		c.silent++
		if c.silent == silentAnswers {
			m.note(note{text: "the cluster's directory does not answer: rooms stand still after the time of the lease", trouble: true, err: a.err})
		}
		return
	}
	if c.silent >= silentAnswers {
		m.note(note{text: "the cluster's directory answers again"})
	}
	c.silent = 0
}

// abandon forgets the requests for the subjects that which reports. Their answers own nothing.
func (c *calls) abandon(m *machine, which func(subject string) bool) {
	c.open = slices.DeleteFunc(c.open, func(call *call) bool {
		if !which(call.subject) {
			return false
		}
		delete(c.busy, call.subject)
		m.out.abandoned = append(m.out.abandoned, call.id)
		return true
	})
}

// ofRooms counts the requests for rooms.
func (c *calls) ofRooms() (n int) {
	for _, call := range c.open {
		if strings.HasPrefix(call.subject, roomPrefix) {
			n++
		}
	}
	return n
}

func (c *calls) wakeAt(at time.Duration) time.Duration {
	for _, call := range c.open {
		at = min(at, call.deadline)
	}
	return at
}
