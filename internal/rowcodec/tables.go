package rowcodec

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// Tables holds the weights and codes of a Codec, ready for use. Tables come from a Model or
// a file and are read-only. Both sides must use the same tables: Hello and Welcome compare
// their Version.
type Tables struct {
	sets       []*tableSet // a component uses the set of its shape, or else the first set
	heads      []headCodes
	zoneBounds []ZoneBounds
	version    uint32
	sample     func(row rowschema.Row, past *Past) // set by Sampled, otherwise nil
}

// tableSet is a Set with its derived codes and packed weights.
type tableSet struct {
	Set
	// The codes, shared by all codecs.
	codes [Lanes][Scales]code
	// The weights of scales: see prediction.scale.
	scaleWeights [Attachments][Speeds][Lanes]laneWeights
}

// headCodes is Heads with its codes.
type headCodes struct {
	Heads
	codes [HeadContexts]*code
}

const (
	tablesMagic = "worldd tables 4\n"
	// maxSets bounds the number of sets, and of shapes per set.
	maxSets = 64
	// MaxWeight bounds weights so that no prediction overflows.
	MaxWeight = 1 << 12
	// MaxHeads bounds the groups for which tables have codes.
	MaxHeads = 256
)

// defaultTables combines tables of the recorded cubes (internal/bench/codec -tables) with tables
// that worldd train made from 45 s of the scene storm. To make tables for your own
// game, serve with --record and then train: the result is these tables with your
// shapes added or replaced.
//
//go:embed default.tables
var defaultTables []byte

var parseDefaults = sync.OnceValue(func() *Tables {
	t, err := ParseTables(defaultTables)
	if err != nil {
		panic("rowcodec: default tables: " + err.Error())
	}
	return t
})

// DefaultTables returns the tables that ship with this version of the protocol. They are
// trained on rotating bodies that roll, fall, are stacked and are carried, with baselines
// of 0.1 s, and on the component "body" in a storm.
func DefaultTables() *Tables { return parseDefaults() }

// Version identifies tables: the 32-bit FNV-1a hash of their bytes.
func (t *Tables) Version() uint32 { return t.version }

// Sampled returns t with a function that Chunks.Add calls with every row that it codes against a
// past, to train tables. The arguments are valid during the call. A Codec with these tables
// belongs to one goroutine.
func (t *Tables) Sampled(sample func(row rowschema.Row, past *Past)) *Tables {
	sampled := *t
	sampled.sample = sample
	return &sampled
}

// IsSampled reports whether t comes from Sampled.
func (t *Tables) IsSampled() bool { return t.sample != nil }

// newTables assembles tables.
func newTables(sets []*tableSet, heads []headCodes, zoneBounds []ZoneBounds) *Tables {
	t := &Tables{sets: sets, heads: heads, zoneBounds: zoneBounds}
	t.version = versionOf(t.append(nil))
	t.compile()
	return t
}

// With returns t with all shapes of more added; they replace equal shapes of t. It drops
// heads of t beyond MaxHeads.
func (t *Tables) With(more *Tables) *Tables {
	known := func(shape string) bool {
		return slices.ContainsFunc(more.sets, func(s *tableSet) bool { return slices.Contains(s.Shapes, shape) })
	}
	var sets []*tableSet
	for i, s := range t.sets {
		kept := *s
		kept.Shapes = slices.DeleteFunc(slices.Clone(s.Shapes), known)
		if i == 0 || len(kept.Shapes) > 0 {
			sets = append(sets, &kept)
		}
	}
	for _, s := range more.sets {
		if len(s.Shapes) > 0 {
			sets = append(sets, s)
		}
	}
	heads := slices.DeleteFunc(slices.Clone(t.heads), func(h headCodes) bool {
		return slices.ContainsFunc(more.heads, func(m headCodes) bool { return m.Shape == h.Shape })
	})
	heads = heads[:min(len(heads), MaxHeads-len(more.heads))]
	zoneBounds := slices.DeleteFunc(slices.Clone(t.zoneBounds), func(g ZoneBounds) bool {
		return known(g.Shape) || more.zoneBoundsOf(g.Shape) != nil
	})
	return newTables(sets, append(heads, more.heads...), append(zoneBounds, more.zoneBounds...))
}

