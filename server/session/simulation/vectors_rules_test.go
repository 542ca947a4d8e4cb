package simulation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
)

// Each of these cases tests a rule that mutants of a client break: see
// replication/wire/conformance/page_rules_test.go.

// frame returns a hand-made message.
func frame(kind byte, body ...[]byte) []byte { return wire.AppendFrame(nil, kind, body...) }

// structureAt returns a framed Structure message of raw records.
func structureAt(first, ticks uint32, records ...[]byte) []byte {
	return frame(wire.TypeStructure, wire.AppendStructureHeader(nil, first, ticks), bytes.Join(records, nil))
}

func record(r wire.Record) []byte { return appendRecord(nil, r) }

// with returns a framed message in which raw elements replace others, by index. An index
// beyond the last appends an element.
func (k *hostileMaker) with(m wire.Message, elements map[int][]byte) []byte {
	var parts []msgpack.RawMessage
	var frames wire.FrameReader
	frames.Feed(wire.AppendMessage(nil, m))
	kind, whole, _, err := frames.Next()
	require.NoError(k.t, err)
	require.NoError(k.t, msgpack.Unmarshal(whole, &parts))
	for i := range len(parts) + len(elements) {
		if raw := elements[i]; raw != nil && i < len(parts) {
			parts[i] = raw
		} else if raw != nil {
			parts = append(parts, raw)
		}
	}
	body := binary.BigEndian.AppendUint16([]byte{0xdc}, uint16(len(parts)))
	for _, p := range parts {
		body = append(body, p...)
	}
	return frame(kind, body)
}

// rowless returns a datagram without rows.
func rowless(seq, tick, structure uint32) []byte {
	return wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: tick, Structure: structure})
}

// expectLast checks how the newest case ends.
func (k *hostileMaker) expectLast(outcome, code string) {
	c := k.cases[len(k.cases)-1]
	last := c.Steps[len(c.Steps)-1].Expect
	require.Equal(k.t, []string{outcome, code}, []string{last.Outcome, last.Error}, "%s: %s", c.Name, c.About)
}

// ends adds a case that ends with an error.
func (k *hostileMaker) ends(code wire.Code, name, about string, steps ...vectors.Step) {
	k.add(name, about, steps...)
	k.expectLast("", code.String())
}

