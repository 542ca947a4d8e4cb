package cluster

import (
	"slices"
	"strings"
	"time"
)

// peers are the observed records of the nodes, also of this one.
type peers struct {
	nodes map[string]*peer
	list  []*peer // by name
	// contact is the time of the store's newest answer; contactSince, of its first answer after the newest gap.
	contact, contactSince time.Duration
	touched               bool
}

// peer is the newest record of a node.
type peer struct {
	name     string
	record   nodeRecord
	revision uint64
	since    time.Duration // when this revision was first seen
	retryAt  time.Duration // its tombstone is not tried again before
	err      error         // the record cannot be used
	forgetAt time.Duration // when the tombstone may be deleted
}

func (p *peer) key() string { return nodeKey(p.name) }

// living returns a node that has not ended, as far as this one knows, or nil.
func (ps *peers) living(name string) *peer {
	p := ps.nodes[name]
	if p == nil || p.err != nil || p.record.Dead {
		return nil
	}
	return p
}

// ended reports whether the node's own registration may replace the record: its incarnation ended for certain.
func (p *peer) ended(m *machine) bool {
	return p.err == nil && (p.record.Dead || slices.Contains(m.lease.past, p.record.Incarnation))
}

// noteContact notes that the store answers. After a gap other nodes need time to renew.
func (ps *peers) noteContact(m *machine) {
	if !ps.touched || m.now-ps.contact > 2*m.settings.interval() {
		ps.contactSince, ps.touched = m.now, true
	}
	ps.contact = m.now
}

// hasContact reports whether the store has answered for so long that a living node would have renewed its lease.
func (ps *peers) hasContact(m *machine) bool {
	return ps.touched && m.now-ps.contact <= 2*m.settings.interval() && m.now-ps.contactSince >= m.settings.leaseTime/2
}

// apply takes the record of a node.
func (ps *peers) apply(m *machine, e Entry) {
	name := strings.TrimPrefix(e.Key, nodePrefix)
	p := ps.nodes[name]
	if p != nil && e.Revision <= p.revision {
		return
	}
	if e.Value == nil {
		ps.remove(m, name)
		return
	}
	if p == nil {
		p = &peer{name: name}
		ps.nodes[name] = p
		at, _ := slices.BinarySearchFunc(ps.list, name, func(p *peer, name string) int { return strings.Compare(p.name, name) })
		ps.list = slices.Insert(ps.list, at, p)
	}
	p.revision, p.since = e.Revision, m.now
	p.record, p.err = parseNode(e.Key, e.Value)
	if p.err != nil {
		m.refuseRecord(p.err, e.Key)
	}
	p.forgetAt = m.now + m.jittered(m.settings.forget())
	if name == m.settings.name {
		m.lease.observe(m, p)
	}
}

func (ps *peers) remove(m *machine, name string) {
	delete(ps.nodes, name)
	ps.list = slices.DeleteFunc(ps.list, func(p *peer) bool { return p.name == name })
	if name == m.settings.name && m.lease.born {
		m.view.readAgain()
	}
}

func (ps *peers) forget() {
	ps.nodes, ps.list = map[string]*peer{}, nil
}

// ownership says what the directory tells of the incarnation that has taken a room.
type ownership int

const (
	ownerUnclear ownership = iota // the copy of the directory is not new enough, or the record is not usable
	ownerAlive
	ownerGone
)

// ownerOf judges the incarnation in a room's record (C3). It is gone if it has a tombstone. It is also gone if its node has
// another incarnation, or no record, as far as the copy includes all that happened before the room was taken: an
// incarnation registers before it takes, and is replaced only when it has ended.
func (ps *peers) ownerOf(m *machine, r *room) (ownership, *peer) {
	p := ps.nodes[r.record.Node]
	switch {
	case m.view.complete+1 < r.revision || p != nil && p.err != nil:
		return ownerUnclear, p
	case p == nil || p.record.Incarnation != r.record.Incarnation || p.record.Dead:
		return ownerGone, p
	}
	return ownerAlive, p
}

// drive writes the tombstones of nodes that have been silent for too long, and deletes old ones.
func (ps *peers) drive(m *machine) {
	if m.identity.state != identityKnown || !m.view.loaded || !ps.hasContact(m) {
		return
	}
	for _, p := range slices.Clone(ps.list) {
		switch {
		case p.err != nil || m.calls.busy[p.key()]:
		case p.name == m.settings.name && (m.lease.born || p.ended(m)):
		case !p.record.Dead && ps.silentAt(p) <= m.now && p.retryAt <= m.now:
			ps.writeTombstone(m, p)
		case p.record.Dead && p.forgetAt <= m.now:
			ps.deleteTombstone(m, p)
		}
	}
}

// silentAt is when the tombstone of a node may be written, unless it renews its lease (C4).
func (ps *peers) silentAt(p *peer) time.Duration {
	return p.since + silenceOf(p.record.lease())
}

// writeTombstone writes the tombstone of a node whose record has not changed for longer than its lease (C4). The swap fails if the node has
// renewed its lease meanwhile.
func (ps *peers) writeTombstone(m *machine, p *peer) {
	tombstone := p.record
	tombstone.Dead = true
	value, revision := encode(tombstone), p.revision
	m.calls.send(m, p.key(), request{swaps: []Swap{{p.key(), value, revision}}}, func(a answer) {
		if a.outcome != done {
			m.readKey(p.key(), p.key(), func(bool) { p.retryAt = m.now + m.jittered(m.settings.pause()) })
			return
		}
		m.counters.Fences++
		m.note(note{text: "node " + p.name + " is dead: it did not renew its lease", trouble: true, key: p.key()})
		m.apply(Entry{p.key(), value, a.revision})
	})
}

// deleteTombstone deletes a tombstone that no room needs any more.
func (ps *peers) deleteTombstone(m *machine, p *peer) {
	p.forgetAt = m.now + m.jittered(m.settings.forget())
	if m.rooms.named(p.name) {
		return
	}
	m.calls.send(m, p.key(), request{swaps: []Swap{{p.key(), nil, p.revision}}}, func(a answer) {
		if a.outcome == done {
			m.apply(Entry{p.key(), nil, a.revision})
		}
	})
}

func (ps *peers) wakeAt(m *machine, at time.Duration) time.Duration {
	for _, p := range ps.list {
		if due := max(ps.silentAt(p), p.retryAt); p.err == nil && !p.record.Dead && due > m.now {
			at = min(at, due)
		}
	}
	return at
}
