package fieldrender

import (
	"image"
	"math"
	"slices"

	"github.com/worldd/worldd/field"
)

// A probe evaluates an effect at points of a view's plane.
type probe struct {
	program     *field.Program
	view        View
	points, out field.Planes
	scratch     []float32
}

func newProbe(p *field.Program, v View, points int) *probe {
	return &probe{program: p, view: v, points: newPlanes(points), out: newPlanes(points), scratch: make([]float32, p.Scratch())}
}

func newPlanes(n int) field.Planes {
	return field.Planes{X: make([]float32, n), Y: make([]float32, n), Z: make([]float32, n)}
}

// turn returns the axes of v in the order right, vertical, through.
func (p Plane) turn(v field.Planes) (right, vertical, through []float32) {
	all := [3][]float32{v.X, v.Y, v.Z}
	at := &planes[p]
	return all[at.right], all[at.vertical], all[at.through]
}

// evaluate sets out to the effect at the points. Check and newProbe rule out every error of
// Evaluate.
func (p *probe) evaluate(time float32) {
	clear(p.out.X)
	clear(p.out.Y)
	clear(p.out.Z)
	env := field.Env{Time: float64(time), Params: p.view.Params}
	if err := p.program.Evaluate(p.points, p.out, env, p.scratch); err != nil {
		panic("fieldrender: P2: " + err.Error())
	}
}

// magnitude returns the length of the vector at point i, or infinity if it exceeds float32.
func (p *probe) magnitude(i int) float32 {
	x, y, z := float64(p.out.X[i]), float64(p.out.Y[i]), float64(p.out.Z[i])
	return float32(math.Sqrt(float64(x*x) + float64(y*y) + float64(z*z)))
}

// A panel is a region of a view's plane, drawn into a rectangle of a picture.
type panel struct {
	view View
	rect image.Rectangle
}

// toPixel converts a point of the region to picture coordinates. The centre of a pixel is at
// one half.
func (p *panel) toPixel(right, vertical float32) (x, y float64) {
	part := func(value, lo, hi float32) float64 {
		return (float64(value) - float64(lo)) / (float64(hi) - float64(lo))
	}
	x = part(right, p.view.Min[0], p.view.Max[0])
	y = part(vertical, p.view.Min[1], p.view.Max[1])
	if planes[p.view.Plane].up > 0 {
		y = 1 - y
	}
	return float64(p.rect.Min.X) + float64(x*float64(p.rect.Dx())), float64(p.rect.Min.Y) + float64(y*float64(p.rect.Dy()))
}

// toPoint is the inverse of toPixel.
func (p *panel) toPoint(x, y float64) (right, vertical float32) {
	r := (x - float64(p.rect.Min.X)) / float64(p.rect.Dx())
	v := (y - float64(p.rect.Min.Y)) / float64(p.rect.Dy())
	if planes[p.view.Plane].up > 0 {
		v = 1 - v
	}
	at := func(part float64, lo, hi float32) float32 {
		return float32(float64(lo) + float64(part*(float64(hi)-float64(lo))))
	}
	return at(r, p.view.Min[0], p.view.Max[0]), at(v, p.view.Min[1], p.view.Max[1])
}

// sample evaluates the effect at the centres of columns by rows equal parts of the panel, row
// by row from the upper left.
func (p *panel) sample(program *field.Program, columns, rows int) *probe {
	s := newProbe(program, p.view, columns*rows)
	right, vertical, through := p.view.Plane.turn(s.points)
	for i := range columns * rows {
		right[i], vertical[i] = p.toPoint(p.gridPoint(i, columns, rows))
		through[i] = p.view.At
	}
	s.evaluate(p.view.Time)
	return s
}

// gridPoint returns the picture coordinates of sample's i-th point.
func (p *panel) gridPoint(i, columns, rows int) (x, y float64) {
	part := func(i, count, from, extent int) float64 {
		return float64(from) + float64((2*i+1)*extent)/float64(2*count)
	}
	return part(i%columns, columns, p.rect.Min.X, p.rect.Dx()), part(i/columns, rows, p.rect.Min.Y, p.rect.Dy())
}

// magnitudes returns the magnitude of each pixel, row by row.
func (p *panel) magnitudes(program *field.Program) []float32 {
	s := p.sample(program, p.rect.Dx(), p.rect.Dy())
	m := make([]float32, len(s.out.X))
	for i := range m {
		m[i] = s.magnitude(i)
	}
	return m
}

// scaleOf returns a common scale for several panels.
func scaleOf(magnitudes ...[]float32) scale {
	all := slices.Concat(magnitudes...)
	slices.Sort(all)
	return newScale(all)
}

// drawMagnitudes colours the pixels of a panel by magnitude.
func (p *panel) drawMagnitudes(c canvas, magnitudes []float32, s scale) {
	for i, m := range magnitudes {
		x, y := p.rect.Min.X+i%p.rect.Dx(), p.rect.Min.Y+i/p.rect.Dx()
		c.image.SetColorIndex(x, y, uint8(s.level(m)*levelStride))
	}
}

// Lengths in the dashed outline of the box, in pixels.
const dash, gap = 5, 4

// drawBox outlines the effect's box, if it has one.
func (p *panel) drawBox(c canvas, program *field.Program) {
	box, bounded := program.Box()
	if !bounded {
		return
	}
	axes := &planes[p.view.Plane]
	ax, ay := p.toPixel(box.Min[axes.right], box.Min[axes.vertical])
	bx, by := p.toPixel(box.Max[axes.right], box.Max[axes.vertical])
	// The box may extend far beyond the panel: clip before drawing.
	near := p.rect.Inset(-1)
	left, right := max(int(max(min(ax, bx), -1)), near.Min.X), min(int(min(max(ax, bx), 1e6)), near.Max.X)
	top, bottom := max(int(max(min(ay, by), -1)), near.Min.Y), min(int(min(max(ay, by), 1e6)), near.Max.Y)
	for x := left; x < right; x += dash + gap {
		p.drawDash(c, image.Rect(x, top, min(x+dash, right), top+1))
		p.drawDash(c, image.Rect(x, bottom, min(x+dash, right), bottom+1))
	}
	for y := top; y < bottom; y += dash + gap {
		p.drawDash(c, image.Rect(left, y, left+1, min(y+dash, bottom)))
		p.drawDash(c, image.Rect(right, y, right+1, min(y+dash, bottom)))
	}
}

// drawDash draws the part of a dash inside the panel, fainter than arrows.
func (p *panel) drawDash(c canvas, r image.Rectangle) {
	r = r.Intersect(p.rect)
	with := c.inkAt(p.rect, float64(r.Min.X), float64(r.Min.Y))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c.shade(x, y, with, shades-1)
		}
	}
}

// inkAt returns the ink that contrasts with the pixel at x, y.
func (c canvas) inkAt(rect image.Rectangle, x, y float64) ink {
	at := image.Pt(int(x), int(y))
	if !at.In(rect) {
		return lowInk
	}
	under := int(c.image.ColorIndexAt(at.X, at.Y))
	if under >= inkIndex {
		return ink(under - inkIndex)
	}
	return inkOn(under / levelStride)
}
