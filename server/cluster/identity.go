package cluster

import (
	"slices"
	"time"
)

type identityState int

const (
	identityUnknown identityState = iota // nothing has been read
	identityKnown
	identityForeign // the directory was replaced: everything stands still until an operator adopts it (C9)
)

// identity holds what the node knows of the directory as a whole.
type identity struct {
	state    identityState
	known    string // the directory's identity, once it was read
	reason   string // of the foreign state
	record   identityRecord
	revision uint64
	since    time.Duration // when this revision was first seen
}

// apply takes the record of the identity. Another identity counts whatever its revision is: another directory has other revisions.
func (d *identity) apply(m *machine, e Entry) {
	if e.Value == nil {
		if d.known != "" {
			d.freeze(m, "its identity is gone")
		}
		return
	}
	r, err := parseIdentity(e.Value)
	switch {
	case err != nil:
		m.refuseRecord(err, e.Key)
		d.freeze(m, "its identity is not readable")
	case d.known == "" || d.known == r.ID && d.state != identityForeign:
		if e.Revision > d.revision {
			d.known, d.state = r.ID, identityKnown
			d.record, d.revision, d.since = r, e.Revision, m.now
			d.noteLease(m)
		}
	case slices.Contains(r.Was, d.known):
		d.adopt(m, r, e.Revision)
	default:
		d.freeze(m, "its identity is "+r.ID+", not "+d.known)
	}
}

// recognize looks for the identity in a read of all keys, and reports whether the directory is the known one.
func (d *identity) recognize(m *machine, a answer) bool {
	d.apply(m, a.entry(identityKey))
	return d.state != identityForeign
}

// freeze stops every room, and every change of the directory, until an operator adopts it (C9).
func (d *identity) freeze(m *machine, reason string) {
	if d.state == identityForeign {
		return
	}
	m.note(note{text: "the cluster's directory was replaced: " + reason + ". All rooms stand still until it is adopted: worldd cluster adopt --was " + d.known, trouble: true})
	m.counters.Frozen++
	*d = identity{state: identityForeign, known: d.known, reason: reason}
	m.calls.abandon(m, func(string) bool { return true })
	m.view.reset(m)
	m.lease.end(m)
	m.rooms.suspend(m)
}

// adopt makes the replaced directory the node's own, as a new incarnation. Its rooms are taken again.
func (d *identity) adopt(m *machine, r identityRecord, revision uint64) {
	m.note(note{text: "the cluster's directory is adopted: its identity is " + r.ID})
	m.calls.abandon(m, func(string) bool { return true })
	m.view.reset(m)
	m.lease.end(m)
	m.rooms.suspend(m)
	m.peers.forget()
	m.blocks.forget()
	m.rooms.forgetRecords()
	*d = identity{state: identityKnown, known: r.ID, record: r, revision: revision, since: m.now}
	d.noteLease(m)
}

// otherLease returns why this node must not join: its lease is not the cluster's. Nil: it may.
func (d *identity) otherLease(m *machine) error {
	if own := m.settings.leaseTime.Milliseconds(); d.record.LeaseMS != 0 && d.record.LeaseMS != own {
		return &LeaseError{time.Duration(own) * time.Millisecond, time.Duration(d.record.LeaseMS) * time.Millisecond, d.record.ID}
	}
	return nil
}

// noteLease warns the operator of a node that runs already: its directory came without a lease, or was adopted with another one.
func (d *identity) noteLease(m *machine) {
	if err := d.otherLease(m); err != nil {
		m.note(note{text: "this node does not join the cluster, or not again", trouble: true, key: identityKey, err: err})
	}
}

// settled reports whether rooms may be taken: every lease in the directory before has ended.
func (d *identity) settled() bool { return d.state == identityKnown && d.record.Settled }

// hasFreeBlocks reports whether new runs may be given blocks: in an adopted directory, only after the rooms that stood still have taken back their own.
func (d *identity) hasFreeBlocks() bool {
	return d.settled() && (len(d.record.Was) == 0 || d.record.Reclaimed)
}

// settleAt is when the identity's record may say that a lease has passed since it was changed.
func (d *identity) settleAt(m *machine) time.Duration {
	return d.since + silenceOf(m.settings.leaseTime)
}

func (d *identity) drive(m *machine) {
	if !m.view.loaded || m.view.due || m.calls.busy[identityKey] {
		return
	}
	switch {
	case d.state == identityUnknown && d.known == "":
		d.write(m, identityRecord{Version: recordVersion, ID: m.token(), LeaseMS: m.settings.leaseTime.Milliseconds()})
	case d.state == identityKnown && d.record.LeaseMS == 0:
		next := d.record
		next.LeaseMS = m.settings.leaseTime.Milliseconds()
		d.write(m, next)
	case d.state == identityKnown && !d.hasFreeBlocks() && d.settleAt(m) <= m.now && m.peers.hasContact(m):
		next := d.record
		next.Settled, next.Reclaimed = true, d.record.Settled
		d.write(m, next)
	}
}

// write swaps the record. Whatever comes of it, the record is read before it is written again.
func (d *identity) write(m *machine, r identityRecord) {
	value := encode(r)
	m.calls.send(m, identityKey, request{swaps: []Swap{{identityKey, value, d.revision}}}, func(a answer) {
		if a.outcome == done {
			d.apply(m, Entry{identityKey, value, a.revision})
			return
		}
		m.view.readAgain()
	})
}

func (d *identity) wakeAt(m *machine, at time.Duration) time.Duration {
	if d.state == identityKnown && !d.hasFreeBlocks() && d.settleAt(m) > m.now {
		return min(at, d.settleAt(m))
	}
	return at
}
