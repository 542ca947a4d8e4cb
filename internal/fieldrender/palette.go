package fieldrender

import "image/color"

// ramp holds the colours of magnitudes, from 0 to the top of the scale: dark blue over green
// to pale yellow. Its steps are equal in OKLab (B. Ottosson, 2020), so equal differences of
// magnitude look equal, and each is lighter than the one before, so it is readable in grey.
var ramp = [...]uint32{
	0x0f141d, 0x121726, 0x151a2e, 0x181d37, 0x1c2041, 0x1f224a, 0x222653, 0x25295d,
	0x282d66, 0x29326f, 0x2a3778, 0x2a3c81, 0x294289, 0x274892, 0x254e99, 0x2254a0,
	0x1e5ba6, 0x1b62ab, 0x1669ae, 0x1170b0, 0x0b77b1, 0x047eb1, 0x0085b1, 0x008cb1,
	0x0092b0, 0x0098af, 0x019fae, 0x05a5ac, 0x0caba9, 0x16b1a6, 0x21b7a2, 0x2ebc9e,
	0x3dc19a, 0x4dc694, 0x5eca8e, 0x6ecd87, 0x7ed07e, 0x8dd275, 0x9cd46c, 0xabd662,
	0xb8d95a, 0xc6dc55, 0xd2df59, 0xdce363, 0xe5e770, 0xedeb7e, 0xf5ee8c, 0xfdf299,
}

// lightLevels is the number of dark levels, at the bottom of the ramp, that take light ink.
// The others take dark ink.
const lightLevels = 26

// An ink is a colour of lines.
type ink uint8

const (
	lightInk ink = iota
	darkInk
	inks
)

// The palette has, for each level of the ramp, the bare colour, and the colour under one and
// two thirds of each ink. Then follow the inks, the paper around the panels, the frame, and
// the two text colours in four shades each.
const (
	shades      = 3 // of a line's edge: one third, two thirds, full
	levelStride = 1 + int(inks)*(shades-1)
	inkIndex    = len(ramp) * levelStride
	paperIndex  = inkIndex + int(inks)
	frameIndex  = paperIndex + 1
	textIndex   = frameIndex + 1
	textShades  = 4
	dimIndex    = textIndex + textShades
	colours     = dimIndex + textShades
)

// Colours that are not on the ramp.
const (
	lightColour = 0xf6f8fa
	darkColour  = 0x0b0f14
	paperColour = 0x161c25
	frameColour = 0x5a6878
	textColour  = 0xd5dee8
	dimColour   = 0x93a1b2
)

// newPalette returns all colours of a picture: at most 256, so that a pixel is one byte, in a
// PNG as in a GIF.
func newPalette() color.Palette {
	p := make(color.Palette, colours)
	for level, base := range ramp {
		at := level * levelStride
		p[at] = opaque(base)
		for i, over := range []uint32{lightColour, darkColour} {
			for s := 1; s < shades; s++ {
				p[at+i*(shades-1)+s] = blend(base, over, s, shades)
			}
		}
	}
	p[inkIndex], p[inkIndex+1] = opaque(lightColour), opaque(darkColour)
	p[paperIndex], p[frameIndex] = opaque(paperColour), opaque(frameColour)
	for s := 1; s <= textShades; s++ {
		p[textIndex+s-1] = blend(paperColour, textColour, s, textShades)
		p[dimIndex+s-1] = blend(paperColour, dimColour, s, textShades)
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
	if level < lightLevels {
		return lightInk
	}
	return darkInk
}
