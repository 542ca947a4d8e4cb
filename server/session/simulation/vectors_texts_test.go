package simulation

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
)

// textMaker makes the cases about texts, events and other messages of the game.
type textMaker struct {
	provisionalMaker
	codec *rowcodec.Codec
}

// Numbers of text fields and events of vectors.TextsSchema.
const (
	nameText, sealText, labelText = 0, 1, 2
	label29Text, mottoText        = 31, 32
	noteText, unknownText         = 33, 34

	chimeEvent, flashEvent, lateChime, lateFlash, unknownEvent = 0, 1, 31, 32, 33
)

func textCases(t *testing.T) []vectors.Case {
	s := must.Get(vectors.TextsSchema())
	k := &textMaker{provisionalMaker{t: t, schema: s}, rowcodec.New(s, rowcodec.DefaultTables())}
	k.enterTexts()
	k.wrongEnters()
	k.changedTexts()
	k.ignoredTexts()
	k.wrongTexts()
	k.reliableEvents()
	k.wrongBodies()
	k.datagramEvents()
	k.droppedEvents()
	k.wrongDatagrams()
	k.resumedTexts()
	k.sentMessages()
	k.answers()
	return k.cases
}

// texted returns the handle of a tenant of slot 1, later generations after the first.
func texted(later uint32) bulk.Handle { return bulk.NewHandle(1, hostileFloor+later) }

// add adds a case that ends with an error, or none.
func (k *textMaker) add(code wire.Code, name, about string, steps ...vectors.Step) {
	c := played(k.t, k.schema, name, about, []bulk.Handle{texted(0), texted(2), bulk.NewHandle(2, hostileFloor)}, append([]vectors.Step{k.opening()}, steps...))
	require.Len(k.t, c.Steps, len(steps)+1, "%s: %s: %+v", name, about, c.Steps[len(c.Steps)-1].Expect)
	requireEnd(k.t, code, &c)
	k.cases = append(k.cases, c)
}

func (k *textMaker) good(name, about string, steps ...vectors.Step) {
	k.add(wire.OK, name, about, steps...)
}

func (k *textMaker) bad(name, about string, steps ...vectors.Step) {
	k.add(wire.BadMessage, name, about, steps...)
}

func (k *textMaker) row(mask uint32, owned bool) rowschema.Row {
	row := rowschema.Row{Mask: mask, Owned: owned, Values: make([]uint32, k.schema.Values())}
	if mask&vectors.TextsTitle != 0 {
		row.Values[0] = 7
	}
	return row
}

// enter returns an Enter with these texts, if any.
func (k *textMaker) enter(h bulk.Handle, mask uint32, owned bool, texts ...byte) []byte {
	var w bitio.Writer
	rowschema.New(k.schema).AppendFull(&w, k.row(mask, owned))
	return wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: h, Owned: owned, Row: w.Bytes(), Data: texts})
}

// sizedTexts returns texts with their lengths.
func sizedTexts(texts ...string) (b []byte) {
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return b
}

// numberedRecord begins a record whose detail is a number.
func numberedRecord(op wire.Op, number uint32) []byte {
	if number < 31 {
		return []byte{byte(op) | byte(number)<<3}
	}
	return binary.AppendUvarint([]byte{byte(op) | 31<<3}, uint64(number-31))
}

func textRecord(number uint32, h bulk.Handle, text string) []byte {
	b := binary.AppendUvarint(numberedRecord(wire.OpText, number), uint64(h.Index()))
	return append(binary.AppendUvarint(b, uint64(h.Generation())), sizedTexts(text)...)
}

func eventRecord(number uint32, body []byte) []byte {
	return append(numberedRecord(wire.OpEvent, number), sizedTexts(string(body))...)
}

// structureOf returns a step with a Structure message.
func structureOf(first, ticks uint32, records ...[]byte) vectors.Step {
	return stream(structureAt(first, ticks, records...))
}

