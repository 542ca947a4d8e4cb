package rowcodec

import "math"

// fractionBits is how fine displacements are: 1/256 of a quantum.
const fractionBits = 8

// Past is what both sides know of a row when a state of it is coded.
type Past struct {
	// Base is the baseline: words of the row as the receiver is known to have
	// them.
	Base []uint32
	// Older is a state before the baseline, from which it is known how the row
	// moves; nil if there is none.
	Older []uint32
	// Age is how many ticks the state is newer than Base, Gap how many Base is
	// newer than Older; both at least 1, Gap only if there is an Older.
	Age, Gap uint32
	// Anchor is how the parent moved, nil if the parent or its motion is not
	// known to the receiver. It is for one component of the row.
	Anchor *Anchor
}

// maxRatio bounds how far motion is gone on with.
const maxRatio = 32

// ratio is the time that is forecast in terms of the time that is known, in
// 1/65536; 0 if none is.
func (past *Past) ratio() int64 {
	if past.Older == nil || past.Gap == 0 {
		return 0
	}
	return min(int64(past.Age)<<ratioBits/int64(past.Gap), maxRatio<<ratioBits)
}

// Anchor is the motion of a parent, in whole and between the same ticks as the
// rows that stand on it: from Older to Base, and from Base to the state that is
// coded, which the receiver must have got before.
type Anchor struct {
	now, base, older vector
	onward, before   rotation // from base to now; from older to base
	turn, turned     matrix   // the same
	moved            bool     // older is known
	part             int      // the component, of the parent and of the row
}

// SetAnchor makes a the motion of a parent, from its words in component i. older
// may be nil.
func (c *Codec) SetAnchor(a *Anchor, i int, now, base, older []uint32) {
	p := &c.parts[i]
	still := rotation{w: rotationOne}
	to, from, before := still, still, still
	a.moved, a.part = older != nil, i
	if p.rotation >= 0 {
		u := &p.units[p.rotation]
		to, from = u.rotation(now[u.word]), u.rotation(base[u.word])
		if a.moved {
			before = u.rotation(older[u.word])
		}
	}
	word := p.units[p.position].word
	a.now, a.base = place(now, word), place(base, word)
	a.onward = to.times(from.conjugate())
	a.turn = a.onward.matrix()
	if a.moved {
		a.older = place(older, word)
		a.before = from.times(before.conjugate())
		a.turned = a.before.matrix()
	}
}

// Contexts of a forecast.
const (
	Attachments  = 4  // how well the row kept its place on its parent; 3: it did not, or has none
	Speeds       = 5  // how fast it moves
	Zones        = 4  // where it is, in bounds that training found; 3: not known
	HeadContexts = 48 // 6 speeds, 4 margins of the largest component, 2 states of the flag
	Features     = 12 // what the scale of residuals depends on
)

// Features.
const (
	featureOne      = iota
	featureSpeed    // distance that the row is expected to move
	featureMismatch // distance from where its parent would have moved it
	featureMissed   // residuals so far
	featureTurn     // angle that it is expected to turn
	featureMissTurn // residuals of the rotation so far
	featureDispute  // distance between the forecasts by its own motion and by its parent's
	featureAxis     // own displacement along the axis of the residual
	featureOff      // mismatch along the axis
	featureTwist    // angle by which it turned on its parent
	featureHeight   // distance above the lowest zone
	featureQuarrel  // angle between the forecasts of its rotation
)

// forecast is what is expected of one component of a row.
type forecast struct {
	position [3]int64
	turned   rotation
	largest  int
	attached int
	speed    int
	zone     int
	context  int // of heads
	set      *tableSet
	weights  *[Lanes][Features / 2]uint64 // of the scales, for attached and speed
	feature  featurePairs
	ratio    int64 // of the row's past
	missed   int64 // sums of residuals
	missTurn int64

	motion  [3]vector   // own displacement, parent's, mismatch: what position is weighted from
	turning [3]rotation // the same of the rotation, as differences

	// What the forecast of the rotation is corrected with: see swerve.
	spin     *[7]int32 // weights of rotations; nil if it is not predicted
	ground   *Ground
	anchored bool   // there is an anchor, and
	arm      vector // where the row was from it
	dispute  vector // what the anchor's motion differs from its own
}

