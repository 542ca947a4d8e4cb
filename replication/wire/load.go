package wire

import "math/bits"

// What it takes to read a row, in units of about 80 ns, whatever its bits say.
const (
	loadOfRow       = 1
	loadOfComponent = 2
	loadOfRotation  = 2   // of each, unpacked and forecast
	loadOfParent    = 6   // of a component that has one: its motion, and the row's on it
	fieldsOfLoad    = 12  // that are read in a unit, at a bit each
	wordsOfLoad     = 256 // that are copied in one, three times
)

// Load is what a row with these components counts towards MaxLoad.
func (s *Schema) Load(mask uint32) int {
	load := loadOfRow + s.words/wordsOfLoad
	for ; mask != 0; mask &= mask - 1 {
		load += s.components[bits.TrailingZeros32(mask)].load
	}
	return load
}

// loadOf is the part of the component whose fields these are.
func loadOf(fields []Field, parent bool) int {
	load := loadOfComponent + len(fields)/fieldsOfLoad
	for i := range fields {
		if fields[i].Kind == KindRotation {
			load += loadOfRotation
		}
	}
	if parent {
		load += loadOfParent
	}
	return load
}
