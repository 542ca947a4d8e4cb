// Package wiretest makes a sample of every message for tests of the protocol, with the value
// that a reader must return, and reads them with the readers of package wire. It panics on
// errors.
package wiretest

import (
	"fmt"
	"math"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Tenant is a client's view of the entity in a slot.
type Tenant struct {
	Handle bulk.Handle
	Mask   uint32
	Owned  bool
	States map[uint32][]uint32 // by tick
}

// State returns a State datagram over five slots with all kinds of baselines, the entities on
// which it depends, and its rows. Slot 700 holds the parent of the entity in slot 1.
func State(s *schema.Schema) (d []byte, tenants map[uint32]Tenant, rows []rowschema.Row) {
	const tick = 1234
	slots := []uint32{0, 1, 40, 700, 70_000}
	baselines := []wire.Baseline{{}, {Age: 6, Gap: 3}, {Age: 1000}, {Age: 6, Gap: 3}, {Age: 6, Gap: 3}}
	tenants = map[uint32]Tenant{}
	c := rowcodec.New(s, rowcodec.DefaultTables())
	var fold uint64
	pasts := make([]*rowcodec.Past, len(slots))
	for i, slot := range slots {
		h := bulk.NewHandle(slot, uint32(2*i+1))
		older, base, row := rowtest.SampleRow(s, i), rowtest.SampleRow(s, i+1), rowtest.SampleRow(s, i*i+3)
		if i == 2 { // body alone; only its height changes
			base.Mask, row.Mask = 1, 1
			clear(base.Values[s.Components()[0].Values:])
			copy(row.Values, base.Values)
			row.Values[1] += 5
		}
		if i == 1 {
			on := bulk.NewHandle(700, 7)
			for _, values := range [][]uint32{older.Values, base.Values, row.Values} {
				values[len(values)-2], values[len(values)-1] = on.Index(), on.Generation()
			}
		}
		entity := Tenant{Handle: h, Mask: row.Mask, States: map[uint32][]uint32{}}
		if b := baselines[i]; b.Age != 0 {
			pasts[i] = &rowcodec.Past{Base: base.Values, Age: b.Age, Gap: b.Gap}
			entity.States[tick-b.Age] = base.Values
			if b.Gap != 0 {
				pasts[i].Older = older.Values
				entity.States[tick-b.Age-b.Gap] = older.Values
			}
		}
		tenants[slot] = entity
		rows = append(rows, row)
		fold = wire.Fold(fold, h)
	}
	d = wire.AppendStateHeader(nil, wire.StateHeader{Seq: 77, Tick: tick, Structure: 9, Fold: wire.Fold16(fold), Rows: len(rows)})
	var w bitio.Writer
	w.Reset(d)
	coding := wire.RowCoding{SkipBits: 5, Usual: wire.Baseline{Age: 6, Gap: 3}}
	wire.AppendRowCoding(&w, coding)
	next := uint32(0)
	for i, slot := range slots {
		wire.AppendRowHeader(&w, coding, slot-next, baselines[i])
		next = slot + 1
	}
	for _, i := range []int{0, 2, 3, 4} {
		c.Append(&w, rows[i], pasts[i])
	}
	pasts[1].Anchor = new(rowcodec.Anchor)
	n, _ := s.ByName("ride")
	c.SetAnchor(pasts[1].Anchor, n, rows[3].Values, pasts[3].Base, pasts[3].Older)
	c.Append(&w, rows[1], pasts[1])
	d = w.Bytes()
	wire.StampState(d, 0x01020304, 250)
	if len(d) > wire.MaxDatagram {
		panic(fmt.Sprintf("a State datagram of %d bytes", len(d)))
	}
	return d, tenants, rows
}

// ReadState reads a datagram like State's with the package's readers. Only the row
// of slot 1 may be anchored, by slot 700.
func ReadState(c *rowcodec.Codec, d []byte, tenants map[uint32]Tenant) (wire.StateHeader, []rowschema.Row, error) {
	s := c.Schema()
	var r bitio.Reader
	h, err := wire.ParseStateHeader(d, &r)
	if err != nil || h.Rows == 0 {
		return h, nil, err
	}
	var fold uint64
	var order []uint32 // slots
	pasts := map[uint32]*rowcodec.Past{}
	coding := wire.ReadRowCoding(&r, h.Tick)
	slot := uint32(0)
	for range h.Rows {
		skip, b := wire.ReadRowHeader(&r, coding, h.Tick)
		slot += skip
		entity, ok := tenants[slot]
		if !ok {
			return h, nil, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("slot %d", slot)}
		}
		if b.Age != 0 {
			base := h.Tick - b.Age
			past := &rowcodec.Past{Base: entity.States[base], Age: b.Age, Gap: b.Gap}
			if b.Gap != 0 {
				past.Older = entity.States[base-b.Gap]
			}
			if past.Base == nil || b.Gap != 0 && past.Older == nil {
				return h, nil, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("baseline %v", b)}
			}
			pasts[slot] = past
		}
		order = append(order, slot)
		fold = wire.Fold(fold, entity.Handle)
		slot++
	}
	if wire.Fold16(fold) != h.Fold {
		return h, nil, &wire.Error{Code: wire.IdentityFault}
	}
	bySlot := map[uint32]rowschema.Row{}
	read := func(slot uint32) error {
		row := rowtest.NewRow(s, tenants[slot].Mask)
		bySlot[slot] = row
		return c.Read(&r, &row, pasts[slot])
	}
	rider, carrier := pasts[1], pasts[700]
	anchored := rider != nil && carrier != nil && rider.Age == carrier.Age && rider.Gap == carrier.Gap
	for _, slot := range order {
		if slot == 1 && anchored {
			continue
		}
		if err := read(slot); err != nil {
			return h, nil, err
		}
	}
	if anchored {
		rider.Anchor = new(rowcodec.Anchor)
		n, _ := s.ByName("ride")
		c.SetAnchor(rider.Anchor, n, bySlot[700].Values, carrier.Base, carrier.Older)
		if err := read(1); err != nil {
			return h, nil, err
		}
	}
	var rows []rowschema.Row
	for _, slot := range order {
		rows = append(rows, bySlot[slot])
	}
	return h, rows, wire.ExpectEnd(&r)
}