// featurePairs are features as a scale is summed from them, two to a word: feature
// 2k is in the upper half of word k, and 2k+1 in the lower. So half as many
// products are needed: see forecast.scale.
type featurePairs [Features / 2]uint64

func (p *featurePairs) set(i int, v int32) {
	shift := 32 * (1 - i&1)
	p[i/2] = p[i/2]&^((1<<32-1)<<shift) | uint64(v)<<shift
}

// at is feature i. None is negative.
func (p *featurePairs) at(i int) int32 { return int32(p[i/2] >> (32 * (1 - i&1))) }

// magnitude is 4*log2(1+v), by a straight line between powers of two: the exponent
// of a double and the two highest bits of its fraction are just that. 1+v is at most
// 2^40 here, of which a double has every bit.
func magnitude(v int64) int32 {
	const one = 1023 << 2 // what these bits of 1 are
	return int32(math.Float64bits(float64(min(v+1, 1<<40)))>>(52-2)) - one
}

// absolute has no branch: signs are as good as random.
func absolute(v int64) int64 {
	sign := v >> 63
	return (v ^ sign) - sign
}

// forecast fills f for part p.
func (c *Codec) forecast(p *part, past *Past, f *forecast) {
	f.attached, f.speed, f.zone, f.set = Attachments-1, 0, Zones-1, p.set
	f.feature, f.missed, f.missTurn = featurePairs{}, 0, 0
	f.anchored, f.ground = false, nil
	f.feature.set(featureOne, 16)
	var moves int64
	if p.position >= 0 {
		moves = c.forecastPosition(p, past, f)
	}
	margin := 3
	if p.rotation >= 0 {
		turns, gap := c.forecastRotation(p, past, f)
		moves += turns >> 4
		margin = reached(gap, 100) + reached(gap, 400) + reached(gap, 1600)
	}
	f.context = margin
	if moves > 0 {
		f.context += 4 * (1 + step(moves-1, 2, 8, 32, 128))
	}
	f.context *= 2
	f.weights = &p.set.pairs[f.attached][f.speed]
	if p.flag >= 0 && past.Base[p.flag] != 0 {
		f.context++
	}
}

// step is how many of the ascending bounds v has reached. It has no branch for
// what is as good as random.
func step(v int64, a, b, c, d int64) int {
	return reached(v, a) + reached(v, b) + reached(v, c) + reached(v, d)
}

func reached(v, bound int64) int { return int(uint64(bound-1-v) >> 63) }

func (c *Codec) forecastPosition(p *part, past *Past, f *forecast) (moves int64) {
	u := &p.units[p.position]
	from := place(past.Base, u.word)
	var own, carried, mismatch, older vector
	if past.Older != nil {
		older = place(past.Older, u.word)
		own = from.minus(older).scaled(f.ratio, ratioBits-fractionBits)
	}
	speed := own.size()
	if a := past.Anchor; a != nil && a.part == p.component {
		arm := from.minus(a.base)
		carried = a.turn.turn(arm).plus(a.now.minus(from).fine())
		if past.Older != nil && a.moved {
			mismatch = arm.fine().minus(a.turned.turn(older.minus(a.older))).scaled(f.ratio, ratioBits)
			f.attached = attachment(mismatch.size(), speed)
		}
		f.feature.set(featureMismatch, magnitude(mismatch.size()>>fractionBits))
		f.anchored, f.arm, f.dispute = true, arm, carried.minus(own)
		f.feature.set(featureDispute, magnitude(f.dispute.size()>>fractionBits))
	}
	f.feature.set(featureSpeed, magnitude(speed>>fractionBits))
	f.ground = p.ground
	if g := p.ground; g != nil {
		at := from.along(g.Axis)
		f.zone = reached(at, g.Bounds[0]) + reached(at, g.Bounds[1])
		f.feature.set(featureHeight, magnitude(max(at-g.Bounds[0], 0)))
	}
	f.speed = step(speed>>fractionBits, 8, 40, 160, 500)
	f.motion = [3]vector{own, carried, mismatch}
	w, most := &f.set.Position[f.zone][f.attached][f.speed], int64(u.wide)
	f.position = [3]int64{
		min(max(from.x+weighted(&w[0], own.x, carried.x, mismatch.x), 0), most),
		min(max(from.y+weighted(&w[1], own.y, carried.y, mismatch.y), 0), most),
		min(max(from.z+weighted(&w[2], own.z, carried.z, mismatch.z), 0), most),
	}
	return speed >> fractionBits
}

