package rowcodec

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// unit is a part of a component that is coded as a whole. Its head digit tells
// whether it changed.
type unit struct {
	kind   unitKind
	fields []schema.Field     // schema fields of the unit
	radix  int                // number of values of its head digit; digit 0 means unchanged
	index  int                // of its first value in the row
	values int                // number of values
	lane   int                // lane of a vector or number
	bits   uint               // width of each number or smaller rotation component
	max    uint32             // maximum of each number
	ranged bool               // predictions are clamped to the range
	level  *levelTable        // values of a rotation's components
	group  int                // index in part.groups; unused if the unit is in every row
	digits *[maxSymbols]uint8 // by symbol of the group: the unit's digit
}

type unitKind uint8

const (
	unitAlways   unitKind = iota // in full in every row; no digit
	unitBool                     // digit 1: flipped
	unitPosition                 // digit 1+s: three residuals; s holds the signs of the first two
	unitRotation                 // digit 1+k: three residuals; the largest component is the predicted one plus k
	unitVector                   // digit 1: three residuals
	unitNumber                   // digit 1: a residual
	unitPlain                    // digit 1: in full
)

// part is the plan of one component.
type part struct {
	component int
	units     []unit
	groups    []group
	always    uint64 // bitmap of the units in every row
	headOnly  uint64 // bitmap of the units whose digit holds the whole value
	position  int    // unit of the position, the first predicted vector, or -1
	rotation  int    // unit of the first rotation, or -1
	flag      int    // index of the first bool, which selects head codes, or -1
	linear    bool
	turning   bool        // the rotation is predicted
	set       *tableSet   // weights and codes
	zones     *ZoneBounds // zones of the position; nil if the tables have none
	shape     string      // a letter per unit; tables are looked up by shape
}

// group is a run of units that share a head: one symbol that combines a digit per unit.
type group struct {
	first, last int                 // units[first:last]
	symbols     int                 // product of the units' radices
	changed     [maxSymbols]uint64  // by symbol: bitmap of the changed units
	heads       [HeadContexts]*code // by context: the code of the symbol
}

// narrowBits is the maximum width of numbers that are written in full if changed: a
// residual would not be shorter.
const narrowBits = 4

// planPart plans component i, for owners or for other receivers.
func planPart(s *schema.Schema, i int, owner bool) part {
	c := &s.Components()[i]
	p := part{component: i, position: -1, rotation: -1, flag: -1}
	for j := 0; j < len(c.Fields); {
		f := &c.Fields[j]
		if f.Owner && !owner {
			j++
			continue
		}
		u := unit{fields: c.Fields[j : j+1], radix: 2, index: f.Index, values: 1, lane: laneNumber, bits: f.Bits, max: f.Max, ranged: f.Type == schema.TypeRange}
		if f.Linear {
			u.lane = laneLinear
		}
		switch {
		case f.Always:
			u.kind, u.radix = unitAlways, 1
		case f.Kind == schema.KindBool:
			u.kind = unitBool
			if p.flag < 0 {
				p.flag = f.Index
			}
		case f.Kind == schema.KindRotation:
			u.kind, u.radix, u.bits = unitRotation, 5, (f.Bits-2)/3
			u.level = levels(u.bits)
			if p.rotation < 0 {
				p.rotation, p.turning = len(p.units), f.Linear
			}
		case f.Vector:
			u.kind, u.values, u.fields = unitVector, 3, c.Fields[j:j+3]
			if f.Linear && p.position < 0 && (c.Parent < 0 || j == c.Anchored) {
				u.kind, u.radix = unitPosition, 1+1<<headSigns
				p.position, p.linear = len(p.units), true
			}
		case f.Kind == schema.KindNumber && f.Bits > narrowBits:
			u.kind = unitNumber
		default:
			u.kind = unitPlain
			u.values = f.Values()
		}
		switch u.kind {
		case unitAlways:
			p.always |= 1 << len(p.units)
		case unitBool:
			p.headOnly |= 1 << len(p.units)
		}
		p.units = append(p.units, u)
		p.shape += u.shapeCode(f)
		j += len(u.fields)
	}
	p.group()
	return p
}