// setOf returns the set that codes a shape.
func (t *Tables) setOf(shape string) *tableSet {
	for _, s := range t.sets {
		if slices.Contains(s.Shapes, shape) {
			return s
		}
	}
	return t.sets[0]
}

// compile builds the codes from their lengths.
func (t *Tables) compile() {
	for _, set := range t.sets {
		set.packWeights()
		for lane := range set.Residuals {
			for s := range set.Residuals[lane] {
				set.codes[lane][s] = *newCode(set.Residuals[lane][s][:], magnitudeEntry)
			}
		}
	}
	for i := range t.heads {
		h := &t.heads[i]
		for context := range h.codes {
			h.codes[context] = newCode(h.Lengths[context], symbolEntry)
		}
	}
}

// packWeights packs the weights of scales.
func (s *tableSet) packWeights() {
	for lane := range s.Scale {
		for a := range s.Scale[lane] {
			for speed := range s.Scale[lane][a] {
				s.scaleWeights[a][speed][lane] = newLaneWeights(lane, &s.Scale[lane][a][speed])
			}
		}
	}
}

// zoneBoundsOf returns the zones of a shape, or nil.
func (t *Tables) zoneBoundsOf(shape string) *ZoneBounds {
	for i := range t.zoneBounds {
		if t.zoneBounds[i].Shape == shape {
			return &t.zoneBounds[i]
		}
	}
	return nil
}

// headsOf returns the codes of a group. A shape that the tables were not trained on gets
// the code of defaultHeadLengths.
func (t *Tables) headsOf(shape string, g, symbols int) (heads [HeadContexts]*code) {
	for i := range t.heads {
		if h := &t.heads[i]; h.Shape == shape && h.Group == g && h.Symbols == symbols {
			return h.codes
		}
	}
	common := newCode(defaultHeadLengths(symbols), symbolEntry)
	for context := range heads {
		heads[context] = common
	}
	return heads
}

// defaultHeadLengths returns the lengths of a code with one bit for "nothing changed" and
// equal probability for all other symbols.
func defaultHeadLengths(symbols int) []uint8 {
	rest := symbols - 1
	short := bits.Len(uint(rest)) - 1
	lengths := make([]uint8, symbols)
	lengths[0] = 1
	for i := range rest {
		lengths[1+i] = uint8(short) + 1
		if i >= rest-2*(rest-1<<short) {
			lengths[1+i]++
		}
	}
	return lengths
}

// Bytes returns the file form of the tables, which ParseTables reads.
func (t *Tables) Bytes() []byte { return t.append(nil) }

func (t *Tables) append(b []byte) []byte {
	b = bitio.AppendUvarint(append(b, tablesMagic...), uint32(len(t.sets)))
	for _, s := range t.sets {
		b = bitio.AppendUvarint(b, uint32(len(s.Shapes)))
		for _, shape := range s.Shapes {
			b = appendShape(b, shape)
		}
		for _, w := range s.weights() {
			b = binary.AppendVarint(b, int64(*w))
		}
		for lane := range s.Residuals {
			for scale := range s.Residuals[lane] {
				b = append(b, s.Residuals[lane][scale][:]...)
			}
		}
	}
	b = bitio.AppendUvarint(b, uint32(len(t.zoneBounds)))
	for _, g := range t.zoneBounds {
		b = append(appendShape(b, g.Shape), byte(g.Axis))
		for _, bound := range g.Bounds {
			b = bitio.AppendUvarint(b, uint32(bound))
		}
	}
	b = bitio.AppendUvarint(b, uint32(len(t.heads)))
	for i := range t.heads {
		h := &t.heads[i]
		b = append(appendShape(b, h.Shape), byte(h.Group), byte(h.Symbols))
		for _, lengths := range h.Lengths {
			b = append(b, lengths...)
		}
	}
	return b
}

func appendShape(b []byte, shape string) []byte {
	return append(append(b, byte(len(shape))), shape...)
}

