package rowcodec

// The error of a predicted position tells something about the rotation. A body that was
// slowed down spins more slowly; one that its parent carried along turned with it; a
// rolling body turns by the distance it rolled; and one that moved around its parent
// turned by the same angle. Once the position is known, the rotation's prediction is
// corrected.

// rotationCorrection attributes the error of a predicted position to different motions.
type rotationCorrection struct {
	slowed  int64  // share of the row's own motion, in 1/256
	yielded int64  // share of the parent's motion minus its own, in 1/256
	roll    vector // half the additional angle rolled on the ground, in 1/16384
	swing   vector // half the additional angle around the parent, in 1/16384
}

// Bounds that keep products from overflowing for any positions.
const (
	maxMiss   = 1 << 15 // quanta
	maxMotion = 1 << 22 // 1/256 of a quantum
	maxArm    = 1 << 20 // quanta
	maxShare  = 512     // 1/256
	maxHalf   = 1 << 13 // half an angle
)

// correctionFor compares a position with its prediction. ok is false if they are equal.
func (f *prediction) correctionFor(now vector) (s rotationCorrection, ok bool) {
	off := now.minus(vector{f.position[0], f.position[1], f.position[2]})
	if off == (vector{}) {
		return s, false
	}
	off = off.clamped(maxMiss)
	s.slowed = projection(off, f.motion[0])
	if f.anchored {
		s.yielded = projection(off, f.relativeMotion)
		s.swing = swingAngle(f.arm, off)
	}
	if f.zones != nil {
		const quantum = 6 // 2^6: half the angle by which a body rolls over one
		s.roll = off.scaled(1<<quantum, 0).crossAxis(f.zones.Axis).clamped(maxHalf)
	}
	return s, true
}

// projection returns the component of off along motion, as a share of motion in 1/256.
func projection(off, motion vector) int64 {
	m := motion.clamped(maxMotion)
	sum := off.x*m.x + off.y*m.y + off.z*m.z
	square := (m.x*m.x)>>fractionBits + (m.y*m.y)>>fractionBits + (m.z*m.z)>>fractionBits + 16<<fractionBits
	return clamp(sum<<fractionBits/square, maxShare)
}

// swingAngle returns half the angle that off subtends at the far end of arm.
func swingAngle(arm, off vector) (half vector) {
	a := arm.clamped(maxArm)
	scale := (1 << 36) / (a.x*a.x + a.y*a.y + a.z*a.z + 128)
	across := vector{a.y*off.z - a.z*off.y, a.z*off.x - a.x*off.z, a.x*off.y - a.y*off.x}
	return across.scaled(scale, 23).clamped(maxHalf)
}

// correctedRotation returns the prediction of the rotation, given the actual position.
func (f *prediction) correctedRotation(now vector) rotation {
	s, ok := f.correctionFor(now)
	if !ok {
		return f.rotation
	}
	w := f.rotationWeights
	slowed, yielded := s.slowed*int64(w[3]), s.yielded*int64(w[4])
	roll, swing := int64(w[5]), int64(w[6])
	own, ride, q := &f.rotationMotion[0], &f.rotationMotion[1], f.rotation
	more := rotation{
		(s.roll.x*roll + s.swing.x*swing + 1<<7) >> 8,
		(s.roll.y*roll + s.swing.y*swing + 1<<7) >> 8,
		(s.roll.z*roll + s.swing.z*swing + 1<<7) >> 8,
		0,
	}.times(q)
	const bits, round = 16, 1 << 15
	return toUnit(rotation{
		q.x + more.x + (own.x*slowed+(ride.x-own.x)*yielded+round)>>bits,
		q.y + more.y + (own.y*slowed+(ride.y-own.y)*yielded+round)>>bits,
		q.z + more.z + (own.z*slowed+(ride.z-own.z)*yielded+round)>>bits,
		q.w + more.w + (own.w*slowed+(ride.w-own.w)*yielded+round)>>bits,
	}, q)
}
