package wire_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// exactContent is a State datagram with an exact row in full.
type exactContent struct {
	header wire.StateHeader
	exact  wire.Exact
	row    schema.Row
	body   wire.BodyState
}

var exactEntity = bulk.NewHandle(5, 3)

var exactSample = exactContent{
	header: wire.StateHeader{
		Seq: 77, Tick: 1234, Structure: 9, Fold: wire.Fold16(wire.Fold(0, exactEntity)), Complete: true, Continued: true, Audited: true, Audit: 0xdeadbeef, Exact: true,
		Events: wire.AppendEvent(nil, wire.Event{Number: 1, Age: 2, Body: []byte{3}}), Rows: 1,
	},
	exact: wire.Exact{Form: wire.Raw, Back: 2},
	row:   rowtest.SampleRow(rowtest.SampleSchema(), 5),
	body:  odd,
}

func exactState() []byte {
	s := rowtest.SampleSchema()
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, exactSample.header))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, exactEntity.Index(), wire.Baseline{})
	wire.AppendExact(&w, exactSample.exact)
	s.AppendFields(&w, exactSample.row)
	var quantised schema.Body
	s.Restore(0, exactSample.row.Values, &quantised)
	wire.AppendBody(&w, exactSample.exact.Form, &exactSample.body, gridOfBody(&quantised))
	return w.Bytes()
}

// readExactState reads a datagram like exactState's with the package's readers.
func readExactState(s *schema.Schema, d []byte) (c exactContent, err error) {
	var r bitio.Reader
	if c.header, err = wire.ParseStateHeader(d, &r); err != nil || c.header.Rows != 1 {
		return c, err
	}
	coding := wire.ReadRowCoding(&r, c.header.Tick)
	slot, b := wire.ReadRowHeader(&r, coding, c.header.Tick)
	if c.header.Exact {
		c.exact = wire.ReadExact(&r, c.header.Tick, b)
	}
	if slot != exactEntity.Index() || b != (wire.Baseline{}) {
		return c, &wire.Error{Code: wire.BadMessage, Detail: "another row"}
	}
	c.row = rowtest.NewRow(s, exactSample.row.Mask)
	s.ReadFields(&r, &c.row)
	var quantised schema.Body
	s.Restore(0, c.row.Values, &quantised)
	c.body = wire.ReadBody(&r, c.exact.Form, gridOfBody(&quantised), 1<<32-1)
	return c, wire.ExpectEnd(&r)
}

// readExactByPage reads it with the independent decoder.
func readExactByPage(s *pageDecoder, components []pageComponent) (c exactContent) {
	h := s.stateHeader()
	c.header = exactSample.header
	c.header.Complete, c.header.Continued, c.header.Audited, c.header.Audit = h.complete, h.continued, h.audited, h.audit
	c.header.Exact = h.exact
	s.readNamed(4, "order of skips")
	s.baseline(h.tick)
	s.golomb(0, "skip")
	s.readNamed(1, "own baseline")
	if h.exact {
		s.readNamed(1, "exact")
	}
	page := exactPage{s}
	c.exact = page.exactHeader(h.tick, 0)
	c.row = s.wholeRow(components, exactSample.row.Mask, false)
	c.body = page.body(c.exact.Form, gridOf(components, c.row.Values), 1<<32-1)
	s.expectEnd()
	return c
}

func anyFloat(t *rapid.T, name string) float32 {
	b := rapid.Uint32().Draw(t, name)
	if b>>23&0xff == 0xff {
		b ^= 1 << 23 // neither infinite nor NaN
	}
	return math.Float32frombits(b)
}

