package rowcodec

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Codec encodes and decodes rows of a schema. It predicts each field from the row's past
// and writes the difference in a Huffman code, which the expected accuracy of the
// prediction selects. The codes come from Tables and never change, so the bits of a row
// depend only on the row and its past: a row is encoded once, as a chunk, and copied for
// every receiver with the same past. A Codec is read-only and may be shared.
type Codec struct {
	layout   *rowschema.Layout
	tables   *Tables
	parts    []part    // plans for receivers that own the entity
	public   []part    // plans for other receivers: without owner fields
	observer *Observer // set by Observed, otherwise nil
}

// New returns the codec of s with tables t. The schema must be complete and must
// have passed CheckRows.
func New(s *schema.Schema, t *Tables) *Codec {
	c := &Codec{layout: rowschema.New(s), tables: t}
	for i := range s.Components() {
		p := c.planPart(i, true)
		c.parts = append(c.parts, p)
		if c.layout.OwnedMask()>>i&1 != 0 {
			p = c.planPart(i, false)
		}
		c.public = append(c.public, p)
	}
	return c
}

// planPart plans component i, for owners or for other receivers.
func (c *Codec) planPart(i int, owner bool) part {
	p := planPart(c.layout.Schema(), i, owner)
	p.set, p.zones = c.tables.setOf(p.shape), c.tables.zoneBoundsOf(p.shape)
	for g := range p.groups {
		p.groups[g].heads = c.tables.headsOf(p.shape, g, p.groups[g].symbols)
	}
	return p
}

// partsOf returns the plans for receivers that own the entity, or for other receivers.
func (c *Codec) partsOf(owned bool) []part {
	if owned {
		return c.parts
	}
	return c.public
}

