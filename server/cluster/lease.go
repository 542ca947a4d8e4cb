package cluster

import (
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	// maxSent bounds the renewals whose outcome is unknown. An older one gives no lease.
	maxSent = 16
	// maxPast bounds the ended incarnations that this process remembers. An older one needs a tombstone.
	maxPast = 256
	// sameName is how many records of a foreign incarnation show that its process is alive.
	sameName = 3
	// maxKept bounds the incarnations that are kept for the next process.
	maxKept = 16
)

var errNotKept = errors.New("the disk does not answer")

// lease is the right of one incarnation of this node to run rooms. It ends a lease's time after the newest acknowledged renewal
// was sent, not after its answer (C1).
type lease struct {
	incarnation string
	past        []string // incarnations of this node that ended for certain: they need no tombstone
	keeping     keeping
	born        bool   // the registration of the incarnation was acknowledged
	revision    uint64 // of the node's record, once born
	seq         uint64 // of the newest renewal
	sent        map[uint64]time.Duration
	until       time.Duration
	renewAt     time.Duration
	retryAt     time.Duration // not before: the record could not be read, or is another's
	checking    bool          // the record must be read: a swap of it has no answer
	foreign     int           // records of another process that has the same name
	closing     bool
	closed      bool
}

// keeping says whether the incarnation was made durable for the next process.
type keeping int

const (
	unkept     keeping = iota
	beingKept          // no answer yet
	keptOrNone         // it is durable, or it could not be made durable in time
)

// end ends the incarnation (C4). The next one begins by registering.
func (l *lease) end(m *machine) {
	l.past = append(l.past, l.incarnation)
	if len(l.past) > maxPast {
		l.past = slices.Delete(l.past, 0, 1)
	}
	l.incarnation = m.token()
	l.born, l.checking, l.until, l.sent, l.seq, l.revision = false, false, 0, nil, 0, 0
	l.renewAt, l.keeping = m.now, unkept
}

// fence ends the incarnation after another node has written its tombstone: every room may be another node's.
func (l *lease) fence(m *machine) {
	m.counters.Fenced++
	m.note(note{text: "another node has declared this one dead, since it did not renew its lease: its rooms are lost", trouble: true})
	m.calls.abandon(m, func(subject string) bool { return strings.HasPrefix(subject, roomPrefix) })
	l.end(m)
	m.rooms.loseAll(m)
}

func (l *lease) record(m *machine) nodeRecord {
	return nodeRecord{
		Version: recordVersion, Incarnation: l.incarnation, Addrs: m.settings.addrs, LeaseMS: m.settings.leaseTime.Milliseconds(), Fingerprint: m.settings.fingerprint,
		Was: l.past[max(0, len(l.past)-maxWas):], Seq: l.seq,
	}
}

func (l *lease) drive(m *machine) {
	if l.closed || m.calls.busy[nodeKey(m.settings.name)] {
		return
	}
	if l.closing && m.rooms.held == 0 && !l.born {
		l.close(m)
		return
	}
	if !m.view.loaded || m.identity.state != identityKnown || l.retryAt > m.now {
		return
	}
	switch {
	case l.closing && m.rooms.held == 0 && !l.checking:
		l.resign(m) // others need not wait for the next renewal
	case l.renewAt > m.now:
	case l.checking:
		l.check(m)
	case l.born:
		l.renew(m)
	case m.settings.keeps && l.keeping != keptOrNone:
		l.keep(m)
	case m.identity.otherLease(m) == nil:
		l.register(m)
	}
}

// swap replaces the node's record. Its failure is resolved by reading the record.
func (l *lease) swap(m *machine, r nodeRecord, revision uint64, then func(a answer)) {
	value := encode(r)
	m.calls.send(m, nodeKey(m.settings.name), request{swaps: []Swap{{nodeKey(m.settings.name), value, revision}}}, func(a answer) {
		then(a)
		if a.outcome == done {
			m.peers.apply(m, Entry{nodeKey(m.settings.name), value, a.revision})
		}
	})
}

// keep asks for a durable note of the incarnation before the directory has it: the next process need not wait for the end of its
// lease. A disk that does not answer costs that wait, and does not keep the node from the cluster (C10).
func (l *lease) keep(m *machine) {
	if l.keeping == beingKept {
		l.noteKept(m, Past{Incarnations: []string{l.incarnation}}, errNotKept)
		return
	}
	l.keeping, l.renewAt = beingKept, m.now+m.settings.patience()
	known := append(slices.Clone(l.past[max(0, len(l.past)+1-maxKept):]), l.incarnation)
	m.out.keep = &Past{Directory: m.identity.known, Incarnations: known}
}

// noteKept takes the answer, unless another incarnation has begun.
func (l *lease) noteKept(m *machine, p Past, err error) {
	if l.keeping != beingKept || p.Incarnations[len(p.Incarnations)-1] != l.incarnation {
		return
	}
	l.keeping, l.renewAt = keptOrNone, m.now
	if err != nil {
		m.note(note{text: "the node's file was not written: after a crash the next process waits for the end of this one's lease", trouble: true, err: err})
	}
}

