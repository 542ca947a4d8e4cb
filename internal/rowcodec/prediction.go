package rowcodec

// fractionBits is the resolution of displacements: 1/256 of a quantum.
const fractionBits = 8

// Past is the knowledge about a row that both sides share when a new state is coded.
type Past struct {
	// Base is the baseline: values of a state that the receiver is known to have.
	Base []uint32
	// Older is a state before the baseline, or nil. Base and Older give the row's motion.
	Older []uint32
	// Age is the number of ticks from Base to the new state, Gap the number from Older to
	// Base. Age is at least 1, and Gap too if Older is set.
	Age, Gap uint32
	// Anchor is the motion of the parent, for one component of the row; nil if the
	// receiver does not know the parent or its motion.
	Anchor *Anchor
}

// maxRatio bounds the extrapolation of motion, in multiples of the known time span.
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
	moved            bool     // an older state is known
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
	Attachments  = 4  // classes of how closely the row followed its parent; 3: not at all, or no parent
	Speeds       = 5  // classes of speed
	Zones        = 4  // ranges of the position along an axis, from training; 3: unknown
	HeadContexts = 48 // 6 speeds × 4 margins of the largest component × 2 values of the flag
	Features     = 12 // inputs to the scale of a residual
)

// prediction is the expected state of one component of a row, with the inputs to the
// scales of its residuals.
type prediction struct {
	position [maxResiduals]uint32
	rotation rotation
	largest  int // index of the rotation's largest component
	attached int
	speed    int
	zone     int
	context  int // of heads
	set      *tableSet
	ratio    int64 // Past.ratio

	weights   *[Lanes]laneWeights // scale weights for attached and speed
	features  featurePairs
	anchored  bool                   // the past has the parent's motion
	tied      bool                   // anchored, or with a rotation; otherwise all pairs from pairRelativeOff on are 0
	residuals [maxResiduals]residual // of the unit being coded
	axisSpeed [maxResiduals]uint64   // pairAxisSpeed of the residuals, for observers

	missed         int64 // sum of the magnitudes of residuals so far
	rotationMissed int64 // the same for the rotation

	own            [3]int64    // displacements along the axes
	followed       [3]int64    // motion of the parent, if anchored
	mismatch       [3]int64    // difference between own and parent's motion in the past, if anchored
	rotationMotion [3]rotation // the three above for the rotation, as differences; for observers
}

// predict fills f for part p.
func (c *Codec) predict(p *part, past *Past, f *prediction) {
	f.attached, f.speed, f.zone, f.set = Attachments-1, 0, Zones-1, p.set
	f.features, f.missed, f.rotationMissed = featurePairs{}, 0, 0
	f.anchored = past.Anchor != nil && past.Anchor.part == p.component && p.position >= 0
	f.tied = f.anchored || p.rotation >= 0
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
	f.weights = &p.set.scaleWeights[f.attached][f.speed]
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
	base, older := past.Base[u.index:][:3], past.Base
	if past.Older != nil {
		older = past.Older
	}
	older = older[u.index:][:3]
	speed := int64(0)
	for i := range f.own {
		f.own[i] = (int64(base[i]) - int64(older[i])) * f.ratio >> (ratioBits - fractionBits)
		speed += absolute(f.own[i])
	}
	if f.anchored {
		f.follow(past, u.index, speed)
	}
	f.features[pairAxisSpeed] = pairOf(0, smallMagnitude(speed>>fractionBits))
	if g := p.zones; g != nil {
		at := int64(base[g.Axis])
		f.zone = reached(at, g.Bounds[0]) + reached(at, g.Bounds[1])
		f.features[pairHeightMismatch] += pairOf(magnitude(max(at-g.Bounds[0], 0)), 0)
	}
	f.speed = step(speed>>fractionBits, 8, 40, 160, 500)
	weights, most := &f.set.Position[f.zone][f.attached][f.speed], int64(u.max)
	for i := range f.own {
		w := &weights[i]
		// In 1/65536 of a quantum, to be rounded to quanta.
		sum := f.own[i]*int64(w[0]) + int64(w[3])<<(fractionBits+3) + 1<<15
		if f.anchored {
			sum += f.followed[i]*int64(w[1]) + f.mismatch[i]*int64(w[2])
		}
		f.position[i] = uint32(min(max(int64(base[i])+sum>>16, 0), most))
	}
	return speed >> fractionBits
}

// follow adds the motion of the parent, for a row that moved by itself at this speed.
func (f *prediction) follow(past *Past, at int, speed int64) {
	a, from := past.Anchor, vectorAt(past.Base, at)
	arm := from.minus(a.base)
	followed, mismatch := a.turn.turn(arm).plus(a.now.minus(from).toFixed()), vector{}
	if past.Older != nil && a.moved {
		mismatch = arm.toFixed().minus(a.turned.turn(vectorAt(past.Older, at).minus(a.older))).scaled(f.ratio, ratioBits)
		f.attached = attachment(mismatch.size(), speed)
	}
	f.followed, f.mismatch = followed.axes(), mismatch.axes()
	own := vector{f.own[0], f.own[1], f.own[2]}
	f.features[pairHeightMismatch] = pairOf(0, magnitude(mismatch.size()>>fractionBits))
	f.features[pairRelativeOff] = pairOf(magnitude(followed.minus(own).size()>>fractionBits), 0)
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

// predictRotation predicts the rotation. It returns the expected turn, and the margin of
// the largest component over the second.
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
		if a := past.Anchor; f.anchored {
			ride = a.onward.times(q).towards(q).minus(q)
			if a.moved && past.Older != nil {
				twist = q.minus(a.before.times(older).towards(q)).scaled(f.ratio, ratioBits)
			}
			f.features[pairTwistRelative] = pairOf(magnitude(twist.size()>>3), magnitude(turning.minus(ride).size()>>3))
			sum.x += ride.x*followed + twist.x*mismatch
			sum.y += ride.y*followed + twist.y*mismatch
			sum.z += ride.z*followed + twist.z*mismatch
			sum.w += ride.w*followed + twist.w*mismatch
		}
		const half = 1 << 7
		f.rotation = toUnit(rotation{q.x + (sum.x+half)>>8, q.y + (sum.y+half)>>8, q.z + (sum.z+half)>>8, q.w + (sum.w+half)>>8}, q)
		f.rotationMotion = [3]rotation{turning, ride, twist}
	}
	f.features[pairTurnMissed] = pairOf(magnitude(turns>>3), 0)
	f.largest, lead = f.rotation.largest()
	return turns, lead
}

// moved returns the expected value of a number that moves by moves, wrapped in its ring or
// clamped to its range.
func (u *unit) moved(base uint32, moves int64) uint32 {
	if u.lane != laneLinear {
		return base
	}
	v, modulus := int64(base)+moves, int64(u.max)+1
	if u.ranged {
		return uint32(min(max(v, 0), int64(u.max)))
	}
	return uint32((v%modulus + modulus) % modulus)
}