// Sample is a message and its expected content.
type Sample struct {
	Name  string
	Kind  byte // frame type; 0 for datagrams
	Bytes []byte
	Want  any
	Parse func([]byte) (any, error)
}

func ofMessage[M wire.Message](name string, m M, parse func([]byte) (M, error)) Sample {
	var frames wire.FrameReader
	frames.Feed(wire.AppendMessage(nil, m))
	kind, _, _, _ := frames.Next()
	return Sample{Name: name, Kind: kind, Bytes: m.Append(nil), Want: m, Parse: func(b []byte) (any, error) { return parse(b) }}
}

// Structure is the content of a Structure message.
type Structure struct {
	First, Ticks uint32
	Records      []wire.Record
	Rows         []rowschema.Row
	Bodies       []wire.BodyState // exact ones
}

func sampleStructure(s *schema.Schema) Structure {
	row, layout := rowtest.SampleRow(s, 5), rowschema.New(s)
	var w bitio.Writer
	layout.AppendFull(&w, row)
	owned := rowtest.SampleRow(s, 6)
	owned.Owned = true
	var ownedRow, exactRow bitio.Writer
	layout.AppendFull(&ownedRow, owned)
	layout.AppendFull(&exactRow, row)
	body := OffGrid()
	var quantised schema.Body
	layout.Component(0).Restore(row.Values, &quantised)
	wire.AppendBody(&exactRow, wire.Raw, &body, Grid(&quantised))
	c := Structure{First: 300, Ticks: 1234, Rows: []rowschema.Row{row, owned, row}, Bodies: []wire.BodyState{body}, Records: []wire.Record{
		{Op: wire.OpDestroy, Handle: bulk.NewHandle(17, 3)},
		{Op: wire.OpDestroy, Handle: bulk.NewHandle(300, 3), Cause: 7},
		{Op: wire.OpEnter, Handle: bulk.NewHandle(17, 5), Kind: 200, Row: w.Bytes()},
		{Op: wire.OpEnter, Owned: true, Handle: bulk.NewHandle(18, 5), Kind: 2, Row: ownedRow.Bytes(), Data: []byte("\x03Zoe")},
		{Op: wire.OpText, Number: 30, Handle: bulk.NewHandle(17, 5), Data: []byte("Ann")},
		{Op: wire.OpText, Number: 31, Handle: bulk.NewHandle(17, 5), Data: []byte{}},
		{Op: wire.OpEvent, Number: 0, Data: []byte{1, 2, 3}},
		{Op: wire.OpEvent, Number: 255, Data: []byte{}},
		{Op: wire.OpAnswer, Number: 9, Handle: bulk.NewHandle(17, 5)},
		{Op: wire.OpAnswer, Number: 1<<32 - 1},
		{Op: wire.OpLeave, Reason: wire.LeftInterest, Handle: bulk.NewHandle(wire.MaxSlots-1, math.MaxUint32)},
		{Op: wire.OpLeave, Reason: wire.HiddenByRule, Handle: bulk.NewHandle(0, 1)},
		{Op: wire.OpEnter, Handle: bulk.NewHandle(19, 5), Kind: 1, Exact: wire.Exact{Form: wire.Raw, Back: 63}, Row: exactRow.Bytes()},
	}}
	orbiting, following := Effect(), Effect()
	orbiting.Path = wire.Path{Form: wire.PathOrbit, Axes: [2][3]float32{{5, 0, 0}, {0, 0, -5}}, Phase: 1, Rate: 1<<32 - 1}
	following.Path = wire.Path{Form: wire.PathFollowing, Leader: bulk.NewHandle(18, 5)}
	for _, b := range [][]byte{
		wire.Program{Number: 200, Code: []byte("wfld")}.Append(nil), orbiting.Append(nil), following.Append(nil),
		wire.EffectChanged{Effect: bulk.NewHandle(9, 3), HasPath: true, HasParams: true, Path: wire.Path{Form: wire.PathLinear}}.Append(nil),
		wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Back: 1}.Append(nil), wire.EffectEnded{Effect: bulk.NewHandle(9, 5), Left: true}.Append(nil),
		wire.KindAdded{Kind: 300, KindConstants: wire.KindConstants{InvMass: 0.5, Layers: 6}}.Append(nil),
	} {
		c.Records = append(c.Records, wire.Record{Op: wire.OpExtension, Number: uint32(b[0] >> 3), Data: b[1:]})
	}
	return c
}

