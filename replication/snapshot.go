package replication

import (
	"math/bits"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// encodeSnapshots fills datagrams with the waiting rows, until the budget or the
// number of datagrams is reached. There is always one, since an empty snapshot
// carries the clock and the acknowledgement of inputs.
func (v *Viewer) encodeSnapshots() [][]byte {
	e := &v.encoder
	most := v.prepare()
	e.datagrams = e.datagrams[:0]
	if v.encodeAll(most) {
		return e.datagrams
	}
	v.sortWaiting()
	rest := v.waiting
	for n := 0; n == 0 || (n < maxDatagrams && len(rest) > 0 && v.tokens > minSnapshotBytes); n++ {
		rest = v.encodeSome(rest)
	}
	return e.datagrams
}

// prepare finds the baselines of the waiting rows and how their headers are
// written: by how far apart in slots they are, and by the baseline that most of
// them have, if there is one that most of them have, which is left when
// different ones cancel each other out. It returns the highest slot.
func (v *Viewer) prepare() (most uint32) {
	var c wire.RowCoding
	lead := 0
	least := uint32(wire.MaxSlots)
	for i := range v.waiting {
		w := &v.waiting[i]
		slot := w.handle.Index()
		least, most = min(least, slot), max(most, slot)
		w.baseline = v.baseline(&v.rows[w.place])
		switch {
		case lead == 0:
			c.Usual, lead = w.baseline, 1
		case w.baseline == c.Usual:
			lead++
		default:
			lead--
		}
	}
	if n := len(v.waiting); n > 0 {
		c.SkipBits = uint8(min(bits.Len32((most-least)/uint32(n)/2), wire.MaxSkipBits))
	}
	v.encoder.coding = c
	return most
}

// encodeAll makes one datagram of all waiting rows, in no order, if they are
// sure to fit. It is the common case, and needs no order of urgency.
func (v *Viewer) encodeAll(most uint32) bool {
	r, e := v.replicator, &v.encoder
	e.open(min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes)))
	for i := range v.waiting {
		w := &v.waiting[i]
		key := v.key(&v.rows[w.place], w.baseline)
		var anchor *tenant
		if row := v.anchor(&v.rows[w.place], w.baseline); row != nil && row.due {
			key.anchored, anchor = true, &r.frame.tenants[row.handle.Index()]
		}
		chunk, how := r.frame.code(key, anchor, &e.own)
		if !e.gather(encodedRow{key, w.handle.Generation(), chunk, how}, most) {
			return false
		}
	}
	e.sort()
	sent := v.beginSnapshot()
	for i := range v.waiting {
		v.send(&v.rows[v.waiting[i].place], sent)
	}
	v.closeSnapshot()
	return true
}

func (v *Viewer) beginSnapshot() *sentSnapshot {
	v.seq++
	return v.remember(v.seq)
}

// closeSnapshot writes the open datagram. The structure number is taken last:
// Teach may have written records that the rows' references stand on (R4).
func (v *Viewer) closeSnapshot() {
	r, e := v.replicator, &v.encoder
	for i := range e.rows {
		row := &e.rows[i]
		r.stats.count(row)
	}
	structure := v.structure.written
	if fault.StructureOneLess {
		structure--
	}
	size := e.close(r.frame, wire.StateHeader{Seq: v.seq, Tick: r.frame.tick, Structure: structure})
	v.tokens -= size
	r.stats.Snapshots++
	r.stats.StateBytes += uint64(size)
}

// encodeSome makes one datagram of the most urgent rows, and returns those that
// did not fit.
func (v *Viewer) encodeSome(waiting []waitingRow) []waitingRow {
	v.encoder.open(min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes)))
	sent := v.beginSnapshot()
	n := 0
	for ; n < len(waiting); n++ {
		if row := &v.rows[waiting[n].place]; row.due && !v.encodeFamily(row, waiting[n].baseline, sent) {
			break
		}
	}
	v.closeSnapshot()
	for n < len(waiting) && !v.rows[waiting[n].place].due {
		n++ // went with a row that it is the parent of
	}
	return waiting[n:]
}

