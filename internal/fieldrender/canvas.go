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

// Dimensions of the font, in pixels. It is monospaced.
const (
	letterWidth = 8
	lineHeight  = 16
	baseline    = 12
)

// A canvas is an image drawn in integers (P1): corners of shapes are rounded to fractions of
// a pixel first, and the rest is exact.
type canvas struct {
	image *image.Paletted
}

func newCanvas(theme Theme, width, height int) canvas {
	c := canvas{image.NewPaletted(image.Rect(0, 0, width, height), theme.palette())}
	for i := range c.image.Pix {
		c.image.Pix[i] = uint8(paperIndex)
	}
	return c
}

// Coordinates of shapes count fractions of a pixel. A pixel has samplesPerSide² samples, at
// the centres of its parts.
const (
	fractions      = 16
	samplesPerSide = 4
	samples        = samplesPerSide * samplesPerSide
)

// A corner is a point of a shape, in fractions of a pixel right and down.
type corner struct{ x, y int }

func cornerAt(x, y float64) corner {
	return corner{int(math.Round(float64(x * fractions))), int(math.Round(float64(y * fractions)))}
}

// fill draws a convex shape over the levels of the ramp inside clip. Corners may be clockwise
// or counterclockwise.
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

// An edge is a line. Points with right*x + down*y + from >= 0 are on the shape's side.
type edge struct{ right, down, from int }

func (e edge) at(x, y int) int { return e.right*x + e.down*y + e.from }

// edges bound a convex shape; none if it has no area.
type edges []edge

func outline(corners []corner) edges {
	area := 0 // twice the area; the sign is the direction of the corners
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

// coverage counts the samples of a pixel inside all edges.
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

// shade covers a pixel with thirds of an ink. A pixel with more ink keeps it.
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

// line draws a line between two points; all dimensions are in pixels. It is half a pixel
// longer at both ends, so that consecutive lines leave no gap.
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

// dot fills an octagon; all dimensions are in pixels.
func (c canvas) dot(clip image.Rectangle, with ink, radius, x, y float64) {
	s := float64(radius * 0.4142) // half a side
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

// text draws a line of text on the paper, with its upper left corner at x, y. index is the
// palette index of the faintest shade of its colour.
func (c canvas) text(x, y, index int, face *basicfont.Face, line string) {
	d := font.Drawer{Dst: inkedPaper{c.image, index}, Src: image.White, Face: face, Dot: fixed.P(x, y+baseline)}
	d.DrawString(line)
}

var (
	plainFace = inconsolata.Regular8x16
	boldFace  = inconsolata.Bold8x16
)

// inkedPaper is a draw.Image that maps white text on bare paper to shades of a colour.
type inkedPaper struct {
	image *image.Paletted
	index int
}

func (inkedPaper) ColorModel() color.Model   { return color.Gray16Model }
func (p inkedPaper) Bounds() image.Rectangle { return p.image.Rect }

// At returns black for every pixel.
func (inkedPaper) At(int, int) color.Color { return color.Black }

// Set maps brightness to a shade.
func (p inkedPaper) Set(x, y int, c color.Color) {
	r, _, _, _ := c.RGBA()
	if shade := int(r*textShades+0x7fff) / 0xffff; shade > 0 {
		p.image.SetColorIndex(x, y, uint8(p.index+shade-1)) // ignored outside
	}
}