// Shapes returns the distinct shapes of the components coded by residuals, sorted.
func (c *Codec) Shapes() (all []string) {
	for _, parts := range [...][]part{c.parts, c.public} {
		for i := range parts {
			if parts[i].hasResiduals() {
				all = append(all, parts[i].shape)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Schema returns the schema of the rows.
func (c *Codec) Schema() *schema.Schema { return c.layout.Schema() }

// Layout returns the layout of the rows.
func (c *Codec) Layout() *rowschema.Layout { return c.layout }

// Tables returns the tables that define the codes.
func (c *Codec) Tables() *Tables { return c.tables }

// Append writes row relative to past, or in full if past is nil. The reader must know
// row.Mask. Append returns the bits of each component.
func (c *Codec) Append(w *bitio.Writer, row rowschema.Row, past *Past) (shares rowschema.Shares) {
	var f prediction
	return c.append(w, row, past, &f)
}

// append is Append with scratch space f. The contents of f do not matter.
func (c *Codec) append(w *bitio.Writer, row rowschema.Row, past *Past, f *prediction) (shares rowschema.Shares) {
	if past == nil {
		return c.layout.AppendFields(w, row)
	}
	if invariants.Enabled {
		invariants.Checkf(len(row.Values) == c.layout.Values(), "row has %d values, its schema %d", len(row.Values), c.layout.Values())
		invariants.Checkf(row.Mask>>len(c.parts) == 0, "row has components %b, its schema %d of them", row.Mask, len(c.parts))
		invariants.Checkf(past.Age > 0 && (past.Older == nil || past.Gap > 0), "age %d and gap %d of a row's past: want at least 1", past.Age, past.Gap)
	}
	f.ratio = past.ratio()
	parts := c.partsOf(row.Owned)
	for i := range parts {
		if row.Mask>>i&1 == 0 {
			continue
		}
		p := &parts[i]
		from := w.Bits()
		if p.needsPrediction() {
			c.predict(p, past, f)
		}
		if c.observer != nil {
			c.appendObserved(w, p, row.Values, past, f)
		} else {
			changed := c.appendHeads(w, p, row.Values, past, f)
			for rest := changed&^p.headOnly | p.always; rest != 0; rest &= rest - 1 {
				c.appendUnit(w, p, bits.TrailingZeros64(rest), row.Values, past, f)
			}
		}
		shares.Add(i, w.Bits()-from)
	}
	return shares
}

// changed returns 1 if the unit differs from base, otherwise 0.
func (u *unit) changed(values, base []uint32) uint64 {
	differ := values[u.index] ^ base[u.index]
	for i := u.index + 1; i < u.index+u.values; i++ {
		differ |= values[i] ^ base[i]
	}
	return (uint64(differ) + 1<<32 - 1) >> 32
}

// appendHeads writes the heads and returns the changed units that have digits, unit i
// in bit i.
func (c *Codec) appendHeads(w *bitio.Writer, p *part, values []uint32, past *Past, f *prediction) (changed uint64) {
	for g := range p.groups {
		group := &p.groups[g]
		symbol := 0
		for i := group.first; i < group.last; i++ {
			u := &p.units[i]
			if u.kind == unitAlways {
				continue
			}
			bit := u.changed(values, past.Base)
			changed |= bit << (i & 63)
			digit := 1
			switch u.kind {
			case unitRotation:
				digit += (int(values[u.index]) - u.expectedLargest(p, i, past, f)) & 3
			case unitPosition:
				digit += f.signs(values[u.index:], u.max)
			}
			symbol = symbol*u.radix + digit&-int(bit)
		}
		if c.observer != nil {
			c.observer.reportHead(p, g, f.context, symbol)
		}
		group.heads[f.context].write(w, symbol, 0, 0)
	}
	return changed
}

// signs returns the signs of the position residuals that the head carries: bit i is 1 if
// the residual of axis i is negative. A head's code takes at least one bit, more than a
// likely head is worth: signs in the head use that bit. A negative residual -1-n is then
// written as the magnitude n.
func (f *prediction) signs(values []uint32, most uint32) (signs int) {
	for i := range headSigns {
		signs |= int(uint64(ringDifference(values[i], f.position[i], most))>>63) << i
	}
	return signs
}

// expectedLargest returns the index of the rotation component that is expected to be the
// largest: from the prediction for the component's rotation, from the baseline for any
// other rotation.
func (u *unit) expectedLargest(p *part, i int, past *Past, f *prediction) int {
	if i == p.rotation {
		return f.largest
	}
	return int(past.Base[u.index] & 3)
}

// expectedRotation returns the expected rotation of a unit: the prediction for the
// component's rotation, the baseline for any other rotation.
func (u *unit) expectedRotation(p *part, i int, past *Past, f *prediction) rotation {
	if i == p.rotation {
		return f.rotation
	}
	return u.rotation(past.Base[u.index])
}

// appendUnit writes the value of a changed unit.
func (c *Codec) appendUnit(w *bitio.Writer, p *part, j int, values []uint32, past *Past, f *prediction) {
	u := &p.units[j]
	missed, signed := &f.missed, 0
	switch u.kind {
	case unitPosition:
		f.expectPosition()
		signed, values = headSigns, values[u.index:][:3]
	case unitRotation:
		packed := values[u.index]
		f.expectRotation(u.expectedRotation(p, j, past, f), int(packed&3), u.bits)
		three := [3]uint32{packed >> 2 & u.max, packed >> (2 + u.bits) & u.max, packed >> (2 + 2*u.bits) & u.max}
		missed, values = &f.rotationMissed, three[:]
	case unitVector, unitNumber:
		f.expectNumbers(u, past)
		values = values[u.index:][:u.values]
	default:
		rowschema.AppendField(w, &u.fields[0], values)
		return
	}
	if c.observer != nil {
		c.observer.reportResiduals(u, signed, values, *missed, f)
	}
	*missed = u.appendResiduals(w, signed, values, *missed, &f.residuals)
}

// Read reads into row a row that Append wrote. row.Values must have the schema's length and
// not overlap past; row.Mask and row.Owned must be set. Values of absent components and
// fields are copied from past, where they are zero. After an error, the contents of row are
// undefined.
func (c *Codec) Read(r *bitio.Reader, row *rowschema.Row, past *Past) error {
	if past == nil {
		c.layout.ReadFields(r, row)
		return wire.Malformed(r.Err())
	}
	copy(row.Values, past.Base)
	return c.ReadOver(r, row, past)
}

// ReadOver is like Read, for a row whose Values hold a copy of past.Base already. past.Base
// must not be nil.
func (c *Codec) ReadOver(r *bitio.Reader, row *rowschema.Row, past *Past) error {
	var f prediction
	f.ratio = past.ratio()
	parts := c.partsOf(row.Owned)
	for i := range parts {
		if row.Mask>>i&1 != 0 {
			c.readPart(r, &parts[i], row.Values, past, &f)
		}
	}
	return wire.Malformed(r.Err())
}

// headSymbols holds the symbols of a component's heads: at most one per unit.
type headSymbols [wire.MaxFieldsPerComponent]uint8

// digit returns the unit's digit in the symbol of its group.
func (u *unit) digit(symbols *headSymbols) int {
	return int(u.digits[symbols[u.group&(len(symbols)-1)]&(maxSymbols-1)])
}

// readPart reads a component: its heads, then the units that changed.
func (c *Codec) readPart(r *bitio.Reader, p *part, values []uint32, past *Past, f *prediction) {
	if p.needsPrediction() {
		c.predict(p, past, f)
	}
	var symbols headSymbols
	changed := p.always
	for g := range p.groups {
		group := &p.groups[g]
		symbol := group.heads[f.context].read(r) & (maxSymbols - 1)
		symbols[g&(len(symbols)-1)] = uint8(symbol)
		changed |= group.changed[symbol]
	}
	for ; changed != 0; changed &= changed - 1 {
		j := bits.TrailingZeros64(changed)
		switch u := &p.units[j]; u.kind {
		case unitBool:
			values[u.index] ^= 1
		case unitPosition:
			f.expectPosition()
			f.missed = u.readResiduals(r, headSigns, u.digit(&symbols)-1, values[u.index:][:3], f.missed, f)
		case unitRotation:
			largest := (u.expectedLargest(p, j, past, f) + u.digit(&symbols) - 1) & 3
			f.expectRotation(u.expectedRotation(p, j, past, f), largest, u.bits)
			var three [3]uint32
			f.rotationMissed = u.readResiduals(r, 0, 0, three[:], f.rotationMissed, f)
			values[u.index] = uint32(largest) | three[0]<<2 | three[1]<<(2+u.bits) | three[2]<<(2+2*u.bits)
		case unitVector, unitNumber:
			f.expectNumbers(u, past)
			f.missed = u.readResiduals(r, 0, 0, values[u.index:][:u.values], f.missed, f)
		default:
			rowschema.ReadField(r, &u.fields[0], values)
		}
	}
}