// forms adds cases about the forms of numbers, strings and frames.
func (k *hostileMaker) forms() {
	control, goodbye := wire.Control{}, wire.Goodbye{Code: wire.Draining, Text: "later"}
	bad := func(name, about string, message []byte) {
		k.ends(wire.BadMessage, name, about, stream(k.opening), stream(message))
	}
	bad("short handle", "a handle that is no uint 64", k.with(control, map[int][]byte{0: {0}}))
	bad("an element too many", "a Control of two elements", k.with(control, map[int][]byte{1: {1}}))
	bad("an element too few", "a Control of none", frame(wire.TypeControl, []byte{0x90}))
	bad("signed number", "a code in the form of an int 8", k.with(goodbye, map[int][]byte{0: {0xd0, 7}}))
	bad("number out of range", "a code of 17 bits", k.with(goodbye, map[int][]byte{0: {0xce, 0, 1, 0, 0}}))
	bad("text too long", "a text of 257 bytes", k.with(goodbye, map[int][]byte{1: append([]byte{0xda, 1, 1}, make([]byte, 257)...)}))
	bad("text that is not UTF-8", "a text of the byte ff", k.with(goodbye, map[int][]byte{1: {0xa1, 0xff}}))
	bad("text as bin", "a text in a bin form", k.with(goodbye, map[int][]byte{1: {0xc4, 1, 'a'}}))
	bad("nil as bin", "a token that is nil", k.with(goodbye, map[int][]byte{3: {0xc0}}))
	bad("answer to a failed command", "a Result with a code and an answer", wire.AppendMessage(nil, wire.Result{ID: 1, Code: wire.CommandRefused, Answer: []byte{1}}))
	bad("pad with a body", "a Pad of one byte", frame(wire.TypePad, []byte{0}))
	bad("long frame length", "a frame whose length is not in its shortest form", []byte{0x81, 0, wire.TypePad})
	bad("number of 33 bits", "a first record number of 2^32 + 1", frame(wire.TypeStructure, []byte{0x81, 0x80, 0x80, 0x80, 0x10, 9}, record(k.anyEnter())))
	k.ends(wire.Draining, "long forms", "numbers and strings in their longest forms", stream(k.opening), stream(
		wire.AppendMessage(nil, wire.Pad{}),
		k.with(goodbye, map[int][]byte{0: {0xcf, 0, 0, 0, 0, 0, 0, 0, 7}, 1: {0xdb, 0, 0, 0, 1, 'a'}, 3: {0xc6, 0, 0, 0, 0}})))
	k.ends(wire.Draining, "longer Refused", "a Refused with elements of a later version", stream(k.with(wire.Refused{Code: wire.Draining}, map[int][]byte{5: {1}, 6: {0x92, 1, 2}})))
	move := wire.Goodbye{Code: wire.Moved, Address: "example.org:7777", Token: []byte("token")}
	k.ends(wire.Moved, "moved", "the session continues on another server", stream(k.opening), stream(wire.AppendMessage(nil, move)))
	k.ends(wire.Moved, "moved at once", "the first answer sends the client to another server", stream(wire.AppendMessage(nil, wire.Refused{Code: wire.Moved, Address: move.Address})))
	k.ends(wire.BadMessage, "moved nowhere", "a Refused with the code moved and no address", stream(wire.AppendMessage(nil, wire.Refused{Code: wire.Moved})))
	bad("address without moving", "a Goodbye with an address and another code", wire.AppendMessage(nil, wire.Goodbye{Code: wire.Draining, Address: move.Address}))
	k.ends(99, "code of a later version", "a Goodbye with a code that has no name", stream(k.opening), stream(wire.AppendMessage(nil, wire.Goodbye{Code: 99})))
}

// welcomed returns the recorded Welcome.
func (k *hostileMaker) welcomed() (w wire.Welcome, control []byte) {
	w = must.Get(wire.Parse[wire.Welcome](stage.FirstMessage(k.opening, wire.TypeWelcome)))
	return w, k.opening[len(wire.AppendMessage(nil, w)):]
}

// welcomes adds cases about the fields of Welcome.
func (k *hostileMaker) welcomes() {
	for _, c := range []struct {
		code        wire.Code
		name, about string
		change      func(*wire.Welcome)
	}{
		{wire.ProtocolVersion, "another protocol", "the server has another protocol number", func(w *wire.Welcome) { w.Protocol++ }},
		{wire.BadMessage, "another schema", "the schema's text has another hash than Welcome says", func(w *wire.Welcome) { w.Schema++ }},
		{wire.TablesMismatch, "other tables", "the server has other tables", func(w *wire.Welcome) { w.Tables++ }},
		{wire.BadMessage, "no rates", "a world without ticks and snapshots", func(w *wire.Welcome) { w.TickHz, w.SnapshotHz = 0, 0 }},
		{wire.BadMessage, "more snapshots than ticks", "two snapshots per tick", func(w *wire.Welcome) { w.SnapshotHz = 2 * w.TickHz }},
		{wire.BadMessage, "too many slots", "a world of 2^24 + 1 slots", func(w *wire.Welcome) { w.MaxSlots = 1 << 24 }},
		{wire.BadMessage, "ceiling below the floor", "a world without generations", func(w *wire.Welcome) { w.GenerationCeiling = w.GenerationFloor - 1 }},
		{wire.BadMessage, "structure of a new session", "structure records before the first", func(w *wire.Welcome) { w.Structure = 1 }},
		{wire.BadMessage, "simulate", "a session for a client that simulates", func(w *wire.Welcome) { w.Simulate = 1 }},
		{wire.BadMessage, "no version", "the version has a number without digits", func(w *wire.Welcome) { w.Version = "1..2" }},
		{wire.BadMessage, "version of five numbers", "the version has five numbers", func(w *wire.Welcome) { w.Version = "1.2.3.4.5" }},
		{wire.BadMessage, "version with a space", "the version has a space behind its numbers", func(w *wire.Welcome) { w.Version = "v1.2-rc 1" }},
		{wire.BadMessage, "no schema text", "the schema's text is missing, although the first Hello asks for it", func(w *wire.Welcome) { w.SchemaText = "" }},
		{wire.BadMessage, "short secret", "a secret of 8 bytes", func(w *wire.Welcome) { w.Secret = w.Secret[:8] }},
	} {
		w, control := k.welcomed()
		c.change(&w)
		beyond := map[int][]byte{}
		if w.MaxSlots == wire.MaxSlots {
			beyond[8] = []byte{0xce, 1, 0, 0, 1} // the encoder asserts the limit
		}
		k.ends(c.code, c.name, c.about, stream(k.with(w, beyond), control))
	}
}

