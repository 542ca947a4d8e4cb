package fieldrender

import (
	"fmt"
	"image/color"
)

// A Theme is the colours of a picture. The pictures of a view in two themes differ only in
// their palettes.
type Theme uint8

// The themes: for dark and for light pages.
const (
	Dark Theme = iota
	Light
)

// levels is the number of colours of a ramp.
const levels = 48

// themeColours are the colours of a theme. The ramp colours magnitudes, from 0 to the
// top of the scale. Its steps are equal in OKLab (B. Ottosson, 2020), so equal differences of
// magnitude look equal. The lightness only rises or only falls, so it is readable in grey.
type themeColours struct {
	name         string
	ramp         [levels]uint32
	inks         [inks]uint32
	paper, frame uint32
	text, dim    uint32
}

var themes = [...]themeColours{
	Dark: {
		name: "dark",
		ramp: [levels]uint32{ // dark blue over green to pale yellow
			0x0f141d, 0x121726, 0x151a2e, 0x181d37, 0x1c2041, 0x1f224a, 0x222653, 0x25295d,
			0x282d66, 0x29326f, 0x2a3778, 0x2a3c81, 0x294289, 0x274892, 0x254e99, 0x2254a0,
			0x1e5ba6, 0x1b62ab, 0x1669ae, 0x1170b0, 0x0b77b1, 0x047eb1, 0x0085b1, 0x008cb1,
			0x0092b0, 0x0098af, 0x019fae, 0x05a5ac, 0x0caba9, 0x16b1a6, 0x21b7a2, 0x2ebc9e,
			0x3dc19a, 0x4dc694, 0x5eca8e, 0x6ecd87, 0x7ed07e, 0x8dd275, 0x9cd46c, 0xabd662,
			0xb8d95a, 0xc6dc55, 0xd2df59, 0xdce363, 0xe5e770, 0xedeb7e, 0xf5ee8c, 0xfdf299,
		},
		inks:  [inks]uint32{lowInk: 0xf6f8fa, highInk: 0x0b0f14},
		paper: 0x161c25, frame: 0x5a6878, text: 0xd5dee8, dim: 0x93a1b2,
	},
	Light: {
		name: "light",
		ramp: [levels]uint32{ // white over green to dark blue
			0xf8faf4, 0xf2f8e8, 0xedf6dc, 0xe6f4d1, 0xdef1c8, 0xd5eebf, 0xcbeab8, 0xc1e6b4,
			0xb6e2b3, 0xabdeb4, 0xa1dab6, 0x96d6b7, 0x8bd2b9, 0x80cebb, 0x76c9bc, 0x6ac5be,
			0x5fc0c0, 0x53bcc2, 0x48b7c4, 0x3eb2c4, 0x36acc4, 0x2ea6c3, 0x28a0c2, 0x249ac1,
			0x2094bf, 0x1d8ebd, 0x1c88bb, 0x1c82b9, 0x1d7cb6, 0x1e75b3, 0x1f6fb0, 0x2169ad,
			0x2263aa, 0x235ca6, 0x2456a3, 0x2550a0, 0x26499c, 0x264398, 0x263d92, 0x24388b,
			0x223384, 0x202f7c, 0x1e2b74, 0x1b286b, 0x182463, 0x16215b, 0x131d53, 0x111a4c,
		},
		inks:  [inks]uint32{lowInk: 0x0b0f14, highInk: 0xf6f8fa},
		paper: 0xeceff3, frame: 0x748190, text: 0x1b242e, dim: 0x4d5a68,
	},
}

// ParseTheme parses the name of a theme.
func ParseTheme(name string) (Theme, error) {
	for i := range themes {
		if themes[i].name == name {
			return Theme(i), nil
		}
	}
	return 0, fmt.Errorf("there is no theme %q: it is dark or light", name)
}

// lowLevels is the number of levels at the bottom of a ramp that take lowInk. The others take
// highInk.
const lowLevels = 26

// An ink is a colour of lines.
type ink uint8

const (
	lowInk ink = iota
	highInk
	inks
)

// The palette has, for each level of the ramp, the bare colour, and the colour under one and
// two thirds of each ink. Then follow the inks, the paper around the panels, the frame, and
// the two text colours in four shades each.
const (
	shades      = 3 // of a line's edge: one third, two thirds, full
	levelStride = 1 + int(inks)*(shades-1)
	inkIndex    = levels * levelStride
	paperIndex  = inkIndex + int(inks)
	frameIndex  = paperIndex + 1
	textIndex   = frameIndex + 1
	textShades  = 4
	dimIndex    = textIndex + textShades
	colours     = dimIndex + textShades
)

// palette returns all colours of a picture: at most 256, so that a pixel is one byte, in a
// PNG as in a GIF.
func (t Theme) palette() color.Palette {
	of := &themes[t]
	p := make(color.Palette, colours)
	for level, base := range of.ramp {
		at := level * levelStride
		p[at] = opaque(base)
		for i, over := range of.inks {
			for s := 1; s < shades; s++ {
				p[at+i*(shades-1)+s] = blend(base, over, s, shades)
			}
		}
	}
	for i, rgb := range of.inks {
		p[inkIndex+i] = opaque(rgb)
	}
	p[paperIndex], p[frameIndex] = opaque(of.paper), opaque(of.frame)
	for s := 1; s <= textShades; s++ {
		p[textIndex+s-1] = blend(of.paper, of.text, s, textShades)
		p[dimIndex+s-1] = blend(of.paper, of.dim, s, textShades)
	}
	return p
}

func opaque(rgb uint32) color.RGBA {
	return color.RGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 255}
}

// blend covers part/whole of one colour with another.
func blend(under, over uint32, part, whole int) color.RGBA {
	mix := func(shift uint) uint8 {
		u, o := int(under>>shift&255), int(over>>shift&255)
		return uint8((u*(whole-part) + o*part + whole/2) / whole)
	}
	return color.RGBA{R: mix(16), G: mix(8), B: mix(0), A: 255}
}

// inkOn returns the ink that contrasts with a level of the ramp.
func inkOn(level int) ink {
	if level < lowLevels {
		return lowInk
	}
	return highInk
}
