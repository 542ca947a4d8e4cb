package rowcodec

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Codec writes rows of a schema in few bits, and reads them: each field as how
// it differs from what its past leads to expect, in Huffman codes that are
// chosen by how far off such a forecast usually is. The codes come from Tables
// and never change, so that the bits of a row depend on the row and its past
// alone: they are a chunk, which is made once and copied for whoever has the
// same baseline. A Codec is read-only and may be shared.
type Codec struct {
	schema   *schema.Schema
	tables   *Tables
	parts    []part    // of rows whose receivers own the entity, and
	public   []part    // of everybody else's: less what only owners are sent
	observer *Observer // nil but in codecs that Observed returned
}

// New makes the codec of a schema, which must be complete and has passed
// CheckRows, and tables.
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

// planPart makes the plan of component i, for owners or for everybody else.
func (c *Codec) planPart(i int, owner bool) part {
	p := planPart(c.schema, i, owner)
	p.set, p.ground = c.tables.setOf(p.shape), c.tables.groundOf(p.shape)
	for g := range p.groups {
		p.groups[g].heads = c.tables.headsOf(p.shape, g, p.groups[g].ways)
	}
	return p
}

// partsOf is the plan of rows of receivers that own the entity, or do not.
func (c *Codec) partsOf(owned bool) []part {
	if owned {
		return c.parts
	}
	return c.public
}

// Shapes are the shapes of the components that are coded by residuals, in order, once
// each.
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

// Schema is the schema that the rows are of.
func (c *Codec) Schema() *schema.Schema { return c.schema }

// Tables are those that the codes come from.
func (c *Codec) Tables() *Tables { return c.tables }

// Lanes of residuals: whose they are. Each has codes of its own.
const (
	lanePosition = 0 // and 1, 2: the axes
	laneRotation = 3 // and 4, 5: the smaller components, in order
	laneLinear   = 6 // predicted numbers
	laneNumber   = 7
	Lanes        = 8
	Scales       = 32 // codes of a lane, by the expected size of a residual
	headSigns    = 2  // lanes, the first ones, whose signs are in the head
)

// Symbols of a residual: magnitudes 0 to 7, then two for each power of two, then
// the number itself.
const (
	exact         = 8
	largestPower  = 19
	symbolEscape  = exact + 2*(largestPower-2)
	ResidualCodes = symbolEscape + 1
)

// bucket is the symbol of a magnitude, and how many of its low bits follow.
func bucket(m uint64) (symbol int, low uint) {
	n := uint(bits.Len64(m|exact)) - 1
	if n > largestPower {
		return symbolEscape, 0
	}
	symbol, low = exact+int(n-3)*2+int(m>>((n-1)&63)&1), n-1
	if m < exact { // as good as random, so a choice of values and not of ways
		symbol = int(m)
	}
	if m < exact {
		low = 0
	}
	return symbol, low
}

// magnitudeOf is the least magnitude of a symbol, and how many low bits follow.
func magnitudeOf(symbol int) (least uint64, low uint) {
	low = uint(symbol)/2 - 2
	top := uint64(2 | symbol&1)
	if symbol < exact { // as good as random, so a choice of values and not of ways
		top = uint64(symbol)
	}
	if symbol < exact {
		low = 0
	}
	return top << (low & 63), low
}

// ringDifference is now-was among the numbers 0 to max, which are a ring, the
// short way round.
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

func ringSum(was uint32, d int64, most uint32) uint32 {
	v, modulus := int64(was)+d, int64(most)+1
	v += modulus & (v >> 63)
	if v >= modulus {
		v -= modulus
	}
	return uint32(v)
}

// scale is the code for a residual of a lane, by what is known by then: 1/256 of
// the sum of the features, each times its weight, rounded. With the features of a
// pair crosswise to their weights, the middle of the product of the two words is
// the sum of their two products. What is below it has at most 31 bits. Features that
// the residual before has changed come last, for they are late.
func (f *forecast) scale(lane int) int {
	w, x := &f.weights[lane], &f.feature
	sum := w[0]*x[0] + w[3]*x[3] + w[4]*x[4] + w[5]*x[5] + w[2]*x[2] + w[1]*x[1]
	const half = 1<<31 + 1<<39
	return int(min(max(int64(sum+half)>>40, 0), Scales-1))
}

