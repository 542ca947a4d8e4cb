package conformance

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

var vectorsUpdate = flag.Bool("vectors.update", false, "write the vectors of rows")

// The components of the vectors of rows. Between them, they have all kinds of units,
// fields and attributes, and groups of all sizes.
type (
	rowTurns struct {
		Facing [4]float32 `net:"quat,bits=10,predict=linear"`
		Aim    [4]float32 `net:"quat,bits=2,predict=linear"`
		Tail   [4]float32 `net:"quat,bits=6"`
		Lit    bool       `net:"always"`
		Armed  bool
		Out    bool
	}
	rowSteady struct {
		Still  [3]float32 `net:"range=-8..8,step=1/64"`
		At     [3]float32 `net:"range=0..1000,step=1/8,predict=linear"`
		Look   [4]float32 `net:"quat,bits=7,always"`
		Facing [4]float32 `net:"quat,bits=5"`
		Lit    bool
	}
	rowCube struct {
		Way    [3]float32  `net:"range=-8..8,step=1/64,predict=linear"`
		At     [3]float32  `net:"range=-64..64,step=1/64,predict=linear,parent=On"`
		Facing [4]float32  `net:"quat,bits=10,predict=linear"`
		On     bulk.Handle `net:"ref"`
		Speed  [3]float32  `net:"range=-8..8,step=1/8"`
	}
	rowSeat struct {
		At [3]float32  `net:"range=-256..256,step=1/64,predict=linear,parent=On"`
		On bulk.Handle `net:"ref"`
	}
	rowPurse struct {
		Coins  int32      `net:"bits=20,owner"`
		Sight  [3]float32 `net:"range=0..100,step=1/8,predict=linear,owner"`
		Gem    bool       `net:"owner"`
		Shown  int16      `net:"predict=linear"`
		Open   bool
		Key    bulk.Handle `net:"ref,owner"`
		Hand   [4]float32  `net:"quat,bits=4,owner"`
		Serial uint64      `net:"always,owner"`
	}
	rowFlags struct {
		First bool `net:"always"`
		B     [9]bool
		Last  uint32 `net:"always,bits=7"`
	}
	rowStamps struct {
		A uint32      `net:"always"`
		B bool        `net:"always"`
		Q [4]float32  `net:"quat,bits=7,always"`
		P [3]float32  `net:"range=0..1,step=1/100,always"`
		H bulk.Handle `net:"ref,always"`
		F float64     `net:"always"`
	}
	rowNumbers struct {
		U5   uint8  `net:"bits=5"`
		U4   uint8  `net:"bits=4"`
		U32  uint32 `net:"predict=linear"`
		I32  int32
		I12  int16   `net:"bits=12,predict=linear"`
		R16  float32 `net:"range=0..16,step=1,predict=linear"`
		R15  float32 `net:"range=0..15,step=1,predict=linear"`
		R260 float32 `net:"range=0..260,step=1"`
		R261 float32 `net:"range=0..261,step=1,predict=linear"`
		E5   uint8   `net:"enum=5"`
		E17  uint8   `net:"enum=17"`
		A12  float32 `net:"angle,bits=12,predict=linear"`
		A20  float64 `net:"angle,bits=20"`
		A32  float64 `net:"angle,bits=32,predict=linear"`
		A3   float32 `net:"angle,bits=3,predict=linear"`
		Wide float64 `net:"range=0..4294967294,step=1,predict=linear"`
		Long uint64
	}
	rowFours struct {
		X [4]float32 `net:"range=-1..1,step=1/100,predict=linear"`
		Y [3]float32 `net:"range=-1..1,step=1/100,always"`
		Z [3]float32 `net:"range=-1..1,step=1/100,predict=linear"`
		V [3]float32 `net:"range=-1..1,step=1/5"`
		W [3]float32 `net:"angle,bits=6"`
	}
	rowRaw struct {
		Raw    float32
		Exact  float64
		Serial uint64
		Debt   int64
		On     bulk.Handle `net:"ref"`
		Set    bool
	}
	rowWide27 struct {
		At [3]float64 `net:"range=0..134217728,step=1,predict=linear"`
	}
	rowWide28 struct {
		At [3]float64 `net:"range=0..268435456,step=1,predict=linear"`
	}
	rowWide32 struct {
		At    [3]float64 `net:"range=0..4294967294,step=1,predict=linear"`
		Speed [3]float64 `net:"range=0..4294967294,step=1,predict=linear"`
	}
	rowTall21 struct {
		At     [3]float64  `net:"range=0..2097152,step=1,predict=linear,parent=On"`
		Facing [4]float32  `net:"quat,bits=10,predict=linear"`
		On     bulk.Handle `net:"ref"`
	}
	rowTall22 struct {
		At     [3]float64  `net:"range=0..4194304,step=1,predict=linear,parent=On"`
		Facing [4]float32  `net:"quat,bits=10,predict=linear"`
		On     bulk.Handle `net:"ref"`
	}
	rowTall32 struct {
		At     [3]float64  `net:"range=0..4294967294,step=1,predict=linear,parent=On"`
		Facing [4]float32  `net:"quat,bits=10,predict=linear"`
		On     bulk.Handle `net:"ref"`
	}
)

