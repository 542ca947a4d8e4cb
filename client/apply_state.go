package client

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// maxHeld bounds the datagrams that wait for structure they overtook: nearly a second's
// worth at 20 snapshots a second. One more drops the oldest unacknowledged, and the
// server sends its rows again.
const maxHeld = 16

// Outcome is the result of applying a State datagram.
type Outcome uint8

const (
	Applied    Outcome = iota // applied whole; will be acknowledged
	Held                      // overtook its structure; waits for it
	Duplicate                 // already applied, too old, or of an earlier room
	Unreadable                // needs entities or baselines no longer known; the server sends its rows again
	Faulty                    // its fold (wire.Fold) does not match the handles of its rows
)

// heldDatagram is a datagram that waits for its structure.
type heldDatagram struct {
	structure uint32
	seq       uint32
	bytes     []byte
}

// decodedRow is a row of the datagram being applied. Nothing is applied before the
// whole datagram has been decoded (C1).
type decodedRow struct {
	entity   *Entity
	slot     uint32
	baseline wire.Baseline
	exact    wire.Exact
	body     wire.BodyState // if it is exact
	base     int8           // index of the baseline in the entity's states, if baseline.Age != 0
	older    int8           // index of the older baseline, if baseline.Gap != 0
	part     int8           // component that the anchor is for
	anchor   int16          // index of the anchor's row; -1: none
	newest   bool           // became the entity's current state
}

// applyState is Applier.ApplyState, and returns the header too.
func (r *Replica) applyState(datagram []byte) (wire.StateHeader, Outcome, error) {
	r.budget.Spend(datagramTime)
	h, err := wire.ParseStateHeader(datagram, &r.reader)
	if err != nil {
		return h, Unreadable, err
	}
	outcome, err := r.applyRows(h, datagram)
	return h, outcome, err
}

// applyRows applies a datagram whose header h was read by r.reader.
func (r *Replica) applyRows(h wire.StateHeader, datagram []byte) (Outcome, error) {
	if r.acks.duplicate(h.Seq) || h.Structure < r.fence {
		r.stats.Duplicates++
		return Duplicate, nil
	}
	if h.Structure > r.applied {
		r.hold(h, datagram)
		return Held, nil
	}
	if r.bodies == nil && (h.Complete || h.Continued || h.Audited || h.Exact) {
		return Unreadable, protocolError("%v, in a session that does not simulate", h)
	}
	if err := r.readHeaders(h); err != nil {
		return Unreadable, err
	}
	fold, load, readable := r.findEntities(h)
	if readable && fold != h.Fold {
		r.stats.Faults++
		return Faulty, nil
	}
	if readable && load > wire.MaxLoad {
		return Unreadable, protocolError("rows of load %d, at most %d is allowed", load, wire.MaxLoad)
	}
	if err := r.checkExact(readable); err != nil {
		return Unreadable, err
	}
	if !readable || !r.findBaselines(h) {
		r.stats.Unreadable++
		return Unreadable, nil
	}
	if err := r.checkEvents(h); err != nil {
		return Unreadable, err
	}
	if err := r.decode(); err != nil {
		return Unreadable, err
	}
	if err := r.checkGrowth(); err != nil {
		return Unreadable, err
	}
	r.receiveEvents(h)
	r.publish(h)
	return Applied, nil
}

// readHeaders reads the slots and the baselines of the rows.
func (r *Replica) readHeaders(h wire.StateHeader) error {
	r.rows = r.rows[:0]
	r.budget.Spend(rowTime * h.Rows)
	if h.Rows == 0 {
		return nil
	}
	coding := wire.ReadRowCoding(&r.reader, h.Tick)
	next, ordinary := uint32(0), 0
	for range h.Rows {
		skip, baseline := wire.ReadRowHeader(&r.reader, coding, h.Tick)
		exact := wire.Exact{}
		if h.Exact {
			exact = wire.ReadExact(&r.reader, h.Tick, baseline)
		}
		if exact.Form == wire.Ordinary {
			ordinary++
		}
		if err := wire.Malformed(r.reader.Err()); err != nil {
			return err
		}
		if skip >= r.maxSlots || next+skip >= r.maxSlots {
			return protocolError("row of slot %d, beyond the world's %d", uint64(next)+uint64(skip), r.maxSlots)
		}
		r.rows = append(r.rows, decodedRow{slot: next + skip, baseline: baseline, exact: exact, anchor: -1})
		next += skip + 1
	}
	if h.Exact && ordinary == h.Rows {
		return protocolError("snapshot %d announces exact rows and has none", h.Seq)
	}
	return nil
}

// checkExact checks that the rows with exact states are of entities that have them.
func (r *Replica) checkExact(readable bool) error {
	for i := range r.rows {
		if d := &r.rows[i]; readable && d.exact.Form != wire.Ordinary {
			if err := r.bodies.CheckBody(uint32(d.entity.kind), d.entity.mask); err != nil {
				return err
			}
		}
	}
	return nil
}

