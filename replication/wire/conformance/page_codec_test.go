package conformance

// An independent decoder of coded rows, written from CODEC.md alone. It takes the tables
// from their file and the schema from its text, and must read all rows that package
// rowcodec writes.

import (
	"fmt"
	"math/bits"
	"slices"
)

// symbol reads one symbol of a canonical code.
func (s *pageDecoder) symbol(m *probe, lengths []byte) int {
	if m != nil && m.choose != nil {
		m.choose(s, lengths)
	}
	code, first := 0, 0
	for n := byte(1); n <= 12; n++ {
		code = code<<1 | int(s.read(1))
		first <<= 1
		for i := range lengths {
			symbol := i
			if m.is("equal lengths are ordered by symbol, descending") {
				symbol = len(lengths) - 1 - i
			}
			if lengths[symbol] == n {
				if code == first {
					return symbol
				}
				first++
			}
		}
	}
	s.fail("no symbol")
	return 0
}

// pagePast is a row's past, section 3.
type pagePast struct {
	base, older []uint32
	r           int64
	anchor      *[3][]uint32 // now, base, older
	anchored    int          // component to which the anchor applies
}

// ratio is r, section 3.
func (m *probe) ratio(age, gap int64) int64 {
	if m.is("r is not bounded") {
		return age << 16 / gap
	}
	if m.is("r is rounded") {
		return min((age<<16+gap/2)/gap, 32<<16)
	}
	return min(age<<16/gap, 32<<16)
}

func at(values []uint32, i int) vector {
	return vector{int64(values[i]), int64(values[i+1]), int64(values[i+2])}
}

// of returns the set that codes a shape.
func (t *codingTables) of(shape string) *codingSet {
	if set := t.ofShape[shape]; set != nil {
		return set
	}
	if t.is("the last set codes shapes without a set") {
		return t.sets[len(t.sets)-1]
	}
	return t.sets[0]
}

// predict predicts component i, section 5.
func (t *codingTables) predict(i int, p *codecPart, past *pagePast) (f prediction) {
	f.attached, f.zone = 3, int(t.or("zone starts at 0", 0, 3))
	f.feature[0] = t.or("feature 0 is 1", 1, 16)
	if past.anchored == i || t.is("the anchor is for all components") {
		f.anchor = past.anchor
	}
	f.motionOfParent(t, p)
	if p.position >= 0 {
		f.predictPosition(t, p, past)
	}
	margin := int(t.or("margin starts at 0", 0, 3))
	if p.rotation >= 0 {
		margin = f.predictRotation(t, p, past)
	}
	if f.moves > 0 {
		margin += 4 * (1 + t.step(f.moves-t.or("step of moves in place of moves - 1", 0, 1), 2, 8, t.or("moves: 32 is 16", 16, 32), 128))
	}
	f.context = 2 * margin
	if p.flag >= 0 && !t.is("the flag is not in the context") {
		f.context += int(past.base[p.flag])
	}
	t.cover("context %d", f.context)
	return f
}

// motionOfParent computes onward and before, section 4.
func (f *prediction) motionOfParent(t *codingTables, p *codecPart) {
	identity := quaternion{3: 1 << 14}
	f.onward, f.before = identity, identity
	a := f.anchor
	if a == nil || p.rotation < 0 {
		return
	}
	u := p.units[p.rotation]
	n := u.fields[0].n
	now, base := t.unpacked(a[0][u.index], n), t.unpacked(a[1][u.index], n)
	f.onward = t.product(now, base.conj())
	if t.is("onward is conj(base)·now") {
		f.onward = t.product(base.conj(), now)
	}
	if a[2] != nil {
		f.before = t.product(base, t.unpacked(a[2][u.index], n).conj())
		if t.is("before is from base to now") {
			f.before = f.onward
		}
	}
}

