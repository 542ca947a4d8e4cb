package wiretest

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// ExactState is a State datagram with one exact row in full.
type ExactState struct {
	Header wire.StateHeader
	Exact  wire.Exact
	Row    rowschema.Row
	Body   wire.BodyState
}

// exactSlot is the slot of its entity.
const exactSlot = 5

// Exact returns a sample.
func Exact() ExactState {
	return ExactState{
		Header: wire.StateHeader{
			Seq: 77, Tick: 1234, Structure: 9, Fold: wire.Fold16(wire.Fold(0, bulk.NewHandle(exactSlot, 3))), Complete: true, Continued: true, Audited: true, Audit: 0xdeadbeef, Exact: true,
			Events: wire.AppendEvent(nil, wire.Event{Number: 1, Age: 2, Body: []byte{3}}), Rows: 1,
		},
		Exact: wire.Exact{Form: wire.Raw, Back: 2},
		Row:   rowtest.SampleRow(rowtest.SampleSchema(), 5),
		Body:  OffGrid(),
	}
}

// Bytes returns the datagram.
func (c ExactState) Bytes() []byte {
	layout := rowschema.New(rowtest.SampleSchema())
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, c.Header))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, exactSlot, wire.Baseline{})
	wire.AppendExact(&w, c.Exact)
	layout.AppendFields(&w, c.Row)
	var quantised schema.Body
	layout.Component(0).Restore(c.Row.Values, &quantised)
	wire.AppendBody(&w, c.Exact.Form, &c.Body, Grid(&quantised))
	return w.Bytes()
}

// ReadExactState reads a datagram like the sample with the package's readers.
func ReadExactState(s *schema.Schema, d []byte) (c ExactState, err error) {
	var r bitio.Reader
	if c.Header, err = wire.ParseStateHeader(d, &r); err != nil || c.Header.Rows != 1 {
		return c, err
	}
	coding := wire.ReadRowCoding(&r, c.Header.Tick)
	slot, b := wire.ReadRowHeader(&r, coding, c.Header.Tick)
	if c.Header.Exact {
		c.Exact = wire.ReadExact(&r, c.Header.Tick, b, wire.MinBack)
	}
	if slot != exactSlot || b != (wire.Baseline{}) {
		return c, &wire.Error{Code: wire.BadMessage, Detail: "another row"}
	}
	layout := rowschema.New(s)
	c.Row = rowtest.NewRow(s, Exact().Row.Mask)
	layout.ReadFields(&r, &c.Row)
	var quantised schema.Body
	layout.Component(0).Restore(c.Row.Values, &quantised)
	c.Body = wire.ReadBody(&r, c.Exact.Form, Grid(&quantised), 1<<32-1)
	return c, wire.ExpectEnd(&r)
}

// OffGrid returns a body that no row restores to the bit.
func OffGrid() wire.BodyState {
	return wire.BodyState{Position: [3]float32{17.2512, 0.5000001, -99.9999}, Velocity: [3]float32{-1.5001, 1e-30, 3.033}, Awake: true, Rest: 7}
}

// Grid returns the numbers to which a row restores a body.
func Grid(b *schema.Body) *wire.Grid {
	return &wire.Grid{b.Position[0], b.Position[1], b.Position[2], b.Velocity[0], b.Velocity[1], b.Velocity[2]}
}

// Effect returns an effect in slot 9, of generation 3.
func Effect() wire.EffectAdded {
	return wire.EffectAdded{
		Effect: bulk.NewHandle(9, 3), Program: 200, Mode: 1, Layers: 1 << 31, Back: 1, Age: 1, Life: 100,
		Path: wire.Path{Center: [3]float32{1.5, -2, 1e9}}, Params: Floats(3, -0.5),
	}
}