// chime returns the body of a reliable event.
func (k *textMaker) chime(serial uint32, who bulk.Handle, texts ...string) []byte {
	return rowschema.NewMessage(k.schema.Events()[chimeEvent].Message).Append(nil, &rowschema.Payload{Values: []uint32{serial, who.Index(), who.Generation()}, Texts: append(texts, "", "")[:2]})
}

// flash returns the body of an unreliable event.
func (k *textMaker) flash(x uint32, text string) []byte {
	return rowschema.NewMessage(k.schema.Events()[flashEvent].Message).Append(nil, &rowschema.Payload{Values: []uint32{x, 2, 3}, Texts: []string{text}})
}

// said returns an event of a datagram.
func said(number, age uint32, body []byte) []byte {
	return wire.AppendEvent(nil, wire.Event{Number: number, Age: age, Body: body})
}

// snapshotWith returns a datagram of events.
func snapshotWith(seq, tick, structure uint32, events ...[]byte) vectors.Step {
	return vectors.Step{Datagram: wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: tick, Structure: structure, Events: bytes.Join(events, nil)})}
}

// withRow returns a datagram of an event and the row in full of texted(0), which has a title.
func (k *textMaker) withRow(seq, tick uint32, change func(*wire.StateHeader), event []byte) []byte {
	h := wire.StateHeader{Seq: seq, Tick: tick, Structure: 1, Rows: 1, Events: event, Fold: wire.Fold16(wire.Fold(0, texted(0)))}
	change(&h)
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, h))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, 1, wire.Baseline{})
	row := k.row(vectors.TextsTitle, false)
	row.Values[0] = 9
	k.codec.Append(&w, row, nil)
	return w.Bytes()
}

func unchanged(*wire.StateHeader) {}

// titled returns a step in which texted(0) enters with a title.
func (k *textMaker) titled(owned bool) vectors.Step {
	texts := sizedTexts("Ann")
	if owned {
		texts = sizedTexts("Ann", "\xff\x00seal")
	}
	return structureOf(1, 9, k.enter(texted(0), vectors.TextsTitle, owned, texts...))
}

func (k *textMaker) enterTexts() {
	const both = vectors.TextsTitle | vectors.TextsMotto
	lines := make([]string, 30)
	lines[0], lines[29] = "first", "last"
	k.good("texts", "texts of components that are present: some are absent", structureOf(1, 9, k.enter(texted(0), both, false, sizedTexts("Ann", "onward")...)))
	k.good("texts of an owner", "an owner receives a text that others do not", k.titled(true), structureOf(2, 1, k.enter(bulk.NewHandle(2, hostileFloor), vectors.TextsTitle, false, sizedTexts("Bob")...)))
	k.good("empty texts", "texts follow though all are empty", structureOf(1, 9, k.enter(texted(0), both, false, 0, 0)))
	k.good("no texts", "no text field of these components is for the client", structureOf(1, 9, k.enter(texted(0), vectors.TextsPurse|vectors.TextsSecret, false)))
	k.good("a text for owners alone", "the only text field is for owners", structureOf(1, 9, k.enter(texted(0), vectors.TextsSecret, true, sizedTexts("psst")...)))
	k.good("34 text fields", "all components, with the longest texts", structureOf(1, 9,
		k.enter(texted(0), 31, true, sizedTexts(append(append([]string{strings.Repeat("é", 12), strings.Repeat("\xff", 130)}, lines...), "123456789", "12345678")...)...)))
	k.good("other texts", "an Enter of a Live entity replaces its texts", k.titled(true), structureOf(2, 1, k.enter(texted(0), vectors.TextsTitle, false, sizedTexts("Eve")...)),
		structureOf(3, 1, k.enter(texted(0), vectors.TextsMotto, false, sizedTexts("onward")...)))
	k.good("texts of a later tenant", "the next tenant of a slot has texts of its own", k.titled(false), structureOf(2, 1, k.enter(texted(2), vectors.TextsTitle, false, 0)))
}

