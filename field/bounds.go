package field

import "math"

// bounds is the range of points in each lane.
type bounds [3]extent

// An extent is the range of a plane's values. Kernels write it.
type extent struct {
	least, greatest float32 // +Inf and -Inf if all values are NaN
	nan             uint32  // nonzero if a value is NaN
}

// nowhere is the bounds of no points.
var nowhere = bounds{nothing, nothing, nothing}

var nothing = extent{least: float32(math.Inf(1)), greatest: float32(math.Inf(-1))}

// boundsOf computes the bounds of chunks of points. Only the last chunk may be partial.
func boundsOf(to []bounds, points Planes) {
	c := boundsFast(to, points) // number of chunks that kernels have done: all but a small partial one
	for ; c < len(to); c++ {
		at := c * chunkPoints
		to[c] = boundsGo(nowhere, points.cut(at, min(at+chunkPoints, len(points.X))))
	}
}

// boundsGo extends b to the points. It defines the result, and is used where there is no
// kernel. If both zeros occur, vector kernels may return the other one.
func boundsGo(b bounds, points Planes) bounds {
	for lane, plane := range points.lanes() {
		e := &b[lane]
		for _, v := range plane {
			e.least, e.greatest = min32(v, e.least), max32(v, e.greatest)
			if v != v {
				e.nan = 1
			}
		}
	}
	return b
}

func (b *bounds) join(other *bounds) {
	for lane := range b {
		e, o := &b[lane], &other[lane]
		e.least, e.greatest, e.nan = min32(o.least, e.least), max32(o.greatest, e.greatest), e.nan|o.nan
	}
}