// ceiling adds cases about generations above the world's last.
func (k *hostileMaker) ceiling() {
	w, control := k.welcomed()
	w.GenerationCeiling = hostileFloor
	opening := stream(wire.AppendMessage(nil, w), control)
	e := k.anyEnter()
	e.Handle = bulk.NewHandle(1, hostileFloor)
	k.add("ceiling", "a handle above the ceiling is Stale, in a slot with an entity and in others", opening, stream(structureAt(1, 9, record(e))))
	e.Handle = bulk.NewHandle(1, hostileFloor+2)
	k.ends(wire.BadMessage, "above the ceiling", "an Enter of a generation above the ceiling", opening, stream(structureAt(1, 9, record(e))))
	w.Resumed, w.Structure, w.SchemaText = 1, 1, ""
	k.ends(wire.BadMessage, "resumed elsewhere", "the session resumes after a record that the client has not applied", opening, vectors.Step{Lost: true}, stream(wire.AppendMessage(nil, w)))
}

// rowOf returns a full row of bits, in order. bits are pairs of a value and its width.
func rowOf(bits ...uint) []byte {
	var w bitio.Writer
	for i := 0; i < len(bits); i += 2 {
		w.Write(uint64(bits[i]), bits[i+1])
	}
	return w.Bytes()
}

// fullRows adds cases about the full rows of Enters.
func (k *hostileMaker) fullRows() {
	e := k.anyEnter()
	for _, c := range []struct {
		name, about string
		row         []byte
	}{
		{"padding", "a row whose last bit is not zero", []byte{0x80}},
		{"long sized", "a ref whose index 1 takes 8 bits", rowOf(0b0100, 4, 1, 1, 1, 2, 1, 8, 0, 2, hostileFloor, 4)},
		{"ref beyond slots", "a ref of the slot 2^24", rowOf(0b0100, 4, 1, 1, 3, 2, 1<<24, 32, 0, 2, hostileFloor, 4)},
		{"ref of even tenant", "a ref of an even generation", rowOf(0b0100, 4, 1, 1, 0, 2, 1, 4, 0, 2, hostileFloor+1, 4)},
		{"number above N", "a position beyond the range", rowOf(0b0001, 4, 1<<20-1, 20, 0, 20, 0, 20, 0, 14, 0, 14, 0, 14)},
	} {
		e.Row = c.row
		k.ends(wire.BadMessage, c.name, c.about, stream(k.opening), stream(structureAt(1, 9, record(e))))
	}
}

