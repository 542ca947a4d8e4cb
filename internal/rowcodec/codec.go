package rowcodec

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Codec encodes and decodes rows of a schema. It predicts each field from the row's
// past and writes the difference in a Huffman code selected by how accurate such a
// prediction usually is. The codes come from Tables and never change, so the bits of
// a row depend only on the row and its past: they are encoded once, as a chunk, and
// copied for every receiver with that baseline. A Codec is read-only and may be
// shared.
type Codec struct {
	schema   *schema.Schema
	tables   *Tables
	parts    []part    // plans for receivers that own the entity
	public   []part    // plans for other receivers: without owner fields
	observer *Observer // set by Observed, otherwise nil
}

// New returns the codec of s with tables t. The schema must be complete and must
// have passed CheckRows.
func New(s *schema.Schema, t *Tables) *Codec {
	c := &Codec{schema: s, tables: t}
	for i := range s.Components() {
		p := c.planPart(i, true)
		c.parts = append(c.parts, p)
		if s.OwnedMask()>>i&1 != 0 {
			p = c.planPart(i, false)
		}
		c.public = append(c.public, p)
	}
	return c
}

// planPart plans component i, for owners or for other receivers.
func (c *Codec) planPart(i int, owner bool) part {
	p := planPart(c.schema, i, owner)
	p.set, p.zones = c.tables.setOf(p.shape), c.tables.zoneBoundsOf(p.shape)
	for g := range p.groups {
		p.groups[g].heads = c.tables.headsOf(p.shape, g, p.groups[g].symbols)
	}
	return p
}

// partsOf returns the plans for rows whose receiver owns the entity, or does not.
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
func (c *Codec) Schema() *schema.Schema { return c.schema }

// Tables returns the tables that the codes come from.
func (c *Codec) Tables() *Tables { return c.tables }

// Residuals are grouped into lanes by the field they belong to. Each lane has its
// own codes.
const (
	lanePosition = 0 // lanes 0 to 2: the axes
	laneRotation = 3 // lanes 3 to 5: the three smaller components, in order
	laneLinear   = 6 // predicted numbers
	laneNumber   = 7
	Lanes        = 8
	Scales       = 32 // codes per lane, by the expected size of a residual
	headSigns    = 2  // the first lanes, whose signs the head carries
)

// Symbols of a residual: magnitudes 0 to 7, then two per power of two, then the
// escape, which is followed by the number itself.
const (
	exact         = 8
	largestPower  = 19
	symbolEscape  = exact + 2*(largestPower-2)
	ResidualCodes = symbolEscape + 1
)

// bucket returns the symbol of a magnitude and the number of its low bits that follow.
func bucket(m uint64) (symbol int, low uint) {
	n := uint(bits.Len64(m|exact)) - 1
	if n > largestPower {
		return symbolEscape, 0
	}
	symbol, low = exact+int(n-3)*2+int(m>>((n-1)&63)&1), n-1
	if m < exact { // unpredictable, so written to compile to conditional moves
		symbol = int(m)
	}
	if m < exact {
		low = 0
	}
	return symbol, low
}

// magnitudeOf returns the smallest magnitude of a symbol and the number of low bits
// that follow.
func magnitudeOf(symbol int) (least uint64, low uint) {
	low = uint(symbol)/2 - 2
	top := uint64(2 | symbol&1)
	if symbol < exact { // unpredictable, so written to compile to conditional moves
		top = uint64(symbol)
	}
	if symbol < exact {
		low = 0
	}
	return top << (low & 63), low
}

// ringDifference returns now-was by the shorter way around the ring of the numbers
// 0 to most.
func ringDifference(now, was, most uint32) int64 {
	d, modulus := int64(now)-int64(was), int64(most)+1
	switch {
	case 2*d > modulus:
		return d - modulus
	case 2*d <= -modulus:
		return d + modulus
	}
	return d
}

// ringSum returns was+d in the ring of the numbers 0 to most.
func ringSum(was uint32, d int64, most uint32) uint32 {
	v, modulus := int64(was)+d, int64(most)+1
	v += modulus & (v >> 63)
	if v >= modulus {
		v -= modulus
	}
	return uint32(v)
}

// scale selects the code of a residual in a lane: the sum of the features, each times
// its weight in 1/256, rounded. Weights and features are packed in pairs, in opposite
// halves, so that the middle of the product of two uint64s is the sum of two products;
// the rest below it has at most 31 bits. Features changed by the previous residual
// come last because they are ready last.
func (f *prediction) scale(lane int) int {
	w, x := &f.weights[lane], &f.feature
	sum := w[0]*x[0] + w[3]*x[3] + w[4]*x[4] + w[5]*x[5] + w[2]*x[2] + w[1]*x[1]
	const half = 1<<31 + 1<<39
	return int(min(max(int64(sum+half)>>40, 0), Scales-1))
}

// Append writes row relative to past, or in full if past is nil. The reader must know
// row.Mask. Append returns the bits of each component.
func (c *Codec) Append(w *bitio.Writer, row schema.Row, past *Past) (shares schema.Shares) {
	var f prediction
	return c.append(w, row, past, &f)
}