// rowCaseNames are the cases of rows.jsonl, in order.
var rowCaseNames = []string{
	"cube", "body", "tall-21", "tall-22", "tall-32", "wide-27", "wide-28", "wide-32", "carried",
	"turns", "flags", "stamps", "raw", "steady", "fours", "numbers", "seats", "everything",
}

func rowSchemas(t testing.TB) map[string]*schema.Schema {
	all := map[string]*schema.Schema{}
	add := func(name string, adders ...func(*schema.Schema) error) {
		s := schema.New()
		for _, add := range adders {
			require.NoError(t, add(s))
		}
		require.NoError(t, rowcodec.CheckRows(s))
		all[name] = s
	}
	add("cube", component[rowtest.Cube])
	add("body", component[schema.Body])
	add("everything", component[rowtest.Everything])
	add("turns", component[rowTurns])
	add("steady", component[rowSteady], component[rowTurns])
	add("carried", component[rowCube])
	add("seats", component[rowPurse], component[rowSeat], component[rowCube])
	add("flags", component[rowFlags])
	add("stamps", component[rowStamps])
	add("numbers", component[rowNumbers])
	add("fours", component[rowFours])
	add("raw", component[rowRaw])
	add("wide-27", component[rowWide27])
	add("wide-28", component[rowWide28])
	add("wide-32", component[rowWide32])
	add("tall-21", component[rowTall21])
	add("tall-22", component[rowTall22])
	add("tall-32", component[rowTall32])
	return all
}

// component adds T under the name of its type.
func component[T any](s *schema.Schema) error {
	schema.Define[T](s, fmt.Sprintf("c%d", len(s.Components())))
	return s.Err()
}

// rowMaker makes candidates for the vectors of rows.
type rowMaker struct {
	*rand.Rand
	schema     *schema.Schema
	components []pageComponent
	codec      *rowcodec.Codec
	page       codingTables
	to         *rowCase
	extreme    bool // the next candidate has only extreme numbers
}

// one returns true once in n.
func (g *rowMaker) one(n int) bool { return g.IntN(n) == 0 }

// span returns a number of ticks, now and then a very large one.
func (g *rowMaker) span() uint32 {
	switch g.IntN(8) {
	case 0:
		return 1 + g.Uint32N(1<<g.UintN(31))
	case 1:
		return 1 + g.Uint32N(100)
	}
	return 1 + g.Uint32N(8)
}

// signed returns a number of a random length, of at most n bits.
func (g *rowMaker) signed(n int) int64 {
	v := g.Int64N(1 << g.IntN(n+1))
	if g.one(2) {
		return -v
	}
	return v
}

// around returns v + d in the ring of a field, or its nearest end.
func (g *rowMaker) around(f pageField, v uint32, d int64) uint32 {
	ring := int64(f.largest) + 1
	if g.one(2) {
		return uint32(min(max(int64(v)+d, 0), ring-1))
	}
	return uint32(((int64(v)+d)%ring + ring) % ring)
}

// quat returns a value of a quat field: a new one if fresh, otherwise one near to near.
func (g *rowMaker) quat(f pageField, near uint32, fresh bool) uint32 {
	if fresh && (g.extreme || g.one(6)) { // the corners, where no component is the largest
		v := g.Uint32N(4)
		for i := range 3 {
			v |= uint32(g.IntN(2)) * (1<<f.n - 1) << (2 + i*f.n)
		}
		return v
	}
	if fresh {
		return g.Uint32() & (1<<(2+3*f.n) - 1)
	}
	if g.one(4) {
		return near
	}
	reach := 1 << g.IntN(f.n)
	v := near & 3
	for i := range 3 {
		a := int(near>>(2+i*f.n)&(1<<f.n-1)) + g.IntN(2*reach+1) - reach
		v |= uint32(min(max(a, 0), 1<<f.n-1)) << (2 + i*f.n)
	}
	if g.one(12) {
		v ^= g.Uint32N(4)
	}
	return v
}