// findEntities finds the entities of the rows, folds their handles, which proves that
// client and server mean the same entities before a row is decoded (C2), and sums their
// load. The rows are not readable if one of the entities left, died or re-entered since
// the datagram was made.
//
// Each loop follows one pointer of every row, so that their cache misses overlap.
func (r *Replica) findEntities(h wire.StateHeader) (fold16 uint16, load int, readable bool) {
	for i := range r.rows {
		d := &r.rows[i]
		c := r.cells.peek(d.slot)
		if c == nil || c.state != wire.Live {
			return 0, 0, false
		}
		d.entity = c.entity
	}
	var fold uint64
	for i := range r.rows {
		e := r.rows[i].entity
		if e.entered > h.Structure {
			return 0, 0, false
		}
		fold = wire.Fold(fold, e.handle)
		load += int(e.load)
	}
	return wire.Fold16(fold), load, true
}

// findBaselines finds the baselines and anchors of the rows. It returns false if a
// baseline is no longer known.
//
// It copies the baselines to where the rows are decoded, and reads a value of the older ones:
// while rows are decoded, each waits for the bits of the one before, but here their cache misses
// overlap.
func (r *Replica) findBaselines(h wire.StateHeader) bool {
	n := r.layout.values
	r.arena = slices.Grow(r.arena[:0], n*len(r.rows))[:n*len(r.rows)]
	sum := uint32(0)
	for i := range r.rows {
		d := &r.rows[i]
		if d.baseline.Age == 0 {
			continue
		}
		tick := h.Tick - d.baseline.Age
		base := d.entity.states.find(tick)
		if base < 0 {
			return false
		}
		d.base = int8(base)
		copy(r.values(i), d.entity.states.values(base, n))
		if d.baseline.Gap == 0 {
			continue
		}
		older := d.entity.states.find(tick - d.baseline.Gap)
		if older < 0 {
			return false
		}
		d.older = int8(older)
		if n > 0 {
			sum += d.entity.states.values(older, n)[0]
		}
	}
	r.touched = sum
	if r.codec.Schema().HasParents() {
		for i := range r.rows {
			r.findAnchor(&r.rows[i])
		}
	}
	return true
}

// past returns the values, n each, of the row's baselines, or nil.
func (d *decodedRow) past(n int) (base, older []uint32) {
	if d.baseline.Age == 0 {
		return nil, nil
	}
	base = d.entity.states.values(int(d.base), n)
	if d.baseline.Gap != 0 {
		older = d.entity.states.values(int(d.older), n)
	}
	return base, older
}

// values returns the values that row i is decoded into.
func (r *Replica) values(i int) []uint32 {
	n := r.layout.values
	return r.arena[i*n : (i+1)*n : (i+1)*n]
}

// findAnchor finds the row whose motion d is predicted to follow: its parent's, if the
// parent has a row in this datagram with the same baselines, and no parent itself.
func (r *Replica) findAnchor(d *decodedRow) {
	part, h := r.parent(d)
	if h == 0 {
		return
	}
	i := r.rowOf(h.Index())
	if i == len(r.rows) {
		return
	}
	anchor := &r.rows[i]
	if e := anchor.entity; e.handle != h || anchor.baseline != d.baseline || anchor.exact.Back != d.exact.Back || e.mask>>part&1 == 0 {
		return
	}
	if _, grandparent := r.parent(anchor); grandparent == 0 {
		d.anchor, d.part = int16(i), int8(part)
	}
}

// rowOf returns the index of the first row whose slot is not below slot.
func (r *Replica) rowOf(slot uint32) int {
	return sort.Search(len(r.rows), func(i int) bool { return r.rows[i].slot >= slot })
}

// parent returns the parent that d's baseline names, and in which component.
func (r *Replica) parent(d *decodedRow) (component int, h bulk.Handle) {
	if d.baseline.Age == 0 {
		return 0, 0
	}
	s := r.codec.Schema()
	return s.Parent(schema.Row{Mask: d.entity.mask, Values: d.entity.states.values(int(d.base), s.Values())})
}

// decode reads all rows into scratch: first those without an anchor, then the others.
func (r *Replica) decode() error {
	r.anchored = -1
	for _, anchored := range [...]bool{false, true} {
		for i := range r.rows {
			if (r.rows[i].anchor >= 0) != anchored {
				continue
			}
			if err := r.decodeRow(i); err != nil {
				return err
			}
		}
	}
	return wire.ExpectEnd(&r.reader)
}