func (k *textMaker) wrongEnters() {
	bad := func(name, about string, mask uint32, owned bool, texts ...byte) {
		k.bad(name, about, structureOf(1, 9, k.enter(texted(0), mask, owned, texts...)))
	}
	const title = vectors.TextsTitle
	bad("texts missing", "an Enter without the texts of its components", title, false)
	bad("texts cut", "the second text of an owner is missing", title, true, sizedTexts("Ann")...)
	bad("text cut", "a text ends early", title, false, 4, 'A', 'n', 'n')
	bad("a text too many", "a client that does not own the entity is sent a text for owners", title, false, sizedTexts("Ann", "seal")...)
	bad("texts for nobody", "texts of an entity without text fields", vectors.TextsPurse, false, 0)
	bad("text beyond N", "a text of 25 bytes, and 24 are allowed", title, false, sizedTexts(strings.Repeat("a", 25))...)
	bad("text not UTF-8", "a string of the byte ff", title, false, sizedTexts("\xff")...)
	bad("text of half a character", "a string that ends within a character", title, false, sizedTexts("a\xc3")...)
	bad("long text length", "a text length that is not in its shortest form", title, false, 0x81, 0, 'a')
	k.bad("flag of texts", "the flag of texts is set, and their length is 0", structureOf(1, 9, func() []byte {
		e := k.enter(texted(0), vectors.TextsPurse, false)
		e[0] |= 2 << 3
		return append(e, 0)
	}()))
}

func (k *textMaker) changedTexts() {
	h := texted(0)
	k.good("text", "a text changes, becomes empty, and is as long as it may be", k.titled(false),
		structureOf(2, 1, textRecord(nameText, h, "Eve")), structureOf(3, 1, textRecord(nameText, h, "")), structureOf(4, 1, textRecord(nameText, h, strings.Repeat("é", 12))))
	k.good("text for an owner", "the text that only owners receive, of any bytes", k.titled(true), structureOf(2, 1, textRecord(sealText, h, "\xff\xfe")))
	all := append([]string{"Ann", "", "a"}, make([]string, 31)...)
	entered := structureOf(1, 9, k.enter(h, 31, true, sizedTexts(all...)...))
	k.good("texts of high numbers", "fields 30 to 33: from 31 on the number follows the head", entered,
		structureOf(2, 1, textRecord(label29Text-1, h, "30"), textRecord(label29Text, h, "31"), textRecord(mottoText, h, "32"), textRecord(noteText, h, "33")))
	k.good("text twice", "the last Text holds", k.titled(false), structureOf(2, 1, textRecord(nameText, h, "Eve"), textRecord(nameText, h, "Eva")))
	k.good("text after its Enter", "an Enter and a Text in one message", structureOf(1, 9, k.enter(h, vectors.TextsTitle, false, 0), textRecord(nameText, h, "Ann")))
	k.good("text and rows", "a row leaves the texts as they are", k.titled(false), structureOf(2, 1, textRecord(nameText, h, "Eve")), vectors.Step{Datagram: k.withRow(1, 12, unchanged, nil)})
}

