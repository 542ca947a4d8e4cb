package rowcodec

// A body that came elsewhere than forecast turned otherwise, too. What slowed it
// down slowed its spin; what its parent took along was turned by it; one that
// rolls turns with its way; and what went round its parent more, or less, turned
// by as much. So once a row's position is known, its rotation is forecast again.

// swerve is by how much a row's position differs from the forecast, seen as
// different motions.
type swerve struct {
	slowed  int64  // of its own motion, in 1/256
	yielded int64  // of what its parent's motion differs from its own, in 1/256
	roll    vector // half the angle by which it rolled more on the ground, and
	swing   vector // by which it went more around its parent, in 1/16384
}

// Bounds, so that no product overflows, whatever positions are.
const (
	maxMiss   = 1 << 15 // quanta
	maxMotion = 1 << 22 // 1/256 of a quantum
	maxArm    = 1 << 20 // quanta
	maxShare  = 512     // 1/256
	maxHalf   = 1 << 13 // half an angle
)

// swerve compares a position with the forecast. ok says whether they differ.
func (f *forecast) swerve(now vector) (s swerve, ok bool) {
	off := now.minus(vector{f.position[0], f.position[1], f.position[2]})
	if off == (vector{}) {
		return s, false
	}
	off = off.within(maxMiss)
	s.slowed = share(off, f.motion[0])
	if f.anchored {
		s.yielded = share(off, f.dispute)
		s.swing = swing(f.arm, off)
	}
	if f.ground != nil {
		const quantum = 6 // 2^6: half the angle by which a body rolls over one
		s.roll = off.scaled(1<<quantum, 0).crosswise(f.ground.Axis).within(maxHalf)
	}
	return s, true
}

// share is how much of a motion what is off has the direction of.
func share(off, motion vector) int64 {
	m := motion.within(maxMotion)
	sum := off.x*m.x + off.y*m.y + off.z*m.z
	square := (m.x*m.x)>>fractionBits + (m.y*m.y)>>fractionBits + (m.z*m.z)>>fractionBits + 16<<fractionBits
	return clamp(sum<<fractionBits/square, maxShare)
}

// swing is half the angle around the end of arm that off is seen under.
func swing(arm, off vector) (half vector) {
	a := arm.within(maxArm)
	scale := (1 << 36) / (a.x*a.x + a.y*a.y + a.z*a.z + 128)
	across := vector{a.y*off.z - a.z*off.y, a.z*off.x - a.x*off.z, a.x*off.y - a.y*off.x}
	return across.scaled(scale, 23).within(maxHalf)
}

// swerved is the forecast of the rotation, now that the position is known.
func (f *forecast) swerved(now vector) rotation {
	s, ok := f.swerve(now)
	if !ok {
		return f.turned
	}
	w := f.spin
	slowed, yielded := s.slowed*int64(w[3]), s.yielded*int64(w[4])
	roll, swing := int64(w[5]), int64(w[6])
	own, ride, q := &f.turning[0], &f.turning[1], f.turned
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
