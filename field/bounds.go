package field

import "math"

// bounds is how far points reach, lane by lane.
type bounds [3]extent

// An extent is how far the numbers of a plane reach. Kernels write it.
type extent struct {
	least, greatest float32 // +Inf and -Inf if there is nothing but NaN
	nan             uint32  // not 0: there is NaN, which has no place between the two
}

// nowhere is how far no points reach.
var nowhere = bounds{nothing, nothing, nothing}

var nothing = extent{least: float32(math.Inf(1)), greatest: float32(math.Inf(-1))}

// boundsOf measures chunks of points: all but the last are whole.
func boundsOf(to []bounds, points Planes) {
	c := boundsFast(to, points) // chunks that are done
	for ; c < len(to); c++ {
		at := c * chunkPoints
		to[c] = boundsGo(nowhere, points.cut(at, min(at+chunkPoints, len(points.X))))
	}
}

// boundsGo makes b reach as far as the points do, too: the definition, and what
// other machines run. Vectors may find the other zero where both are there.
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

// join makes b reach as far as other does, too.
func (b *bounds) join(other *bounds) {
	for lane := range b {
		e, o := &b[lane], &other[lane]
		e.least, e.greatest, e.nan = min32(o.least, e.least), max32(o.greatest, e.greatest), e.nan|o.nan
	}
}