// weighted is how far a row is expected to move along an axis, rounded to quanta.
func weighted(w *[4]int32, own, carried, mismatch int64) int64 {
	sum := own*int64(w[0]) + carried*int64(w[1]) + mismatch*int64(w[2]) + int64(w[3])<<(fractionBits+3)
	return (sum + 1<<15) >> 16
}

// attachment says how well a row that moved this far kept its place. It is as good
// as random, so a choice of values and not of ways.
func attachment(mismatch, speed int64) int {
	const quantum = 1 << fractionBits
	attached := 3
	if mismatch < speed*80/100 {
		attached = 2
	}
	if mismatch < speed*40/100+6*quantum {
		attached = 1
	}
	if mismatch < speed*15/100+3*quantum {
		attached = 0
	}
	return attached
}

// forecastRotation returns by how much the row is expected to turn, and how far
// the largest component stands out.
func (c *Codec) forecastRotation(p *part, past *Past, f *forecast) (turns, margin int64) {
	u := &p.units[p.rotation]
	word := past.Base[u.word]
	q := u.rotation(word)
	f.turned = q
	if p.turning {
		var turning, ride, twist rotation
		older := q
		if past.Older != nil && past.Older[u.word] != word {
			older = u.rotation(past.Older[u.word])
			spin := q.times(older.conjugate()).power(f.ratio)
			turning = spin.times(q).towards(q).minus(q)
		}
		turns = turning.size()
		w := &f.set.Rotation[f.zone][f.attached][step(turns, 100, 500, 2000, 5000)]
		f.spin = w
		own, carried, mismatch := int64(w[0]), int64(w[1]), int64(w[2])
		sum := rotation{turning.x * own, turning.y * own, turning.z * own, turning.w * own}
		if a := past.Anchor; a != nil && a.part == p.component {
			ride = a.onward.times(q).towards(q).minus(q)
			if a.moved && past.Older != nil {
				twist = q.minus(a.before.times(older).towards(q)).scaled(f.ratio, ratioBits)
			}
			f.feature.set(featureTwist, magnitude(twist.size()>>3))
			f.feature.set(featureQuarrel, magnitude(turning.minus(ride).size()>>3))
			sum.x += ride.x*carried + twist.x*mismatch
			sum.y += ride.y*carried + twist.y*mismatch
			sum.z += ride.z*carried + twist.z*mismatch
			sum.w += ride.w*carried + twist.w*mismatch
		}
		const half = 1 << 7
		f.turned = toUnit(rotation{q.x + (sum.x+half)>>8, q.y + (sum.y+half)>>8, q.z + (sum.z+half)>>8, q.w + (sum.w+half)>>8}, q)
		f.turning = [3]rotation{turning, ride, twist}
	}
	f.feature.set(featureTurn, magnitude(turns>>3))
	f.largest, margin = f.turned.largest()
	return turns, margin
}

// along readies f for a residual of the position along an axis.
func (f *forecast) along(axis int) {
	f.feature.set(featureAxis, magnitude(absolute(f.motion[0].along(axis))>>fractionBits))
	f.feature.set(featureOff, magnitude(absolute(f.motion[2].along(axis))>>fractionBits))
}

// forecast is what is expected of one number of a unit: where, and how far it is
// from the baseline.
func (u *unit) forecast(word int, past *Past, ratio int64) (expected uint32, moves int64) {
	base := past.Base[word]
	if past.Older == nil {
		return base, 0
	}
	d := ringDifference(base, past.Older[word], u.wide)
	if moves = d * ratio >> ratioBits; u.lane == laneLinear {
		v := int64(base) + moves
		if u.ranged {
			base = uint32(min(max(v, 0), int64(u.wide)))
		} else {
			modulus := int64(u.wide) + 1
			base = uint32((v%modulus + modulus) % modulus)
		}
	}
	return base, absolute(moves)
}