// needsPrediction reports whether any bits depend on a prediction. If every unit is in
// every row, no bits do.
func (p *part) needsPrediction() bool { return len(p.groups) > 0 }

// maxResiduals bounds the residuals of a unit.
const maxResiduals = 3

// rotation unpacks a value of the unit.
func (u *unit) rotation(packed uint32) rotation { return unpackRotation(packed, u.level, u.bits) }

// shapeCode returns the unit's letter in the shape of its component, a capital if it is
// predicted.
func (u unit) shapeCode(f *schema.Field) string {
	const plain, predicted = "abpqvnf", "abPQVNf"
	if f.Linear {
		return predicted[u.kind : u.kind+1]
	}
	return plain[u.kind : u.kind+1]
}

// hasResiduals reports whether any unit is coded by residuals.
func (p *part) hasResiduals() bool {
	return slices.ContainsFunc(p.units, func(u unit) bool {
		return u.kind == unitPosition || u.kind == unitRotation || u.kind == unitVector || u.kind == unitNumber
	})
}

// group distributes the units among heads. A head gets as many units as its code has
// symbols for.
func (p *part) group() {
	g := group{symbols: 1}
	for i, u := range p.units {
		if g.symbols*u.radix > maxSymbols {
			p.groups = append(p.groups, g)
			g = group{first: i, symbols: 1}
		}
		g.last, g.symbols = i+1, g.symbols*u.radix
	}
	if g.symbols > 1 {
		p.groups = append(p.groups, g)
	}
	for i := range p.groups {
		g := &p.groups[i]
		g.split(p.units)
		for j := g.first; j < g.last; j++ {
			p.units[j].group = i
		}
	}
}

// split computes the digits of all symbols.
func (g *group) split(units []unit) {
	for i := g.first; i < g.last; i++ {
		units[i].digits = new([maxSymbols]uint8)
	}
	for symbol := range g.symbols {
		rest := symbol
		for i := g.last - 1; i >= g.first; i-- {
			u := &units[i]
			u.digits[symbol] = uint8(rest % u.radix)
			rest /= u.radix
			if u.digits[symbol] != 0 {
				g.changed[symbol] |= 1 << i
			}
		}
	}
}

// CheckRows returns an error if a row of s might not fit into a datagram: its longest form,
// with header and exact part, may take at most wire.MaxRowBytes. The error names the first
// component that exceeds the limit.
func CheckRows(s *schema.Schema) error {
	bits := wire.MaxRowHeaderBits
	if _, ok := s.ByName(schema.BodyComponent); ok {
		bits += wire.MaxExactBits
	}
	for i := range s.Components() {
		bits += longestPart(s, i)
		if bits > wire.MaxRowBytes*8 {
			c := &s.Components()[i]
			return fmt.Errorf("schema: component %q (%v): rows could take %d bits with it, at most %d are allowed: quantise its fields (range, bits) or exclude some (-)",
				c.Name, c.Type, bits, wire.MaxRowBytes*8)
		}
	}
	return nil
}

// longestPart returns the maximum size of component i in a row, in full or coded, in bits.
// Rows for owners are the longest.
func longestPart(s *schema.Schema, i int) int {
	p := planPart(s, i, true)
	full, coded := 1, len(p.groups)*maxCodeBits // 1: the bit in the mask of a full row
	for j := range p.units {
		u := &p.units[j]
		switch f := &u.fields[0]; u.kind {
		case unitBool:
			full++
		case unitRotation:
			full += int(f.Bits)
			coded += 3 * longestResidual(u.bits)
		case unitPosition, unitVector, unitNumber:
			full += u.values * int(f.Bits)
			coded += u.values * longestResidual(f.Bits)
		default:
			full += longestField(f)
			coded += longestField(f)
		}
	}
	return max(full, coded)
}

// longestResidual returns the maximum size of a residual in bits: a symbol, then either a
// number of this width, or low bits and a sign.
func longestResidual(width uint) int {
	return maxCodeBits + int(max(width, largestPower))
}

// longestField returns the maximum size of a field in full, in bits.
func longestField(f *schema.Field) int {
	if f.Kind == schema.KindHandle {
		return 1 + 34 + 34
	}
	return int(f.Bits)
}
