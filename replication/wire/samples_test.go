package wire_test

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Components that between them have every kind of field.
type (
	health struct {
		Now   int16 `net:"bits=10"`
		Max   uint8
		Alive bool
		Tiny  uint32 `net:"bits=3"`
		Cache int32  `net:"-"`
		local int32
	}
	link struct {
		Target bulk.Handle    `net:"ref"`
		Owner  bulk.Handle    `net:"ref,always"`
		Others [2]bulk.Handle `net:"ref"`
	}
	aim struct {
		Look struct {
			Yaw, Pitch float32
			Locked     bool
			Zoom       float64 `net:"range=0..1,step=1/1000"`
		} `net:"range=-4..4,step=1/256"`
		Scale  float32
		Exact  float64
		Serial uint64
		Debt   int64
		Count  uint32 `net:"always"`
		Signed int32
		Deep   [2][2]int8
	}
	empty struct{}
)

// sampleSchema holds all of them.
func sampleSchema(t testing.TB) *wire.Schema {
	s := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](s, "body"))
	require.NoError(t, wire.AddComponent[health](s, "health"))
	require.NoError(t, wire.AddComponent[link](s, "link"))
	require.NoError(t, wire.AddComponent[empty](s, "empty"))
	require.NoError(t, wire.AddComponent[aim](s, "aim"))
	return s
}

func newRow(s *wire.Schema, mask uint32) wire.Row {
	return wire.Row{Mask: mask, Words: make([]uint32, s.Words())}
}

// set quantises v, a struct of component name, into row and marks it present.
func set[T any](t testing.TB, s *wire.Schema, row *wire.Row, name string, v T) {
	i, ok := s.ByName(name)
	require.True(t, ok)
	c := s.Component(i)
	row.Mask |= 1 << i
	s.Quantise(i, unsafe.Pointer(&v), row.Words[c.Offset:c.Offset+c.Words])
}

// sampleRow is a row with every component; n varies its values.
func sampleRow(t testing.TB, s *wire.Schema, n int) wire.Row {
	row := newRow(s, 0)
	x := float32(n)
	set(t, s, &row, "body", wire.Body{Position: [3]float32{x, 1.5, -100 + x/4}, Velocity: [3]float32{0, -x, 0.5}})
	set(t, s, &row, "health", health{Now: int16(-n), Max: 200, Alive: n%2 == 0, Tiny: uint32(n % 8)})
	set(t, s, &row, "link", link{Target: bulk.NewHandle(uint32(n*1000), 3), Others: [2]bulk.Handle{0, bulk.NewHandle(2, 1)}})
	set(t, s, &row, "empty", empty{})
	a := aim{Scale: x / 3, Exact: float64(n) / 7, Serial: uint64(n) << 40, Debt: int64(-n), Count: uint32(n), Signed: int32(-n * n)}
	a.Look.Yaw, a.Look.Locked, a.Look.Zoom = x/100, true, 0.25
	a.Deep[1][0] = int8(-n)
	set(t, s, &row, "aim", a)
	return row
}

// tenant is what a client knows of a slot.
type tenant struct {
	handle    bulk.Handle
	baselines map[uint8]wire.Row // by code, 0 and 31 always
}