// predictPosition is step 2.
func (f *prediction) predictPosition(t *codingTables, p *codecPart, past *pagePast) {
	u := p.units[p.position]
	B := at(past.base, u.index)
	if past.older != nil {
		for i, d := range minus(B, at(past.older, u.index)) {
			f.own[i] = t.shift(t.mul(d, past.r), 8)
		}
	}
	own := t.size(f.own[:]...)
	if f.anchor != nil {
		f.follow(t, u, B, own, past)
	} else if t.is("feature 6 without an anchor") {
		f.feature[6] = t.mag(own >> 8)
	}
	f.feature[1] = t.mag(own >> 8)
	if g, ok := t.zoneBounds[p.shape]; ok {
		f.zone = t.step(B[g[0]], g[1], g[2])
		height := max(B[g[0]]-g[1+t.or("feature 10 is above the second bound", 1, 0)], 0)
		if t.is("feature 10 is a distance") {
			height = abs(B[g[0]] - g[1])
		}
		f.feature[10] = t.mag(height)
	}
	f.speed = t.step(own>>8, t.or("speed: 8 is 9", 9, 8), 40, t.or("speed: 160 is 161", 161, 160), t.or("speed: 500 is 512", 512, 500))
	if t.is("speed in 1/256") {
		f.speed = t.step(own, 8, 40, 160, 500)
	}
	t.cover("position: zone %d, attached %d, speed %d", f.zone, f.attached, f.speed)
	zone, attached, speed := f.zone, f.attached, f.speed
	switch {
	case t.is("positions ignore the zone"):
		zone = 3
	case t.is("positions ignore attached"):
		attached = 3
	case t.is("positions ignore the speed"):
		speed = 0
	}
	for i, w := range t.of(p.shape).position[zone][attached][speed] {
		if t.is("positions ignore the constant") {
			w[3] = 0
		}
		if t.is("positions ignore the mismatch") {
			w[2] = 0
		}
		if t.is("positions ignore the parent") {
			w[1] = 0
		}
		sum := t.mul(f.own[i], w[0]) + t.mul(f.followed[i], w[1]) + t.mul(f.mismatch[i], w[2]) + w[3]<<t.or("the constant is in 1/256", 8, 11)
		v := B[i] + (sum+t.or("positions are not rounded", 0, 1<<15))>>16
		f.expected[i] = t.inRange(v, int64(u.fields[0].largest), "positions are in a ring")
	}
	f.moves = own >> 8
	if t.is("moves does not count the position") {
		f.moves = 0
	}
}

// inRange clamps v to 0 .. N.
func (m *probe) inRange(v, largest int64, inRing string) int64 {
	clamped := min(max(v, 0), largest)
	if v != clamped {
		m.cover("%s %t", inRing, v < 0)
		if m.is(inRing) {
			return (v%(largest+1) + largest + 1) % (largest + 1)
		}
	}
	return clamped
}

// follow is step 2 with an anchor.
func (f *prediction) follow(t *codingTables, u codecUnit, B vector, own int64, past *pagePast) {
	a := f.anchor
	arm := t.turn(f.onward, minus(B, at(a[1], u.index)))
	for i, d := range minus(at(a[0], u.index), B) {
		f.followed[i] = d*256 + arm[i]
	}
	if t.is("followed is without the turn") {
		for i, d := range minus(at(a[0], u.index), at(a[1], u.index)) {
			f.followed[i] = d * 256
		}
	}
	if past.older == nil {
		t.cover("an anchor without older")
	}
	if past.older != nil {
		arm = t.turn(f.before, minus(at(past.older, u.index), at(a[2], u.index)))
		for i, d := range minus(B, at(a[1], u.index)) {
			f.mismatch[i] = t.shift(t.mul(d*256-arm[i], past.r), 16)
			if t.is("mismatch is not extrapolated") {
				f.mismatch[i] = d*256 - arm[i]
			}
			if t.is("mismatch is from older to base") {
				f.mismatch[i] = -f.mismatch[i]
			}
		}
	}
	size := t.size(f.mismatch[:]...)
	if past.older != nil || t.is("attached without older") {
		f.attach(t, size, own)
	}
	f.feature[2] = t.mag(size >> 8)
	relative := minus(f.followed, f.own)
	f.feature[6] = t.mag(t.size(relative[:]...) >> 8)
}

