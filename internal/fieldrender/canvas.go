package fieldrender

import (
	"image"
	"image/color"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/font/inconsolata"
	"golang.org/x/image/math/fixed"
)

// Measures of the font, in pixels. Every letter is as wide as any other.
const (
	letterWidth = 8
	lineHeight  = 16
	baseline    = 12
)

// A canvas is an image that is drawn on in whole numbers (P1): corners of shapes
// are rounded to fractions of a pixel first, and all that follows is exact.
type canvas struct {
	image *image.Paletted
}

func newCanvas(width, height int) canvas {
	c := canvas{image.NewPaletted(image.Rect(0, 0, width, height), newPalette())}
	for i := range c.image.Pix {
		c.image.Pix[i] = uint8(paperIndex)
	}
	return c
}

// Coordinates of shapes count fractions of a pixel; a pixel has samplesPerSide²
// samples, each in the middle of its part.
const (
	fractions      = 16
	samplesPerSide = 4
	samples        = samplesPerSide * samplesPerSide
)

// A corner is a point of a shape: fractions of pixels right and down.
type corner struct{ x, y int }

func cornerAt(x, y float64) corner {
	return corner{int(math.Round(float64(x * fractions))), int(math.Round(float64(y * fractions)))}
}

// fill draws a convex shape over the levels of the ramp inside clip. Its corners
// go round either way.
func (c canvas) fill(clip image.Rectangle, with ink, corners ...corner) {
	lo, hi := corners[0], corners[0]
	for _, p := range corners[1:] {
		lo = corner{min(lo.x, p.x), min(lo.y, p.y)}
		hi = corner{max(hi.x, p.x), max(hi.y, p.y)}
	}
	reach := image.Rect(lo.x/fractions-1, lo.y/fractions-1, hi.x/fractions+2, hi.y/fractions+2).Intersect(clip)
	shape := outline(corners)
	for y := reach.Min.Y; y < reach.Max.Y; y++ {
		for x := reach.Min.X; x < reach.Max.X; x++ {
			c.shade(x, y, with, (shape.coverage(x, y)*shades+samples/2)/samples)
		}
	}
}

// An edge is a line, of which the points with right*x + down*y + from >= 0 are on
// the side of the shape.
type edge struct{ right, down, from int }

func (e edge) at(x, y int) int { return e.right*x + e.down*y + e.from }

// edges are those of a convex shape; none if it has no area.
type edges []edge

func outline(corners []corner) edges {
	area := 0 // twice, and negative if the corners go round the other way
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		area += a.x*b.y - b.x*a.y
	}
	turn := 1
	switch {
	case area == 0:
		return nil
	case area < 0:
		turn = -1
	}
	shape := make(edges, len(corners))
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		shape[i] = edge{turn * (a.y - b.y), turn * (b.x - a.x), turn * (a.x*b.y - b.x*a.y)}
	}
	return shape
}

// coverage counts the samples of a pixel that are inside of all edges.
func (s edges) coverage(x, y int) (inside int) {
	x, y = x*fractions, y*fractions
	whole := true
	for _, e := range s {
		middle := e.at(x+fractions/2, y+fractions/2)
		reach := (max(e.right, -e.right) + max(e.down, -e.down)) * (fractions / 2)
		if middle < -reach {
			return 0
		}
		whole = whole && middle >= reach
	}
	switch {
	case len(s) == 0:
		return 0
	case whole:
		return samples
	}
	const step = fractions / samplesPerSide
	for i := range samples {
		sx, sy := x+i%samplesPerSide*step+step/2, y+i/samplesPerSide*step+step/2
		if !slices.ContainsFunc(s, func(e edge) bool { return e.at(sx, sy) < 0 }) {
			inside++
		}
	}
	return inside
}

// shade puts so many thirds of an ink on a pixel. What has more already keeps it.
func (c canvas) shade(x, y int, with ink, thirds int) {
	at := c.image.PixOffset(x, y)
	under := int(c.image.Pix[at])
	if thirds == 0 || under >= inkIndex {
		return
	}
	if thirds == shades {
		c.image.Pix[at] = uint8(inkIndex + int(with))
		return
	}
	level, had := under/levelStride, under%levelStride
	if had > 0 {
		thirds = max(thirds, (had-1)%(shades-1)+1)
	}
	c.image.Pix[at] = uint8(level*levelStride + int(with)*(shades-1) + thirds)
}

// line draws a straight line, width pixels thick, between two points given in
// pixels. It is half a pixel longer at both ends, so that lines which follow each
// other have no gap.
func (c canvas) line(clip image.Rectangle, with ink, width, ax, ay, bx, by float64) {
	dx, dy := bx-ax, by-ay
	length := math.Sqrt(float64(dx*dx) + float64(dy*dy))
	if length == 0 {
		return
	}
	nx, ny := float64(dx/length*width)/2, float64(dy/length*width)/2
	ex, ey := dx/length/2, dy/length/2
	ax, ay, bx, by = ax-ex, ay-ey, bx+ex, by+ey
	c.fill(clip, with, cornerAt(ax+ny, ay-nx), cornerAt(bx+ny, by-nx), cornerAt(bx-ny, by+nx), cornerAt(ax-ny, ay+nx))
}

// dot fills an octagon around a point given in pixels.
func (c canvas) dot(clip image.Rectangle, with ink, radius, x, y float64) {
	s := float64(radius * 0.4142) // half of a side
	c.fill(clip, with, cornerAt(x-s, y-radius), cornerAt(x+s, y-radius), cornerAt(x+radius, y-s), cornerAt(x+radius, y+s),
		cornerAt(x+s, y+radius), cornerAt(x-s, y+radius), cornerAt(x-radius, y+s), cornerAt(x-radius, y-s))
}

// block fills a rectangle with one colour of the palette.
func (c canvas) block(r image.Rectangle, index int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c.image.SetColorIndex(x, y, uint8(index))
		}
	}
}

// text writes a line on the paper, with its upper left corner at x, y. The index
// is that of the faintest shade of its colour.
func (c canvas) text(x, y, index int, face *basicfont.Face, line string) {
	d := font.Drawer{Dst: inkedPaper{c.image, index}, Src: image.White, Face: face, Dot: fixed.P(x, y+baseline)}
	d.DrawString(line)
}

var (
	plainFace = inconsolata.Regular8x16
	boldFace  = inconsolata.Bold8x16
)

// inkedPaper takes the white of letters on bare paper as shades of a colour.
type inkedPaper struct {
	image *image.Paletted
	index int
}

func (inkedPaper) ColorModel() color.Model   { return color.Gray16Model }
func (p inkedPaper) Bounds() image.Rectangle { return p.image.Rect }

// At is black, whatever is there.
func (inkedPaper) At(int, int) color.Color { return color.Black }

// Set turns brightness into a shade.
func (p inkedPaper) Set(x, y int, c color.Color) {
	r, _, _, _ := c.RGBA()
	if shade := int(r*textShades+0x7fff) / 0xffff; shade > 0 {
		p.image.SetColorIndex(x, y, uint8(p.index+shade-1)) // nothing if outside
	}
}
