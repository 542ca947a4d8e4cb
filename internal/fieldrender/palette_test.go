package fieldrender

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// linear returns the light of the lowest byte of a colour, of 1.
func linear(rgb uint32) float64 {
	c := float64(rgb&255) / 255
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// oklab converts a colour to B. Ottosson's OKLab: lightness, and two axes of hue.
func oklab(rgb uint32) [3]float64 {
	r, g, b := linear(rgb>>16), linear(rgb>>8), linear(rgb)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// The steps of a ramp are equal in OKLab, and all away from the lightness of the paper. A step
// is about five units of 8-bit colour, which rounds by up to a tenth.
func TestRampsAreEven(t *testing.T) {
	for _, theme := range themes {
		at := func(i int) [3]float64 { return oklab(theme.ramp[i]) }
		distance := func(i int) float64 {
			a, b := at(i), at(i+1)
			return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
		}
		mean := 0.0
		for i := range levels - 1 {
			mean += distance(i) / (levels - 1)
		}
		away := math.Copysign(1, 0.5-oklab(theme.paper)[0])
		for i := range levels - 1 {
			require.InEpsilon(t, mean, distance(i), 0.15, "%s: step %d", theme.name, i)
			require.Greater(t, away*(at(i + 1)[0]-at(i)[0]), 0.008, "%s: step %d", theme.name, i)
		}
	}
}

// On every level of a ramp, its ink differs clearly in lightness.
func TestInkShows(t *testing.T) {
	for _, theme := range themes {
		for level, rgb := range theme.ramp {
			with := theme.inks[inkOn(level)]
			require.Greater(t, math.Abs(oklab(with)[0]-oklab(rgb)[0]), 0.35, "%s: level %d", theme.name, level)
		}
	}
}

// contrast returns the contrast ratio of two colours, as WCAG 2 defines it.
func contrast(a, b uint32) float64 {
	luminance := func(rgb uint32) float64 {
		return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text and frames meet WCAG 2 (1.4.3 and 1.4.11) on the paper; a text may also be on level 0.
func TestTextShows(t *testing.T) {
	for _, theme := range themes {
		for _, ground := range []uint32{theme.paper, theme.ramp[0]} {
			require.Greater(t, contrast(theme.text, ground), 7.0, theme.name)
			require.Greater(t, contrast(theme.dim, ground), 4.5, theme.name)
			require.Greater(t, contrast(theme.frame, ground), 3.0, theme.name)
		}
	}
}

// A picture in another theme has other colours at the same pixels.
func TestThemesDifferInPalette(t *testing.T) {
	p := compile(t, swelling)
	v := Around(p, XY)
	dark := must.Get(Sheet(p, v, 1))
	v.Theme = Light
	light := must.Get(Sheet(p, v, 1))
	require.True(t, bytes.Equal(dark.Pix, light.Pix))
	for i := range colours {
		require.NotEqual(t, dark.Palette[i], light.Palette[i])
	}
}

func TestPaletteFits(t *testing.T) {
	require.Len(t, Light.palette(), colours)
	require.Less(t, colours, 256, "an animation adds a transparent colour")
	require.Equal(t, opaque(0x0f141d), Dark.palette()[0])
	require.Equal(t, blend(0x000000, 0xff8000, 1, 2), opaque(0x804000))
}