// recordRules adds cases about structure records and ticks.
func (k *hostileMaker) recordRules() {
	e := k.anyEnter()
	h := e.Handle
	enter, destroy := record(e), record(wire.Record{Op: wire.OpDestroy, Handle: h})
	bad := func(name, about string, records ...[]byte) {
		k.ends(wire.BadMessage, name, about, stream(k.opening), stream(structureAt(1, 9, records...)))
	}
	kind, texts, far := e, e, e
	kind.Kind = 1 << 16
	bad("kind 65,536", "a kind that is too high", record(kind))
	texts.Number = 2
	bad("texts", "an Enter with texts, which the schema does not have", append(record(texts), 1, 0))
	far.Handle = bulk.NewHandle(64, hostileFloor)
	bad("half of it is lawful", "an Enter, and another beyond the slots: neither is applied", enter, record(far))
	bad("entered and dead", "a Destroy, and an Enter of the same handle: neither is applied", destroy, enter)
	bad("text", "a Text, which the schema does not have", enter, append(record(wire.Record{Op: wire.OpText, Handle: h}), 1, 'a'))
	bad("event", "an Event, which the schema does not have", []byte{byte(wire.OpEvent), 0})
	for _, form := range []wire.Form{wire.OnGrid, wire.OnGridAsleep, wire.Raw, wire.RawAsleep} {
		exact := e
		exact.Exact = wire.Exact{Form: form, Back: uint32(form)}
		bad(fmt.Sprintf("exact Enter of form %d", form-1), "an exact state, and simulate is 0", wire.AppendRecord(nil, exact))
	}
	effect := bulk.NewHandle(1, 1)
	for name, extension := range extensions(effect) {
		bad(name, "an Extension, and simulate is 0", extension)
	}
	bad("answer", "an Answer to a provisional handle that was never made", []byte{byte(wire.OpAnswer), 1})
	k.add("unseen leave", "a Leave of a later tenant changes nothing", stream(k.opening), stream(structureAt(1, 9, enter)),
		stream(structureAt(2, 0, record(wire.Record{Op: wire.OpLeave, Handle: bulk.NewHandle(h.Index(), h.Generation()+2)}))))
	caused := append(record(wire.Record{Op: wire.OpDestroy, Number: 1, Handle: h}), 7)
	k.add("cause", "a Destroy with a cause, and a record after it", stream(k.opening), stream(structureAt(1, 9, enter, caused, record(wire.Record{Op: wire.OpEnter, Handle: h + 2<<32, Kind: e.Kind, Row: e.Row}))))
	w, control := k.welcomed()
	w.SchemaText = "" // for Welcomes of later connections
	anew := stream(wire.AppendMessage(nil, w), control)
	w.Resumed = 1
	again := stream(wire.AppendMessage(nil, w), control)
	k.add("ticks", "the tick of a message counts from the message before, also after the session resumes, and from 0 in a new session", stream(k.opening),
		stream(structureAt(1, 9, enter), structureAt(2, 11, enter)), stream(structureAt(3, 0, enter)), stream(structureAt(4, 1<<20, enter)),
		vectors.Step{Lost: true}, again, stream(structureAt(5, 5, enter)),
		vectors.Step{Lost: true}, anew, stream(structureAt(1, 5, enter)), stream(structureAt(2, 6, enter)))
	k.ends(wire.BadMessage, "tick of 33 bits", "a tick above 2^32 - 1", stream(k.opening), stream(structureAt(1, 9, enter), structureAt(2, 1<<32-10, enter)), stream(structureAt(3, 1, enter)))
}

// extensions returns one record of each Extension.
func extensions(effect bulk.Handle) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		_ = yield("program", wire.Program{Code: []byte{1}}.Append(nil)) &&
			yield("effect added", wire.EffectAdded{Effect: effect}.Append(nil)) &&
			yield("effect changed", wire.EffectChanged{Effect: effect, HasPath: true}.Append(nil)) &&
			yield("effect ended", wire.EffectEnded{Effect: effect}.Append(nil)) &&
			yield("effect left", wire.EffectEnded{Effect: effect, Left: true}.Append(nil)) &&
			yield("kind added", wire.KindAdded{Kind: 9}.Append(nil))
	}
}

