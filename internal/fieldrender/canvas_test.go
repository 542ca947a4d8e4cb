package fieldrender

import (
	"image"
	"testing"

	"github.com/stretchr/testify/require"
)

// bare returns a canvas with level 0 everywhere.
func bare(size int) (canvas, image.Rectangle) {
	c := newCanvas(Dark, size, size)
	c.block(c.image.Rect, 0)
	return c, c.image.Rect
}

// inked counts the pixels of a rectangle covered by a line or a shape.
func inked(c canvas, r image.Rectangle) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if index := int(c.image.ColorIndexAt(x, y)); index >= inkIndex || index%levelStride != 0 {
				n++
			}
		}
	}
	return n
}

func TestFill(t *testing.T) {
	c, all := bare(8)
	square := []corner{cornerAt(2, 2), cornerAt(5, 2), cornerAt(5, 4.5), cornerAt(2, 4.5)}
	c.fill(all, lowInk, square...)
	at := func(x, y int) int { return int(c.image.ColorIndexAt(x, y)) }
	require.Equal(t, inkIndex, at(2, 2))
	require.Equal(t, inkIndex, at(4, 3))
	require.Equal(t, 2, at(3, 4), "half covered: one and a half thirds, rounded")
	require.Zero(t, at(1, 2))
	require.Zero(t, at(5, 2))
	require.Equal(t, 9, inked(c, all))

	reversed, _ := bare(8)
	reversed.fill(all, lowInk, square[3], square[2], square[1], square[0])
	require.Equal(t, c.image.Pix, reversed.image.Pix, "corners in either direction")

	clipped, _ := bare(8)
	clipped.fill(image.Rect(0, 0, 3, 8), lowInk, square...)
	require.Equal(t, 3, inked(clipped, all), "nothing outside the clip")
}

// The larger amount of ink wins in any order, and paper takes none.
func TestShade(t *testing.T) {
	c, _ := bare(4)
	level := 30 * levelStride
	c.image.Pix[0], c.image.Pix[1], c.image.Pix[2] = uint8(level), uint8(level), uint8(paperIndex)
	c.shade(0, 0, highInk, 2)
	c.shade(0, 0, highInk, 1)
	require.Equal(t, level+4, int(c.image.Pix[0]))
	c.shade(0, 0, lowInk, 3)
	c.shade(0, 0, highInk, 1)
	require.Equal(t, inkIndex, int(c.image.Pix[0]))
	c.shade(1, 0, highInk, 0)
	require.Equal(t, level, int(c.image.Pix[1]))
	c.shade(2, 0, highInk, 3)
	require.Equal(t, paperIndex, int(c.image.Pix[2]))
}

func TestText(t *testing.T) {
	c := newCanvas(Dark, 40, 20)
	c.text(0, 0, textIndex, plainFace, "1")
	drawn := 0
	for i, index := range c.image.Pix {
		if int(index) == paperIndex {
			continue
		}
		drawn++
		require.Less(t, i%40, letterWidth)
		require.GreaterOrEqual(t, int(index), textIndex)
		require.Less(t, int(index), textIndex+textShades)
	}
	require.Greater(t, drawn, 8)
	require.NotPanics(t, func() { c.text(30, 15, textIndex, plainFace, "over the edge") })
}
