package cluster

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/internal/invariants"
)

// The clocks of the nodes may run apart by clockDrift. It is a constant of the protocol, the same in all nodes.
const clockDrift = 0.01

// silenceOf returns how long a record with a lease must stay unchanged before an observer may write its tombstone (C4).
func silenceOf(lease time.Duration) time.Duration {
	return time.Duration(float64(lease) * (1 + 2*clockDrift))
}

// marginOf returns how long before the end of its lease a node stops (C1): the drift of two clocks, and the step that began just
// before.
func marginOf(lease time.Duration) time.Duration {
	return time.Duration(float64(lease) * 2 * clockDrift)
}

// settings are the constants of a machine.
type settings struct {
	name        string
	addrs       []string
	leaseTime   time.Duration
	past        Past
	keeps       bool   // the owner takes output.keep
	blocks      int    // Blocks, fewer in tests
	fingerprint string // of the node's certificate for other nodes, or empty
}

func (s *settings) interval() time.Duration { return s.leaseTime / 5 }    // between renewals
func (s *settings) patience() time.Duration { return s.leaseTime / 5 }    // of a request
func (s *settings) pause() time.Duration    { return s.leaseTime / 25 }   // before a failed request is repeated
func (s *settings) forget() time.Duration   { return s.leaseTime * 1000 } // until tombstones that no room needs are deleted

// machine is the lease protocol of one node, without clock, randomness and store: these are arguments, and its requests are an
// output. It is not safe for concurrent use.
//
// Each input has the time on the node's monotonic clock, ends with drive, and fills out.
type machine struct {
	settings settings
	random   *rand.Rand
	now      time.Duration // of the present input
	view     view
	identity identity
	calls    calls
	lease    lease
	peers    peers
	blocks   blocks
	rooms    rooms
	counters Counters
	out      output
}

// output holds what the machine wants done. Its owner takes it after every input.
type output struct {
	requests  []request
	abandoned []uint64 // requests whose answers no longer matter
	keep      *Past    // to be made durable, and answered by kept
	watch     *watchRequest
	events    []event
	notes     []note
}

// event says what became of a room.
type event struct {
	kind  eventKind
	room  string
	want  *want // of took and failed
	grant grant // of took and resumed
	err   error // of failed and pointFailed

	pointing *pointing // of pointed and pointFailed
}

type eventKind int

const (
	took      eventKind = iota // the room is this node's
	failed                     // it cannot be
	released                   // it is nobody's any more
	lost                       // it may be another node's: discard the run
	suspended                  // the directory was replaced
	resumed                    // the room was taken again in the adopted directory
	resigned                   // the node has closed
	pointed                    // the directory names the image as the room's newest
	pointFailed
)

// request is one operation on the store.
type request struct {
	id    uint64
	swaps []Swap // nil: read
	read  Range
}

// watchRequest asks for the changes after a revision, and replaces the watch before.
type watchRequest struct {
	id   uint64
	from uint64
	stop bool // only end the watch before
}

// answer is the result of a request.
type answer struct {
	outcome  outcome
	revision uint64 // of the directory
	page     Page   // of a read
	err      error
}

type outcome int

const (
	unknown  outcome = iota // it may have happened
	done                    // swapped, or read
	conflict                // of a swap
	refused                 // nothing happened, for another reason
)

// note is a line for the operator.
type note struct {
	text    string
	trouble bool
	key     string // of the record, or empty
	err     error
}

func newMachine(s settings, random *rand.Rand) *machine {
	m := &machine{settings: s, random: random}
	m.identity.known = s.past.Directory
	m.calls.busy = map[string]bool{}
	m.peers.nodes = map[string]*peer{}
	m.rooms.all = map[string]*room{}
	m.blocks.all = make([]block, s.blocks)
	m.lease.incarnation = m.token()
	m.lease.past = slices.Clone(s.past.Incarnations)
	return m
}

func (m *machine) token() string { return tokenText(m.random.Uint64()) }

// jittered returns d, a tenth more or less.
func (m *machine) jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*m.random.Float64()))
}

func (m *machine) note(n note) { m.out.notes = append(m.out.notes, n) }

