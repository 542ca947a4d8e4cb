package wire

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/worldd/worldd/internal/bitio"
)

// Tables are the numbers that a Codec forecasts and codes with. They are made
// from recorded rows by a Trainer, or are the defaults, and are read-only. Both
// sides must have the same: Hello and Welcome compare their Version.
type Tables struct {
	sets    []*tableSet // a component is coded by that of its shape, or else by the first
	gaps    [residualCodes]uint8
	heads   []headLengths
	grounds []ground
	version uint32

	gapCode *code
}

// tableSet is what rows of some shapes of component are forecast and coded with.
type tableSet struct {
	shapes []string
	// Weights of displacements in a forecast, in 1/256: of the row's own, its
	// parent's, the mismatch, and 1/256 of a quantum; of a rotation also those of
	// the parts of a swerve.
	position [zones][attachments][speeds][3][4]int32 // of each axis
	rotation [zones][attachments][speeds][7]int32
	// Weights of features in the scale of a residual, in 1/256.
	scale [lanes][attachments][speeds][features]int32
	// Lengths of codes.
	residuals [lanes][scales][residualCodes]uint8

	// The codes themselves, so that all codecs share them.
	codes [lanes][scales]code
	// The weights of scales, two to a word: see forecast.scale.
	pairs [attachments][speeds][lanes][features / 2]uint64
}

// ground is what training found of the places of one shape of component: bounds
// along one axis between which rows move differently, like lying on a floor and
// falling.
type ground struct {
	shape  string
	axis   int
	bounds [zones - 2]int64
}

// headLengths are the codes of one group of one shape of component.
type headLengths struct {
	shape   string
	group   int
	ways    int
	lengths [headContexts][]uint8
	codes   [headContexts]*code
}

const (
	tablesMagic = "worldd tables 3\n"
	// maxSets bounds the sets, and the shapes of one.
	maxSets = 64
	// maxWeight bounds weights, so that no forecast overflows.
	maxWeight = 1 << 12
	// maxHeads bounds the groups that tables have codes for.
	maxHeads = 256
)

// The file is what cubesbench -tables wrote of the recorded cubes, with what
// worldd train makes of 45 s of the scene storm. Tables of your own game are made
// the same way: serve --record, then train, whose tables are these with yours in
// place of what they know of your shapes.
//
//go:embed default.tables
var defaultTables []byte

var parseDefaults = sync.OnceValue(func() *Tables {
	t, err := ParseTables(defaultTables)
	if err != nil {
		panic("wire: the default tables that were compiled in: " + err.Error())
	}
	return t
})

// DefaultTables are those that ship with this version of the protocol. They are
// trained on bodies that roll, fall, are stacked and are carried, with a rotation,
// at a baseline of a tenth of a second; and on the component "body", of bodies in a
// storm.
func DefaultTables() *Tables { return parseDefaults() }

// Version tells tables apart: FNV-1a, 32 bits, of their bytes.
func (t *Tables) Version() uint32 { return t.version }

// UntrainedTables makes tables that know nothing of what they will code: own motion
// goes on, what stuck to its parent moves with it, and residuals are spread
// around a size that grows with the motion.
func UntrainedTables() *Tables {
	t := &tableSet{}
	for z := range zones {
		for a := range attachments {
			own := 0
			if a < attachments-1 {
				own = 1 // its parent's motion instead
			}
			for s := range speeds {
				for axis := range t.position[z][a][s] {
					t.position[z][a][s][axis][own] = 256
				}
				t.rotation[z][a][s][own] = 256
			}
		}
	}
	for lane := range t.residuals {
		for a := range attachments {
			for s := range speeds {
				t.scale[lane][a][s] = [features]int32{featureOne: 64, featureSpeed: 160, featureMissed: 64}
			}
		}
		for s := range scales {
			t.residuals[lane][s] = [residualCodes]uint8(codeLengths(expectedCounts(s, 1<<20)))
		}
	}
	return newTables([]*tableSet{t}, [residualCodes]uint8(codeLengths(expectedCounts(16, 1<<20))), nil, nil)
}

// newTables puts tables together.
func newTables(sets []*tableSet, gaps [residualCodes]uint8, heads []headLengths, grounds []ground) *Tables {
	t := &Tables{sets: sets, gaps: gaps, heads: heads, grounds: grounds}
	t.version = versionOf(t.append(nil))
	t.compile()
	return t
}