// attach sets attached.
func (f *prediction) attach(t *codingTables, m, s int64) {
	below := func(bound int64) bool { return m < bound || m == bound && t.is("attached at a bound") }
	third := s * 80 / 100
	if t.is("attached 2 has an addend") {
		third += 3072
	}
	switch {
	case below(s*15/100 + t.or("attached: 768 is 0", 0, 768)):
		f.attached = 0
	case below(s*40/100 + t.or("attached: 1536 is 768", 768, 1536)):
		f.attached = 1
	case below(third):
		f.attached = 2
	}
	if t.is("attached is never 3 with an anchor") {
		f.attached = min(f.attached, 2)
	}
}

// predictRotation is step 3. It returns the margin.
func (f *prediction) predictRotation(t *codingTables, p *codecPart, past *pagePast) (margin int) {
	u := p.units[p.rotation]
	n := u.fields[0].n
	q := t.unpacked(past.base[u.index], n)
	f.facing = q
	var turns int64
	if u.fields[0].linear || t.is("all rotations are predicted") {
		var ride, twist quaternion
		o := q
		if past.older != nil {
			o = t.unpacked(past.older[u.index], n)
		}
		turn := t.near(t.product(t.power(t.product(q, o.conj()), past.r), q), q).less(q)
		if t.is("turns are applied on the right") {
			turn = t.near(t.product(q, t.power(t.product(q, o.conj()), past.r)), q).less(q)
		}
		if f.anchor != nil {
			ride = t.near(t.product(f.onward, q), q).less(q)
			if past.older != nil {
				twist = q.less(t.near(t.product(f.before, o), q))
				for i, d := range twist {
					twist[i] = t.shift(d*past.r, 16)
					if t.is("twist is not extrapolated") {
						twist[i] = d
					}
				}
			}
		}
		relative := turn.less(ride)
		if f.anchor != nil || t.is("feature 11 without an anchor") {
			f.feature[11] = t.mag(t.size(relative[:]...) >> 3)
		}
		f.feature[9] = t.mag(t.size(twist[:]...) >> 3)
		turns = t.size(turn[:]...)
		kind := t.step(turns, 100, t.or("turns: 500 is 512", 512, 500), 2000, t.or("turns: 5000 is 8000", 8000, 5000))
		if t.is("speed selects the weights of rotations") {
			kind = f.speed
		}
		t.cover("rotation: zone %d, attached %d, turns %d", f.zone, f.attached, kind)
		zone, attached := f.zone, f.attached
		switch {
		case t.is("rotations ignore the zone"):
			zone = 3
		case t.is("rotations ignore attached"):
			attached = 3
		}
		w := t.of(p.shape).rotation[zone][attached][kind]
		if t.is("rotations ignore the parent") {
			w[1] = 0
		}
		if t.is("rotations ignore the twist") {
			w[2] = 0
		}
		for i := range f.facing {
			f.facing[i] += (turn[i]*w[0] + ride[i]*w[1] + twist[i]*w[2] + t.or("rotations are not rounded", 0, 128)) >> 8
		}
		f.facing = t.unit(f.facing, q)
	}
	f.feature[4] = t.mag(turns >> t.or("feature 4 is mag(turns)", 0, 3))
	if !t.is("moves does not count turns") {
		f.moves += turns >> 4
	}
	return f.lead(t)
}