// append is Append with scratch space for predictions, whose contents do not matter.
func (c *Codec) append(w *bitio.Writer, row schema.Row, past *Past, f *prediction) (shares schema.Shares) {
	if past == nil {
		return c.schema.AppendFields(w, row)
	}
	if invariants.Enabled {
		invariants.Checkf(len(row.Values) == c.schema.Values(), "row has %d values, its schema %d", len(row.Values), c.schema.Values())
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
	now, was := values[u.index:], base[u.index:]
	differ := now[0] ^ was[0]
	for i := 1; i < u.values; i++ {
		differ |= now[i] ^ was[i]
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

// signs returns the signs of the position residuals that the head carries: bit i is 1
// if the residual of axis i is negative. A residual's code takes at least one bit,
// more than a likely head is worth; carrying the signs in the head uses that bit. A
// negative residual -1-n is then written as the magnitude n.
func (f *prediction) signs(values []uint32, most uint32) (signs int) {
	for i := range headSigns {
		signs |= int(uint64(ringDifference(values[i], uint32(f.position[i]), most))>>63) << i
	}
	return signs
}

// expectedLargest returns the component of a rotation that is expected to be the
// largest: from the prediction for the component's rotation, from the baseline for
// any other.
func (u *unit) expectedLargest(p *part, i int, past *Past, f *prediction) int {
	if i == p.rotation {
		return f.largest
	}
	return int(past.Base[u.index] & 3)
}

// expectedRotation returns the rotation expected of a unit: the prediction for the
// component's rotation, the baseline for any other.
func (u *unit) expectedRotation(p *part, i int, past *Past, f *prediction) rotation {
	if i == p.rotation {
		return f.rotation
	}
	return u.rotation(past.Base[u.index])
}

// appendUnit writes the value of a changed unit.
func (c *Codec) appendUnit(w *bitio.Writer, p *part, j int, values []uint32, past *Past, f *prediction) {
	u := &p.units[j]
	switch u.kind {
	case unitPosition:
		for i := range 3 {
			f.setAxis(i)
			c.appendResidual(w, lanePosition+i, values[u.index+i], uint32(f.position[i]), u.max, u.bits, f)
		}
	case unitRotation:
		packed := values[u.index]
		var three [3]uint32
		three[0], three[1], three[2] = u.expectedRotation(p, j, past, f).packThree(int(packed&3), u.bits)
		packed >>= 2
		for i := range three {
			c.appendResidual(w, laneRotation+i, packed&u.max, three[i], u.max, u.bits, f)
			packed >>= u.bits
		}
	case unitVector, unitNumber:
		for i := range u.values {
			expected := u.predictNumber(i, past, f)
			c.appendResidual(w, u.lane, values[u.index+i], expected, u.max, u.bits, f)
		}
	default:
		u.fields[0].Append(w, values)
	}
}

// predictNumber predicts the i-th number of a unit other than the position or the
// rotation, and sets f's features for it.
func (u *unit) predictNumber(i int, past *Past, f *prediction) uint32 {
	expected, moves := u.predict(u.index+i, past, f.ratio)
	f.feature.set(featureSpeed, magnitude(moves))
	return expected
}

// recordMiss adds the magnitude of a residual to the features of the following ones.
func (f *prediction) recordMiss(far int64) {
	f.missed += far
	f.feature.set(featureMissed, magnitude(f.missed))
}

// recordRotationMiss is recordMiss for a residual of a rotation.
func (f *prediction) recordRotationMiss(far int64) {
	f.rotationMissed += far
	f.feature.set(featureRotationMissed, magnitude(f.rotationMissed))
}

// appendResidual writes now as its difference from expected in the ring 0 to most.
func (c *Codec) appendResidual(w *bitio.Writer, lane int, now, expected, most uint32, width uint, f *prediction) {
	d := ringDifference(now, expected, most)
	sign := uint64(d >> 63)
	m := (uint64(d) ^ sign) - sign
	if lane < headSigns {
		m, sign = uint64(d)^sign, 0
	}
	if c.observer != nil {
		c.observer.reportResidual(lane, m, d, f)
	}
	code := &f.set.codes[lane][f.scale(lane)]
	if lane >= laneRotation && lane < laneRotation+3 {
		f.recordRotationMiss(absolute(d))
	} else {
		f.recordMiss(absolute(d))
	}
	symbol, low := bucket(m)
	if symbol == symbolEscape {
		code.write(w, symbol, uint64(now), width)
		return
	}
	extra, n := m&(1<<(low&63)-1), low
	if lane >= headSigns {
		// The sign follows, except for 0.
		extra |= (sign & 1) << (low & 63)
		n += uint(-m >> 63)
	}
	code.write(w, symbol, extra, n)
}

// Read reads into row what Append wrote. row.Values has the schema's length and must
// not overlap past; row.Mask and row.Owned must be set. Values of absent components and
// fields are copied from past, where they are zero. After an error, the contents of
// row are undefined.
func (c *Codec) Read(r *bitio.Reader, row *schema.Row, past *Past) error {
	if past == nil {
		c.schema.ReadFields(r, row)
		return wire.Malformed(r.Err())
	}
	copy(row.Values, past.Base)
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

// readPart reads a component: its heads, then the units that changed.
func (c *Codec) readPart(r *bitio.Reader, p *part, values []uint32, past *Past, f *prediction) {
	if p.needsPrediction() {
		c.predict(p, past, f)
	}
	var symbols [wire.MaxFieldsPerComponent]uint8 // one per head; there are no more heads than units
	changed := p.always
	for g := range p.groups {
		group := &p.groups[g]
		symbol := group.heads[f.context].read(r)
		symbols[g&(len(symbols)-1)] = uint8(symbol)
		changed |= group.changed[symbol]
	}
	for ; changed != 0; changed &= changed - 1 {
		j := bits.TrailingZeros64(changed)
		switch u := &p.units[j]; u.kind {
		case unitBool:
			values[u.index] ^= 1
		case unitPosition:
			u.readPosition(r, p.digit(&symbols, j), values, f)
		case unitRotation:
			largest := (u.expectedLargest(p, j, past, f) + p.digit(&symbols, j) - 1) & 3
			values[u.index] = u.readRotation(r, largest, u.expectedRotation(p, j, past, f), f)
		case unitVector, unitNumber:
			u.readNumbers(r, values, past, f)
		default:
			u.fields[0].Read(r, values)
		}
	}
}

// readPosition reads the residuals of a position. digit carries the signs.
func (u *unit) readPosition(r *bitio.Reader, digit int, values []uint32, f *prediction) {
	values = values[u.index:][:3]
	signs := digit - 1
	for i := range values {
		f.setAxis(i)
		sign := signFollows
		if i < headSigns {
			sign = -int64(signs >> i & 1)
		}
		code := &f.set.codes[lanePosition+i][f.scale(lanePosition+i)]
		v, far := u.readResidual(r, i, code, uint32(f.position[i]), sign)
		values[i] = v
		f.recordMiss(far)
	}
}

// readRotation reads a rotation whose largest component is known.
func (u *unit) readRotation(r *bitio.Reader, largest int, predicted rotation, f *prediction) uint32 {
	var three [3]uint32
	three[0], three[1], three[2] = predicted.packThree(largest, u.bits)
	packed, at := uint32(largest), uint(2)
	for i, expected := range three {
		code := &f.set.codes[laneRotation+i][f.scale(laneRotation+i)]
		v, far := u.readResidual(r, 0, code, expected, signFollows)
		packed |= v << (at & 31)
		at += u.bits
		f.recordRotationMiss(far)
	}
	return packed
}

// readNumbers reads the numbers of a vector or a single number.
func (u *unit) readNumbers(r *bitio.Reader, values []uint32, past *Past, f *prediction) {
	for i := range u.values {
		expected := u.predictNumber(i, past, f)
		v, far := u.readResidual(r, i, &f.set.codes[u.lane][f.scale(u.lane)], expected, signFollows)
		values[u.index+i] = v
		f.recordMiss(far)
	}
}

// signFollows, in place of a sign of 0 or -1, means that the sign is read from the
// bits of the residual.
const signFollows int64 = 1

// readResidual reads a number of the unit's i-th field and returns it with the
// magnitude of its residual. One Peek covers the symbol, its low bits and the sign.
func (u *unit) readResidual(r *bitio.Reader, i int, code *code, expected uint32, sign int64) (v uint32, far int64) {
	ahead := r.Peek()
	e := code.lookup(ahead)
	n, low := e.bits(), e.low()
	if e.value() == entryEscape {
		r.Skip(n)
		return u.readEscaped(r, i, expected)
	}
	ahead >>= n
	far = int64(e.value()<<low | ahead&(1<<low-1))
	n += low
	d := far
	if sign == signFollows {
		sign = -int64(ahead >> low & 1)
		n += uint(uint64(-far) >> 63) // 0 has no sign
		d = (d ^ sign) - sign
	} else {
		d ^= sign
		far -= sign
	}
	r.Skip(n)
	if 2*far > int64(u.max)+1 {
		return u.failOutOfRange(r, i, d)
	}
	return ringSum(expected, d, u.max), far
}

// readEscaped reads a number written in full.
func (u *unit) readEscaped(r *bitio.Reader, i int, expected uint32) (v uint32, far int64) {
	v = uint32(r.Read(u.bits))
	if v > u.max {
		r.Fail("%s is %d, at most %d is allowed", u.fields[i].Path, v, u.max)
		return 0, 0
	}
	return v, absolute(ringDifference(v, expected, u.max))
}

// failOutOfRange records a residual that leaves the ring.
func (u *unit) failOutOfRange(r *bitio.Reader, i int, d int64) (uint32, int64) {
	r.Fail("%s differs by %d, among %d numbers", u.fields[i].Path, d, uint64(u.max)+1)
	return 0, 0
}