// encodeFamily puts a row into the open datagram, after the row of its parent if
// that one waits, too: whether a row is anchored is not said, but follows from
// what else is in the datagram. It returns false if not all fit.
func (v *Viewer) encodeFamily(row *viewerRow, b wire.Baseline, sent *sentSnapshot) bool {
	key := v.key(row, b)
	anchor := v.anchor(row, b)
	if anchor == nil {
		return v.encodeRow(row, key, nil, sent)
	}
	if anchor.due && !v.encodeFamily(anchor, b, sent) {
		return false
	}
	key.anchored = v.encoder.has(anchor.handle.Index(), key.baseline)
	return v.encodeRow(row, key, &v.replicator.frame.tenants[anchor.handle.Index()], sent)
}

// key names how row is coded against b, but for an anchor.
func (v *Viewer) key(row *viewerRow, b wire.Baseline) codingKey {
	slot := row.handle.Index()
	return codingKey{slot: slot, baseline: b, owned: row.owned && v.replicator.frame.tenants[slot].whole != nil}
}

func (v *Viewer) encodeRow(row *viewerRow, key codingKey, anchor *tenant, sent *sentSnapshot) bool {
	e := &v.encoder
	chunk, how := v.replicator.frame.code(key, anchor, &e.own)
	if !e.add(encodedRow{key, row.handle.Generation(), chunk, how}) {
		return false
	}
	v.send(row, sent)
	return true
}

// send notes that row is in the open datagram.
func (v *Viewer) send(row *viewerRow, sent *sentSnapshot) {
	f := v.replicator.frame
	slot := row.handle.Index()
	if f.schema.Refers() {
		f.schema.References(f.current(&f.tenants[slot], row.owned), v.teach)
	}
	row.priority, row.sentTick, row.waiting, row.due = 0, f.tick, true, false
	if fault.AckOnSend {
		row.acknowledge(f.tick)
	}
	sent.rows = append(sent.rows, slot)
}

// baseline chooses the states that row is coded against: the newest that the
// client is known to have, and one before it, as far as both sides remember
// them (R3).
func (v *Viewer) baseline(row *viewerRow) (b wire.Baseline) {
	r := v.replicator
	t := r.frame.tenants[row.handle.Index()].as(row.owned)
	if !v.keeps(row, row.ackedTick) || !t.reaches(row.ackedTick) {
		return b
	}
	b.Age = r.frame.tick - row.ackedTick
	gap := row.ackedTick - row.olderTick
	if row.olderTick != 0 && b.Age <= maxMotionRatio*gap && v.keeps(row, row.olderTick) && t.reaches(row.olderTick) {
		b.Gap = gap
	}
	return b
}

// keeps says whether the client has kept the state of row at a tick at which it
// had one: at most a state for each interval since can have been sent.
func (v *Viewer) keeps(row *viewerRow, tick uint32) bool {
	return row.sentTick < tick+(wire.MaxStates-1)*v.replicator.interval
}

// anchor is the row of the parent of row, coded against b, if it is in view and
// the two have the same baselines. A row that has a parent itself is no anchor,
// so that anchors come first, and none depends on another.
func (v *Viewer) anchor(row *viewerRow, b wire.Baseline) *viewerRow {
	f := v.replicator.frame
	if b.Age == 0 || !f.schema.Carries() {
		return nil
	}
	component, h := f.parent(&f.tenants[row.handle.Index()], b)
	if h == 0 {
		return nil
	}
	anchor := v.row(h)
	if anchor == nil || v.entersAnew(anchor) || v.baseline(anchor) != b {
		return nil
	}
	t := &f.tenants[h.Index()]
	if _, grandparent := f.parent(t, b); t.mask>>component&1 == 0 || grandparent != 0 {
		return nil
	}
	return anchor
}

// parent is the entity that t named as its parent in its baseline, and in which
// component.
func (f *Frame) parent(t *tenant, b wire.Baseline) (component int, h bulk.Handle) {
	return f.schema.Parent(wire.Row{Mask: t.mask, Words: f.at(&t.history, f.tick-b.Age)})
}