func (r *Replica) decodeRow(i int) error {
	d, n := &r.rows[i], r.layout.values
	row := schema.Row{Mask: d.entity.mask, Owned: d.entity.states.owned, Values: r.values(i)}
	if d.baseline.Age == 0 {
		return r.finishRow(d, r.codec.Read(&r.reader, &row, nil), row.Values)
	}
	r.past = rowcodec.Past{Age: d.baseline.Age - uint32(d.exact.Back), Gap: d.baseline.Gap}
	r.past.Base, r.past.Older = d.past(n)
	if a := int(d.anchor); a >= 0 {
		if r.anchored != a || r.anchorPart != int(d.part) {
			base, older := r.rows[a].past(n)
			r.codec.SetAnchor(&r.anchor, int(d.part), r.values(a), base, older)
			r.anchored, r.anchorPart = a, int(d.part)
		}
		r.past.Anchor = &r.anchor
	}
	return r.finishRow(d, r.codec.ReadOver(&r.reader, &row, &r.past), row.Values)
}

// finishRow reads what follows a row.
func (r *Replica) finishRow(d *decodedRow, err error, values []uint32) error {
	if err != nil || d.exact.Form == wire.Ordinary {
		return err
	}
	d.body, err = r.bodies.ReadBody(&r.reader, d.exact.Form, uint32(d.entity.kind), d.entity.mask, values)
	return err
}

// publish applies the decoded rows and records the datagram for acknowledgement.
func (r *Replica) publish(h wire.StateHeader) {
	if h.Tick > r.tick {
		r.before = r.tick
		if r.empty != 0 && h.Seq == r.empty+1 { // others would have been empty too, and were not sent
			r.before = max(r.before, h.Tick-min(h.Tick, r.interval))
		}
		r.tick, r.empty = h.Tick, 0
		if h.Rows == 0 && len(h.Events) == 0 {
			r.empty = h.Seq
		}
		r.input, _ = h.AppliedInput()
		r.stats.Frames++
	}
	r.proven = max(r.proven, h.Structure)
	for i := range r.rows {
		d := &r.rows[i]
		e, tick := d.entity, h.Tick-uint32(d.exact.Back)
		if b := d.baseline; b.Gap != 0 {
			e.states.noteBaseline(h.Tick - b.Age - b.Gap)
		}
		before := e.states.bytes()
		state := e.states.add(tick, r.blendFrom(tick, e), r.values(i), r.span)
		r.entityBytes += e.states.bytes() - before
		if state < 0 || tick <= e.states.tick {
			r.stats.RowsLate++
			continue
		}
		e.states.setCurrent(state)
		r.stats.Rows++
		d.newest = true
		if r.bodies != nil {
			r.bodies.Receive(bodies.Received{Handle: e.handle, Kind: uint32(e.kind), Index: e.index, Tick: tick, Form: d.exact.Form, Body: &d.body})
		}
	}
	r.acks.add(h.Seq)
	r.ackTicks[h.Seq%uint32(len(r.ackTicks))] = h.Tick
	r.stats.Snapshots++
	if r.bodies != nil {
		r.bodies.ApplySnapshot(&h)
	}
	r.provisional.noteSnapshot(r.input, r.tick)
	r.reportUpdates()
}

// reportUpdates runs Observer.Update after all rows are applied: a callback may read
// other entities.
func (r *Replica) reportUpdates() {
	f := r.observer.Update
	if f == nil {
		return
	}
	for i := range r.rows {
		if d := &r.rows[i]; d.newest {
			f(d.entity)
		}
	}
}

// blendFrom returns the tick from which At blends a new state of e in: 0 for its
// previous state's tick, unless a snapshot between the two had no row of e. Then e was
// shown at rest, and is blended from the newest render on, but over two snapshots at most:
// it may have been at rest, or its snapshot had no room for its row.
func (r *Replica) blendFrom(tick uint32, e *Entity) uint32 {
	if tick < r.tick || r.before <= e.states.tick {
		return 0
	}
	earliest := r.before - min(r.before, tick-r.before)
	return min(max(r.shown, earliest), tick-1)
}

// hold keeps a datagram until its structure arrives.
func (r *Replica) hold(h wire.StateHeader, datagram []byte) {
	for i := range r.held {
		if r.held[i].seq == h.Seq {
			r.stats.Duplicates++
			return
		}
	}
	r.held = append(r.held, heldDatagram{h.Structure, h.Seq, bytes.Clone(datagram)})
	slices.SortFunc(r.held, func(a, b heldDatagram) int { return cmp.Compare(a.seq, b.seq) })
	r.stats.Held++
	if len(r.held) > maxHeld {
		r.held = slices.Delete(r.held, 0, 1)
		r.stats.Overflowed++
	}
}

// release applies the held datagrams whose structure has arrived, oldest first. An
// error ends the session, as if the datagram had arrived now.
func (r *Replica) release() error {
	var due []heldDatagram
	r.held = slices.DeleteFunc(r.held, func(d heldDatagram) bool {
		if d.structure > r.applied {
			return false
		}
		due = append(due, d)
		return true
	})
	for _, d := range due {
		if _, _, err := r.applyState(d.bytes); err != nil {
			return err
		}
	}
	return nil
}