// takeOutput returns what the machine wants done since the last call.
func (m *machine) takeOutput() output {
	out := m.out
	m.out = output{}
	return out
}

// wake lets the machine do what is due. It must be called at the start and at wakeAt.
func (m *machine) wake(now time.Duration) {
	m.now = now
	m.drive()
}

// receive handles the answer to a request. A late one owns nothing (C8).
func (m *machine) receive(now time.Duration, id uint64, a answer) {
	m.now = now
	m.calls.expire(m) // what comes after its deadline is late
	m.calls.finish(m, id, a)
	m.drive()
}

// kept handles the answer to output.keep.
func (m *machine) kept(now time.Duration, p Past, err error) {
	m.now = now
	m.lease.noteKept(m, p, err)
	m.drive()
}

// drive begins everything that is due and that does not wait for an answer.
func (m *machine) drive() {
	m.calls.expire(m)
	m.view.drive(m)
	m.identity.drive(m)
	m.lease.drive(m)
	m.peers.drive(m)
	m.rooms.drive(m)
	if invariants.Enabled {
		invariants.Check(m.audit())
	}
}

// wakeAt returns when wake must be called next, unless another input comes before.
func (m *machine) wakeAt() time.Duration {
	at := m.now + m.settings.interval()
	for _, due := range []time.Duration{m.calls.wakeAt(at), m.view.wakeAt(at), m.identity.wakeAt(m, at), m.lease.wakeAt(at), m.peers.wakeAt(m, at), m.rooms.wakeAt(m, at)} {
		if due > m.now { // else it waits for something else
			at = min(at, due)
		}
	}
	return at
}

// until returns the end of the time in which the node's rooms may run (C1), on the node's clock. It is 0 while they must not.
func (m *machine) until() time.Duration {
	if !m.lease.born || m.identity.state != identityKnown {
		return 0
	}
	return m.lease.until - marginOf(m.settings.leaseTime)
}

// mayAct reports whether this incarnation has a lease, in the directory that it knows.
func (m *machine) mayAct() bool { return m.now < m.until() }

// apply takes a change of the directory, or what a read has found: a nil value is a key that does not exist.
func (m *machine) apply(e Entry) {
	switch {
	case e.Key == identityKey:
		m.identity.apply(m, e)
	case strings.HasPrefix(e.Key, nodePrefix):
		m.peers.apply(m, e)
	case strings.HasPrefix(e.Key, roomPrefix):
		m.rooms.apply(m, e)
	case strings.HasPrefix(e.Key, blockPrefix):
		m.blocks.apply(m, e)
	}
}

// take asks for a room. An event tells what becomes of it.
func (m *machine) take(now time.Duration, w *want) {
	m.now = now
	m.rooms.take(m, w)
	m.drive()
}

// giveUp withdraws w. If the room is taken nevertheless, it is released.
func (m *machine) giveUp(now time.Duration, w *want) {
	m.now = now
	m.rooms.giveUp(w)
	m.drive()
}

// release gives a room up that this node has. keep keeps its block for a stored run, which is heir's, if that is not empty.
func (m *machine) release(now time.Duration, name string, keep bool, heir string) {
	m.now = now
	m.rooms.release(m, name, keep, heir)
	m.drive()
}

// close releases every room, keeps their blocks, and writes the node's own tombstone.
func (m *machine) close(now time.Duration) {
	m.now = now
	m.rooms.releaseAll(m)
	m.lease.closing = true
	m.drive()
}

// readKey reads one key for a subject, and applies what it finds. then is called after that, or after a failure.
func (m *machine) readKey(subject, key string, then func(found bool)) {
	m.calls.send(m, subject, request{read: Range{Prefix: key}}, func(a answer) {
		if a.outcome == done {
			m.apply(a.entry(key))
		}
		then(a.outcome == done)
	})
}

// entry returns what a read found of a key.
func (a *answer) entry(key string) Entry {
	for _, e := range a.page.Entries {
		if e.Key == key {
			return e
		}
	}
	return Entry{Key: key, Revision: a.page.Revision}
}

// refuseRecord notes a record that cannot be used.
func (m *machine) refuseRecord(err error, key string) {
	m.note(note{text: "a record of the cluster is not usable, and stays as it is", trouble: true, key: key, err: err})
}