func (k *textMaker) ignoredTexts() {
	h, name := texted(0), textRecord(nameText, texted(0), "Eve")
	leave, destroy := record(wire.Record{Op: wire.OpLeave, Handle: h}), record(wire.Record{Op: wire.OpDestroy, Handle: h})
	enter := k.enter(h, vectors.TextsTitle, false, sizedTexts("Ann")...)
	k.good("text out of view", "a Text of an entity that has left, which enters again", k.titled(false), structureOf(2, 1, leave, name), structureOf(4, 1, enter))
	k.good("text of a dead entity", "a Text after the Destroy", k.titled(false), structureOf(2, 1, destroy, name))
	k.good("text before its Enter", "a Text of an entity that never entered", structureOf(1, 9, name), structureOf(2, 1, enter))
	k.good("text of a later tenant", "a Text of the next tenant, which has not entered", k.titled(false), structureOf(2, 1, textRecord(nameText, texted(2), "Eve")))
	later := structureOf(1, 9, k.enter(texted(2), vectors.TextsTitle, false, sizedTexts("Bob")...))
	k.good("text of an earlier tenant", "a Text of a tenant that is gone, whatever it says", later, structureOf(2, 1, name, textRecord(nameText, h, "\xff"), textRecord(unknownText, h, "")), structureOf(5, 1, textRecord(nameText, texted(2), "Ben")))
	k.good("texts of an earlier tenant", "an Enter of a tenant that is gone, whatever its texts are", later, structureOf(2, 1, k.enter(h, vectors.TextsTitle, false, sizedTexts("\xff")...)))
	k.good("absent text out of view", "a Text of a component that the entity lacked when it left", k.titled(false), structureOf(2, 1, leave, textRecord(mottoText, h, "onward")))
	k.good("an owner's text out of view", "a Text for owners of an entity that has left", k.titled(false), structureOf(2, 1, leave, textRecord(sealText, h, "seal")))
}

func (k *textMaker) wrongTexts() {
	h := texted(0)
	bad := func(name, about string, records ...[]byte) {
		k.bad(name, about, k.titled(false), structureOf(2, 1, append([][]byte{textRecord(nameText, h, "Eve")}, records...)...))
	}
	leave := record(wire.Record{Op: wire.OpLeave, Handle: h})
	bad("text of an unknown field", "a field that the schema lacks; the Text before it is not applied", textRecord(unknownText, h, ""))
	bad("text of an unknown field out of view", "a field that the schema lacks, of an entity that has left", leave, textRecord(unknownText, h, ""))
	bad("long text", "25 bytes, and 24 are allowed", textRecord(nameText, h, strings.Repeat("a", 25)))
	bad("long text out of view", "25 bytes for an entity that has left", leave, textRecord(nameText, h, strings.Repeat("a", 25)))
	bad("text of a byte", "a string that is not UTF-8", textRecord(nameText, h, "\xff"))
	bad("text of a byte out of view", "a string that is not UTF-8, of an entity that has left", leave, textRecord(nameText, h, "\xff"))
	bad("text of an absent component", "the entity lacks the component", textRecord(mottoText, h, "onward"))
	bad("text for others", "only an owner receives the field", textRecord(sealText, h, "seal"))
	bad("text after the component", "the entity has entered again without the component", k.enter(h, vectors.TextsPurse, false), textRecord(nameText, h, "Eve"))
	bad("text after the ownership", "the entity has entered again, and the client does not own it", k.enter(h, vectors.TextsTitle, false, 0), textRecord(sealText, h, "seal"))
	bad("text beyond the slots", "a Text of the slot 64", textRecord(nameText, bulk.NewHandle(64, hostileFloor), ""))
	bad("text of an earlier run", "a Text of a generation below the floor", textRecord(nameText, bulk.NewHandle(1, hostileFloor-2), ""))
	bad("text of an even tenant", "a Text of an even generation", textRecord(nameText, texted(1), ""))
	bad("text of 1,025 bytes", "a Text that is longer than any", textRecord(nameText, h, strings.Repeat("a", 1025)))
}