// newSessions adds cases about what a new session inherits.
func (k *hostileMaker) newSessions() {
	e := k.anyEnter()
	enter := func(slot, generation uint32) []byte {
		r := e
		r.Handle = bulk.NewHandle(slot, generation)
		return record(r)
	}
	w, control := k.welcomed()
	text := w.SchemaText
	lost := vectors.Step{Lost: true}
	opening := func(change func(*wire.Welcome)) vectors.Step { // for Welcomes of later connections
		next := w
		next.SchemaText = ""
		change(&next)
		return stream(wire.AppendMessage(nil, next), control)
	}
	first := func(w *wire.Welcome) { w.GenerationFloor = 1 }
	entered := stream(structureAt(1, 9, enter(1, hostileFloor), enter(1, hostileFloor+2), enter(2, hostileFloor+2), enter(3, 1), enter(4, 3)))
	k.add("earlier tenants", "in a new session the tenants before those in view stay Stale; generation 1 has none before", opening(func(w *wire.Welcome) { first(w); w.SchemaText = text }), entered, lost, opening(first))
	k.add("another world", "a new session of another epoch: nothing that was Stale is known", stream(k.opening),
		stream(structureAt(1, 9, enter(1, hostileFloor), enter(1, hostileFloor+2), record(wire.Record{Op: wire.OpDestroy, Handle: bulk.NewHandle(1, hostileFloor+2)}))),
		lost, opening(func(w *wire.Welcome) { w.Epoch++ }))
	k.add("seq starts again", "in a new session snapshots count from 1", stream(k.opening), vectors.Step{Datagram: rowless(1, 9, 0)}, vectors.Step{Datagram: rowless(2, 9, 0)},
		lost, opening(func(*wire.Welcome) {}), vectors.Step{Datagram: rowless(1, 12, 0)})
	k.expectLast("applied", "")
	k.add("acknowledgements over a loss", "what was applied is still acknowledged after the session resumes", stream(k.opening), vectors.Step{Datagram: rowless(1, 9, 0)}, vectors.Step{Datagram: rowless(3, 12, 0)},
		lost, opening(func(w *wire.Welcome) { w.Resumed = 1 }), vectors.Step{Datagram: rowless(3, 12, 0)}, vectors.Step{Datagram: rowless(2, 11, 0)})
	k.expectLast("applied", "")
	held := []vectors.Step{stream(k.opening), {Datagram: rowless(1, 9, 1)}, lost}
	k.add("held over a loss", "a snapshot that waits for its structure still does after the session resumes",
		append(slices.Clone(held), opening(func(w *wire.Welcome) { w.Resumed = 1 }), stream(structureAt(1, 9, enter(1, hostileFloor))))...)
	k.add("not held over sessions", "a snapshot that waits for its structure ends with its session",
		append(slices.Clone(held), opening(func(*wire.Welcome) {}), stream(structureAt(1, 9, enter(1, hostileFloor))))...)
}

// rowsOf returns the number of rows of a datagram.
func (k *hostileMaker) rowsOf(d []byte) int {
	var rows bitio.Reader
	return must.Get(wire.ParseStateHeader(d, &rows)).Rows
}

// strangerRows returns a datagram with a row of slot 63, and one whose header is malformed.
func strangerRows() []byte {
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 9, Structure: 1, Rows: 2}))
	coding := wire.RowCoding{}
	wire.AppendRowCoding(&w, coding)
	wire.AppendRowHeader(&w, coding, 62, wire.Baseline{})
	w.Write(0, 1) // no slot is skipped
	w.Write(1, 1) // a baseline of its own
	w.Write(0, 5) // of age 0, as the coding's
	return w.Bytes()
}