// Append writes row as it follows from past, or in full if past is nil.
// row.Mask is known to the reader. It returns what each component takes.
func (c *Codec) Append(w *bitio.Writer, row schema.Row, past *Past) (shares schema.Shares) {
	var f forecast
	return c.append(w, row, past, &f)
}

// append is Append with room for forecasts, which may hold anything.
func (c *Codec) append(w *bitio.Writer, row schema.Row, past *Past, f *forecast) (shares schema.Shares) {
	if past == nil {
		return c.schema.AppendFields(w, row)
	}
	if invariants.Enabled {
		invariants.Checkf(len(row.Words) == c.schema.Words(), "row has %d words, its schema %d", len(row.Words), c.schema.Words())
		invariants.Checkf(row.Mask>>len(c.parts) == 0, "row has components %b, its schema %d of them", row.Mask, len(c.parts))
		invariants.Checkf(past.Age > 0 && (past.Older == nil || past.Gap > 0), "row %d ticks after its baseline, that %d after one before", past.Age, past.Gap)
	}
	f.ratio = past.ratio()
	parts := c.partsOf(row.Owned)
	for i := range parts {
		if row.Mask>>i&1 == 0 {
			continue
		}
		p := &parts[i]
		from := w.Bits()
		if p.depends() {
			c.forecast(p, past, f)
		}
		if c.observer != nil {
			c.appendObserved(w, p, row.Words, past, f)
		} else {
			changed := c.appendHeads(w, p, row.Words, past, f)
			for rest := changed&^p.silent | p.always; rest != 0; rest &= rest - 1 {
				c.appendUnit(w, p, bits.TrailingZeros64(rest), row.Words, past, f)
			}
		}
		shares.Add(i, w.Bits()-from)
	}
	return shares
}

// changed says in one bit whether the unit has.
func (u *unit) changed(words, base []uint32) uint64 {
	now, was := words[u.word:], base[u.word:]
	differ := now[0] ^ was[0]
	for i := 1; i < u.words; i++ {
		differ |= now[i] ^ was[i]
	}
	return (uint64(differ) + 1<<32 - 1) >> 32
}

// appendHeads returns which of the units that have digits have changed, the i-th
// in bit i.
func (c *Codec) appendHeads(w *bitio.Writer, p *part, words []uint32, past *Past, f *forecast) (changed uint64) {
	for g := range p.groups {
		group := &p.groups[g]
		symbol := 0
		for i := group.first; i < group.last; i++ {
			u := &p.units[i]
			if u.kind == unitAlways {
				continue
			}
			bit := u.changed(words, past.Base)
			changed |= bit << (i & 63)
			digit := 1
			switch u.kind {
			case unitRotation:
				digit += (int(words[u.word]) - u.expectedLargest(p, i, past, f)) & 3
			case unitPosition:
				digit += f.signs(words[u.word:], u.wide)
			}
			symbol = symbol*u.ways + digit&-int(bit)
		}
		if c.observer != nil {
			c.observer.head(p, g, f.context, symbol)
		}
		group.heads[f.context].write(w, symbol, 0, 0)
	}
	return changed
}

// signs are those of the residuals of a position that its head tells of, an axis's
// at the bit of its number: 1 below zero. A code takes a bit at least, which is
// more than a head that says the usual thing is worth; with signs in it, it is not.
// In place of a magnitude there is then 0 for 0 and -1, 1 for 1 and -2, and so on.
func (f *forecast) signs(words []uint32, most uint32) (signs int) {
	for i := range headSigns {
		signs |= int(uint64(ringDifference(words[i], uint32(f.position[i]), most))>>63) << i
	}
	return signs
}

// expectedLargest is which component of a rotation is expected to be the largest:
// the forecast's for the component's rotation, the baseline's for any other.
func (u *unit) expectedLargest(p *part, i int, past *Past, f *forecast) int {
	if i == p.rotation {
		return f.largest
	}
	return int(past.Base[u.word] & 3)
}

// foreseen is what is expected of a rotation once the units before it are known:
// of the component's rotation the forecast, swerved if the position is one of
// them, and of any other the baseline.
func (u *unit) foreseen(p *part, i int, words []uint32, past *Past, f *forecast) rotation {
	switch {
	case i != p.rotation:
		return u.rotation(past.Base[u.word])
	case p.swerves():
		return f.swerved(place(words, p.units[p.position].word))
	}
	return f.turned
}