func (k *textMaker) reliableEvents() {
	enter := k.enter(texted(0), vectors.TextsTitle, false, sizedTexts("Ann")...)
	k.good("events", "events among other records, in order, at the message's tick",
		structureOf(1, 9, eventRecord(chimeEvent, k.chime(1, 0)), enter, eventRecord(chimeEvent, k.chime(2, texted(0), "ding"))), structureOf(4, 5, eventRecord(chimeEvent, k.chime(3, texted(2), "dong", "\xff"))))
	k.good("the longest event", "texts of an event that are as long as they may be", structureOf(1, 9, eventRecord(chimeEvent, k.chime(2047, bulk.NewHandle(1<<24-1, 1<<32-1), "ééé", strings.Repeat("\x00", 140)))))
	k.good("event of a high number", "an event of number 31", structureOf(1, 9, eventRecord(lateChime, []byte{200})))
	k.bad("unknown event of a message", "an event that the schema lacks; the one before it does not happen", structureOf(1, 9, eventRecord(chimeEvent, k.chime(1, 0)), eventRecord(unknownEvent, nil)))
	k.bad("unreliable event of a message", "an unreliable event among the records", structureOf(1, 9, eventRecord(flashEvent, k.flash(1, ""))))
	k.bad("unreliable event of a high number", "an unreliable event of number 32 among the records", structureOf(1, 9, eventRecord(lateFlash, []byte{200})))
	k.bad("events of a wrong message", "an Enter beyond the slots: the event before it does not happen",
		structureOf(1, 9, eventRecord(chimeEvent, k.chime(1, 0)), k.enter(bulk.NewHandle(64, hostileFloor), vectors.TextsPurse, false)))
}

// wrongBodies adds cases about the form of messages.
func (k *textMaker) wrongBodies() {
	bad := func(name, about string, body []byte) {
		k.bad(name, about, structureOf(1, 9, eventRecord(chimeEvent, body)))
	}
	with := func(change func([]byte)) []byte {
		b := k.chime(1, 0, "ding", "dong")
		change(b)
		return b
	}
	fields := rowOf(1, 11, 0, 1) // and no ref
	referring := func(bits ...uint) []byte { return append(rowOf(append([]uint{1, 11, 1, 1}, bits...)...), 0, 0) }
	bad("padding of a message", "a bit between the fields and the texts is not zero", with(func(b []byte) { b[1] |= 0x80 }))
	bad("byte after a message", "a byte follows", append(k.chime(1, 0), 0))
	bad("message cut", "the last text ends early", with(func(b []byte) { b[7]++ }))
	bad("message without texts", "the texts are missing", fields)
	bad("empty message", "no bytes", nil)
	bad("long text of a message", "7 bytes, and 6 are allowed", append(slices.Clone(fields), sizedTexts("1234567", "")...))
	bad("text of a message not UTF-8", "a string of the byte ff", append(slices.Clone(fields), sizedTexts("\xff", "")...))
	bad("ref to an even tenant", "a server sends no provisional handles", referring(0, 2, 1, 4, 0, 2, 2, 4))
	bad("ref beyond all slots", "a ref of the slot 2^24", referring(3, 2, 1<<24, 32, 0, 2, 1, 4))
	bad("long ref", "an index that takes 8 bits for 4", referring(1, 2, 1, 8, 0, 2, 1, 4))
	over := rowschema.NewMessage(k.schema.Events()[flashEvent].Message).Append(nil, &rowschema.Payload{Values: []uint32{8192, 0, 0}, Texts: []string{""}})
	var w bitio.Writer
	for _, x := range []uint64{8193, 0, 0} {
		w.Write(x, 14)
	}
	k.good("the most of a number", "a number that is N", snapshotWith(1, 9, 0, said(flashEvent, 0, over)))
	k.bad("number of a message above N", "a number that is N + 1", snapshotWith(1, 9, 0, said(flashEvent, 0, append(w.Bytes(), 0))))
}

