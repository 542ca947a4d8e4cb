package fieldrender

import (
	"math"

	"github.com/worldd/worldd/field"
)

// Dimensions of arrows, in pixels.
const (
	arrowSpacing  = 30
	shortestArrow = 9
	longestArrow  = 24
	shaftWidth    = 1.5
	headLength    = 7
	headWidth     = 6
	ringRadius    = 4.5
)

const (
	// faintest is the share of the scale below which no arrow is drawn.
	faintest = 0.02
	// steepest is the least share of a vector that must lie in the plane for an arrow: with
	// less, its direction in the plane says little.
	steepest = 0.25
)

// drawArrows draws directions on a grid: the projection of each vector onto the plane, or the
// sign of its component through the plane where this component dominates.
func (p *panel) drawArrows(c canvas, program *field.Program, s scale) {
	columns := p.rect.Dx()/arrowSpacing | 1 // odd: one is in the middle
	rows := p.rect.Dy()/arrowSpacing | 1
	sampled := p.sample(program, columns, rows)
	right, vertical, through := p.view.Plane.turn(sampled.out)
	at := &planes[p.view.Plane]
	for i := range columns * rows {
		magnitude := float64(sampled.magnitude(i))
		if magnitude < float64(faintest*s.top()) || math.IsInf(magnitude, 1) {
			continue
		}
		x, y := p.gridPoint(i, columns, rows)
		dx, dy := float64(right[i])/magnitude, -float64(vertical[i]*at.up)/magnitude
		flat := math.Sqrt(float64(dx*dx) + float64(dy*dy))
		if flat < steepest {
			p.drawRing(c, x, y, through[i]*at.towards > 0)
			continue
		}
		length := shortestArrow + float64((longestArrow-shortestArrow)*min(float64(magnitude*flat)/s.top(), 1))
		p.drawArrow(c, x, y, dx/flat, dy/flat, length)
	}
}

// drawArrow draws an arrow centred at x, y. (dx, dy) is its unit direction in the picture.
func (p *panel) drawArrow(c canvas, x, y, dx, dy, length float64) {
	with := c.inkAt(p.rect, x, y)
	along := func(l float64) (float64, float64) { return x + float64(dx*l), y + float64(dy*l) }
	tailX, tailY := along(-length / 2)
	neckX, neckY := along(length/2 - headLength)
	tipX, tipY := along(length / 2)
	// The shaft ends inside the head, to leave no seam.
	inX, inY := along(length/2 - headLength + 1)
	c.line(p.rect, with, shaftWidth, tailX, tailY, inX, inY)
	sideX, sideY := float64(-dy*headWidth/2), float64(dx*headWidth/2)
	c.fill(p.rect, with, cornerAt(tipX, tipY), cornerAt(neckX+sideX, neckY+sideY), cornerAt(neckX-sideX, neckY-sideY))
}

// drawRing draws a vector that points through the plane, towards the viewer or away.
func (p *panel) drawRing(c canvas, x, y float64, towards bool) {
	const corners = 8
	with := c.inkAt(p.rect, x, y)
	const d = ringRadius * 0.70710678
	ring := [corners][2]float64{{ringRadius, 0}, {d, d}, {0, ringRadius}, {-d, d}, {-ringRadius, 0}, {-d, -d}, {0, -ringRadius}, {d, -d}}
	for i, a := range ring {
		b := ring[(i+1)%corners]
		c.line(p.rect, with, 1, x+a[0], y+a[1], x+b[0], y+b[1])
	}
	if towards {
		c.dot(p.rect, with, 1.5, x, y)
		return
	}
	const arm = 2.5
	c.line(p.rect, with, 1, x-arm, y-arm, x+arm, y+arm)
	c.line(p.rect, with, 1, x-arm, y+arm, x+arm, y-arm)
}