// Every finite state comes back bit for bit.
func TestExactBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b wire.BodyState
		var g wire.Grid
		for i := range g {
			g[i] = anyFloat(t, "grid")
		}
		for i := range 3 {
			b.Position[i], b.Velocity[i] = anyFloat(t, "position"), anyFloat(t, "velocity")
		}
		b.Awake = rapid.Bool().Draw(t, "awake")
		if b.Awake {
			b.Rest = rapid.Uint32().Draw(t, "rest")
		} else {
			g[3], g[4], g[5], b.Velocity = 0, 0, 0, [3]float32{}
		}
		if rapid.Bool().Draw(t, "on the grid") {
			b.Position, b.Velocity, b.Rest = [3]float32(g[:3]), [3]float32(g[3:]), 0
		}
		e := wire.Exact{Form: wire.FormOf(&b, &g), Back: uint8(rapid.IntRange(0, wire.MaxBack).Draw(t, "back"))}
		var w bitio.Writer
		wire.AppendExact(&w, e)
		wire.AppendBody(&w, e.Form, &b, &g)
		require.LessOrEqual(t, w.Bits(), wire.MaxExactBits)
		var r bitio.Reader
		r.Reset(w.Bytes())
		require.Equal(t, e, wire.ReadExact(&r, 100, wire.Baseline{}))
		got := wire.ReadBody(&r, e.Form, &g, b.Rest)
		require.NoError(t, wire.ExpectEnd(&r))
		require.Equal(t, *bitsOf(&b), *bitsOf(&got))
	})
}

func TestExactForms(t *testing.T) {
	g := wire.Grid{1, 2, 3, 4, 5, 6}
	on := wire.BodyState{Position: [3]float32{1, 2, 3}, Velocity: [3]float32{4, 5, 6}, Awake: true}
	require.Equal(t, wire.OnGrid, wire.FormOf(&on, &g))
	on.Rest = 1
	require.Equal(t, wire.Raw, wire.FormOf(&on, &g))
	still, asleep := g, wire.BodyState{Position: on.Position}
	still[3], still[4], still[5] = 0, 0, 0
	require.Equal(t, wire.OnGridAsleep, wire.FormOf(&asleep, &still))
	asleep.Position[2] += 1e-6
	require.Equal(t, wire.RawAsleep, wire.FormOf(&asleep, &still))
	minus := wire.Grid{0, 0, 0, 0, 0, 0}
	zero := wire.BodyState{Velocity: [3]float32{0, float32(math.Copysign(0, -1)), 0}, Awake: true}
	require.Equal(t, wire.Raw, wire.FormOf(&zero, &minus), "-0 is not 0")
}

// The longest exact part is as long as MaxExactBits says.
func TestExactLongest(t *testing.T) {
	x := math.Float32frombits(1<<32 - 1) // the lowest in the order: 2^31 below 0, whose number is 2^32 - 1
	b := wire.BodyState{Position: [3]float32{x, x, x}, Velocity: [3]float32{x, x, x}, Rest: 1<<32 - 1, Awake: true}
	g := wire.Grid{}
	var w bitio.Writer
	wire.AppendExact(&w, wire.Exact{Form: wire.Raw, Back: wire.MaxBack})
	wire.AppendBody(&w, wire.Raw, &b, &g)
	require.Equal(t, wire.MaxExactBits, w.Bits())
}

// A kind's constants have one form each: 0 has no sign.
func TestKindsOfNegativeZero(t *testing.T) {
	parse := func(k wire.KindConstants) error {
		_, err := wire.ParseStructure(wire.KindAdded{KindConstants: k}.Append(wire.AppendStructureHeader(nil, 1, 1)))
		return err
	}
	minus := float32(math.Copysign(0, -1))
	require.NoError(t, parse(wire.KindConstants{}))
	for _, k := range []wire.KindConstants{{InvMass: minus}, {Coupling: minus}, {Radius: minus}, {Friction: minus}, {Restitution: minus}} {
		require.Equal(t, wire.BadMessage, wire.CodeOf(parse(k)))
	}
}

// A snapshot of each turn audits each body once.
func TestAuditTurns(t *testing.T) {
	h := bulk.NewHandle(70, 3)
	n := 0
	for seq := uint32(5); seq < 5+wire.AuditTurns; seq++ {
		if wire.Audited(h, seq) {
			n++
		}
	}
	require.Equal(t, 1, n)
}

// A program of the longest form fits, and so does an effect, into a Structure message.
func TestExtensionsFit(t *testing.T) {
	program := wire.Program{Number: 255, Code: make([]byte, wire.MaxProgram)}.Append(nil)
	e := added()
	e.Path.Form, e.Params = wire.PathOrbit, wire.FloatsOf(make([]float32, wire.MaxEffectNumbers)...)
	require.Less(t, 1+5+5+len(program)+len(e.Append(nil)), wire.MaxStreamMessage)
}