// With returns t with what more knows: of the shapes that more was trained with it
// is more's, of all others t's, as far as there is room.
func (t *Tables) With(more *Tables) *Tables {
	known := func(shape string) bool {
		return slices.ContainsFunc(more.sets, func(s *tableSet) bool { return slices.Contains(s.shapes, shape) })
	}
	var sets []*tableSet
	for i, s := range t.sets {
		kept := *s
		kept.shapes = slices.DeleteFunc(slices.Clone(s.shapes), known)
		if i == 0 || len(kept.shapes) > 0 {
			sets = append(sets, &kept)
		}
	}
	for _, s := range more.sets {
		if len(s.shapes) > 0 {
			sets = append(sets, s)
		}
	}
	heads := slices.DeleteFunc(slices.Clone(t.heads), func(h headLengths) bool {
		return slices.ContainsFunc(more.heads, func(m headLengths) bool { return m.shape == h.shape })
	})
	heads = heads[:min(len(heads), maxHeads-len(more.heads))]
	grounds := slices.DeleteFunc(slices.Clone(t.grounds), func(g ground) bool {
		return known(g.shape) || more.groundOf(g.shape) != nil
	})
	return newTables(sets, t.gaps, append(heads, more.heads...), append(grounds, more.grounds...))
}

// setOf is what a shape is coded by.
func (t *Tables) setOf(shape string) *tableSet {
	for _, s := range t.sets {
		if slices.Contains(s.shapes, shape) {
			return s
		}
	}
	return t.sets[0]
}

