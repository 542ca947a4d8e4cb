package wire_test

import (
	"testing"

	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// E3: after warming up, the paths per entity and per datagram do not allocate.
func TestNoAllocations(t *testing.T) {
	s := rowtest.SampleSchema()
	row, base := rowtest.SampleRow(s, 3), rowtest.SampleRow(s, 9)
	out := rowtest.NewRow(s, row.Mask)
	body := schema.Body{Position: [3]float32{1, 2, 3}}
	state, _, _ := wiretest.State(s)
	input := wire.Input{Ack: wire.Ack{Seen: true, Newest: 3}, Inputs: []wire.TickInput{{Tick: 2, Data: []byte{1}}, {Tick: 1}}}
	datagram := input.Append(nil)
	message := wire.Hello{Token: []byte("abc")}.Append(nil)
	buffer := make([]byte, 0, 2*wire.MaxDatagram)
	record := wire.Record{Op: wire.OpDestroy, Handle: 1 << 32}
	effect, exact, grid := wiretest.Effect(), wiretest.OffGrid(), wire.Grid{17.25, 0.5, -100, -1.5, 0, 3.03125}
	effectRecord := wire.Record{Op: wire.OpExtension, Number: uint32(wire.ExtendEffectAdded), Data: effect.Append(nil)[1:]}
	var w bitio.Writer
	var r bitio.Reader
	w.Reset(buffer)
	c := rowcodec.New(s, rowcodec.DefaultTables())
	layout := c.Layout()
	past := &rowcodec.Past{Base: base.Values, Age: 1}
	c.Append(&w, row, past)
	coded := append([]byte(nil), w.Bytes()...)
	var parsed wire.Input
	for name, f := range map[string]func(){
		"quantise": func() { layout.Component(0).Quantise(&body, out.Values) },
		"restore":  func() { layout.Component(0).Restore(row.Values, &body) },
		"append state": func() {
			w.Reset(wire.AppendStateHeader(buffer, wire.StateHeader{Seq: 1, Rows: 1}))
			wire.AppendRowCoding(&w, wire.RowCoding{SkipBits: 3})
			wire.AppendRowHeader(&w, wire.RowCoding{SkipBits: 3}, 17, wire.Baseline{Age: 3})
			c.Append(&w, row, past)
			c.Append(&w, row, nil)
			_ = w.Bytes()
		},
		"append full":   func() { w.Reset(buffer); layout.AppendFull(&w, row) },
		"append record": func() { _ = wire.AppendRecord(buffer, record) },
		"append effect": func() { _ = effect.Append(buffer) },
		"read effect":   func() { e := effectRecord.EffectAdded(); _, _, _, err := e.Ticks(100, wire.MinBack); must.Do(err) },
		"exact body": func() {
			w.Reset(buffer)
			wire.AppendExact(&w, wire.Exact{Form: wire.Raw})
			wire.AppendBody(&w, wire.Raw, &exact, &grid)
			r.Reset(w.Bytes())
			wire.ReadBody(&r, wire.ReadExact(&r, 9, wire.Baseline{}, wire.MinBack).Form, &grid, 30)
			must.Do(r.Err())
		},
		"append input":  func() { _ = input.Append(buffer) },
		"read row":      func() { r.Reset(coded); must.Do(c.Read(&r, &out, past)) },
		"read header":   func() { must.Get(wire.ParseStateHeader(state, &r)) },
		"parse input":   func() { must.Do(parsed.Parse(datagram)) },
		"check msgpack": func() { must.Do(wire.CheckMsgpack(message)) },
	} {
		alloctest.RequireNone(t, 0, 100, f, name)
	}
}