func (k *textMaker) datagramEvents() {
	k.good("events of a datagram", "two events, of 3 and of 0 ticks ago; a longer one later",
		snapshotWith(1, 9, 0, said(flashEvent, 3, k.flash(5, "zap")), said(flashEvent, 0, k.flash(6, ""))), snapshotWith(2, 12, 0, said(flashEvent, 1, k.flash(8192, "ééé"))))
	k.good("event of tick 0", "an event as old as the datagram's tick", snapshotWith(1, 9, 0, said(flashEvent, 9, k.flash(5, ""))))
	k.good("event of a datagram of a high number", "an event of number 32", snapshotWith(1, 9, 0, said(lateFlash, 0, []byte{200})))
	k.good("event and row", "an event happens with the row of its datagram", k.titled(false), vectors.Step{Datagram: k.withRow(1, 12, unchanged, said(flashEvent, 1, k.flash(5, "zap")))})
	later := snapshotWith(2, 12, 1, said(flashEvent, 0, k.flash(2, "")))
	k.good("held events", "an event happens once its structure has arrived; of two snapshots the one of the lower seq first",
		later, snapshotWith(1, 9, 1, said(flashEvent, 0, k.flash(1, ""))), k.titled(false), later)
	k.good("events out of order", "the events of an older snapshot happen when it arrives", snapshotWith(2, 12, 0, said(flashEvent, 0, k.flash(2, ""))), snapshotWith(1, 9, 0, said(flashEvent, 0, k.flash(1, ""))))
}

func (k *textMaker) droppedEvents() {
	event := said(flashEvent, 1, k.flash(5, "zap"))
	twice := snapshotWith(1, 9, 0, event)
	k.good("events twice", "the events of a copy do not happen", twice, twice)
	k.good("events of a dropped snapshot", "the row's entity is not known: its event does not happen, and is not even read",
		structureOf(1, 9, k.enter(texted(2), vectors.TextsPurse, false)), structureOf(2, 1, record(wire.Record{Op: wire.OpLeave, Handle: texted(2)})),
		vectors.Step{Datagram: k.withRow(1, 12, unchanged, event)}, vectors.Step{Datagram: k.withRow(2, 12, unchanged, said(unknownEvent, 0, nil))})
	k.good("events of a wrong fold", "the fold is wrong: the event does not happen", k.titled(false),
		vectors.Step{Datagram: k.withRow(1, 12, func(h *wire.StateHeader) { h.Fold ^= 1 }, event)}, vectors.Step{Datagram: k.withRow(1, 12, unchanged, event)})
	var many []vectors.Step
	for seq := uint32(1); seq <= 17; seq++ {
		many = append(many, snapshotWith(seq, 9, 1, said(flashEvent, 0, k.flash(seq, ""))))
	}
	k.good("events of too many", "17 snapshots wait: the event of the first does not happen", append(many, k.titled(false))...)
	lost := vectors.Step{Lost: true}
	k.good("held events over a loss", "a snapshot waits while the session resumes; its event happens then", snapshotWith(1, 9, 1, event), lost, k.resumed(20, 0), k.titled(false))
	k.good("no held events over sessions", "a snapshot that waits ends with its session, and its event does not happen", snapshotWith(1, 9, 1, event), lost, k.welcome(func(*wire.Welcome) {}), k.titled(false))
}

func (k *textMaker) wrongDatagrams() {
	bad := func(name, about string, events ...[]byte) {
		k.bad(name, about, snapshotWith(1, 9, 0, append([][]byte{said(flashEvent, 0, k.flash(5, ""))}, events...)...))
	}
	bad("event of the future past", "an event older than the datagram's tick; the one before it does not happen", said(flashEvent, 10, k.flash(5, "")))
	bad("unknown event of a datagram", "an event that the schema lacks", said(unknownEvent, 0, nil))
	bad("reliable event of a datagram", "a reliable event", said(chimeEvent, 0, k.chime(1, 0)))
	bad("reliable event of a high number", "a reliable event of number 31", said(lateChime, 0, []byte{200}))
	bad("malformed event of a datagram", "a byte follows its body", said(flashEvent, 0, append(k.flash(5, ""), 0)))
	bad("event cut", "the last event ends early", []byte{flashEvent, 0})
	short := snapshotWith(1, 9, 0, said(flashEvent, 0, k.flash(5, "zap")))
	short.Datagram[23]-- // E
	k.bad("events beyond E", "the last event ends after E bytes", short)
	row := k.withRow(1, 12, unchanged, said(flashEvent, 0, k.flash(5, "")))
	k.bad("event and malformed row", "a byte follows the rows: the event does not happen", k.titled(false), vectors.Step{Datagram: append(row, 0)})
	raw := func(number uint64, length int) []byte {
		return append(append(binary.AppendUvarint(nil, number), 0), sizedTexts(strings.Repeat("a", length))...)
	}
	k.good("event 255 waits", "the form of events is checked at once, and their numbers once the structure has arrived", snapshotWith(1, 9, 1, raw(255, 1024)))
	k.bad("event 255 no more", "the structure of a snapshot with an unknown event arrives", snapshotWith(1, 9, 1, raw(255, 1024)), k.titled(false))
	k.bad("event 256", "a number that no schema has: an error although the snapshot waits", snapshotWith(1, 9, 1, raw(256, 0)))
	k.bad("event of 1,025 bytes", "a body that is too long: an error although the snapshot waits", snapshotWith(1, 9, 1, raw(1, 1025)))
}