// register makes the record of this incarnation, in the place of one that ended for certain: a tombstone, or one of this
// process or of its predecessor. Another record is observed until its tombstone may be written, like any other node's.
func (l *lease) register(m *machine) {
	revision := uint64(0)
	if before := m.peers.nodes[m.settings.name]; before != nil {
		if !before.ended(m) {
			// The answers show that the store is there: else silence says nothing about the other incarnation.
			l.checking, l.renewAt = true, m.now+m.jittered(m.settings.pause())
			return
		}
		revision = before.revision
	}
	l.seq = 1
	sent := m.now
	l.swap(m, l.record(m), revision, func(a answer) {
		switch a.outcome {
		case done:
			l.born = true
			l.extend(m, sent, a.revision)
			m.note(note{text: "this node has a lease in the cluster"})
		case refused:
			l.renewAt = m.now + m.jittered(m.settings.pause())
		default:
			// The record may be born, and may get a tombstone, without this process knowing: never use the incarnation again (C4).
			l.end(m)
			l.checking = true
		}
	})
}

func (l *lease) renew(m *machine) {
	l.seq++
	seq, sent := l.seq, m.now
	l.renewAt = m.now + m.jittered(m.settings.interval())
	l.remember(seq, sent)
	l.swap(m, l.record(m), l.revision, func(a answer) {
		if a.outcome == done {
			l.extend(m, sent, a.revision)
			return
		}
		l.checking, l.renewAt = true, m.now
	})
}

// extend counts the lease from the time before a renewal was sent (C1).
func (l *lease) extend(m *machine, sent time.Duration, revision uint64) {
	l.until = max(l.until, sent+m.settings.leaseTime)
	l.revision, l.sent = revision, nil
	l.renewAt = max(m.now, sent+m.jittered(m.settings.interval()))
	m.counters.Renewals++
	m.view.expect(m, revision)
}

// remember keeps when a renewal was sent: its record may be seen before its answer, or without one.
func (l *lease) remember(seq uint64, sent time.Duration) {
	if l.sent == nil {
		l.sent = map[uint64]time.Duration{}
	}
	l.sent[seq] = sent
	delete(l.sent, seq-maxSent)
}

// check reads the node's own record, to learn what became of a swap of it.
func (l *lease) check(m *machine) {
	m.readKey(nodeKey(m.settings.name), nodeKey(m.settings.name), func(found bool) {
		l.checking = !found && !l.born // a born incarnation learns as much from the next renewal
		l.renewAt = m.now
		if p := m.peers.nodes[m.settings.name]; !found || l.born && (p == nil || p.revision != l.revision) {
			l.retryAt = m.now + m.jittered(m.settings.pause())
		}
	})
}

// observe takes a new record of this node's name, from a read or from the watch.
func (l *lease) observe(m *machine, p *peer) {
	switch {
	case !l.born:
		if !p.ended(m) {
			l.noteForeign(m)
		}
	case p.revision <= l.revision:
	case p.err == nil && p.record.Incarnation == l.incarnation && !p.record.Dead:
		// A renewal counts from its sending, with or without an answer.
		sent, ok := l.sent[p.record.Seq]
		if !ok {
			sent = l.until - m.settings.leaseTime
		}
		l.extend(m, sent, p.revision)
	default:
		m.view.readAgain() // and judge then: the directory may be another one
	}
}

// noteForeign counts the records of another process that has this node's name. The first may be of a process that has ended, and the
// second of that one's last renewal.
func (l *lease) noteForeign(m *machine) {
	l.foreign++
	if l.foreign == sameName {
		m.note(note{text: "another process runs under this node's name: give each node a name of its own", trouble: true, key: nodeKey(m.settings.name)})
	}
}

// judge decides, after all has been read, whether the incarnation has a tombstone or a successor.
func (l *lease) judge(m *machine) {
	p := m.peers.nodes[m.settings.name]
	if l.born && (p == nil || p.record.Incarnation != l.incarnation || p.record.Dead) {
		l.fence(m)
	}
}

// resign writes the node's own tombstone: nobody needs to wait for the end of its lease.
func (l *lease) resign(m *machine) {
	tombstone := l.record(m)
	tombstone.Dead = true
	l.swap(m, tombstone, l.revision, func(a answer) {
		if a.outcome == done {
			l.close(m)
			return
		}
		l.checking, l.renewAt = true, m.now
	})
}

func (l *lease) close(m *machine) {
	l.born, l.closed, l.until = false, true, 0
	m.out.events = append(m.out.events, event{kind: resigned})
}

func (l *lease) wakeAt(at time.Duration) time.Duration { return min(at, max(l.renewAt, l.retryAt)) }
