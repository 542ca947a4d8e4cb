package fieldrender

import (
	"fmt"
	"hash/fnv"
	"image"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// fingerprint returns a hash of a picture's pixels.
func fingerprint(i *image.Paletted) string {
	h := fnv.New64a()
	fmt.Fprint(h, i.Rect, i.Palette)
	_, _ = h.Write(i.Pix)
	return fmt.Sprintf("%016x", h.Sum64())
}

// P1: the hashes are the same on every machine, and change only with the intended look. A
// compiler can rearrange nothing in these effects.
func TestSamePictures(t *testing.T) {
	for _, c := range []struct {
		text  string
		plane Plane
		still string
		sheet string
	}{
		{swelling, XY, "b9e4ba42a12e4536", "ecea38add6bc579a"},
		{turning, XZ, "61853bce7e6757c3", "e5172ec57aac2261"},
		{turning, ZY, "656349b8fc0c4032", "b319ee827834313c"},
	} {
		p := compile(t, c.text)
		v := Around(p, c.plane)
		v.Mode, v.Time = Mode(c.plane%2), 0.25
		still := must.Get(Still(p, v))
		require.Equal(t, c.still, fingerprint(still), "%s", p.Name())
		sheet := must.Get(Sheet(p, v, 0.4))
		require.Equal(t, c.sheet, fingerprint(sheet), "%s", p.Name())
	}
}

// arrowOf draws the only arrow of a small panel in a uniform wind.
func arrowOf(t *testing.T, plane Plane, wind string) (c canvas, r image.Rectangle) {
	t.Helper()
	program := uniform(t, wind)
	c, r = bare(arrowSpacing)
	p := panel{Around(program, plane), r}
	p.drawArrows(c, program, scale{step: tickStep{1, 0}, steps: 1})
	return c, r
}

// The head of an arrow, which is wider than its tail, points with the wind.
func TestArrowsPoint(t *testing.T) {
	for _, c := range []struct {
		plane Plane
		wind  string
		head  image.Point // direction in the picture: x right, y down
	}{
		{XZ, "(1, 0, 0)", image.Pt(1, 0)},
		{XZ, "(-1, 0, 0)", image.Pt(-1, 0)},
		{XZ, "(0, 0, 1)", image.Pt(0, 1)},
		{XY, "(1, 0, 0)", image.Pt(1, 0)},
		{XY, "(0, 1, 0)", image.Pt(0, -1)},
		{ZY, "(0, 0, 1)", image.Pt(1, 0)},
		{ZY, "(0, -1, 0)", image.Pt(0, 1)},
	} {
		canvas, r := arrowOf(t, c.plane, c.wind)
		const half = arrowSpacing / 2
		head := r.Add(c.head.Mul(half)).Intersect(r)
		tail := r.Add(c.head.Mul(-half)).Intersect(r)
		require.Greater(t, inked(canvas, head), inked(canvas, tail)+5, "%v %s", c.plane, c.wind)
	}
}

// A vector through the plane has a dot if it points towards the viewer, a cross if away.
func TestRings(t *testing.T) {
	for _, c := range []struct {
		plane         Plane
		towards, away string
	}{
		{XZ, "(0, 1, 0)", "(0, -1, 0)"},
		{XY, "(0, 0, 1)", "(0.1, 0, -1)"},
		{ZY, "(-1, 0, 0)", "(1, 0.1, 0)"},
	} {
		const middle, arm = arrowSpacing / 2, 2
		dot, _ := arrowOf(t, c.plane, c.towards)
		cross, r := arrowOf(t, c.plane, c.away)
		near := image.Rect(middle-1, middle-1, middle+1, middle+1)
		require.Equal(t, 4, inked(dot, near), "%v", c.plane)
		corner := image.Rect(middle-1-arm, middle-1-arm, middle-arm, middle-arm)
		require.Equal(t, 0, inked(dot, corner), "%v", c.plane)
		require.Equal(t, 1, inked(cross, corner), "%v", c.plane)
		require.Zero(t, inked(cross, image.Rect(0, 0, arrowSpacing, middle-6).Intersect(r)), "%v: no arrow", c.plane)
	}
}

// Where the field is 0 or almost 0 there are no arrows.
func TestNothing(t *testing.T) {
	c, r := arrowOf(t, XZ, "(0.01, 0, 0)")
	require.Zero(t, inked(c, r))
}

// The level of a pixel is the magnitude at its point.
func TestColours(t *testing.T) {
	program := compile(t, "output.x = add output.x, position.x")
	v := Around(program, XZ)
	v.Min, v.Max = [2]float32{0, 0}, [2]float32{10, 10}
	c, r := bare(100)
	p := panel{v, r}
	m := p.magnitudes(program)
	s := scaleOf(m)
	require.InDelta(t, 10, s.top(), 1e-9)
	p.drawMagnitudes(c, m, s)
	for x := range 100 {
		want := int(float64(2*x+1)/200*float64(levels-1) + 0.5)
		require.InDelta(t, want, int(c.image.ColorIndexAt(x, 7))/levelStride, 1, "column %d", x)
	}
	require.Zero(t, inked(c, r), "bare colours")
}

// P2: effects with infinities, denormals and distant boxes are drawn.
func TestUnusualEffects(t *testing.T) {
	for _, text := range []string{
		"a = div 1, position\noutput = add output, a",
		"a = mul position, 3e38\na = mul a, 3e38\noutput = add output, a",
		"a = mul position, 1e-38\na = mul a, 1e-6\noutput = add output, a",
		"box (-1e6, -1e6, -1e6) (1e6, 1e6, 1e6)\noutput = add output, (0, 0, 0)",
		"box (-1e38, 0, -1e38) (1e38, 1, 1e38)\noutput = add output, (1, 1, 1)",
		"box (799000, 0, 799000) (799900, 1, 799900)\noutput = add output, (1, 1, 1)",
	} {
		p := compile(t, text)
		for plane := range planes {
			v := Around(p, Plane(plane))
			if v.Check(p) != nil {
				v.At, v.Min, v.Max = 0, [2]float32{-1, -1}, [2]float32{1, 1}
			}
			picture, err := Still(p, v)
			require.NoError(t, err, "%s", text)
			require.Less(t, max(picture.Rect.Dx(), picture.Rect.Dy()), 700)
		}
	}
}

// Captions of long names and many parameters stay within the picture.
func TestCaptions(t *testing.T) {
	text := "effect storm_cell_with_a_name_that_is_as_long_as_names_may_be\n"
	for i := range 40 {
		text += fmt.Sprintf("param parameter_%d = (%d, 0.25, -1e-7)\n", i, i)
	}
	p := compile(t, text+"output = add output, parameter_7")
	v := Around(p, XY)
	v.Time = 1.0 / 3
	lines := v.caption(p, true, 61)
	require.Equal(t, "xy at z = 0 m, time 0.333 s", lines[0])
	require.Equal(t, "parameter_0 (0, 0.25, -1e-07), parameter_1 (1, 0.25, -1e-07),", lines[1])
	require.Equal(t, "...", lines[3])
	require.Len(t, lines, 4)
	for letters := 45; letters < 75; letters++ {
		for _, line := range v.caption(p, true, letters)[:3] {
			require.LessOrEqual(t, len(line), letters)
			require.NotContains(t, line, "...", "entries are not truncated")
		}
	}
	must.Get(Still(p, v))
	require.Equal(t, "0.5", vector([4]float32{0.5, 0.5, 0.5, 0.5}))
	require.Equal(t, "(1, 2, 3, 4)", vector([4]float32{1, 2, 3, 4}))
	require.Equal(t, "1000000 s", seconds(1e6))
}

// Only a slice that is 0 everywhere says so.
func TestEmptySlice(t *testing.T) {
	for text, want := range map[string]bool{"(0, 0, 0)": true, "(0, 1e-30, 0)": false} {
		p := uniform(t, text)
		picture := must.Get(Still(p, Around(p, XZ)))
		written := 0
		for i := range 250 * 250 {
			if int(picture.ColorIndexAt(150+i%250, 150+i/250)) >= dimIndex {
				written++
			}
		}
		require.Equal(t, want, written > 100, "%s", text)
	}
}