// fresh returns a value of a field.
func (g *rowMaker) fresh(f pageField, out []uint32) {
	switch {
	case f.kind == "ref":
		out[0], out[1] = 0, 0
		if !g.one(3) {
			out[0], out[1] = g.Uint32N(1<<g.UintN(25)), 1|g.Uint32N(1<<g.UintN(31))
		}
	case f.kind == "quat":
		out[0] = g.quat(f, 0, true)
	case f.kind == "float" || f.values == 2:
		for i := range out {
			out[i] = [...]uint32{0, 0x7fc00000, 0x7f800001, 0xff800000, 0x80000000, g.Uint32(), g.Uint32()}[g.IntN(7)]
		}
	case f.kind == "bool":
		out[0] = g.Uint32N(2)
	default:
		largest := uint32(f.largest)
		end := uint32(min(g.Uint64N(1<<g.IntN(8)), f.largest))
		if g.extreme {
			end = 0
		}
		switch n := g.IntN(4); {
		case n == 0, n == 2 && g.extreme:
			out[0] = end
		case n == 1, n == 3 && g.extreme:
			out[0] = largest - end
		default:
			out[0] = uint32(g.Uint64N(f.largest + 1))
		}
	}
}

// next returns a successor of a field's value, which may be the same value.
func (g *rowMaker) next(f pageField, was, out []uint32, reach int, along int64) {
	copy(out, was)
	switch {
	case g.extreme && g.one(2):
		g.fresh(f, out)
	case g.one(4):
	case f.kind == "quat":
		out[0] = g.quat(f, was[0], g.one(16))
	case f.kind == "bool", f.kind == "ref", f.kind == "float", f.values == 2, g.one(12):
		g.fresh(f, out)
	case g.one(24): // half a ring
		out[0] = g.around(f, was[0], int64(f.largest+1)/2)
	default:
		out[0] = g.around(f, was[0], along+g.signed(min(reach, f.n)))
	}
}

// states returns three states of an entity, one after another.
func (g *rowMaker) states(mask uint32, owned bool, age, gap uint32) (states [3][]uint32) {
	for i := range states {
		states[i] = make([]uint32, g.schema.Values())
	}
	older, base, now := states[0], states[1], states[2]
	index := 0
	for i, c := range g.components {
		reach, spread := g.IntN(34), g.IntN(34)
		for _, f := range c.fields {
			j, k := index, index+f.values
			index = k
			if mask>>i&1 == 0 || f.owner && !owned {
				continue
			}
			g.fresh(f, older[j:k])
			g.next(f, older[j:k], base[j:k], reach, 0)
			along := (int64(base[j]) - int64(older[j])) * min(int64(age), 32*int64(gap)) / int64(gap)
			g.next(f, base[j:k], now[j:k], spread, along)
		}
	}
	return states
}

// parent returns the states of a parent whose child has these states in component i.
func (g *rowMaker) parent(i int, child [3][]uint32) *anchorLine {
	states := g.states(1<<i, true, 1, 1)
	index := 0
	for _, c := range g.components[:i] {
		for _, f := range c.fields {
			index += f.values
		}
	}
	if g.extreme {
		if g.one(4) {
			states[0], states[2] = states[1], states[1]
		}
		return &anchorLine{Component: i, Now: states[2], Base: states[1], Older: states[0]}
	}
	arm, slack := g.IntN(34), g.IntN(34)
	for _, f := range g.components[i].fields {
		if f.kind == "range" {
			d := g.signed(min(arm, f.n))
			for k := range states {
				states[k][index] = g.around(f, child[k][index], d+g.signed(min(slack, f.n)))
			}
		}
		index += f.values
	}
	return &anchorLine{Component: i, Now: states[2], Base: states[1], Older: states[0]}
}

