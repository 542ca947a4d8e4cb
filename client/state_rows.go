package client

import (
	"slices"
	"sort"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// decodedRow is a row of the datagram being applied. No row is applied before the whole
// datagram has been decoded (C1).
type decodedRow struct {
	entity   *Entity
	slot     uint32
	baseline wire.Baseline
	exact    wire.Exact
	body     wire.BodyState // if the row is exact
	base     int8           // index of the baseline in the entity's states, if baseline.Age != 0
	older    int8           // index of the older baseline, if baseline.Gap != 0
	part     int8           // component to which the anchor applies
	anchor   int16          // index of the anchor's row; -1: none
	newest   bool           // became the entity's current state
	teleport uint32         // tick of the entity's teleport of which the datagram tells; 0: none
}

// stateRows decodes the rows of a State datagram. Its fields from reader on are scratch.
type stateRows struct {
	entities   *entities
	memory     *memory
	codec      *rowcodec.Codec
	width      int  // values of a row
	plain      bool // rows have no baselines
	reader     bitio.Reader
	rows       []decodedRow
	arena      []uint32        // values of rows
	touched    uint32          // receives the loads of findBaselines, so that the compiler keeps them
	past       rowcodec.Past   // of the row being decoded
	anchor     rowcodec.Anchor // of rows[anchored] and component anchorPart
	anchored   int
	anchorPart int
}

// bytes returns the memory of scratch.
func (x *stateRows) bytes() int { return capacity(x.rows) + capacity(x.arena) }

// readHeaders reads the slots and the baselines of the rows.
func (x *stateRows) readHeaders(h wire.StateHeader) error {
	x.rows = x.rows[:0]
	if h.Rows == 0 {
		return nil
	}
	coding := wire.ReadRowCoding(&x.reader, h.Tick)
	next, ordinary := uint32(0), 0
	for range h.Rows {
		skip, baseline := wire.ReadRowHeader(&x.reader, coding, h.Tick)
		exact := wire.Exact{}
		if h.Exact {
			exact = wire.ReadExact(&x.reader, h.Tick, baseline, x.entities.bodies.MaxBack())
		}
		if exact.Form == wire.Ordinary {
			ordinary++
		}
		if err := wire.Malformed(x.reader.Err()); err != nil {
			return err
		}
		if x.plain && baseline.Age != 0 {
			return protocolError("a row of age %d, in a session of plain rows", baseline.Age)
		}
		if skip >= x.entities.issued.maxSlots || next+skip >= x.entities.issued.maxSlots {
			return protocolError("row of slot %d, beyond the world's %d", uint64(next)+uint64(skip), x.entities.issued.maxSlots)
		}
		x.rows = append(x.rows, decodedRow{slot: next + skip, baseline: baseline, exact: exact, anchor: -1})
		next += skip + 1
	}
	for t := range h.StateTeleports() {
		x.rows[t.Row].teleport = h.Tick - t.Age
	}
	if h.Exact && ordinary == h.Rows {
		return protocolError("snapshot %d announces exact rows and has none", h.Seq)
	}
	return nil
}

// checkExact checks that only entities with exact states have exact rows.
func (x *stateRows) checkExact(readable bool) error {
	for i := range x.rows {
		if d := &x.rows[i]; readable && d.exact.Form != wire.Ordinary {
			if err := x.entities.bodies.CheckBody(uint32(d.entity.kind), d.entity.mask); err != nil {
				return err
			}
		}
	}
	return nil
}

// findEntities finds the entities of the rows and sums their load. It also folds their handles:
// the fold proves, before a row is decoded, that client and server mean the same entities (C2).
// readable is false if an entity left, died or re-entered since the datagram was made.
//
// Each loop follows one pointer of every row, so that the cache misses overlap.
func (x *stateRows) findEntities(h wire.StateHeader) (fold16 uint16, load int, readable bool) {
	for i := range x.rows {
		d := &x.rows[i]
		c := x.entities.cells.findCell(d.slot)
		if c == nil || c.state != wire.Live {
			return 0, 0, false
		}
		d.entity = c.entity
	}
	var fold uint64
	for i := range x.rows {
		e := x.rows[i].entity
		if e.entered > h.Structure {
			return 0, 0, false
		}
		fold = wire.Fold(fold, e.handle)
		load += int(e.load)
	}
	return wire.Fold16(fold), load, true
}

// findBaselines finds the baselines and anchors of the rows. It returns false if a baseline is
// no longer known.
//
// It copies each baseline to the row's destination, and loads a value of each older baseline.
// Here the cache misses overlap; during decoding they would not, since each row waits for the
// bits of the row before.
func (x *stateRows) findBaselines(h wire.StateHeader) bool {
	n := x.width
	x.arena = slices.Grow(x.arena[:0], n*len(x.rows))[:n*len(x.rows)]
	sum := uint32(0)
	for i := range x.rows {
		d := &x.rows[i]
		if d.baseline.Age == 0 {
			continue
		}
		tick := h.Tick - d.baseline.Age
		base := d.entity.states.findTick(tick)
		if base < 0 {
			return false
		}
		d.base = int8(base)
		copy(x.rowValues(i), d.entity.states.valuesOf(base, n))
		if d.baseline.Gap == 0 {
			continue
		}
		older := d.entity.states.findTick(tick - d.baseline.Gap)
		if older < 0 {
			return false
		}
		d.older = int8(older)
		if n > 0 {
			sum += d.entity.states.valuesOf(older, n)[0]
		}
	}
	x.touched = sum
	if x.codec.Layout().HasParents() {
		for i := range x.rows {
			x.findAnchor(&x.rows[i])
		}
	}
	return true
}

// baselineValues returns the values of the row's baselines, n each; nil if the row has none.
func (d *decodedRow) baselineValues(n int) (base, older []uint32) {
	if d.baseline.Age == 0 {
		return nil, nil
	}
	base = d.entity.states.valuesOf(int(d.base), n)
	if d.baseline.Gap != 0 {
		older = d.entity.states.valuesOf(int(d.older), n)
	}
	return base, older
}

// rowValues returns the values that row i is decoded into.
func (x *stateRows) rowValues(i int) []uint32 {
	n := x.width
	return x.arena[i*n : (i+1)*n : (i+1)*n]
}

// findAnchor finds the row whose motion predicts d's: its parent's, if the parent has a row
// with the same baselines in this datagram, and no parent itself.
func (x *stateRows) findAnchor(d *decodedRow) {
	part, h := x.parentOf(d)
	if h == 0 {
		return
	}
	i := x.rowOf(h.Index())
	if i == len(x.rows) {
		return
	}
	anchor := &x.rows[i]
	if e := anchor.entity; e.handle != h || anchor.baseline != d.baseline || anchor.exact.Back != d.exact.Back || e.mask>>part&1 == 0 {
		return
	}
	if _, grandparent := x.parentOf(anchor); grandparent == 0 {
		d.anchor, d.part = int16(i), int8(part)
	}
}

// rowOf returns the index of the first row whose slot is not below slot.
func (x *stateRows) rowOf(slot uint32) int {
	return sort.Search(len(x.rows), func(i int) bool { return x.rows[i].slot >= slot })
}

// parentOf returns the parent that d's baseline names, and the component that names it.
func (x *stateRows) parentOf(d *decodedRow) (component int, h bulk.Handle) {
	if d.baseline.Age == 0 {
		return 0, 0
	}
	return x.codec.Layout().Parent(rowschema.Row{Mask: d.entity.mask, Values: d.entity.states.valuesOf(int(d.base), x.width)})
}

// decodeRows reads all rows into scratch: first those without an anchor, then the others.
func (x *stateRows) decodeRows() error {
	x.anchored = -1
	for _, anchored := range [...]bool{false, true} {
		for i := range x.rows {
			if (x.rows[i].anchor >= 0) != anchored {
				continue
			}
			if err := x.decodeRow(i); err != nil {
				return err
			}
		}
	}
	return wire.ExpectEnd(&x.reader)
}

func (x *stateRows) decodeRow(i int) error {
	d, n := &x.rows[i], x.width
	row := rowschema.Row{Mask: d.entity.mask, Owned: d.entity.states.owned, Values: x.rowValues(i)}
	if d.baseline.Age == 0 {
		return x.finishRow(d, x.codec.Read(&x.reader, &row, nil), row.Values)
	}
	x.past = rowcodec.Past{Age: d.baseline.Age - d.exact.Back, Gap: d.baseline.Gap}
	x.past.Base, x.past.Older = d.baselineValues(n)
	if a := int(d.anchor); a >= 0 {
		if x.anchored != a || x.anchorPart != int(d.part) {
			base, older := x.rows[a].baselineValues(n)
			x.codec.SetAnchor(&x.anchor, int(d.part), x.rowValues(a), base, older)
			x.anchored, x.anchorPart = a, int(d.part)
		}
		x.past.Anchor = &x.anchor
	}
	return x.finishRow(d, x.codec.ReadOver(&x.reader, &row, &x.past), row.Values)
}

// finishRow reads the fields after a row's values.
func (x *stateRows) finishRow(d *decodedRow, err error, values []uint32) error {
	if err != nil || d.exact.Form == wire.Ordinary {
		return err
	}
	d.body, err = x.entities.bodies.ReadBody(&x.reader, d.exact.Form, uint32(d.entity.kind), d.entity.mask, values)
	return err
}

// checkGrowth returns an error if the states of the rows could exceed MaxBytes. memory.left
// must be up to date.
func (x *stateRows) checkGrowth() error {
	values, b := x.width, x.entities.bodies
	growth := maxGrowth(values)
	if b != nil {
		growth += b.BytesOfNew()
	}
	if len(x.rows)*growth <= x.memory.left {
		return nil
	}
	for i := range x.rows {
		d := &x.rows[i]
		if d.exact.Form != wire.Ordinary && !b.Computes(d.entity.index) {
			if err := x.memory.chargeBytes(b.BytesOfNew()); err != nil {
				return err
			}
		}
		if err := x.memory.chargeBytes(d.entity.states.nextGrowth(values)); err != nil {
			return err
		}
	}
	return nil
}