func (k *textMaker) resumedTexts() {
	lost := vectors.Step{Lost: true}
	first := structureOf(1, 9, k.enter(texted(0), vectors.TextsTitle, false, sizedTexts("Ann")...), eventRecord(chimeEvent, k.chime(1, 0)))
	rest := structureAt(3, 2, textRecord(nameText, texted(0), "Eve"), eventRecord(chimeEvent, k.chime(2, 0)))
	k.good("texts over a loss", "texts stay while the session resumes; a record of which a part was received is sent again, and its event happens once",
		first, stream(rest[:len(rest)-1]), lost, k.resumed(20, 0), stream(rest))
	k.bad("records sent again", "a server repeats a record that Hello named as applied", first, lost, k.resumed(20, 0), first)
	k.good("texts over sessions", "a new session begins without texts", first, lost, k.welcome(func(*wire.Welcome) {}), structureOf(1, 9, k.enter(texted(0), vectors.TextsTitle, false, 0)))
	spoken := snapshotWith(1, 9, 0, said(flashEvent, 1, k.flash(5, "zap")))
	k.good("events over a loss", "a copy of a snapshot arrives after the session has resumed: its event does not happen again", spoken, lost, k.resumed(20, 0), spoken)
}

// ask returns a step that sends a question, and order one that sends a command without an
// answer.
func ask(id uint32, words string) vectors.Step {
	return vectors.Step{Send: &vectors.Send{Command: "ask", ID: id, Words: []uint32{1, hostileFloor, 30}, Texts: [][]byte{[]byte(words)}}}
}

func order(id uint32) vectors.Step {
	return vectors.Step{Send: &vectors.Send{Command: "go", ID: id, Words: []uint32{1}}}
}

func (k *textMaker) sentMessages() {
	input := func(index, generation, x uint32, words string) vectors.Step {
		return vectors.Step{Send: &vectors.Send{Words: []uint32{index, generation, x}, Texts: [][]byte{[]byte(words)}}}
	}
	named := ask(1, "")
	named.Send.Words[0], named.Send.Words[1] = 0, 2
	k.good("sent provisional handles", "a command and an input that name provisional handles", named, input(1, 2, 512, ""))
	k.good("sent messages", "the bytes of commands and inputs", ask(1, ""), ask(2, "été"), order(3), input(0, 0, 0, ""), input(1<<24-1, 1<<32-1, 1024, "12345678"), input(300, hostileFloor, 512, "é"))
}