// sampleState is a State datagram over five slots with all kinds of baselines,
// what it stands on, and what its rows are.
func sampleState(t testing.TB, s *wire.Schema) (d []byte, tenants map[uint32]tenant, rows []wire.Row) {
	slots := []uint32{0, 1, 40, 700, 70_000}
	codes := []uint8{wire.BaselineNone, 1, wire.BaselineEnter, 6, wire.MaxBaselineAge}
	tenants = map[uint32]tenant{}
	var w wire.BitWriter
	var fold uint64
	for i, slot := range slots {
		h := bulk.NewHandle(slot, uint32(2*i+1))
		base := sampleRow(t, s, i+1)
		row := sampleRow(t, s, i*i+1)
		if i == 2 { // body alone, and only its height changed
			base.Mask = 1
			row.Mask = 1
			clear(base.Words[s.Component(0).Words:])
			copy(row.Words, base.Words)
			row.Words[1] += 5
		}
		zero := newRow(s, row.Mask)
		if codes[i] == wire.BaselineNone {
			base = zero
		}
		tenants[slot] = tenant{handle: h, baselines: map[uint8]wire.Row{0: zero, codes[i]: base}}
		rows = append(rows, row)
		fold = wire.Fold(fold, h)
	}
	d = wire.AppendStateHeader(nil, wire.StateHeader{Seq: 77, Tick: 1234, Structure: 9, Fold: wire.Fold16(fold), Rows: len(rows)})
	w.Reset(d)
	previous := uint32(0)
	for i, slot := range slots {
		wire.AppendRowHeader(&w, slot-previous, codes[i])
		previous = slot
		s.AppendDelta(&w, rows[i], tenants[slot].baselines[codes[i]])
	}
	d = w.Bytes()
	wire.StampState(d, 0x01020304, 250)
	require.LessOrEqual(t, len(d), wire.MaxDatagram)
	return d, tenants, rows
}

// readState reads a State datagram with the package's own readers, as a client
// does.
func readState(s *wire.Schema, d []byte, tenants map[uint32]tenant) (wire.StateHeader, []wire.Row, error) {
	var r wire.BitReader
	h, err := wire.ParseStateHeader(d, &r)
	if err != nil {
		return h, nil, err
	}
	var rows []wire.Row
	var fold uint64
	slot := uint32(0)
	for i := range h.Rows {
		gap, code, err := wire.ReadRowHeader(&r)
		if err != nil {
			return h, nil, err
		}
		slot += gap
		who, ok := tenants[slot]
		if !ok || i > 0 && gap == 0 {
			return h, nil, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("slot %d", slot)}
		}
		base, ok := who.baselines[code]
		if !ok {
			return h, nil, &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("baseline %d", code)}
		}
		row := newRow(s, 0)
		if err := s.ReadDelta(&r, base, &row); err != nil {
			return h, nil, err
		}
		fold = wire.Fold(fold, who.handle)
		rows = append(rows, row)
	}
	if err := wire.ExpectEnd(&r); err != nil {
		return h, nil, err
	}
	if wire.Fold16(fold) != h.Fold {
		return h, nil, &wire.Error{Code: wire.IdentityFault}
	}
	return h, rows, nil
}

// sample is one message with what it must be read back as.
type sample struct {
	name  string
	kind  byte // type of the frame; 0 for datagrams
	bytes []byte
	want  any
	parse func([]byte) (any, error)
}

func ofMessage[M wire.Message](name string, m M, parse func([]byte) (M, error)) sample {
	return sample{name: name, kind: m.Type(), bytes: m.Append(nil), want: m, parse: func(b []byte) (any, error) { return parse(b) }}
}

// structureContent is a Structure message taken apart.
type structureContent struct {
	First, Tick uint32
	Records     []wire.Record
	Rows        []wire.Row
}

func sampleStructure(t testing.TB, s *wire.Schema) structureContent {
	row := sampleRow(t, s, 5)
	var w wire.BitWriter
	s.AppendFull(&w, row)
	return structureContent{First: 300, Tick: 1234, Rows: []wire.Row{row}, Records: []wire.Record{
		{Op: wire.OpDestroy, Reason: wire.ReasonDestroyed, Handle: bulk.NewHandle(17, 3)},
		{Op: wire.OpEnter, Handle: bulk.NewHandle(17, 5), Kind: 200, Row: w.Bytes()},
		{Op: wire.OpLeave, Reason: wire.ReasonLeftInterest, Handle: bulk.NewHandle(wire.MaxSlots-1, bulk.MaxGeneration)},
		{Op: wire.OpLeave, Reason: wire.ReasonHiddenByRule, Handle: bulk.NewHandle(0, 1)},
	}}
}