// candidate makes a row, right or wrong. Its bits come from package rowcodec, or are
// random.
func (g *rowMaker) candidate() (row codeRow) {
	row.Mask = 1 + g.Uint32N(1<<len(g.components)-1)
	if g.one(2) {
		row.Mask = 1<<len(g.components) - 1
	}
	row.Owned = g.one(2)
	row.Age, row.Gap = g.span(), g.span()
	g.extreme = g.one(8) || g.components[0].fields[0].largest == 1<<32-2 && g.one(2)
	if g.extreme {
		row.Age, row.Gap = 32+g.Uint32N(9), 1
	}
	states := g.states(row.Mask, row.Owned, row.Age, row.Gap)
	row.Base, row.Older = states[1], states[0]
	for i, c := range g.components {
		if c.parent != "" && row.Mask>>i&1 == 1 && row.Anchor == nil && !g.one(4) {
			row.Anchor = g.parent(i, states)
		}
	}
	if g.one(8) {
		row.Older, row.Gap = nil, 0
		if row.Anchor != nil {
			row.Anchor.Older = nil
		}
	}
	if g.one(2) {
		row.Bits = g.encoded(&row, states[2])
	} else {
		row.Bits = g.random(&row)
	}
	if g.one(40) {
		row.Bits = row.Bits[:g.IntN(len(row.Bits)+1)]
	}
	return row
}

// encoded returns the bits that the package writes.
func (g *rowMaker) encoded(row *codeRow, now []uint32) []byte {
	past := &rowcodec.Past{Base: row.Base, Older: row.Older, Age: row.Age, Gap: row.Gap}
	if a := row.Anchor; a != nil {
		past.Anchor = new(rowcodec.Anchor)
		g.codec.SetAnchor(past.Anchor, a.Component, a.Now, a.Base, a.Older)
	}
	var w bitio.Writer
	g.codec.Append(&w, rowschema.Row{Mask: row.Mask, Owned: row.Owned, Values: now}, past)
	return slices.Clone(w.Bytes())
}

// random returns random bits, up to the end of the row or its first error. Every bit string
// decodes to symbols. Rare symbols are as likely as all others.
func (g *rowMaker) random(row *codeRow) []byte {
	s := &pageDecoder{b: make([]byte, wire.MaxRowBytes+8)}
	for i := range s.b {
		s.b[i] = byte(g.Uint32())
	}
	often := 1 + g.IntN(8)
	chooser := g.page
	chooser.probe = &probe{choose: func(s *pageDecoder, lengths []byte) {
		if g.one(often) {
			symbol := g.IntN(len(lengths))
			if len(lengths) == 43 && g.one(4) {
				symbol = 42
			}
			s.put(codeOf(lengths, symbol), int(lengths[symbol]))
		}
	}}
	func() {
		defer func() { _ = recover() }()
		s.codedRow(&chooser, codecParts(g.components, row.Owned), row.Mask, row.past(nil), make([]uint32, len(row.Base)))
	}()
	for i := s.bit; i < 8*len(s.b); i++ {
		s.b[i/8] &^= 1 << (i % 8)
	}
	return s.b[:(s.bit+7)/8]
}

// codeOf returns the code of a symbol, first bit highest.
func codeOf(lengths []byte, symbol int) (code int) {
	for i, n := range lengths {
		if n < lengths[symbol] || n == lengths[symbol] && i < symbol {
			code += 1 << (12 - n)
		}
	}
	return code >> (12 - lengths[symbol])
}

// put overwrites the next n bits.
func (s *pageDecoder) put(code, n int) {
	for i := range n {
		bit := s.bit + i
		s.b[bit/8] = s.b[bit/8]&^(1<<(bit%8)) | byte(code>>(n-1-i)&1)<<(bit%8)
	}
}

var anyNumber = regexp.MustCompile(`-?\d+`)

// read makes a row's expectations from the reading of CODEC.md, and returns the situations
// that occur in the row.
func (g *rowMaker) read(row *codeRow) (occurs []string) {
	page := g.page
	page.probe = &probe{covered: func(key string) { occurs = append(occurs, g.to.Tables+" "+key) }}
	values, err := row.read(&page, codecParts(g.components, row.Owned))
	row.Values = values
	if err != nil {
		row.Error, row.About = wire.BadMessage.String(), err.Error()
		occurs = []string{g.to.Case + anyNumber.ReplaceAllString(row.About, "#")}
	}
	return occurs
}