// ParseStructure reads a Structure message and the rows in its records.
func ParseStructure(s *schema.Schema, body []byte) (any, error) {
	m, err := wire.ParseStructure(body)
	if err != nil {
		return nil, err
	}
	c, layout := Structure{First: m.First, Ticks: m.Ticks}, rowschema.New(s)
	for r, err := range m.Records() {
		if err != nil {
			return nil, err
		}
		c.Records = append(c.Records, r)
		if r.Op != wire.OpEnter {
			continue
		}
		var bits bitio.Reader
		bits.Reset(r.Row)
		row := rowtest.NewRow(s, 0)
		row.Owned = r.Owned
		if err := layout.ReadFull(&bits, &row); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, row)
		if r.Exact.Form != wire.Ordinary {
			var quantised schema.Body
			layout.Component(0).Restore(row.Values, &quantised)
			c.Bodies = append(c.Bodies, wire.ReadBody(&bits, r.Exact.Form, Grid(&quantised), 1<<32-1))
		}
		if err := wire.ExpectEnd(&bits); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Samples returns a sample of each message.
func Samples() []Sample {
	s := rowtest.SampleSchema()
	structure := sampleStructure(s)
	body := wire.AppendStructureHeader(nil, structure.First, structure.Ticks)
	for _, r := range structure.Records {
		body = wire.AppendRecord(body, r)
	}
	state, tenants, rows := State(s)
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	input := wire.Input{
		Stamp: 1_000_000,
		Ack:   wire.Ack{Seen: true, Newest: 77, Mask: 0xfedc_ba98_7654_3210, Structure: 9},
		Inputs: []wire.TickInput{
			{Tick: 1236, Data: []byte{1, 2, 3}},
			{Tick: 1235, Back: 9, Fraction: 255, Data: []byte{}},
			{Tick: 1233, Data: make([]byte, wire.MaxInputBytes)},
		},
	}
	type stateContent struct {
		header wire.StateHeader
		rows   []rowschema.Row
	}
	header := wire.StateHeader{Echo: 0x01020304, Hold: 250, Seq: 77, Tick: 1234, Structure: 9, Rows: len(rows)}
	var fold uint64
	for _, slot := range []uint32{0, 1, 40, 700, 70_000} {
		fold = wire.Fold(fold, tenants[slot].Handle)
	}
	header.Fold = wire.Fold16(fold)
	return []Sample{
		ofMessage("hello", wire.Hello{Protocol: wire.Version, Schema: s.Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: 7, Session: 300, Secret: []byte("0123456789abcdef"), Structure: 9, Token: []byte("token"), Name: "Zoë", Room: "arena 7", Abilities: wire.Simulates, Version: "v1.10.0-rc1", MinServer: "1.9"}, wire.Parse[wire.Hello]),
		ofMessage("command", wire.Command{ID: 70_000, Name: "push", Target: bulk.NewHandle(17, 3), Args: []byte{0x92, 0x01, 0xc3}, FirstProvisional: 40, Provisionals: 2, View: 1234<<8 | 77}, wire.Parse[wire.Command]),
		ofMessage("bye", wire.Bye{Code: wire.OK, Text: "quit"}, wire.Parse[wire.Bye]),
		ofMessage("pad", wire.Pad{}, wire.Parse[wire.Pad]),
		ofMessage("resync", wire.Resync{}, wire.Parse[wire.Resync]),
		ofMessage("arrived", wire.Arrived{}, wire.Parse[wire.Arrived]),
		ofMessage("list", wire.ListRooms{Query: "match?mode=ranked", After: "match/7"}, wire.Parse[wire.ListRooms]),
		ofMessage("rooms", wire.RoomList{Rooms: "match/8 3 5 map=dünen&mode=ranked\nmatch/9 0 8 \n", More: 1}, wire.Parse[wire.RoomList]),
		ofMessage("welcome", wire.Welcome{
			Protocol: wire.Version, Schema: s.Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: 1 << 63, GenerationFloor: 1001, GenerationCeiling: 1<<20 - 1, TickHz: 60, SnapshotHz: 20,
			MaxSlots: 65536, Session: 300, Tick: 4_000_000_000, Resumed: 1, Secret: []byte("fedcba9876543210"),
			Room: "arena 7", Simulate: 1, Commands: 12, Structure: 9, Version: "2.0.1", SchemaText: "worldd schema 2\ninput raw\n",
		}, wire.Parse[wire.Welcome]),
		ofMessage("refused", wire.Refused{Code: wire.ProtocolVersion, Text: "too old", Want: "protocol 1", Token: []byte{}}, wire.Parse[wire.Refused]),
		ofMessage("moved", wire.Refused{Code: wire.Moved, Address: "eu.example.org:7777", Token: []byte("token")}, wire.Parse[wire.Refused]),
		{"structure", wire.TypeStructure, body, structure, func(b []byte) (any, error) { return ParseStructure(s, b) }},
		ofMessage("result", wire.Result{ID: 70_000, Code: wire.StaleHandle, Target: bulk.NewHandle(17, 3), Verdict: wire.Stale, Text: "it is gone", Answer: []byte{}}, wire.Parse[wire.Result]),
		ofMessage("answer", wire.Result{ID: 70_001, Verdict: wire.Live, Answer: []byte{1, 2}}, wire.Parse[wire.Result]),
		ofMessage("control", wire.Control{Entity: bulk.NewHandle(17, 5)}, wire.Parse[wire.Control]),
		ofMessage("goodbye", wire.Goodbye{Code: wire.Draining, Text: "back at noon", Token: []byte{}}, wire.Parse[wire.Goodbye]),
		{"state", 0, state, stateContent{header, rows}, func(b []byte) (any, error) {
			h, rows, err := ReadState(codec, b, tenants)
			return stateContent{h, rows}, err
		}},
		{"exact", 0, Exact().Bytes(), Exact(), func(b []byte) (any, error) { return ReadExactState(s, b) }},
		{"input", 0, input.Append(nil), input, func(b []byte) (any, error) {
			var in wire.Input
			err := in.Parse(b)
			return in, err
		}},
	}
}