func parseStructure(s *wire.Schema, body []byte) (any, error) {
	m, err := wire.ParseStructure(body)
	if err != nil {
		return nil, err
	}
	c := structureContent{First: m.First, Tick: m.Tick}
	for r, err := range m.Records() {
		if err != nil {
			return nil, err
		}
		c.Records = append(c.Records, r)
		if r.Op != wire.OpEnter {
			continue
		}
		var bits wire.BitReader
		bits.Reset(r.Row)
		row := newRow(s, 0)
		if err := s.ReadFull(&bits, &row); err != nil {
			return nil, err
		}
		if err := wire.ExpectEnd(&bits); err != nil {
			return nil, err
		}
		c.Rows = append(c.Rows, row)
	}
	return c, nil
}

func samples(t testing.TB) []sample {
	s := sampleSchema(t)
	structure := sampleStructure(t, s)
	body := wire.AppendStructureHeader(nil, structure.First, structure.Tick)
	for _, r := range structure.Records {
		body = wire.AppendRecord(body, r)
	}
	state, tenants, rows := sampleState(t, s)
	input := wire.Input{
		Stamp: 1_000_000,
		Ack:   wire.Ack{Seen: true, Newest: 77, Mask: 0xfedc_ba98_7654_3210, Structure: 9},
		Inputs: []wire.TickInput{
			{Tick: 1236, Data: []byte{1, 2, 3}},
			{Tick: 1235, Data: []byte{}},
			{Tick: 1233, Data: make([]byte, wire.MaxInputBytes)},
		},
	}
	type stateContent struct {
		header wire.StateHeader
		rows   []wire.Row
	}
	header := wire.StateHeader{Echo: 0x01020304, Hold: 250, Seq: 77, Tick: 1234, Structure: 9, Rows: len(rows)}
	var fold uint64
	for _, slot := range []uint32{0, 1, 40, 700, 70_000} {
		fold = wire.Fold(fold, tenants[slot].handle)
	}
	header.Fold = wire.Fold16(fold)
	return []sample{
		ofMessage("hello", wire.Hello{Protocol: wire.Version, Schema: s.Hash(), Epoch: 7, Token: []byte("token"), Name: "Zoë"}, wire.ParseHello),
		ofMessage("command", wire.Command{ID: 70_000, Name: "push", Target: bulk.NewHandle(17, 3), Args: []byte{0x92, 0x01, 0xc3}}, wire.ParseCommand),
		ofMessage("bye", wire.Bye{Code: wire.OK, Text: "quit"}, wire.ParseBye),
		ofMessage("resync", wire.Resync{}, wire.ParseResync),
		ofMessage("welcome", wire.Welcome{
			Protocol: wire.Version, Schema: s.Hash(), Epoch: 1 << 63, GenerationFloor: 1001, TickHz: 60, SnapshotHz: 20,
			MaxSlots: 65536, Session: 300, Tick: 4_000_000_000,
		}, wire.ParseWelcome),
		ofMessage("refused", wire.Refused{Code: wire.ProtocolVersion, Text: "too old", Want: "protocol 1"}, wire.ParseRefused),
		{"structure", wire.TypeStructure, body, structure, func(b []byte) (any, error) { return parseStructure(s, b) }},
		ofMessage("result", wire.Result{ID: 70_000, Code: wire.StaleHandle, Target: bulk.NewHandle(17, 3), Verdict: wire.Stale}, wire.ParseResult),
		ofMessage("control", wire.Control{Entity: bulk.NewHandle(17, 5)}, wire.ParseControl),
		ofMessage("goodbye", wire.Goodbye{Code: wire.Draining, Text: "back at noon"}, wire.ParseGoodbye),
		{"state", 0, state, stateContent{header, rows}, func(b []byte) (any, error) {
			h, rows, err := readState(s, b, tenants)
			return stateContent{h, rows}, err
		}},
		{"input", 0, input.Append(nil), input, func(b []byte) (any, error) { return wire.ParseInput(b) }},
	}
}
