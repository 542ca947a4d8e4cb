package rowcodec

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// A codec works through the units of a component: what is said to have changed
// or not as a whole.
type unit struct {
	kind   unitKind
	fields []schema.Field // of the schema
	ways   int            // digits that it has in a head: 0 is always "unchanged"
	word   int            // first word, in the row
	words  int            // how many
	lane   int            // of a vector or number
	bits   uint           // of each number: of a rotation's three components
	wide   uint32         // largest number, of each
	ranged bool           // a number's forecast stays in its range
	level  *levelTable
	group  int // of part.groups, unless it is in every row
}

type unitKind uint8

const (
	unitAlways   unitKind = iota // in full in every row; no digit
	unitBool                     // digit 1: flipped
	unitPosition                 // digit 1+s: three residuals against the forecast, s the signs of the first two
	unitRotation                 // digit 1+k: largest component k beyond the forecast's, three residuals
	unitVector                   // digit 1: three residuals
	unitNumber                   // digit 1: a residual
	unitPlain                    // digit 1: in full
)

// part is the plan of one component.
type part struct {
	component int
	units     []unit
	groups    []group
	always    uint64 // units that are in every row, by bit
	silent    uint64 // those that their digits tell of wholly
	position  int    // the unit that is the position, or -1: the first predicted vector
	rotation  int    // the unit that is the rotation, or -1: the first one
	flag      int    // word of the first bool, which heads depend on, or -1
	linear    bool
	turning   bool      // the rotation is predicted, too
	set       *tableSet // what it is forecast and coded with
	ground    *Ground   // what the tables know of places, or nil
	shape     string    // what units there are: a table of heads belongs to a shape
}

// group is a run of units that share a head: one symbol that holds a digit of
// each.
type group struct {
	first, last int                // units[first:last]
	ways        int                // symbols
	digits      [][]uint8          // of each symbol, those of its units
	changed     [maxSymbols]uint64 // of each symbol, which units are not as before, by bit
	heads       [HeadContexts]*code
}

// narrowBits is the width up to which a number is written in full when it
// changed: no residual would be shorter.
const narrowBits = 4

// planPart makes the plan of component i, for owners or for everybody else.
func planPart(s *schema.Schema, i int, owner bool) part {
	c, fields := s.Component(i), s.Fields(i)
	p := part{component: i, position: -1, rotation: -1, flag: -1}
	for j := 0; j < len(fields); {
		f := &fields[j]
		if !f.SentTo(owner) {
			j++
			continue
		}
		u := unit{fields: fields[j : j+1], ways: 2, word: f.Word, words: 1, lane: laneNumber, bits: f.Bits, wide: f.Max, ranged: f.Ranged}
		if f.Linear {
			u.lane = laneLinear
		}
		switch {
		case f.Always:
			u.kind, u.ways = unitAlways, 1
		case f.Kind == schema.KindBool:
			u.kind = unitBool
			if p.flag < 0 {
				p.flag = f.Word
			}
		case f.Kind == schema.KindRotation:
			u.kind, u.ways, u.bits = unitRotation, 5, (f.Bits-2)/3
			u.level = levels(u.bits)
			if p.rotation < 0 {
				p.rotation, p.turning = len(p.units), f.Linear
			}
		case f.Vector:
			u.kind, u.words, u.fields = unitVector, 3, fields[j:j+3]
			if f.Linear && p.position < 0 && (c.Parent < 0 || j == c.Anchored) {
				u.kind, u.ways = unitPosition, 1+1<<headSigns
				p.position, p.linear = len(p.units), true
			}
		case f.Kind == schema.KindNumber && f.Bits > narrowBits:
			u.kind = unitNumber
		default:
			u.kind = unitPlain
			u.words = f.Words()
		}
		switch u.kind {
		case unitAlways:
			p.always |= 1 << len(p.units)
		case unitBool:
			p.silent |= 1 << len(p.units)
		}
		p.units = append(p.units, u)
		p.shape += u.letter(f)
		j += len(u.fields)
	}
	p.group()
	return p
}

