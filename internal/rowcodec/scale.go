package rowcodec

import "math"

// Features are the inputs to the scale of a residual.
const (
	featureOne            = iota
	featureSpeed          // expected displacement
	featureMismatch       // distance from the position that the parent's motion predicts
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

// The scale of a residual is the sum of the features, each times its weight in 1/256,
// rounded. Features and weights are packed two to a uint64, in opposite halves: the middle
// of the product of two pairs is the sum of two products, and the part below it has fewer
// than 31 bits. featureOne is a constant. The sum of misses in a residual's own lanes (the
// lanes of rotations, or all others) is in no pair: it is known last, and takes a product
// of its own.
const (
	pairAxisSpeed = iota
	pairHeightMismatch
	pairRelativeOff
	pairTurnMissed // misses in the other lanes
	pairTwistRelative
	pairs
)

// pairFeatures lists the features of each pair, upper half first. In the lanes of
// rotations, featureMissed replaces featureRotationMissed.
var pairFeatures = [pairs][2]int{
	pairAxisSpeed:      {featureAxis, featureSpeed},
	pairHeightMismatch: {featureHeight, featureMismatch},
	pairRelativeOff:    {featureRelativeMotion, featureOff},
	pairTurnMissed:     {featureTurn, featureRotationMissed},
	pairTwistRelative:  {featureTwist, featureRelativeTurn},
}

// constantFeature is the value of featureOne.
const constantFeature = 16

// featurePairs holds features in pairs. No feature is negative.
type featurePairs [pairs]uint64

// pairOf packs two features.
func pairOf(high, low int32) uint64 { return uint64(high)<<32 | uint64(low) }

// laneWeights holds a lane's weights of the features, in a cache line.
type laneWeights struct {
	constant uint64        // featureOne times its weight, plus a half for rounding
	missed   uint64        // weight of the sum of misses in the residual's own lanes
	pairs    [pairs]uint64 // weights of featurePairs
	_        uint64
}

// newLaneWeights packs the weights w of a lane.
func newLaneWeights(lane int, w *[Features]int32) (packed laneWeights) {
	const half = 1<<31 + 1<<39
	own, other := featureMissed, featureRotationMissed
	if isRotation(lane) {
		own, other = other, own
	}
	packed.constant = uint64(w[featureOne])*constantFeature<<32 + half
	packed.missed = uint64(w[own]) << 32
	for i, of := range pairFeatures {
		if i == pairTurnMissed {
			of[1] = other
		}
		packed.pairs[i] = uint64(w[of[0]]) + uint64(w[of[1]])<<32
	}
	return packed
}

// isRotation reports whether the lane has residuals of rotations.
func isRotation(lane int) bool { return lane >= laneRotation && lane < laneRotation+3 }

// rest returns the sum of products for a scale, without the misses in the residual's own
// lanes.
func (f *prediction) rest(w *laneWeights) uint64 {
	x := &f.features
	sum := w.constant + w.pairs[0]*x[0] + w.pairs[1]*x[1]
	if f.tied {
		sum += w.pairs[2]*x[2] + w.pairs[3]*x[3] + w.pairs[4]*x[4]
	}
	return sum
}

// expectPosition fills residuals for the position.
func (f *prediction) expectPosition() {
	f.setOtherMissed(f.rotationMissed)
	x := &f.features
	for i := range f.residuals {
		axis := smallMagnitude(absolute(f.own[i]) >> fractionBits)
		x[pairAxisSpeed] = pairOf(axis, int32(x[pairAxisSpeed]))
		if f.anchored {
			off := magnitude(absolute(f.mismatch[i]) >> fractionBits)
			x[pairRelativeOff] = pairOf(int32(x[pairRelativeOff]>>32), off)
		}
		f.axisSpeed[i] = x[pairAxisSpeed]
		w := &f.weights[lanePosition+i]
		f.residuals[i] = residual{f.rest(w), w.missed, &f.set.codes[lanePosition+i], f.position[i]}
	}
}

// expectRotation fills residuals for a rotation. largest is the index of the component that
// is not sent; the others have bits bits.
func (f *prediction) expectRotation(expected rotation, largest int, bits uint) {
	f.setOtherMissed(f.missed)
	x := &f.residuals
	x[0].expected, x[1].expected, x[2].expected = expected.packThree(largest, bits)
	for i := range x {
		f.axisSpeed[i] = f.features[pairAxisSpeed]
		w := &f.weights[laneRotation+i]
		x[i].rest, x[i].weight, x[i].codes = f.rest(w), w.missed, &f.set.codes[laneRotation+i]
	}
}

// expectNumbers fills residuals for a unit of numbers.
func (f *prediction) expectNumbers(u *unit, past *Past) {
	f.setOtherMissed(f.rotationMissed)
	f.features[pairAxisSpeed] &^= 1<<32 - 1
	lane := u.lane & (Lanes - 1)
	w, axis := &f.weights[lane], f.features[pairAxisSpeed]
	rest, missed, codes := f.rest(w), w.missed, &f.set.codes[lane]
	base := past.Base[u.index:][:min(u.values, maxResiduals)]
	older, speed := base, uint64(0)
	if past.Older != nil {
		older = past.Older[u.index:]
	}
	older = older[:len(base)]
	for i, was := range base {
		moves := ringDifference(was, older[i], u.max) * f.ratio >> ratioBits
		speed = uint64(smallMagnitude(absolute(moves)))
		f.axisSpeed[i] = axis | speed
		f.residuals[i] = residual{rest + w.pairs[pairAxisSpeed]*speed, missed, codes, u.moved(was, moves)}
	}
	f.features[pairAxisSpeed] = axis | speed
}

// setOtherMissed sets the feature of misses in the lanes of other units.
func (f *prediction) setOtherMissed(missed int64) {
	if f.tied {
		x := &f.features[pairTurnMissed]
		*x = *x&^(1<<32-1) | uint64(smallMagnitude(missed))
	}
}

// featuresOf returns the features of a unit's i-th residual, for observers.
func (f *prediction) featuresOf(lane, i int, missed int64) (all [Features]int32) {
	x := f.features
	x[pairAxisSpeed] = f.axisSpeed[i]
	if f.anchored && lane < laneRotation {
		x[pairRelativeOff] = pairOf(int32(x[pairRelativeOff]>>32), magnitude(absolute(f.mismatch[i])>>fractionBits))
	}
	for i, of := range pairFeatures {
		all[of[0]], all[of[1]] = int32(x[i]>>32), int32(x[i])
	}
	all[featureOne] = constantFeature
	all[featureMissed] = magnitude(missed)
	if isRotation(lane) {
		all[featureMissed], all[featureRotationMissed] = int32(x[pairTurnMissed]), magnitude(missed)
	}
	return all
}

// magnitude returns 4*log2(1+v), interpolated linearly between powers of two. It clamps v
// to 2^40-1.
func magnitude(v int64) int32 { return smallMagnitude(min(v, 1<<40-1)) }

// smallMagnitude is magnitude for v below 2^40. It takes the exponent of a double and the
// two highest bits of its fraction.
func smallMagnitude(v int64) int32 {
	const one = 1023 << 2 // the same bits of 1.0
	return int32(math.Float64bits(float64(v+1))>>(52-2)) - one
}

// absolute returns |v| without a branch: signs are unpredictable.
func absolute(v int64) int64 {
	sign := v >> 63
	return (v ^ sign) - sign
}