// headers adds cases about the headers and the order of snapshots.
func (k *hostileMaker) headers() {
	ready := []vectors.Step{stream(k.opening), stream(structureAt(1, 9, record(k.anyEnter())))}
	add := func(name, about string, ds ...[]byte) {
		k.add(name, about, append(slices.Clone(ready), datagrams(ds...)...)...)
	}
	bad := func(name, about string, ds ...[]byte) {
		add(name, about, ds...)
		k.expectLast("", wire.BadMessage.String())
	}
	const seqAt, tickAt, flagsAt = 7, 11, 20 // section 8, with an input of one byte
	changed := func(at int, v byte) []byte {
		d := rowless(1, 1, 1)
		d[at] = v
		return d
	}
	bad("seq 0", "snapshots are counted from 1", changed(seqAt, 0))
	bad("tick 0", "ticks are counted from 1", changed(tickAt, 0))
	bad("unknown flag", "a flag that is not used", changed(flagsAt, 64))
	bad("complete", "a complete snapshot, and simulate is 0", changed(flagsAt, 2))
	continued := changed(flagsAt, 8)
	continued[seqAt] = 2
	bad("continued", "a snapshot that continues another, and simulate is 0", continued)
	bad("audit", "an audit, and simulate is 0", wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 1, Structure: 1, Complete: true, Audited: true}))
	rows := k.datagrams[slices.IndexFunc(k.datagrams, func(d []byte) bool { return k.rowsOf(d) > 0 })]
	k.ends(wire.BadMessage, "exact rows", "rows with an exact bit, and simulate is 0", stream(k.opening), stream(k.stream), vectors.Step{Datagram: k.withHeader(rows, func(h *wire.StateHeader) { h.Exact = true })})
	bad("row of nobody before a wrong header", "no entity is in the first row's slot, and the second has a baseline of its own that is the coding's", strangerRows())
	k.ends(wire.BadMessage, "longer element of a Refused", "a Refused that ends within an element of a later version", stream(k.with(wire.Refused{Code: wire.Draining}, map[int][]byte{5: {0x92, 1}})))
	bad("257 rows", "more rows than a snapshot may have", append(rowless(1, 1, 2)[:flagsAt+3], 0x81, 0x02))
	bad("no events", "a flag promises events, and there are none", slices.Insert(changed(flagsAt, 1), flagsAt+3, 0))
	bad("cut event", "an event whose body is cut", slices.Insert(changed(flagsAt, 1), flagsAt+3, 4, 0, 0, 9, 1))
	bad("unknown event", "an event that the schema does not have",
		wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 9, Structure: 1, Events: wire.AppendEvent(nil, wire.Event{Number: 3, Age: 1, Body: []byte{1}})}))
	bad("input before tick 0", "an input of two ticks before tick 1", changed(flagsAt-1, 3))
	add("input of tick 0", "an input of one tick before tick 1", wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: 1, InputAge: 2}))
	bad("long input field", "an input field that is not in its shortest form", slices.Insert(changed(flagsAt-1, 0x81), flagsAt, 0))
	bad("too long to wait", "a datagram of 1,201 bytes whose structure has not arrived", append(rowless(1, 9, 2), make([]byte, 1201-len(rowless(1, 9, 2)))...))
	for _, jump := range []uint32{63, 64, 65, 128} {
		add(fmt.Sprintf("jump of %d", jump), "the mask after snapshots whose numbers leap", rowless(3, 9, 1), rowless(4, 9, 1), rowless(4+jump, 20, 1))
	}
	add("window", "a snapshot 64 below the newest is applied, one 65 below is too old", rowless(66, 20, 1), rowless(2, 9, 1), rowless(1, 9, 1), rowless(2, 9, 1))
	var waiting [][]byte
	for seq := uint32(2); seq <= 17; seq++ {
		waiting = append(waiting, rowless(seq, 9, 2))
	}
	more := stream(structureAt(2, 1, record(k.anyEnter())))
	add("waiting twice", "16 snapshots and their copies wait", append(waiting, waiting...)...)
	k.cases[len(k.cases)-1] = played(k.t, k.schema, "waiting twice", "16 snapshots wait, and copies of the newest take no room", k.handles, append(k.cases[len(k.cases)-1].Steps, more))
	k.add("the lowest of too many", "the snapshot of the lowest seq arrives last, and is dropped", append(append(slices.Clone(ready), datagrams(append(waiting, rowless(1, 9, 2))...)...), more)...)
	k.add("waiting for less", "of two snapshots that wait, the structure of the second arrives first",
		append(append(slices.Clone(ready), datagrams(rowless(1, 9, 3), rowless(2, 9, 2))...), more)...)
}
