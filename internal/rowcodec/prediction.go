package rowcodec

import "math"

// fractionBits is the resolution of displacements: 1/256 of a quantum.
const fractionBits = 8

// Past is the knowledge about a row that both sides share when a new state is coded.
type Past struct {
	// Base is the baseline: values of a state that the receiver is known to have.
	Base []uint32
	// Older is a state before the baseline, or nil. The two give the row's motion.
	Older []uint32
	// Age is the number of ticks from Base to the new state, Gap from Older to Base.
	// Age is at least 1; so is Gap if Older is set.
	Age, Gap uint32
	// Anchor is the motion of the parent, for one component of the row; nil if the
	// receiver does not know the parent or its motion.
	Anchor *Anchor
}

// maxRatio bounds how far motion is extrapolated.
const maxRatio = 32

// ratio returns the predicted time span divided by the known one, in 1/65536, or 0
// without an older state.
func (past *Past) ratio() int64 {
	if past.Older == nil || past.Gap == 0 {
		return 0
	}
	return min(int64(past.Age)<<ratioBits/int64(past.Gap), maxRatio<<ratioBits)
}

// Anchor is the motion of a parent between the ticks of its child's past: from Older
// to Base, and from Base to the new state, which the receiver must already have.
type Anchor struct {
	now, base, older vector
	onward, before   rotation // from base to now; from older to base
	turn, turned     matrix   // onward and before as matrices
	moved            bool     // older is known
	part             int      // component of both the parent and the row
}

// SetAnchor sets a to the motion of a parent, given its values in component i. older
// may be nil.
func (c *Codec) SetAnchor(a *Anchor, i int, now, base, older []uint32) {
	p := &c.parts[i]
	still := rotation{w: rotationOne}
	to, from, before := still, still, still
	a.moved, a.part = older != nil, i
	if p.rotation >= 0 {
		u := &p.units[p.rotation]
		to, from = u.rotation(now[u.index]), u.rotation(base[u.index])
		if a.moved {
			before = u.rotation(older[u.index])
		}
	}
	at := p.units[p.position].index
	a.now, a.base = vectorAt(now, at), vectorAt(base, at)
	a.onward = to.times(from.conjugate())
	a.turn = a.onward.matrix()
	if a.moved {
		a.older = vectorAt(older, at)
		a.before = from.times(before.conjugate())
		a.turned = a.before.matrix()
	}
}

// Numbers of contexts, which select weights and codes.
const (
	Attachments  = 4  // how closely the row followed its parent; 3: not at all, or no parent
	Speeds       = 5  // classes of speed
	Zones        = 4  // ranges of the position along an axis, from training; 3: unknown
	HeadContexts = 48 // 6 speeds × 4 margins of the largest component × 2 values of the flag
	Features     = 12 // inputs to the scale of a residual
)

// Features are the inputs to the scale of a residual.
const (
	featureOne            = iota
	featureSpeed          // expected displacement
	featureMismatch       // distance from where the parent's motion would have put it
	featureMissed         // sum of residuals so far
	featureTurn           // expected turn
	featureRotationMissed // sum of residuals of the rotation so far
	featureRelativeMotion // distance between own and parent's motion
	featureAxis           // own displacement along the axis of the residual
	featureOff            // mismatch along the axis
	featureTwist          // turn relative to the parent
	featureHeight         // distance above the lowest zone
	featureRelativeTurn   // angle between own and parent's turn
)

// prediction is the expected state of one component of a row, with the inputs to the
// scales of its residuals.
type prediction struct {
	position [3]int64
	rotation rotation
	largest  int // index of the rotation's largest component
	attached int
	speed    int
	zone     int
	context  int // of heads
	set      *tableSet
	weights  *[Lanes][Features / 2]uint64 // scale weights for attached and speed
	feature  featurePairs
	ratio    int64 // Past.ratio

	missed         int64 // sum of the magnitudes of residuals so far
	rotationMissed int64 // the same for the rotation

	motion         [3]vector   // displacements: own, parent's, and their mismatch in the past
	rotationMotion [3]rotation // the same for the rotation, as differences; observers read it
}