func (k *textMaker) answers() {
	result := func(id uint32, code wire.Code, answer []byte) vectors.Step {
		return stream(wire.AppendMessage(nil, wire.Result{ID: id, Code: code, Verdict: wire.Live, Answer: answer}))
	}
	m := k.schema.Commands()[0].Answer
	reply := func(words string) []byte {
		return rowschema.NewMessage(m).Append(nil, &rowschema.Payload{Values: []uint32{1, hostileFloor, 1024}, Texts: []string{words}})
	}
	k.good("answers", "answers out of order, a refusal, a Result without an answer, and one that answers none",
		ask(1, ""), ask(2, "why?"), order(3), result(2, wire.OK, reply(strings.Repeat("a", 300))), result(1, wire.CommandRefused, nil), result(3, wire.OK, nil), result(2, wire.OK, reply("")), result(9, wire.OK, nil))
	k.good("unanswered", "a Command is never answered over a later connection", ask(1, ""), vectors.Step{Lost: true}, k.resumed(20, 1), result(1, wire.OK, reply("late")), ask(2, ""), result(2, wire.OK, reply("soon")))
	moved := k.welcome(func(w *wire.Welcome) {
		w.Epoch, w.GenerationFloor, w.GenerationCeiling, w.Structure, w.Secret = 2, moveFloor, 2*moveFloor, 1, []byte("the other secret")
	})
	k.good("unanswered after a move", "a Command is never answered in a later room", ask(1, ""), moved, result(1, wire.OK, reply("late")), ask(2, ""), result(2, wire.OK, reply("soon")))
	bad := func(name, about string, answer []byte) {
		k.bad(name, about, ask(1, ""), result(1, wire.OK, answer))
	}
	bad("answer missing", "an empty answer, and one is declared", nil)
	bad("byte after an answer", "a byte follows", append(reply("a"), 0))
	bad("padding of an answer", "a bit between the fields and the texts is not zero", append(rowOf(0, 1, 1024, 11, 8, 4), 0))
	bad("long text of an answer", "301 bytes, and 300 are allowed", append(reply("")[:len(reply(""))-1], sizedTexts(strings.Repeat("a", 301))...))
	k.bad("answer of another command", "an answer to a command that is declared without", order(1), result(1, wire.OK, reply("")))
}

// talkScript is a script in which entities have names that change, and several events are
// sent in each second, over a link with loss and a break.
func talkScript() *script {
	r := &script{
		seed: 11, first: 1, slots: 64, budget: 16_000, hz: 20, entities: 8, viewers: 1, ticks: 240,
		ops: []op{
			{0, "link", []int{everybody, 20, 10, 10, 10, 70, 120}},
			{10, "own", []int{0, 2}},
			{30, "witness", []int{3, 2, 0}},
			{40, "cut", []int{0, 5, 12}},
			{70, "disown", []int{0, 0}},
		},
	}
	for tick := 2; tick < r.ticks; tick += 3 {
		r.ops = append(r.ops, op{tick, "tell", []int{0, tick, tick % 2}}, op{tick + 1, "rename", []int{tick / 3, tick % 11}}, op{tick + 1, "push", []int{tick, tick%9 - 4, tick%7 - 3}})
	}
	for tick := 5; tick < r.ticks; tick += 16 {
		r.ops = append(r.ops, op{tick, "destroy", []int{tick}}, op{tick, "cry", []int{0, tick, tick / 16}}, op{tick + 1, "spawn", []int{0, 1, tick % 20, 0, 0}})
	}
	slices.SortStableFunc(r.ops, func(a, b op) int { return cmp.Compare(a.tick, b.tick) })
	return r
}

// recordedTalk returns the data that a client received while texts changed and events were
// sent.
func recordedTalk(t *testing.T) vectors.Case {
	x, handles := recordScript(t, talkScript())
	declared := must.Get(vectors.TalkSchema())
	c := playedBy(t, declared, x.core.Config().Schema, "simulation-texts", "what a client received while texts changed and events were sent", handles, x.recording.steps)
	heard, named := map[string]int{}, 0
	for _, s := range c.Steps {
		for _, e := range s.Expect.Events {
			heard[e.Name]++
		}
		for _, e := range s.Expect.Entities {
			if len(e.Texts[0]) > 0 {
				named++
			}
		}
	}
	require.Greater(t, heard["shout"], 10)
	require.Greater(t, heard["spark"], 5)
	require.Greater(t, named, 20)
	return c
}