// fill adds rows to the case. It takes the first few candidates, and later candidates in
// which a situation occurs for the first time.
func (g *rowMaker) fill(candidates int, seen map[string]bool) {
	for i := range candidates {
		row := g.candidate()
		fresh := i < 4
		for _, key := range g.read(&row) {
			fresh = fresh || !seen[key]
			seen[key] = true
		}
		if fresh {
			g.to.Rows = append(g.to.Rows, row)
		}
	}
}

// rowMakers returns a maker for each case.
func rowMakers(t testing.TB, files map[string][]byte) (makers []*rowMaker) {
	schemas := rowSchemas(t)
	for i, name := range rowCaseNames {
		for j, file := range []string{usualTables, otherTables} {
			tables := must.Get(rowcodec.ParseTables(files[file]))
			s := schemas[name]
			makers = append(makers, &rowMaker{
				Rand: rand.New(rand.NewPCG(uint64(i), uint64(j))), schema: s, components: parseSchemaText(t, s.Text()),
				codec: rowcodec.New(s, tables), page: readTables(files[file]),
				to: &rowCase{
					Case: name, Protocol: wire.Version, Tables: file, Version: fmt.Sprintf("%08x", tables.Version()),
					Schema: s.Text(), Hash: fmt.Sprintf("%016x", s.Hash()),
				},
			})
		}
	}
	return makers
}

// craft adds rows that random candidates do not find: a prediction of 0 for a rotation,
// products that doubles do not represent, and a mismatch beyond mag.
func (g *rowMaker) craft() {
	if g.to.Case != "tall-32" || g.to.Tables != otherTables {
		return
	}
	parent, own := g.zeroed()
	still := &anchorLine{Now: []uint32{7, 7, 7, parent, 0, 0}, Base: []uint32{7, 7, 7, parent, 0, 0}}
	zeroed := codeRow{Mask: 1, Age: 2, Base: []uint32{1 << 21, 9, 9, own, 3, 5}, Anchor: still}
	still = &anchorLine{Now: still.Now, Base: still.Base, Older: still.Base}
	inexact := codeRow{Mask: 1, Age: 95, Gap: 3, Base: []uint32{1 << 31, 1 << 31, 1 << 31, own, 3, 5}, Anchor: still}
	for range killsEach {
		inexact.Older = []uint32{1<<31 - g.inexact(), 1<<31 - g.inexact(), 1<<31 - g.inexact(), own, 3, 5}
		for _, row := range []codeRow{zeroed, inexact} {
			for row.Values == nil || row.Values[0] == row.Base[0] || row.Values[3] == row.Base[3] {
				row.Error, row.About, row.Bits = "", "", g.random(&row)
				g.read(&row)
			}
			g.to.Rows = append(g.to.Rows, row)
		}
		g.to.Rows = append(g.to.Rows, g.far())
	}
}

// far returns a row whose mismatch is so large that mag bounds it.
func (g *rowMaker) far() (row codeRow) {
	unbounded := g.page
	unbounded.probe = &probe{wrong: unboundedMag}
	parts := codecParts(g.components, false)
	corner := pageField{n: 10}
	for row.Bits == nil || row.Error != "" || !row.misreadBy(&unbounded, parts) {
		row = codeRow{Mask: 1, Age: 16 + g.Uint32N(64), Gap: 2}
		row.Base, row.Older = make([]uint32, 6), make([]uint32, 6)
		row.Anchor = &anchorLine{Now: make([]uint32, 6), Base: make([]uint32, 6), Older: make([]uint32, 6)}
		g.extreme = true
		for i := range 3 {
			ends := [2][2][]uint32{{row.Base, row.Anchor.Base}, {row.Older, row.Anchor.Older}}
			for _, pair := range ends {
				pair[g.IntN(2)][i] = 1<<32 - 2
			}
		}
		row.Base[3], row.Older[3] = g.Uint32(), g.Uint32()
		row.Anchor.Base[3], row.Anchor.Older[3] = g.quat(corner, 0, true), g.quat(corner, 0, true)
		f := g.page.predict(0, &parts[0], row.past(nil))
		if g.page.size(f.mismatch[:]...)>>8 > 5<<38 {
			row.Bits = g.random(&row)
			g.read(&row)
		}
	}
	return row
}

// inexactRatio is r of an age of 95 and a gap of 3.
const inexactRatio = 95 << 16 / 3