func (c *Codec) appendUnit(w *bitio.Writer, p *part, j int, words []uint32, past *Past, f *forecast) {
	u := &p.units[j]
	switch u.kind {
	case unitPosition:
		for i := range 3 {
			f.along(i)
			c.appendResidual(w, lanePosition+i, words[u.word+i], uint32(f.position[i]), u.wide, u.bits, f)
		}
	case unitRotation:
		word := words[u.word]
		var three [3]uint32
		three[0], three[1], three[2] = u.foreseen(p, j, words, past, f).packThree(int(word&3), u.bits)
		word >>= 2
		for i := range three {
			c.appendResidual(w, laneRotation+i, word&u.wide, three[i], u.wide, u.bits, f)
			word >>= u.bits
		}
	case unitVector, unitNumber:
		for i := range u.words {
			expected := u.expect(i, past, f)
			c.appendResidual(w, u.lane, words[u.word+i], expected, u.wide, u.bits, f)
		}
	default:
		u.fields[0].Append(w, words)
	}
}

// expect readies f for the i-th number of a unit that is no part of the position or
// rotation.
func (u *unit) expect(i int, past *Past, f *forecast) uint32 {
	expected, moves := u.forecast(u.word+i, past, f.ratio)
	f.feature.set(featureSpeed, magnitude(moves))
	return expected
}

// miss notes by how much a number missed its forecast, on which the scales of the
// next ones depend, and missTurning one of a rotation.
func (f *forecast) miss(far int64) {
	f.missed += far
	f.feature.set(featureMissed, magnitude(f.missed))
}

func (f *forecast) missTurning(far int64) {
	f.missTurn += far
	f.feature.set(featureMissTurn, magnitude(f.missTurn))
}

func (c *Codec) appendResidual(w *bitio.Writer, lane int, now, expected, most uint32, width uint, f *forecast) {
	d := ringDifference(now, expected, most)
	sign := uint64(d >> 63)
	m := (uint64(d) ^ sign) - sign
	if lane < headSigns {
		m, sign = uint64(d)^sign, 0
	}
	if c.observer != nil {
		c.observer.residual(lane, m, d, f)
	}
	code := &f.set.codes[lane][f.scale(lane)]
	if lane >= laneRotation && lane < laneRotation+3 {
		f.missTurning(absolute(d))
	} else {
		f.miss(absolute(d))
	}
	symbol, low := bucket(m)
	if symbol == symbolEscape {
		code.write(w, symbol, uint64(now), width)
		return
	}
	extra, n := m&(1<<(low&63)-1), low
	if lane >= headSigns {
		// And the sign, but for 0, which has none.
		extra |= (sign & 1) << (low & 63)
		n += uint(-m >> 63)
	}
	code.write(w, symbol, extra, n)
}

// Read reads what Append wrote into row, whose Words have the schema's length
// and are no part of past. row.Mask says which components it has, and row.Owned
// which fields; words of others are those of past, which has zeros. After an error row holds anything.
func (c *Codec) Read(r *bitio.Reader, row *schema.Row, past *Past) error {
	if past == nil {
		c.schema.ReadFields(r, row)
		return wire.Malformed(r.Err())
	}
	copy(row.Words, past.Base)
	var f forecast
	f.ratio = past.ratio()
	parts := c.partsOf(row.Owned)
	for i := range parts {
		if row.Mask>>i&1 != 0 {
			c.readPart(r, &parts[i], row.Words, past, &f)
		}
	}
	return wire.Malformed(r.Err())
}

// readPart reads a component: its heads, and then what they say has changed.
func (c *Codec) readPart(r *bitio.Reader, p *part, words []uint32, past *Past, f *forecast) {
	if p.depends() {
		c.forecast(p, past, f)
	}
	var symbols [wire.MaxFieldsPerComponent]uint8 // of the heads: no more than units
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
			words[u.word] ^= 1
		case unitPosition:
			u.readPosition(r, p.digit(&symbols, j), words, f)
		case unitRotation:
			largest := (u.expectedLargest(p, j, past, f) + p.digit(&symbols, j) - 1) & 3
			words[u.word] = u.readRotation(r, largest, u.foreseen(p, j, words, past, f), f)
		case unitVector, unitNumber:
			u.readNumbers(r, words, past, f)
		default:
			u.fields[0].Read(r, words)
		}
	}
}