// expectedCounts shares out total over the symbols of a residual whose magnitude
// falls off by half every 2^(scale/4).
func expectedCounts(scale int, total float64) []uint64 {
	counts := make([]uint64, residualCodes)
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

// compile makes the codes of the lengths.
func (t *Tables) compile() {
	for _, set := range t.sets {
		set.pairWeights()
		for lane := range set.residuals {
			for s := range set.residuals[lane] {
				set.codes[lane][s] = *newCode(set.residuals[lane][s][:], magnitudeEntry)
			}
		}
	}
	t.gapCode = newCode(t.gaps[:], magnitudeEntry)
	for i := range t.heads {
		h := &t.heads[i]
		for context := range h.codes {
			h.codes[context] = newCode(h.lengths[context], symbolItself)
		}
	}
}

// pairWeights makes pairs of scale.
func (s *tableSet) pairWeights() {
	for lane := range s.scale {
		for a := range s.scale[lane] {
			for speed := range s.scale[lane][a] {
				w := &s.scale[lane][a][speed]
				for i := range s.pairs[a][speed][lane] {
					s.pairs[a][speed][lane][i] = uint64(w[2*i]) + uint64(w[2*i+1])<<32
				}
			}
		}
	}
}

// groundOf is what is known of the places of a shape, nil if nothing.
func (t *Tables) groundOf(shape string) *ground {
	for i := range t.grounds {
		if t.grounds[i].shape == shape {
			return &t.grounds[i]
		}
	}
	return nil
}

// headsOf are the codes for a group, those of plainHead for a shape that the
// tables were not trained with.
func (t *Tables) headsOf(shape string, g, ways int) (heads [headContexts]*code) {
	for i := range t.heads {
		if h := &t.heads[i]; h.shape == shape && h.group == g && h.ways == ways {
			return h.codes
		}
	}
	common := newCode(plainHead(ways), symbolItself)
	for context := range heads {
		heads[context] = common
	}
	return heads
}

// plainHead are the lengths of a code that says in one bit that nothing
// changed, and takes everything else for equally likely.
func plainHead(ways int) []uint8 {
	rest := ways - 1
	short := bits.Len(uint(rest)) - 1
	lengths := make([]uint8, ways)
	lengths[0] = 1
	for i := range rest {
		lengths[1+i] = uint8(short) + 1
		if i >= rest-2*(rest-1<<short) {
			lengths[1+i]++
		}
	}
	return lengths
}

// Bytes is the form in which tables are kept in files; ParseTables reads it.
func (t *Tables) Bytes() []byte { return t.append(nil) }

func (t *Tables) append(b []byte) []byte {
	b = bitio.AppendUvarint(append(b, tablesMagic...), uint32(len(t.sets)))
	for _, s := range t.sets {
		b = bitio.AppendUvarint(b, uint32(len(s.shapes)))
		for _, shape := range s.shapes {
			b = appendShape(b, shape)
		}
		for _, w := range s.weights() {
			b = binary.AppendVarint(b, int64(*w))
		}
		for lane := range s.residuals {
			for scale := range s.residuals[lane] {
				b = append(b, s.residuals[lane][scale][:]...)
			}
		}
	}
	b = append(b, t.gaps[:]...)
	b = bitio.AppendUvarint(b, uint32(len(t.grounds)))
	for _, g := range t.grounds {
		b = append(appendShape(b, g.shape), byte(g.axis))
		for _, bound := range g.bounds {
			b = bitio.AppendUvarint(b, uint32(bound))
		}
	}
	b = bitio.AppendUvarint(b, uint32(len(t.heads)))
	for i := range t.heads {
		h := &t.heads[i]
		b = append(appendShape(b, h.shape), byte(h.group), byte(h.ways))
		for _, lengths := range h.lengths {
			b = append(b, lengths...)
		}
	}
	return b
}

func appendShape(b []byte, shape string) []byte {
	return append(append(b, byte(len(shape))), shape...)
}

// weights are all weights, in the order of the file.
func (t *tableSet) weights() (all []*int32) {
	for z := range zones {
		for a := range attachments {
			for s := range speeds {
				for axis := range t.position[z][a][s] {
					for w := range t.position[z][a][s][axis] {
						all = append(all, &t.position[z][a][s][axis][w])
					}
				}
				for w := range t.rotation[z][a][s] {
					all = append(all, &t.rotation[z][a][s][w])
				}
			}
		}
	}
	for lane := range t.scale {
		for a := range t.scale[lane] {
			for s := range t.scale[lane][a] {
				for w := range t.scale[lane][a][s] {
					all = append(all, &t.scale[lane][a][s][w])
				}
			}
		}
	}
	return all
}

// ParseTables reads tables from a file's bytes. Whatever they are, a Codec with
// tables that are accepted reads any input without harm.
func ParseTables(b []byte) (*Tables, error) {
	if len(b) < len(tablesMagic) || string(b[:len(tablesMagic)]) != tablesMagic {
		return nil, bad("these bytes are no tables: they do not begin with %q", tablesMagic)
	}
	t := &Tables{version: versionOf(b)}
	c := bitio.NewCursor(b[len(tablesMagic):])
	for range c.Uvarint(maxSets, "number of sets") {
		t.sets = append(t.sets, readTableSet(&c))
		if c.Err() != nil {
			return nil, Malformed(c.Err())
		}
	}
	if c.Err() == nil && len(t.sets) == 0 {
		c.Fail("tables: no set of codes")
	}
	readLengths(&c, t.gaps[:])
	for range c.Uvarint(maxHeads, "number of grounds") {
		g := ground{shape: readShape(&c), axis: int(c.Byte("axis"))}
		for i := range g.bounds {
			g.bounds[i] = int64(c.Uvarint(1<<32-1, "bound"))
		}
		if c.Err() == nil && g.axis > 2 {
			c.Fail("tables: ground along axis %d, want 0 to 2", g.axis)
		}
		t.grounds = append(t.grounds, g)
	}
	for range c.Uvarint(maxHeads, "number of heads") {
		h := headLengths{shape: readShape(&c)}
		h.group, h.ways = int(c.Byte("group")), int(c.Byte("ways"))
		if c.Err() == nil && (h.ways < 2 || h.ways > maxSymbols) {
			c.Fail("tables: head of %d symbols, want 2 to %d", h.ways, maxSymbols)
		}
		for i := range h.lengths {
			if c.Err() != nil {
				return nil, Malformed(c.Err())
			}
			h.lengths[i] = make([]uint8, h.ways)
			readLengths(&c, h.lengths[i])
		}
		t.heads = append(t.heads, h)
	}
	if err := c.End(); err != nil {
		return nil, Malformed(err)
	}
	t.compile()
	return t, nil
}

// readShape reads the shape of a component.
func readShape(c *bitio.Cursor) string { return string(c.Bytes(int(c.Byte("shape")), "shape")) }

// readTableSet reads the weights and codes of some shapes.
func readTableSet(c *bitio.Cursor) *tableSet {
	s := &tableSet{}
	for range c.Uvarint(maxSets, "number of shapes") {
		s.shapes = append(s.shapes, readShape(c))
	}
	for _, w := range s.weights() {
		// In its shortest form: the version is of the bytes.
		if *w = int32(c.Varint(maxWeight, "tables: a weight")); c.Err() != nil {
			return s
		}
	}
	for lane := range s.residuals {
		for scale := range s.residuals[lane] {
			readLengths(c, s.residuals[lane][scale][:])
		}
	}
	return s
}

// readLengths reads the lengths of one code.
func readLengths(c *bitio.Cursor, to []uint8) {
	copy(to, c.Bytes(len(to), "lengths of a code"))
	if c.Err() == nil && !checkLengths(to) {
		c.Fail("tables: lengths %v are of no complete code", slices.Clone(to))
	}
}

func versionOf(b []byte) uint32 {
	h := uint32(0x811c9dc5)
	for _, c := range b {
		h = (h ^ uint32(c)) * 0x01000193
	}
	return h
}