// inexact returns a motion whose weighted sum is wrong in doubles.
func (g *rowMaker) inexact() uint32 {
	for {
		d := 1<<30 + g.Int64N(1<<30)
		own := d * inexactRatio >> 8
		mismatch := math.Floor(float64(d<<8) * inexactRatio / (1 << 16))
		inDoubles := float64(own)*float64(cancelling[0]) + mismatch*float64(cancelling[2])
		if int64(math.Floor((inDoubles+1<<15)/(1<<16))) != (own*(cancelling[0]+cancelling[2])+1<<15)>>16 {
			return uint32(d)
		}
	}
}

// zeroed returns the rotations of a parent at rest and of its child. The child's predicted
// rotation is 0. The parent's rotation is longer than 1.
func (g *rowMaker) zeroed() (parent, own uint32) {
	const n = 10
	for {
		parent = g.Uint32()
		p := g.page.unpacked(parent, n)
		onward := g.page.product(p, p.conj())
		if (onward[3]-1<<14)*zeroing != -256<<14 {
			continue
		}
		for range 10_000 {
			own = g.Uint32()
			q := g.page.unpacked(own, n)
			sum := quaternion{}
			for i, d := range g.page.near(g.page.product(onward, q), q).less(q) {
				sum[i] = q[i] + (d*zeroing+128)>>8
			}
			if sum == (quaternion{}) {
				return parent, own
			}
		}
	}
}

// killsEach is the minimum number of rows that detect each mutant.
const killsEach = 3

// kill adds rows until enough rows detect a mutant.
func kill(t testing.TB, makers []*rowMaker, files map[string][]byte, m mutant) {
	tables, kills := m.tables(files), 0
	notices := func(g *rowMaker, row *codeRow) bool {
		page := tables[g.to.Tables]
		return row.misreadBy(&page, m.parts(g.components, row.Owned))
	}
	for _, g := range makers {
		for i := range g.to.Rows {
			if notices(g, &g.to.Rows[i]) {
				kills++
				if kills == killsEach {
					return
				}
			}
		}
	}
	for try := range 40_000 {
		g := makers[try%len(makers)]
		row := g.candidate()
		g.read(&row)
		if notices(g, &row) {
			t.Logf("candidate %d notices: %s", try, m.name)
			g.to.Rows = append(g.to.Rows, row)
			kills++
			if kills == killsEach {
				return
			}
		}
	}
	t.Logf("%d notice: %s", kills, m.name)
}

func (c *rowCase) appendTo(b []byte) []byte {
	lines := []any{c}
	for i := range c.Rows {
		lines = append(lines, &c.Rows[i])
	}
	for _, line := range lines {
		text := must.Get(json.Marshal(line))
		b = append(append(b, text...), '\n')
	}
	return b
}

// TestRowCandidates decodes random rows with both decoders. With -vectors.update, it
// completes the rows to the vectors of rows, and writes the file.
func TestRowCandidates(t *testing.T) {
	usual := must.Get(os.ReadFile(usualTablesPath))
	files := map[string][]byte{usualTables: usual, otherTables: makeTables()}
	makers := rowMakers(t, files)
	for _, g := range makers {
		for range 50 {
			row := g.candidate()
			g.read(&row)
			values, err := row.readWithPackage(g.codec)
			require.Equal(t, row.Error == "", err == nil, "%s: %v, %s", g.to.Case, err, row.About)
			require.Equal(t, row.Values, values, g.to.Case)
		}
	}
	if !*vectorsUpdate {
		return
	}
	seen := map[string]bool{}
	for _, g := range makers {
		g.fill(3000, seen)
		g.craft()
	}
	right := &probe{asked: map[string]bool{}}
	for _, g := range makers {
		page := g.page
		page.probe = right
		for range 1000 {
			row := g.candidate()
			_ = row.misreadBy(&page, codecParts(g.components, row.Owned))
		}
	}
	for _, m := range mutants(right.asked) {
		kill(t, makers, files, m)
	}
	var text []byte
	for _, g := range makers {
		text = g.to.appendTo(text)
	}
	t.Logf("%d rows, %d bytes", bytes.Count(text, []byte{'\n'}), len(text))
	require.NoError(t, os.WriteFile(filepath.Join(vectorsAt, rowsFile), text, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(vectorsAt, otherTables), files[otherTables], 0o644))
}
