package wire

// vector is a place or a way, along three axes. It is a struct, and not an array,
// so that it travels in registers.
type vector struct{ x, y, z int64 }

// place is the vector in the words from at on.
func place(words []uint32, at int) vector {
	w := words[at : at+3 : at+3]
	return vector{int64(w[0]), int64(w[1]), int64(w[2])}
}

func (v vector) plus(w vector) vector { return vector{v.x + w.x, v.y + w.y, v.z + w.z} }

func (v vector) minus(w vector) vector { return vector{v.x - w.x, v.y - w.y, v.z - w.z} }

// scaled is v times a factor in 1/2^bits.
func (v vector) scaled(factor int64, bits uint) vector {
	return vector{v.x * factor >> bits, v.y * factor >> bits, v.z * factor >> bits}
}

// fine is v in 1/256 of its unit.
func (v vector) fine() vector {
	return vector{v.x << fractionBits, v.y << fractionBits, v.z << fractionBits}
}

// within is v with each component at most so far from 0.
func (v vector) within(most int64) vector {
	return vector{clamp(v.x, most), clamp(v.y, most), clamp(v.z, most)}
}

func clamp(v, most int64) int64 { return min(max(v, -most), most) }

// size is the sum of the magnitudes.
func (v vector) size() int64 { return absolute(v.x) + absolute(v.y) + absolute(v.z) }

// axes are the components by their numbers.
func (v vector) axes() [3]int64 { return [3]int64{v.x, v.y, v.z} }

// along is the component of an axis.
func (v vector) along(axis int) int64 {
	switch axis {
	case 0:
		return v.x
	case 1:
		return v.y
	}
	return v.z
}

// crosswise is v turned a quarter around an axis, on which it ends flat.
func (v vector) crosswise(axis int) vector {
	switch axis {
	case 0:
		return vector{0, -v.z, v.y}
	case 1:
		return vector{v.z, 0, -v.x}
	}
	return vector{-v.y, v.x, 0}
}