// lead finds the largest component, and returns the margin.
func (f *prediction) lead(t *codingTables) (margin int) {
	var sizes []int64
	for i, v := range f.facing {
		most := abs(f.facing[f.largest])
		if abs(v) == most && i > f.largest {
			t.cover("two largest components")
		}
		sizes = append(sizes, abs(v))
		if abs(v) > most || abs(v) == most && t.is("the last of the largest components") {
			f.largest = i
		}
		if t.is("the largest component has a sign") && v > f.facing[f.largest] {
			f.largest = i
		}
	}
	slices.Sort(sizes)
	second := sizes[2]
	if t.is("margin to the smallest component") {
		second = sizes[0]
	}
	return t.step(sizes[3]-second, 100, t.or("margin: 400 is 512", 512, 400), 1600)
}

// partReader reads the bits of one component, section 6.
type partReader struct {
	*codingTables
	s                  *pageDecoder
	p                  *codecPart
	past               *pagePast
	f                  prediction
	out                []uint32
	missed, missedTurn int64
}

// codedRow reads a row, section 6.
func (s *pageDecoder) codedRow(t *codingTables, parts []codecPart, mask uint32, past *pagePast, out []uint32) {
	clear(out)
	copy(out, past.base)
	var last partReader
	for i := range parts {
		if mask>>i&1 == 0 {
			continue
		}
		p := &parts[i]
		r := partReader{codingTables: t, s: s, p: p, past: past, f: t.predict(i, p, past), out: out}
		if t.is("sums are for the whole row") {
			r.missed, r.missedTurn = last.missed, last.missedTurn
			r.f.feature[3], r.f.feature[5] = t.mag(r.missed), t.mag(r.missedTurn)
		}
		if p.position < 0 && t.is("features are for the whole row") {
			r.f.feature = last.f.feature
		}
		r.part()
		last = r
	}
}

// part reads the heads and the units of a component.
func (r *partReader) part() {
	digits, read := make([]int, len(r.p.units)), 0
	for g, span := range r.p.groups {
		r.head(g, digits)
		if r.is("units follow the head of their group") {
			r.units(span[0], span[1], digits)
			read = span[1]
		}
	}
	r.units(read, len(r.p.units), digits)
}

// units reads the units that have bits.
func (r *partReader) units(first, last int, digits []int) {
	for j := first; j < last; j++ {
		u := r.p.units[j]
		r.cover("digit %s %d", u.kind, digits[j])
		if digits[j] == 0 && (u.kind != "a" || r.is("always units have a digit")) {
			continue
		}
		before := slices.Clone(r.out)
		r.unit(j, digits[j])
		if u.kind != "a" && slices.Equal(before, r.out) {
			r.cover("unchanged %s", u.kind)
		}
	}
}

// head reads the head of group g: the digits of its units.
func (r *partReader) head(g int, digits []int) {
	first, last, symbols := r.p.groups[g][0], r.p.groups[g][1], 1
	for _, u := range r.p.units[first:last] {
		symbols *= u.radix
	}
	key := fmt.Sprint(r.p.shape, g)
	if !r.is("heads of other sizes count") {
		key += fmt.Sprint(" ", symbols)
	}
	head := r.heads[key][r.f.context]
	if head == nil {
		head = r.commonHead(symbols)
	}
	symbol := r.s.symbol(r.probe, head)
	r.cover("group %d of %s", g, r.p.shape)
	for i := range last - first {
		j := last - 1 - i
		if r.is("the first unit is least significant") {
			j = first + i
		}
		digits[j] = symbol % r.p.units[j].radix
		symbol /= r.p.units[j].radix
	}
}

// commonHead returns the code of groups without a head.
func (r *partReader) commonHead(symbols int) []byte {
	head := []byte{1}
	k := 1 << (bits.Len(uint(symbols-1)) - 1)
	for n := range symbols - 1 {
		length := byte(bits.Len(uint(k)))
		if n >= symbols-1-2*(symbols-1-k) && !r.is("common heads: the lowest symbols are longer") ||
			n < 2*(symbols-1-k) && r.is("common heads: the lowest symbols are longer") {
			length++
		}
		head = append(head, length)
	}
	return head
}

