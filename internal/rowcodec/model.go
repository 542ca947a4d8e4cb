package rowcodec

import "math"

// Model is the result of training in plain numbers. Tables builds tables from it.
type Model struct {
	Set
	Heads      []Heads // at most MaxHeads
	ZoneBounds []ZoneBounds
}

// Set holds the weights and codes for the components of some shapes.
type Set struct {
	Shapes []string
	// Weights of displacements in a prediction, in 1/256: the row's own, its parent's, the
	// mismatch, and for positions a constant in 1/256 of a quantum. No weight exceeds
	// MaxWeight in magnitude.
	Position [Zones][Attachments][Speeds][3][4]int32 // for each axis
	Rotation [Zones][Attachments][Speeds][3]int32
	// Weights of the features in the scale of a residual, in 1/256.
	Scale [Lanes][Attachments][Speeds][Features]int32
	// Code lengths, each complete.
	Residuals [Lanes][Scales][ResidualCodes]uint8
}

// Heads holds the lengths of a group's head codes, one per context, each complete. Shape is
// the shape of the group's component.
type Heads struct {
	Shape   string
	Group   int
	Symbols int
	Lengths [HeadContexts][]uint8
}

// ZoneBounds divides the positions of a shape's components into zones along one axis.
// Training finds zones in which rows move differently, such as on the floor and in the air.
type ZoneBounds struct {
	Shape  string
	Axis   int
	Bounds [Zones - 2]int64 // ascending
}

// Untrained returns a model without training: rows keep their motion, rows attached to a
// parent move with it, and the expected size of residuals grows with the motion.
func Untrained() Model {
	var t Model
	for z := range Zones {
		for a := range Attachments {
			own := 0
			if a < Attachments-1 {
				own = 1 // the parent's motion instead
			}
			for s := range Speeds {
				for axis := range t.Position[z][a][s] {
					t.Position[z][a][s][axis][own] = 256
				}
				t.Rotation[z][a][s][own] = 256
			}
		}
	}
	for lane := range t.Residuals {
		for a := range Attachments {
			for s := range Speeds {
				t.Scale[lane][a][s] = [Features]int32{featureOne: 64, featureSpeed: 160, featureMissed: 64}
			}
		}
		for s := range Scales {
			t.Residuals[lane][s] = [ResidualCodes]uint8(CodeLengths(ExpectedCounts(s, 1<<20)))
		}
	}
	return t
}

// Tables builds tables from the model.
func (m Model) Tables() *Tables {
	heads := make([]headCodes, len(m.Heads))
	for i := range heads {
		heads[i].Heads = m.Heads[i]
	}
	return newTables([]*tableSet{{Set: m.Set}}, heads, m.ZoneBounds)
}

// ExpectedCounts distributes total over the symbols of a residual whose probability
// halves every 2^(scale/4) of magnitude.
func ExpectedCounts(scale int, total float64) []uint64 {
	counts := make([]uint64, ResidualCodes)
	half := math.Exp2(float64(scale) / 4)
	survive := func(m float64) float64 { return math.Exp2(-m / half) }
	for symbol := range symbolEscape {
		least, low := magnitudeOf(symbol)
		p := survive(float64(least)) - survive(float64(least+1<<low))
		counts[symbol] = 1 + uint64(p*total)
	}
	counts[symbolEscape] = 1
	return counts
}
