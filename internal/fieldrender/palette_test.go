package fieldrender

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// oklab converts a colour to B. Ottosson's OKLab: lightness, and two axes of hue.
func oklab(rgb uint32) [3]float64 {
	linear := func(shift uint) float64 {
		c := float64(rgb>>shift&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	r, g, b := linear(16), linear(8), linear(0)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// The ramp's steps are equal in OKLab, and each is lighter than the one below. A step is about
// five units of 8-bit colour, which rounds by up to a tenth.
func TestRampIsEven(t *testing.T) {
	distance := func(i int) float64 {
		a, b := oklab(ramp[i]), oklab(ramp[i+1])
		return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
	}
	mean := 0.0
	for i := range len(ramp) - 1 {
		mean += distance(i) / float64(len(ramp)-1)
	}
	for i := range len(ramp) - 1 {
		require.InEpsilon(t, mean, distance(i), 0.15, "step %d", i)
		require.Greater(t, oklab(ramp[i+1])[0]-oklab(ramp[i])[0], 0.008, "step %d", i)
	}
}

// On every level of the ramp, its ink differs clearly in lightness.
func TestInkShows(t *testing.T) {
	for level, rgb := range ramp {
		with := uint32(lightColour)
		if inkOn(level) == darkInk {
			with = darkColour
		}
		require.Greater(t, math.Abs(oklab(with)[0]-oklab(rgb)[0]), 0.35, "level %d", level)
	}
}

func TestPaletteFits(t *testing.T) {
	require.Len(t, newPalette(), colours)
	require.Less(t, colours, 256, "an animation adds a transparent colour")
	require.Equal(t, opaque(0x0f141d), newPalette()[0])
	require.Equal(t, blend(0x000000, 0xff8000, 1, 2), opaque(0x804000))
}