// unit reads the bits of unit j.
func (r *partReader) unit(j, digit int) {
	u := r.p.units[j]
	one := u.fields[0]
	switch u.kind {
	case "b":
		r.out[u.index] = 1 - r.out[u.index]
		if r.is("a changed bool is 1") {
			r.out[u.index] = 1
		}
	case "p":
		for axis := range 3 {
			r.f.feature[7] = r.mag(abs(r.f.own[axis]) >> 8)
			r.f.feature[8] = r.mag(abs(r.f.mismatch[axis]) >> 8)
			if r.is("features 7 and 8 are of all axes") {
				r.f.feature[7] = r.mag(r.size(r.f.own[:]...) >> 8)
			}
			sign := axis
			if r.is("the digit's signs are s1, s0") {
				sign = 1 - axis
			}
			negative := (digit - 1) >> max(sign, 0) & 1
			r.out[u.index+axis] = r.residual(axis, r.f.expected[axis], one, negative)
		}
		if r.is("features 7 and 8 are of the position only") {
			r.f.feature[7], r.f.feature[8] = 0, 0
		}
	case "q":
		r.rotation(j, digit)
	case "v", "n":
		for n, fd := range u.fields {
			r.number(u.index+n, fd)
		}
	default:
		r.s.full(pageComponent{}, one, r.out[u.index:u.index+one.values])
	}
}

// rotation reads a rotation unit.
func (r *partReader) rotation(j, digit int) {
	u := r.p.units[j]
	n := u.fields[0].n
	most := int64(1)<<n - 1
	e, q := r.f.largest, r.f.facing
	if j != r.p.rotation && !r.is("other rotations follow the first") {
		e, q = int(r.past.base[u.index]&3), r.unpacked(r.past.base[u.index], n)
	}
	largest := (e + digit - 1) & 3
	if r.is("the digit is the largest component") {
		largest = digit - 1
	}
	if q[largest] < 0 && !r.is("the prediction is not negated") {
		q = q.negated()
	}
	packed, lane := uint32(largest), 3
	for i, v := range q {
		if i == largest {
			continue
		}
		expected := r.quotient(v*most+(most+r.or("rotations expect v·N + N·11585", 0, 1))*11585, 23170)
		if r.is("expected rotations are not clamped") {
			expected = (expected%(most+1) + most + 1) % (most + 1)
		}
		expected = r.inRange(expected, most, "rotations are in a ring")
		field := pageField{n: n, largest: uint64(most)}
		packed |= r.residual(lane, expected, field, 0) << (2 + (lane-3)*n)
		lane++
	}
	r.out[u.index] = packed
}

// number reads a number of a vector or number unit.
func (r *partReader) number(index int, fd pageField) {
	ring := int64(fd.largest) + 1
	base, lane := int64(r.past.base[index]), 7
	expected := base
	var move int64
	if r.past.older != nil {
		d := r.short(int64(r.past.older[index]), base, ring)
		move = r.shift(r.mul(d, r.past.r), 16)
	}
	if fd.linear || r.is("all numbers are predicted") {
		expected += move
		if fd.kind == "range" {
			expected = r.inRange(expected, ring-1, "predicted ranges are in a ring")
		} else if expected < 0 || expected >= ring {
			r.cover("predicted around the ring %t", expected < 0)
			expected = (expected%ring + ring) % ring
			if r.is("predicted numbers are clamped") {
				expected = min(max(base+move, 0), ring-1)
			}
		}
	}
	if fd.linear != r.is("lanes 6 and 7 are exchanged") {
		lane = 6
	}
	if fd.linear || !r.is("feature 1 of numbers that are not linear stays") {
		r.f.feature[1] = r.mag(abs(move))
		if r.is("feature 1 of numbers is mag(|move| >> 8)") {
			r.f.feature[1] = r.mag(abs(move) >> 8)
		}
	}
	r.out[index] = r.residual(lane, expected, fd, 0)
}

