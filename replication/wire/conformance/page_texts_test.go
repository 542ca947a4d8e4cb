package conformance

// The part of the independent client for texts, events and the other messages of the game:
// sections 5 to 8 and 11 of PROTOCOL.md.

import (
	"encoding/binary"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// pageEventIn is an event of a datagram.
type pageEventIn struct {
	number, age uint64
	body        []byte
}

// receives reports whether the client is sent a text field.
func (c *pageClient) receives(x pageText, mask uint32, owned bool) bool {
	return (mask>>x.component&1 == 1 || !c.keeps(textsOfPresent)) && (owned || !x.owner || !c.keeps(ownerTextsForOwner))
}

// textField reads a text field with its length.
func (s *pageDecoder) textField(x pageText, bound, form rule) string {
	n := s.uvarint(x.path)
	if n > uint64(x.most) && s.keeps(bound) {
		s.fail("%s: %d bytes", x.path, n)
	}
	text := s.take(x.path, n)
	if !x.raw && !utf8.Valid(text) && s.keeps(form) {
		s.fail("%s: not UTF-8", x.path)
	}
	return string(text)
}

// enterTexts reads the texts of an Enter, section 7.
func (c *pageClient) enterTexts(r wire.Record, row rowschema.Row) (texts []string) {
	s, due := c.decoder(r.Data), false
	texts = make([]string, len(c.served.texts))
	for i, x := range c.served.texts {
		if !c.receives(x, row.Mask, row.Owned) || len(r.Data) == 0 {
			due = due || c.receives(x, row.Mask, row.Owned)
			continue
		}
		due = true
		texts[i] = s.textField(x, enterTextBound, enterTextUTF8)
	}
	if len(r.Data) == 0 && due && c.keeps(textsNotMissing) || len(r.Data) > 0 && !due && c.keeps(textsOfSchema) || due && s.bit < 8*len(s.b) && c.keeps(textsEnd) {
		c.breach()
	}
	return texts
}

// text applies a Text to the cells, section 11.2.
func (c *pageClient) text(cells map[uint32]pageCell, r wire.Record) {
	cell := cells[r.Handle.Index()]
	live := cell.state == "live" && (r.Handle.Generation() == cell.generation || !c.keeps(earlierTextIgnored) && r.Handle.Generation() < cell.generation)
	if int(r.Number) >= len(c.served.texts) {
		if c.keeps(textOfSchema) {
			c.breach()
		}
		return
	}
	x := c.served.texts[r.Number]
	if live || c.keeps(textCheckedUnseen) {
		if len(r.Data) > x.most && c.keeps(changedTextBound) || !x.raw && !utf8.Valid(r.Data) && c.keeps(changedTextUTF8) {
			c.breach()
		}
	}
	if !live {
		if cell.entity != nil && cell.entity.mask>>x.component&1 == 0 && !c.keeps(absentTextUnseen) || !c.keeps(unseenTextIgnored) {
			c.breach()
		}
		return
	}
	e := *cell.entity
	if e.mask>>x.component&1 == 0 && c.keeps(textOfPresent) || x.owner && !e.owned && c.keeps(textForOwner) {
		c.breach()
	}
	e.texts = slices.Clone(e.texts)
	if c.keeps(textChanges) {
		e.texts[r.Number] = string(r.Data)
	}
	cells[r.Handle.Index()] = pageCell{cell.generation, cell.state, &e}
}

// body reads a message, section 7.
func (c *pageClient) body(m *pageMessage, b []byte) (words []uint32, texts [][]byte) {
	s := c.decoder(b)
	for _, f := range m.fields.fields {
		out := make([]uint32, f.values)
		s.full(m.fields, f, out)
		words = append(words, out...)
	}
	if s.read((8-s.bit%8)%8) != 0 && c.keeps(messagePadding) {
		c.breach()
	}
	for _, x := range m.texts {
		texts = append(texts, []byte(s.textField(x, messageTextBound, messageTextUTF8)))
	}
	if s.bit < 8*len(b) && c.keeps(messageEnds) {
		c.breach()
	}
	return words, texts
}

// event reads an event of a record or a datagram.
func (c *pageClient) event(number uint64, unreliable bool, tick uint64, body []byte) (all []vectorEvent) {
	known, form := eventOfSchema, eventIsReliable
	if unreliable {
		known, form = stateEventOfSchema, eventIsUnreliable
	}
	if number >= uint64(len(c.served.events)) {
		if c.keeps(known) {
			c.breach()
		}
		return nil
	}
	e := c.served.events[number]
	if e.unreliable != unreliable && c.keeps(form) {
		c.breach()
	}
	words, texts := c.body(e.body, body)
	return []vectorEvent{{uint32(tick), e.name, words, texts}}
}

// eventsOf reads the events of a datagram.
func (c *pageClient) eventsOf(h pageState) (all []vectorEvent) {
	for _, e := range h.said {
		if e.age > h.tick && c.keeps(eventNotBeforeTick0) {
			c.breach()
		}
		tick := h.tick - e.age
		if !c.keeps(eventAge) {
			tick = h.tick
		}
		all = append(all, c.event(e.number, true, tick, e.body)...)
	}
	return all
}

// unless lets a mutant deliver the events of a snapshot that is not applied.
func (c *pageClient) unless(kept rule, h pageState) {
	if !c.keeps(kept) {
		c.heard = append(c.heard, c.eventsOf(h)...)
	}
}

// command returns a command of the schema.
func (c *pageClient) command(name string) pageCommand {
	return c.served.commands[slices.IndexFunc(c.served.commands, func(o pageCommand) bool { return o.name == name })]
}

// answered handles the Result of a Command that the client sent, section 11.5.
func (c *pageClient) answered(m map[string]any) {
	id := m["id"].(uint64)
	if !c.keeps(resultOfItsId) && len(c.asked) > 0 {
		id = slices.Min(slices.Collect(maps.Keys(c.asked)))
	}
	name, known := c.asked[id]
	if !known {
		return
	}
	if c.keeps(oneResult) {
		delete(c.asked, id)
	}
	code := m["code"].(uint64)
	got := vectorResult{ID: uint32(id), Code: c.page.codes[code]}
	form, answer := c.command(name).answer, []byte(m["answer"].(string))
	switch {
	case form == nil && len(answer) > 0 && c.keeps(answerDeclared):
		c.breach()
	case form != nil && (code == 0 || !c.keeps(refusedWithoutAnswer)):
		read := func() { got.Words, got.Texts = c.body(form, answer) }
		if c.keeps(answerAsDeclared) {
			read()
		} else {
			c.attempt(read)
		}
	}
	c.results = append(c.results, got)
}

// send returns the bytes of a message, section 7.
func (c *pageClient) send(s *vectorSend) []byte {
	m := c.served.input
	if s.Command != "" {
		m = c.command(s.Command).args
		c.asked[uint64(s.ID)] = s.Command
	}
	w, words := pageWriter{mutation: c.mutation}, s.Words
	for _, f := range m.fields.fields {
		w.field(f, words[:f.values])
		words = words[f.values:]
	}
	if c.keeps(sentTextsAligned) {
		w.bit = 8 * len(w.b)
	}
	for _, text := range s.Texts {
		for _, b := range append(binary.AppendUvarint(nil, uint64(len(text))), text...) {
			w.write(uint64(b), 8)
		}
	}
	return w.b
}

// pageWriter writes a bit string, section 2.
type pageWriter struct {
	mutation
	b   []byte
	bit int
}

func (w *pageWriter) write(v uint64, n int) {
	for i := range n {
		if w.bit == 8*len(w.b) {
			w.b = append(w.b, 0)
		}
		w.b[w.bit/8] |= byte(v>>i&1) << (w.bit % 8)
		w.bit++
	}
}

func (w *pageWriter) sized(v uint32) {
	c := 0
	for c < 3 && (v>>(4<<c) != 0 || !w.keeps(sentSizedShortest)) {
		c++
	}
	w.write(uint64(c), 2)
	w.write(uint64(v), 4<<c)
}

// field writes a field in full.
func (w *pageWriter) field(f pageField, words []uint32) {
	switch {
	case f.kind == "ref" && words[0] == 0 && words[1] == 0 && w.keeps(sentNoneIsABit):
		w.write(0, 1)
	case f.kind == "ref":
		w.write(1, 1)
		w.sized(words[0])
		w.sized(words[1])
	case f.values == 2:
		w.write(uint64(words[0]), 32)
		w.write(uint64(words[1]), 32)
	case f.kind == "quat":
		w.write(uint64(words[0]), 2+3*f.n)
	default:
		w.write(uint64(words[0]), f.n)
	}
}