// readPosition reads residuals against the forecast, with the signs that the head
// told.
func (u *unit) readPosition(r *bitio.Reader, digit int, words []uint32, f *forecast) {
	words = words[u.word:][:3]
	signs := digit - 1
	for i := range words {
		f.along(i)
		sign := signFollows
		if i < headSigns {
			sign = -int64(signs >> i & 1)
		}
		code := &f.set.codes[lanePosition+i][f.scale(lanePosition+i)]
		v, far := u.readResidual(r, i, code, uint32(f.position[i]), sign)
		words[i] = v
		f.miss(far)
	}
}

// readRotation reads a word whose largest component is known.
func (u *unit) readRotation(r *bitio.Reader, largest int, foreseen rotation, f *forecast) uint32 {
	var three [3]uint32
	three[0], three[1], three[2] = foreseen.packThree(largest, u.bits)
	word, at := uint32(largest), uint(2)
	for i, expected := range three {
		code := &f.set.codes[laneRotation+i][f.scale(laneRotation+i)]
		v, far := u.readResidual(r, 0, code, expected, signFollows)
		word |= v << (at & 31)
		at += u.bits
		f.missTurning(far)
	}
	return word
}

// readNumbers reads the numbers of a vector, or one.
func (u *unit) readNumbers(r *bitio.Reader, words []uint32, past *Past, f *forecast) {
	for i := range u.words {
		expected := u.expect(i, past, f)
		v, far := u.readResidual(r, i, &f.set.codes[u.lane][f.scale(u.lane)], expected, signFollows)
		words[u.word+i] = v
		f.miss(far)
	}
}

// signFollows stands in place of a sign, which is 0 or -1, if that is among the
// bits of the residual.
const signFollows int64 = 1

// readResidual reads a number of the unit's i-th field and returns how far it is
// from what was expected, too. It looks at the bits once: a symbol, its low bits
// and a sign are fewer than a look shows.
func (u *unit) readResidual(r *bitio.Reader, i int, code *code, expected uint32, sign int64) (v uint32, far int64) {
	ahead := r.Peek()
	e := code.first(ahead)
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
		n += uint(uint64(-far) >> 63) // 0 has none
		d = (d ^ sign) - sign
	} else {
		d ^= sign
		far -= sign
	}
	r.Skip(n)
	if 2*far > int64(u.wide)+1 {
		return u.refuse(r, i, d)
	}
	return ringSum(expected, d, u.wide), far
}

// readEscaped reads a number that is there in full.
func (u *unit) readEscaped(r *bitio.Reader, i int, expected uint32) (v uint32, far int64) {
	v = uint32(r.Read(u.bits))
	if v > u.wide {
		r.Fail("%s is %d, at most %d is allowed", u.fields[i].Path, v, u.wide)
		return 0, 0
	}
	return v, absolute(ringDifference(v, expected, u.wide))
}

func (u *unit) refuse(r *bitio.Reader, i int, d int64) (uint32, int64) {
	r.Fail("%s differs by %d, among %d numbers", u.fields[i].Path, d, uint64(u.wide)+1)
	return 0, 0
}

// Rows that moved between the two states that both sides know, and so are
// expected to have changed, are told of one after the other, in the order of
// their slots; the head of one that did not says so. Of the others only those
// that changed are told of, each after the number of those passed over.

// GapEnd is the symbol that says that no other row follows, and GapSymbol that of a
// gap.
const GapEnd = symbolEscape

func GapSymbol(gap uint32) int {
	symbol, _ := bucket(uint64(gap))
	return symbol
}

// AppendGap writes how many rows were passed over, below 2^20.
func (c *Codec) AppendGap(w *bitio.Writer, gap uint32) {
	symbol, low := bucket(uint64(gap))
	c.tables.gapCode.write(w, symbol, uint64(gap)&(1<<low-1), low)
}

// AppendEnd writes that no other row follows.
func (c *Codec) AppendEnd(w *bitio.Writer) { c.tables.gapCode.write(w, symbolEscape, 0, 0) }

// ReadGap reads what AppendGap or AppendEnd wrote.
func (c *Codec) ReadGap(r *bitio.Reader) (gap uint32, more bool) {
	e := c.tables.gapCode.first(r.Peek())
	r.Skip(e.bits())
	if e.value() == entryEscape || r.Err() != nil {
		return 0, false
	}
	return uint32(e.value()<<e.low() | r.Read(e.low())), true
}