// scale selects a code.
func (r *partReader) scale(lane int) int64 {
	attached, speed := r.f.attached, r.f.speed
	if r.is("scales ignore attached") {
		attached = 3
	}
	if r.is("scales ignore speed") {
		speed = 0
	}
	r.cover("lane %d, attached %d, speed %d", lane, attached, speed)
	sum := r.or("scales are not rounded", 0, 128)
	for i, w := range r.of(r.p.shape).scale[lane][attached][speed] {
		if !r.ignores(i) {
			sum += w * r.f.feature[i]
		}
	}
	scale := min(max(sum>>8, 0), 31)
	if r.is("scales are modulo 32") {
		scale = sum >> 8 & 31
	}
	r.cover("lane %d, scale %d", lane, scale)
	return scale
}

// magnitude reads the bits after a residual's symbol below 42.
func (r *partReader) magnitude(symbol, lane, negative int) int64 {
	d := int64(symbol)
	if symbol >= 8 {
		k := (symbol-8)/2 + 2
		low := r.s.read(k)
		if r.is("low bits come highest first") {
			low = bits.Reverse64(low) >> (64 - k)
		}
		d = int64(2+(symbol-8)%2)<<k + int64(low)
	}
	switch {
	case lane < 2 && negative == 1:
		d = -1 - d
		if r.is("negative magnitudes are absolute values") {
			d++
		}
	case lane < 2:
	case (d != 0 || r.is("0 has a sign")) && r.s.read(1) == 1:
		d = -d
		if r.is("lanes 2 to 7 code one less") {
			d--
		}
	}
	return d
}

// residual reads a residual and returns the number.
func (r *partReader) residual(lane int, expected int64, fd pageField, negative int) uint32 {
	ring := int64(fd.largest) + 1
	t := r.of(r.p.shape)
	symbol := r.s.symbol(r.probe, t.residuals[lane][r.scale(lane)])
	r.cover("lane %d, symbol %d", lane, symbol)
	var d int64
	if symbol == 42 {
		d = r.escaped(expected, ring, fd)
	} else {
		d = r.magnitude(symbol, lane, negative)
	}
	if 2*abs(d) > ring && !r.is("residuals are not bounded") || 2*abs(d) >= ring && r.is("half a ring is an error") {
		r.s.fail("%d in a ring of %d", d, ring)
	}
	if 2*abs(d) == ring {
		r.cover("half a ring %t", d < 0)
	}
	r.addMiss(lane, symbol, abs(d))
	v := expected + d
	if v < 0 || v >= ring {
		r.cover("lane %d around the ring %t", lane, v < 0)
		if r.is("sums of residuals are clamped") {
			return uint32(min(max(v, 0), ring-1))
		}
	}
	return uint32((v%ring + ring) % ring)
}

// escaped reads a number in full, and returns its residual.
func (r *partReader) escaped(expected, ring int64, fd pageField) int64 {
	v := int64(r.s.read(fd.n))
	if v >= ring && !r.is("numbers above N are read") {
		r.s.fail("%d above %d", v, ring-1)
	}
	if r.is("a sign follows symbol 42") {
		r.s.read(1)
	}
	d := r.short(expected, v, ring)
	if abs(d) < 8 {
		r.cover("symbol 42 without need")
	}
	if r.is("symbol 42 is followed by the residual") {
		d = v
	}
	return d
}

// addMiss adds a residual to its sum.
func (r *partReader) addMiss(lane, symbol int, far int64) {
	if symbol == 42 && r.is("symbol 42 is not summed") {
		return
	}
	if lane >= 3 && lane <= 5 && !r.is("there is one sum") {
		r.missedTurn += far
		if r.is("feature 5 is the last residual") {
			r.missedTurn = far
		}
		r.f.feature[5] = r.mag(r.missedTurn)
		return
	}
	r.missed += far
	if lane < 3 && r.is("positions are not summed") {
		r.missed -= far
	}
	r.f.feature[3] = r.mag(r.missed)
}
