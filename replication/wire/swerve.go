package wire

// A body that came elsewhere than forecast turned otherwise, too. What slowed it
// down slowed its spin; what its parent took along was turned by it; one that
// rolls turns with its way; and what went round its parent more, or less, turned
// by as much. So once a row's position is known, its rotation is forecast again.

// swerve is by how much a row's position differs from the forecast, seen as
// different motions.
type swerve struct {
	slowed  int64    // of its own motion, in 1/256
	yielded int64    // of what its parent's motion differs from its own, in 1/256
	roll    [3]int64 // half the angle by which it rolled more on the ground, and
	swing   [3]int64 // by which it went more around its parent, in 1/16384
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
func (f *forecast) swerve(now [3]int64) (s swerve, ok bool) {
	off := [3]int64{now[0] - f.position[0], now[1] - f.position[1], now[2] - f.position[2]}
	if off == [3]int64{} {
		return s, false
	}
	for i, v := range off {
		off[i] = clamp(v, maxMiss)
	}
	s.slowed = share(&off, &f.motion[0])
	if f.anchored {
		s.yielded = share(&off, &f.dispute)
		s.swing = swing(&f.arm, &off)
	}
	if f.ground != nil {
		b, c := (f.ground.axis+1)%3, (f.ground.axis+2)%3
		const quantum = 1 << 6 // half the angle by which a body rolls over one
		s.roll[b], s.roll[c] = clamp(-off[c]*quantum, maxHalf), clamp(off[b]*quantum, maxHalf)
	}
	return s, true
}

// share is how much of a motion what is off has the direction of.
func share(off, motion *[3]int64) int64 {
	sum, square := int64(0), int64(16<<fractionBits)
	for i, v := range motion {
		v = clamp(v, maxMotion)
		sum += off[i] * v
		square += v * v >> fractionBits
	}
	return clamp(sum<<fractionBits/square, maxShare)
}

// swing is half the angle around the end of arm that off is seen under.
func swing(arm, off *[3]int64) (half [3]int64) {
	x, y, z := clamp(arm[0], maxArm), clamp(arm[1], maxArm), clamp(arm[2], maxArm)
	scale := (1 << 36) / (x*x + y*y + z*z + 128)
	half[0] = clamp((y*off[2]-z*off[1])*scale>>23, maxHalf)
	half[1] = clamp((z*off[0]-x*off[2])*scale>>23, maxHalf)
	half[2] = clamp((x*off[1]-y*off[0])*scale>>23, maxHalf)
	return half
}

func clamp(v, most int64) int64 { return min(max(v, -most), most) }

// swerved is the forecast of the rotation, now that the position is known.
func (f *forecast) swerved(now [3]int64) rotation {
	s, ok := f.swerve(now)
	if !ok {
		return f.turned
	}
	w := f.spin
	slowed, yielded := s.slowed*int64(w[3]), s.yielded*int64(w[4])
	var half [3]int64
	for i := range half {
		half[i] = (s.roll[i]*int64(w[5]) + s.swing[i]*int64(w[6]) + 1<<7) >> 8
	}
	own, ride, q := &f.turning[0], &f.turning[1], f.turned
	more := rotation{half[0], half[1], half[2], 0}.times(q)
	const bits, round = 16, 1 << 15
	return toUnit(rotation{
		q.x + more.x + (own.x*slowed+(ride.x-own.x)*yielded+round)>>bits,
		q.y + more.y + (own.y*slowed+(ride.y-own.y)*yielded+round)>>bits,
		q.z + more.z + (own.z*slowed+(ride.z-own.z)*yielded+round)>>bits,
		q.w + more.w + (own.w*slowed+(ride.w-own.w)*yielded+round)>>bits,
	}, q)
}