// depends says whether any bits of the component depend on what is expected of it:
// not if all of it is in every row.
func (p *part) depends() bool { return len(p.groups) > 0 }

// swerves says whether the rotation is predicted and comes after the position.
func (p *part) swerves() bool { return p.turning && p.position >= 0 && p.position < p.rotation }

// rotation is the rotation that a word of the unit stands for.
func (u *unit) rotation(word uint32) rotation { return unpackRotation(word, u.level, u.bits) }

// letter is the unit's part in the shape of its component: capital if it is
// predicted.
func (u unit) letter(f *schema.Field) string {
	const plain, predicted = "abpqvnf", "abPQVNf"
	if f.Linear {
		return predicted[u.kind : u.kind+1]
	}
	return plain[u.kind : u.kind+1]
}

// hasResiduals says whether a unit is coded by how it differs from a forecast.
func (p *part) hasResiduals() bool {
	return slices.ContainsFunc(p.units, func(u unit) bool {
		return u.kind == unitPosition || u.kind == unitRotation || u.kind == unitVector || u.kind == unitNumber
	})
}

// group shares out the units among heads, as many to one as its code can tell
// apart.
func (p *part) group() {
	g := group{ways: 1}
	for i, u := range p.units {
		if g.ways*u.ways > maxSymbols {
			p.groups = append(p.groups, g)
			g = group{first: i, ways: 1}
		}
		g.last, g.ways = i+1, g.ways*u.ways
	}
	if g.ways > 1 {
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

// digit is the unit's in the symbol of its group.
func (p *part) digit(symbols *[wire.MaxFieldsPerComponent]uint8, unit int) int {
	g := p.units[unit].group
	return int(p.groups[g].digits[symbols[g]][unit-p.groups[g].first])
}

// split makes the digits of all symbols.
func (g *group) split(units []unit) {
	g.digits = make([][]uint8, g.ways)
	for symbol := range g.digits {
		digits, rest := make([]uint8, g.last-g.first), symbol
		for i := len(digits) - 1; i >= 0; i-- {
			digits[i] = uint8(rest % units[g.first+i].ways)
			rest /= units[g.first+i].ways
			if digits[i] != 0 {
				g.changed[symbol] |= 1 << (g.first + i)
			}
		}
		g.digits[symbol] = digits
	}
}

// CheckRows reports whether rows of s fit into a datagram of their own, whatever they
// hold: in their longest form, with a header, they take at most wire.MaxRowBytes. An
// error names the first component with which they could grow longer.
func CheckRows(s *schema.Schema) error {
	bits := wire.MaxRowHeaderBits
	for i := range s.Components() {
		if bits += longestPart(s, i); bits > wire.MaxRowBytes*8 {
			c := s.Component(i)
			return fmt.Errorf("schema: component %q (%v): rows could take %d bits with it, at most %d are allowed: quantise its fields (range, bits) or leave some out (-)",
				c.Name, c.Type, bits, wire.MaxRowBytes*8)
		}
	}
	return nil
}

// longestPart is the most bits that component i can take in a row, in full or coded:
// an owner's, which has all that others' have.
func longestPart(s *schema.Schema, i int) int {
	p := planPart(s, i, true)
	full, coded := 1, len(p.groups)*maxCodeBits // 1: in the mask of a full row
	for j := range p.units {
		u := &p.units[j]
		switch f := &u.fields[0]; u.kind {
		case unitBool:
			full++
		case unitRotation:
			full += int(f.Bits)
			coded += 3 * longestResidual(u.bits)
		case unitPosition, unitVector, unitNumber:
			full += u.words * int(f.Bits)
			coded += u.words * longestResidual(f.Bits)
		default:
			full += longestField(f)
			coded += longestField(f)
		}
	}
	return max(full, coded)
}

// longestResidual is the most bits of a residual of a number of this width: a
// symbol, then either the number or low bits and a sign.
func longestResidual(width uint) int {
	return maxCodeBits + int(max(width, largestPower))
}

// longestField is the most bits that a field takes in full.
func longestField(f *schema.Field) int {
	if f.Kind == schema.KindHandle {
		return 1 + 34 + 34
	}
	return int(f.Bits)
}