// weights returns pointers to all weights, in file order.
func (t *tableSet) weights() (all []*int32) {
	for z := range Zones {
		for a := range Attachments {
			for s := range Speeds {
				for axis := range t.Position[z][a][s] {
					for w := range t.Position[z][a][s][axis] {
						all = append(all, &t.Position[z][a][s][axis][w])
					}
				}
				for w := range t.Rotation[z][a][s] {
					all = append(all, &t.Rotation[z][a][s][w])
				}
			}
		}
	}
	for lane := range t.Scale {
		for a := range t.Scale[lane] {
			for s := range t.Scale[lane][a] {
				for w := range t.Scale[lane][a][s] {
					all = append(all, &t.Scale[lane][a][s][w])
				}
			}
		}
	}
	return all
}

// ParseTables reads tables from a file's bytes. A Codec with any tables that ParseTables
// accepts is safe on any input.
func ParseTables(b []byte) (*Tables, error) {
	if len(b) < len(tablesMagic) || string(b[:len(tablesMagic)]) != tablesMagic {
		return nil, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("not a tables file: it does not begin with %q", tablesMagic)}
	}
	t := &Tables{version: versionOf(b)}
	c := bitio.NewCursor(b[len(tablesMagic):])
	for range c.Uvarint(maxSets, "number of sets") {
		t.sets = append(t.sets, readTableSet(&c))
		if c.Err() != nil {
			return nil, wire.Malformed(c.Err())
		}
	}
	if c.Err() == nil && len(t.sets) == 0 {
		c.Fail("tables: no set of codes")
	}
	for range c.Uvarint(MaxHeads, "number of zone bounds") {
		g := ZoneBounds{Shape: readShape(&c), Axis: int(c.Byte("axis"))}
		for i := range g.Bounds {
			g.Bounds[i] = int64(c.Uvarint(1<<32-1, "bound"))
		}
		if c.Err() == nil && g.Axis > 2 {
			c.Fail("tables: zone bounds along axis %d, want 0 to 2", g.Axis)
		}
		t.zoneBounds = append(t.zoneBounds, g)
	}
	for range c.Uvarint(MaxHeads, "number of heads") {
		h := headCodes{Heads: Heads{Shape: readShape(&c)}}
		h.Group, h.Symbols = int(c.Byte("group")), int(c.Byte("symbols"))
		if c.Err() == nil && (h.Symbols < 2 || h.Symbols > maxSymbols) {
			c.Fail("tables: head of %d symbols, want 2 to %d", h.Symbols, maxSymbols)
		}
		for i := range h.Lengths {
			if c.Err() != nil {
				return nil, wire.Malformed(c.Err())
			}
			h.Lengths[i] = make([]uint8, h.Symbols)
			readLengths(&c, h.Lengths[i])
		}
		t.heads = append(t.heads, h)
	}
	if err := c.End(); err != nil {
		return nil, wire.Malformed(err)
	}
	t.compile()
	return t, nil
}

func readShape(c *bitio.Cursor) string { return string(c.Bytes(int(c.Byte("shape")), "shape")) }

// readTableSet reads the weights and codes of one set.
func readTableSet(c *bitio.Cursor) *tableSet {
	s := &tableSet{}
	for range c.Uvarint(maxSets, "number of shapes") {
		s.Shapes = append(s.Shapes, readShape(c))
	}
	for _, w := range s.weights() {
		// Varint requires the shortest form because the version hashes the bytes.
		*w = int32(c.Varint(MaxWeight, "tables: a weight"))
		if c.Err() != nil {
			return s
		}
	}
	for lane := range s.Residuals {
		for scale := range s.Residuals[lane] {
			readLengths(c, s.Residuals[lane][scale][:])
		}
	}
	return s
}

// readLengths reads the lengths of one code.
func readLengths(c *bitio.Cursor, to []uint8) {
	copy(to, c.Bytes(len(to), "lengths of a code"))
	if c.Err() == nil && !checkLengths(to) {
		c.Fail("tables: lengths %v do not form a complete code", slices.Clone(to))
	}
}

func versionOf(b []byte) uint32 {
	h := uint32(0x811c9dc5)
	for _, c := range b {
		h = (h ^ uint32(c)) * 0x01000193
	}
	return h
}
