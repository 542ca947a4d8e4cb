package client

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// maxHeld bounds the datagrams that wait for structure they overtook: at 20
// snapshots a second, nearly a second's worth. One more, and the oldest is
// dropped unacknowledged, which costs a resend and nothing else.
const maxHeld = 16

// Outcome says what became of a State datagram.
type Outcome uint8

const (
	Applied    Outcome = iota // applied whole, and will be acknowledged
	Held                      // overtook its structure; waits for it
	Duplicate                 // applied before, or too old
	Unreadable                // refers to tenants or baselines no longer known; will be resent
	Faulty                    // its fold does not match the handles that its rows mean
)

// heldDatagram is a datagram that waits for its structure.
type heldDatagram struct {
	structure uint32
	seq       uint32
	bytes     []byte
}

// decodedRow is a row read and not yet applied: nothing is applied before the
// whole datagram has proved itself.
type decodedRow struct {
	entity *Entity // nil: moot
	code   uint8
	words  []uint32
}

// ApplyState applies a State datagram, whole or not at all. It returns an
// error for bytes that are no State datagram; the outcome tells the rest.
func (r *Replica) ApplyState(datagram []byte) (Outcome, error) {
	h, err := wire.ParseStateHeader(datagram, &r.reader)
	if err != nil {
		return Unreadable, err
	}
	if r.acks.duplicate(h.Seq) {
		r.stats.Duplicates++
		return Duplicate, nil
	}
	if h.Structure > r.applied && !fault.IgnoreStructure {
		r.hold(h, datagram)
		if fault.AckOnReceive {
			r.acks.add(h.Seq)
		}
		return Held, nil
	}
	readable, err := r.decode(h)
	if err != nil {
		return Unreadable, err
	}
	if !readable {
		r.stats.Unreadable++
		if fault.AckUnreadable {
			r.acks.add(h.Seq)
		}
		return Unreadable, nil
	}
	if r.fold != h.Fold && !fault.SkipFold {
		r.stats.Faults++
		if fault.AckFaulty {
			r.acks.add(h.Seq)
		}
		return Faulty, nil
	}
	r.publish(h)
	return Applied, nil
}

// decode reads all rows into scratch. It returns false if a row means a tenant
// or a baseline that this client no longer remembers.
func (r *Replica) decode(h wire.StateHeader) (bool, error) {
	r.rows, r.arena = r.rows[:0], r.arena[:0]
	var fold uint64
	slot := uint32(0)
	for i := range h.Rows {
		gap, code, err := wire.ReadRowHeader(&r.reader)
		if err != nil {
			return false, err
		}
		if gap >= r.maxSlots || slot+gap >= r.maxSlots {
			return false, protocolError("row of slot %d, beyond the world's %d", uint64(slot)+uint64(gap), r.maxSlots)
		}
		slot += gap
		if i > 0 && gap == 0 {
			return false, protocolError("two rows of slot %d", slot)
		}
		c := r.cells.peek(slot)
		if c == nil {
			return false, nil
		}
		tenant, ok := c.asOf(h.Structure)
		if !ok {
			return false, nil
		}
		fold = wire.Fold(fold, bulk.NewHandle(slot, tenant.generation))
		ok, err = r.decodeRow(c, tenant, code, h)
		if !ok || err != nil {
			return false, err
		}
	}
	r.fold = wire.Fold16(fold)
	return true, wire.ExpectEnd(&r.reader)
}

// decodeRow reads one row. A row is moot when its entity left, died or entered
// anew after the datagram was made: it is read, to get at the next one, and
// dropped.
func (r *Replica) decodeRow(c *cell, tenant tenancy, code uint8, h wire.StateHeader) (bool, error) {
	n := r.schema.Words()
	r.arena = slices.Grow(r.arena, n)
	words := r.arena[len(r.arena) : len(r.arena)+n]
	r.arena = r.arena[:len(r.arena)+n]
	row := wire.Row{Mask: tenant.mask, Words: words}
	base := wire.Row{Mask: tenant.mask}
	var e *Entity
	if c.state == wire.Live && c.now == tenant {
		e = c.entity
		if code != wire.BaselineNone {
			if base.Words = e.find(code, h.Seq); base.Words == nil {
				return false, nil
			}
		}
	}
	if err := r.schema.ReadDelta(&r.reader, base, &row); err != nil {
		return false, err
	}
	r.rows = append(r.rows, decodedRow{entity: e, code: code, words: words})
	return true, nil
}

// publish applies the decoded rows and marks the datagram for acknowledgement.
func (r *Replica) publish(h wire.StateHeader) {
	for _, d := range r.rows {
		e := d.entity
		if e == nil {
			r.stats.RowsMoot++
			continue
		}
		if d.code != wire.BaselineNone && d.code != wire.BaselineEnter {
			e.forget(h.Seq - uint32(d.code))
		}
		e.keep(h.Seq, d.words)
		if h.Seq < e.seq && !fault.LateRowWins {
			r.stats.RowsLate++
			continue
		}
		e.seq, e.tick = h.Seq, h.Tick
		copy(e.row.Words, d.words)
		r.stats.Rows++
		if f := r.observer.Update; f != nil {
			f(e)
		}
	}
	r.acks.add(h.Seq)
	r.tick = max(r.tick, h.Tick)
	r.stats.Snapshots++
}

// hold keeps a datagram until the structure that it stands on has arrived.
func (r *Replica) hold(h wire.StateHeader, datagram []byte) {
	for i := range r.held {
		if r.held[i].seq == h.Seq {
			r.stats.Duplicates++
			return
		}
	}
	if len(r.held) == maxHeld {
		r.held = slices.Delete(r.held, 0, 1)
		r.stats.Overflowed++
	}
	r.held = append(r.held, heldDatagram{h.Structure, h.Seq, bytes.Clone(datagram)})
	slices.SortFunc(r.held, func(a, b heldDatagram) int { return cmp.Compare(a.seq, b.seq) })
	r.stats.Held++
}

// release applies the held datagrams whose structure is now there, oldest
// first. What they turn out to be is counted where it is found.
func (r *Replica) release() {
	n := 0
	for n < len(r.held) && r.held[n].structure <= r.applied {
		n++
	}
	if n == 0 {
		return
	}
	due := slices.Clone(r.held[:n])
	r.held = slices.Delete(r.held, 0, n)
	for _, d := range due {
		if _, err := r.ApplyState(d.bytes); err != nil {
			r.stats.Unreadable++
		}
	}
}
