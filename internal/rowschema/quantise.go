package rowschema

import (
	"math"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Quantise writes the values of the component's struct that v points to, to out, of
// length schema.Component.Values. The result is the same on every machine. v must be a *T for
// the component's type T; Quantise, Restore, RestorePublic and Blend panic otherwise.
//
// A ranged float becomes floor((x-low)/step + 0.5), computed in float64 and clamped to the
// range; NaN is treated as 0. An integer is clamped to its bits. A handle that cannot name
// an entity becomes null.
func (c *Component) Quantise(v any, out []uint32) {
	quantise(c.fields, c.offset, c.structAt(v), out)
}

// quantise writes the values of fields. base is the number of the first.
func quantise(fields []field, base int, p unsafe.Pointer, out []uint32) {
	for i := range fields {
		f := &fields[i]
		at := unsafe.Add(p, f.offset)
		to := out[f.Index-base:]
		switch f.memory {
		case memFloat32:
			switch {
			case f.ranged:
				to[0] = f.number(float64(*(*float32)(at)))
			case f.angle:
				to[0] = f.turn(float64(*(*float32)(at)))
			default:
				to[0] = math.Float32bits(*(*float32)(at))
			}
		case memFloat64:
			switch {
			case f.ranged:
				to[0] = f.number(*(*float64)(at))
			case f.angle:
				to[0] = f.turn(*(*float64)(at))
			default:
				putUint64(to, math.Float64bits(*(*float64)(at)))
			}
		case memBool:
			to[0] = 0
			if *(*bool)(at) {
				to[0] = 1
			}
		case memHandle:
			h := *(*bulk.Handle)(at)
			if !h.Valid() || h.Index() >= wire.MaxSlots {
				h = 0
			}
			to[0], to[1] = h.Index(), h.Generation()
		case memRotation:
			to[0] = f.smallestThree((*[4]float32)(at))
		case memNone, memNarrow, memWide, memInteger:
			f.quantiseBound(at, to)
		default:
			f.quantiseInteger(at, to)
		}
	}
}

// number quantises a ranged float.
func (f *field) number(x float64) uint32 {
	if x != x {
		x = 0
	}
	steps := x - f.Low
	if f.perUnit != 0 {
		steps = float64(steps * f.perUnit)
	} else {
		steps /= f.Step
	}
	v := steps + 0.5
	switch {
	case v < 1:
		return 0
	case v >= float64(f.Max):
		return f.Max
	}
	return uint32(v)
}

// value restores a quantised number. The product is converted so that no compiler fuses it
// with the sum.
func (f *field) value(n uint32) float64 {
	return f.Low + float64(float64(n)*f.Step)
}

func (f *field) quantiseInteger(at unsafe.Pointer, to []uint32) {
	if f.Kind == schema.KindRaw64 {
		putUint64(to, *(*uint64)(at))
		return
	}
	if f.signed() {
		half := int64(1) << (f.Bits - 1)
		v := min(max(f.loadSigned(at), -half), half-1)
		to[0] = uint32(v) & f.Max
		return
	}
	to[0] = uint32(min(f.loadUnsigned(at), uint64(f.Max)))
}

func (f *field) loadSigned(at unsafe.Pointer) int64 {
	switch f.memory {
	case memInt8:
		return int64(*(*int8)(at))
	case memInt16:
		return int64(*(*int16)(at))
	case memInt32:
		return int64(*(*int32)(at))
	}
	return *(*int64)(at)
}

func (f *field) loadUnsigned(at unsafe.Pointer) uint64 {
	switch f.memory {
	case memUint8:
		return uint64(*(*uint8)(at))
	case memUint16:
		return uint64(*(*uint16)(at))
	case memUint32:
		return uint64(*(*uint32)(at))
	}
	return *(*uint64)(at)
}

// Restore writes the component with the quantised values in to the struct that v points to.
// Fields that are not replicated stay unchanged. A ranged float becomes low + n*step, in
// float64, rounded to the field's type; quantising it gives n again.
func (c *Component) Restore(in []uint32, v any) {
	c.restore(true, in, c.structAt(v))
}

// RestorePublic is like Restore, for a receiver that does not own the entity: fields sent
// only to owners also stay unchanged.
func (c *Component) RestorePublic(in []uint32, v any) {
	c.restore(false, in, c.structAt(v))
}

func (c *Component) restore(owner bool, in []uint32, p unsafe.Pointer) {
	restore(c.fields, c.offset, owner, in, p)
	if c.initials != nil {
		c.initials.copyTo(p)
	}
}

// restore is the inverse of quantise.
func restore(fields []field, base int, owner bool, in []uint32, p unsafe.Pointer) {
	for i := range fields {
		f := &fields[i]
		if !f.isSentTo(owner) {
			continue
		}
		at := unsafe.Add(p, f.offset)
		from := in[f.Index-base:]
		switch f.memory {
		case memFloat32:
			switch {
			case f.ranged:
				*(*float32)(at) = float32(f.value(from[0]))
			case f.angle:
				*(*float32)(at) = float32(f.radians(from[0]))
			default:
				*(*float32)(at) = math.Float32frombits(from[0])
			}
		case memFloat64:
			switch {
			case f.ranged:
				*(*float64)(at) = f.value(from[0])
			case f.angle:
				*(*float64)(at) = f.radians(from[0])
			default:
				*(*float64)(at) = math.Float64frombits(getUint64(from))
			}
		case memBool:
			*(*bool)(at) = from[0] != 0
		case memHandle:
			*(*bulk.Handle)(at) = bulk.NewHandle(from[0], from[1])
		case memRotation:
			*(*[4]float32)(at) = f.quaternion(from[0])
		case memNone, memNarrow, memWide, memInteger:
			f.restoreBound(at, from)
		default:
			f.restoreInteger(at, from)
		}
	}
}

// integer returns an integer field, sign-extended.
func (f *field) integer(from []uint32) uint64 {
	switch {
	case f.Kind == schema.KindRaw64:
		return getUint64(from)
	case f.signed():
		unused := 64 - f.Bits
		return uint64(int64(uint64(from[0])<<unused) >> unused)
	}
	return uint64(from[0])
}

func (f *field) restoreInteger(at unsafe.Pointer, from []uint32) { f.storeInteger(at, f.integer(from)) }

// storeInteger stores the lower bits of v.
func (f *field) storeInteger(at unsafe.Pointer, v uint64) {
	switch f.memory {
	case memInt8, memUint8:
		*(*uint8)(at) = uint8(v)
	case memInt16, memUint16:
		*(*uint16)(at) = uint16(v)
	case memInt32, memUint32:
		*(*uint32)(at) = uint32(v)
	default:
		*(*uint64)(at) = v
	}
}

func putUint64(to []uint32, v uint64) { to[0], to[1] = uint32(v), uint32(v>>32) }

func getUint64(from []uint32) uint64 { return uint64(from[0]) | uint64(from[1])<<32 }

// turn quantises an angle in radians: floor(x/(2*pi)*2^bits + 0.5), modulo 2^bits. NaN
// and infinities become 0.
func (f *field) turn(x float64) uint32 {
	t := x / (2 * math.Pi)
	t -= math.Floor(t)
	if t != t {
		return 0
	}
	return uint32(uint64(math.Ldexp(t, int(f.Bits))+0.5)) & f.Max
}

// radians restores an angle, from -pi to below pi.
func (f *field) radians(n uint32) float64 {
	unused := 32 - f.Bits
	return math.Ldexp(float64(int32(n<<unused)>>unused), -int(f.Bits)) * (2 * math.Pi)
}

// smallestThree packs a unit quaternion: the index of the first component of largest
// magnitude, in 2 bits, then the others in order, each as the nearest of 2^n numbers from
// -1/sqrt(2) to 1/sqrt(2), with the signs that make the largest positive. Four zeros
// become the identity 0, 0, 0, 1.
func (f *field) smallestThree(q *[4]float32) uint32 {
	largest := 0
	for i, v := range q {
		if !(math.Abs(float64(v)) <= math.Abs(float64(q[largest]))) {
			largest = i
		}
	}
	sign := math.Copysign(1, float64(q[largest]))
	if q[largest] == 0 || q[largest] != q[largest] {
		q, largest, sign = &[4]float32{3: 1}, 3, 1
	}
	packed, shift := uint32(largest), 2
	for i, v := range q {
		if i == largest {
			continue
		}
		n := float64((float64(float64(v)*sign*math.Sqrt2)+1)*float64(f.Max)/2) + 0.5
		packed |= uint32(max(0, min(n, float64(f.Max)))) << shift
		shift += int(f.Bits-2) / 3
	}
	return packed
}

// quaternion unpacks a rotation. The largest component makes the length 1. If rounding
// would make it smaller than another component, it is the next float32 above that
// component, so that quantising the result gives the value again.
func (f *field) quaternion(packed uint32) (q [4]float32) {
	largest := packed & 3
	packed >>= 2
	rest, above := 1.0, float32(0)
	for i := range q {
		if uint32(i) == largest {
			continue
		}
		v := (float64(2*(packed&f.Max))/float64(f.Max) - 1) / math.Sqrt2
		packed >>= (f.Bits - 2) / 3
		rest -= float64(v * v)
		q[i] = float32(v)
		above = max(above, float32(math.Abs(v)))
	}
	q[largest] = max(float32(math.Sqrt(max(rest, 0))), math.Nextafter32(above, 2))
	return q
}