// featurePairs holds the features packed two to a uint64, feature 2k in the upper half
// and 2k+1 in the lower. This halves the products that prediction.scale needs.
type featurePairs [Features / 2]uint64

func (p *featurePairs) set(i int, v int32) {
	shift := 32 * (1 - i&1)
	p[i/2] = p[i/2]&^((1<<32-1)<<shift) | uint64(v)<<shift
}

// at returns feature i. No feature is negative.
func (p *featurePairs) at(i int) int32 { return int32(p[i/2] >> (32 * (1 - i&1))) }

// magnitude returns 4*log2(1+v), interpolated linearly between powers of two. These are
// the exponent of a double and the two highest bits of its fraction. 1+v is at most
// 2^40 here, which a double represents exactly.
func magnitude(v int64) int32 {
	const one = 1023 << 2 // these bits of 1.0
	return int32(math.Float64bits(float64(min(v+1, 1<<40)))>>(52-2)) - one
}

// absolute returns |v| without a branch: signs are unpredictable.
func absolute(v int64) int64 {
	sign := v >> 63
	return (v ^ sign) - sign
}

// predict fills f for part p.
func (c *Codec) predict(p *part, past *Past, f *prediction) {
	f.attached, f.speed, f.zone, f.set = Attachments-1, 0, Zones-1, p.set
	f.feature, f.missed, f.rotationMissed = featurePairs{}, 0, 0
	f.feature.set(featureOne, 16)
	var moves int64
	if p.position >= 0 {
		moves = c.predictPosition(p, past, f)
	}
	margin := 3
	if p.rotation >= 0 {
		turns, lead := c.predictRotation(p, past, f)
		moves += turns >> 4
		margin = reached(lead, 100) + reached(lead, 400) + reached(lead, 1600)
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

// step returns how many of the ascending bounds are at most v. It has no branch: its
// input is unpredictable.
func step(v int64, a, b, c, d int64) int {
	return reached(v, a) + reached(v, b) + reached(v, c) + reached(v, d)
}

// reached returns 1 if v is at least bound, otherwise 0.
func reached(v, bound int64) int { return int(uint64(bound-1-v) >> 63) }

// predictPosition predicts the position and returns the expected displacement in quanta.
func (c *Codec) predictPosition(p *part, past *Past, f *prediction) (moves int64) {
	u := &p.units[p.position]
	from := vectorAt(past.Base, u.index)
	var own, followed, mismatch, older vector
	if past.Older != nil {
		older = vectorAt(past.Older, u.index)
		own = from.minus(older).scaled(f.ratio, ratioBits-fractionBits)
	}
	speed := own.size()
	if a := past.Anchor; a != nil && a.part == p.component {
		arm := from.minus(a.base)
		followed = a.turn.turn(arm).plus(a.now.minus(from).toFixed())
		if past.Older != nil && a.moved {
			mismatch = arm.toFixed().minus(a.turned.turn(older.minus(a.older))).scaled(f.ratio, ratioBits)
			f.attached = attachment(mismatch.size(), speed)
		}
		f.feature.set(featureMismatch, magnitude(mismatch.size()>>fractionBits))
		f.feature.set(featureRelativeMotion, magnitude(followed.minus(own).size()>>fractionBits))
	}
	f.feature.set(featureSpeed, magnitude(speed>>fractionBits))
	if g := p.zones; g != nil {
		at := from.along(g.Axis)
		f.zone = reached(at, g.Bounds[0]) + reached(at, g.Bounds[1])
		f.feature.set(featureHeight, magnitude(max(at-g.Bounds[0], 0)))
	}
	f.speed = step(speed>>fractionBits, 8, 40, 160, 500)
	f.motion = [3]vector{own, followed, mismatch}
	w, most := &f.set.Position[f.zone][f.attached][f.speed], int64(u.max)
	f.position = [3]int64{
		min(max(from.x+weighted(&w[0], own.x, followed.x, mismatch.x), 0), most),
		min(max(from.y+weighted(&w[1], own.y, followed.y, mismatch.y), 0), most),
		min(max(from.z+weighted(&w[2], own.z, followed.z, mismatch.z), 0), most),
	}
	return speed >> fractionBits
}

// weighted returns the expected displacement along an axis, rounded to quanta.
func weighted(w *[4]int32, own, followed, mismatch int64) int64 {
	sum := own*int64(w[0]) + followed*int64(w[1]) + mismatch*int64(w[2]) + int64(w[3])<<(fractionBits+3)
	return (sum + 1<<15) >> 16
}

// attachment classifies how closely a row that moved this far followed its parent. It
// assigns values without branching because the class is unpredictable.
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

// predictRotation predicts the rotation and returns the expected turn, and by how much
// the largest component exceeds the second.
func (c *Codec) predictRotation(p *part, past *Past, f *prediction) (turns, lead int64) {
	u := &p.units[p.rotation]
	packed := past.Base[u.index]
	q := u.rotation(packed)
	f.rotation = q
	if p.turning {
		var turning, ride, twist rotation
		older := q
		if past.Older != nil && past.Older[u.index] != packed {
			older = u.rotation(past.Older[u.index])
			spin := q.times(older.conjugate()).power(f.ratio)
			turning = spin.times(q).towards(q).minus(q)
		}
		turns = turning.size()
		w := &f.set.Rotation[f.zone][f.attached][step(turns, 100, 500, 2000, 5000)]
		own, followed, mismatch := int64(w[0]), int64(w[1]), int64(w[2])
		sum := rotation{turning.x * own, turning.y * own, turning.z * own, turning.w * own}
		if a := past.Anchor; a != nil && a.part == p.component {
			ride = a.onward.times(q).towards(q).minus(q)
			if a.moved && past.Older != nil {
				twist = q.minus(a.before.times(older).towards(q)).scaled(f.ratio, ratioBits)
			}
			f.feature.set(featureTwist, magnitude(twist.size()>>3))
			f.feature.set(featureRelativeTurn, magnitude(turning.minus(ride).size()>>3))
			sum.x += ride.x*followed + twist.x*mismatch
			sum.y += ride.y*followed + twist.y*mismatch
			sum.z += ride.z*followed + twist.z*mismatch
			sum.w += ride.w*followed + twist.w*mismatch
		}
		const half = 1 << 7
		f.rotation = toUnit(rotation{q.x + (sum.x+half)>>8, q.y + (sum.y+half)>>8, q.z + (sum.z+half)>>8, q.w + (sum.w+half)>>8}, q)
		f.rotationMotion = [3]rotation{turning, ride, twist}
	}
	f.feature.set(featureTurn, magnitude(turns>>3))
	f.largest, lead = f.rotation.largest()
	return turns, lead
}

// setAxis sets the features of a position residual along an axis.
func (f *prediction) setAxis(axis int) {
	f.feature.set(featureAxis, magnitude(absolute(f.motion[0].along(axis))>>fractionBits))
	f.feature.set(featureOff, magnitude(absolute(f.motion[2].along(axis))>>fractionBits))
}

// predict returns the expected value of one number of a unit, and its distance from
// the baseline.
func (u *unit) predict(at int, past *Past, ratio int64) (expected uint32, moves int64) {
	base := past.Base[at]
	if past.Older == nil {
		return base, 0
	}
	d := ringDifference(base, past.Older[at], u.max)
	if moves = d * ratio >> ratioBits; u.lane == laneLinear {
		v := int64(base) + moves
		if u.ranged {
			base = uint32(min(max(v, 0), int64(u.max)))
		} else {
			modulus := int64(u.max) + 1
			base = uint32((v%modulus + modulus) % modulus)
		}
	}
	return base, absolute(moves)
}
