package world

import "math"

// Hit is a body that a ray hits.
type Hit struct {
	Entity   Entity
	Distance float32 // metres from the start to the entry point; 0 if the ray starts inside
}

// AppendRay appends the bodies hit by the segment between two points, widened by
// thickness on all sides, nearest first and by slot at equal distance. Bodies are
// spheres of their kind's radius. It traverses the grid row by row. It finds nothing if
// a point or the thickness is not finite, or the thickness is negative.
func (w *World) AppendRay(list []Hit, from, to Vec3, thickness float32) []Hit {
	if !isRay(from, to, thickness) {
		return list
	}
	first := len(list)
	r := newRay(from, to, float64(thickness))
	w.visitRay(&r, func(c int32) { list = w.appendHits(list, &r, c) })
	sortHits(list[first:])
	return list
}

// visitRay visits the grid cells that may contain a body that the ray hits.
func (w *World) visitRay(r *ray, visit func(c int32)) {
	g, wide := &w.grid, r.thickness+float64(w.radius)
	rows := g.cover(0, 0, min(r.from[2], r.to[2])-wide, max(r.from[2], r.to[2])+wide)
	for z := rows.z0; z <= rows.z1; z++ {
		low, high := g.rowBounds(z)
		lowX, highX, ok := r.clipZ(low-wide, high+wide)
		if !ok {
			continue
		}
		columns := g.cover(lowX-wide, highX+wide, 0, 0)
		for x := columns.x0; x <= columns.x1; x++ {
			visit(z*g.columns + x)
		}
	}
}

// rowBounds returns the z range of a row of cells, with slack for rounding errors. It
// is unbounded for the outermost rows, which also hold clamped positions.
func (g *grid) rowBounds(z int32) (low, high float64) {
	edge, slack := 1/float64(g.perMetre), 0.01+float64(2e-6*float64(g.halfZ))
	low = float64(float64(z)*edge) - float64(g.halfZ) - slack
	high = low + edge + float64(2*slack)
	if z == 0 {
		low = math.Inf(-1)
	}
	if z == g.rows-1 {
		high = math.Inf(1)
	}
	return low, high
}

// ray is a segment in double precision, which keeps it straight in large worlds.
type ray struct {
	from, to, along [3]float64 // along has length 1 or 0
	length          float64
	thickness       float64
}

func newRay(from, to Vec3, thickness float64) ray {
	r := ray{
		from: [3]float64{float64(from.X), float64(from.Y), float64(from.Z)},
		to:   [3]float64{float64(to.X), float64(to.Y), float64(to.Z)}, thickness: thickness,
	}
	square := 0.0
	for i := range r.along {
		r.along[i] = r.to[i] - r.from[i]
		square += float64(r.along[i] * r.along[i])
	}
	r.length = math.Sqrt(square)
	for i := range r.along {
		if r.length > 0 {
			r.along[i] /= r.length
		}
	}
	return r
}

// clipZ returns the range of x in which the ray lies between two z.
func (r *ray) clipZ(low, high float64) (lowX, highX float64, ok bool) {
	a, b := 0.0, 1.0 // parameter range of the clipped ray
	z, dz := r.from[2], r.to[2]-r.from[2]
	if dz == 0 {
		if z < low || z > high {
			return 0, 0, false
		}
	} else {
		enter, leave := (low-z)/dz, (high-z)/dz
		a, b = max(a, min(enter, leave)), min(b, max(enter, leave))
		if a > b {
			return 0, 0, false
		}
	}
	dx := r.to[0] - r.from[0]
	x0, x1 := r.from[0]+float64(dx*a), r.from[0]+float64(dx*b)
	return min(x0, x1), max(x0, x1), true
}

func (w *World) appendHits(list []Hit, r *ray, c int32) []Hit {
	b := &w.bodies
	for _, slot := range w.grid.slots(c) { // any order: hits are sorted later
		row := int(w.rowOf[slot])
		if d, ok := r.intersect(b.Position(row), w.radiusOf(row)); ok {
			list = append(list, Hit{w.pool.HandleAt(slot), d})
		}
	}
	return list
}

// intersect returns the distance at which the ray enters a sphere.
func (r *ray) intersect(center Vec3, radius float64) (float32, bool) {
	m := [3]float64{float64(center.X) - r.from[0], float64(center.Y) - r.from[1], float64(center.Z) - r.from[2]}
	var forward, square float64
	for i := range m {
		forward += float64(m[i] * r.along[i])
		square += float64(m[i] * m[i])
	}
	reach := radius + r.thickness
	root := float64(reach * reach)
	if square <= root {
		return 0, true
	}
	// Subtract the squared distance of the line from the centre, summed from components:
	// square - forward² would cancel two large numbers when the sphere is far away.
	for i := range m {
		gap := m[i] - float64(forward*r.along[i])
		root -= float64(gap * gap)
	}
	if forward <= 0 || root < 0 {
		return 0, false
	}
	enters := forward - math.Sqrt(root)
	return float32(enters), enters <= r.length
}
