package client_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// badge has text fields 0 and 2, and 1 for owners alone; note has field 3.
type (
	badge struct {
		Level uint8  `net:"bits=4"`
		Name  string `net:"max=24"`
		Key   string `net:"max=8,owner"`
		Items []byte `net:"max=32"`
	}
	note struct {
		Text string `net:"max=600"`
	}
)

// The components of an entity, as bits.
const (
	hasBadge = 1 << iota
	hasNote
)

// textServer plays a server with texts to a replica.
type textServer struct {
	t       testing.TB
	schema  *schema.Schema
	replica *client.Applier
	badge   client.Component[badge]
	note    client.Component[note]
	number  uint32
	heard   []string
}

func newTextServer(t testing.TB) *textServer {
	c := &textServer{t: t, schema: textSchema(t)}
	c.badge = must.Get(client.ComponentOf[badge](c.schema, "badge"))
	c.note = must.Get(client.ComponentOf[note](c.schema, "note"))
	c.replica = client.NewApplier(rowcodec.New(c.schema, rowcodec.DefaultTables()), 3, 100, client.Observer{
		Enter:  func(e *client.Entity) { c.heard = append(c.heard, "enter "+e.Handle().String()) },
		Leave:  func(h bulk.Handle, _ wire.Reason) { c.heard = append(c.heard, "leave "+h.String()) },
		Update: func(e *client.Entity) { c.heard = append(c.heard, "update "+e.Handle().String()) },
	})
	return c
}

func textSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[badge](s, "badge")
	schema.Define[note](s, "note")
	require.NoError(t, s.Err())
	return s
}

func (c *textServer) enter(h bulk.Handle, mask uint32, owned bool, texts ...string) wire.Record {
	return enterTexts(c.schema, h, mask, owned, texts...)
}

func enterTexts(s *schema.Schema, h bulk.Handle, mask uint32, owned bool, texts ...string) wire.Record {
	r := stage.Enter(s, h, rowschema.Row{Mask: mask, Owned: owned, Values: []uint32{5}})
	r.Data = rowschema.New(s).AppendTexts(nil, mask, owned, texts)
	return r
}

func textOf(h bulk.Handle, number uint32, value string) wire.Record {
	return wire.Record{Op: wire.OpText, Handle: h, Number: number, Data: []byte(value)}
}

// try applies records, and reports the error. After an error nothing has changed.
func (c *textServer) try(records ...wire.Record) error {
	before, heard := c.replica.Digest(), len(c.heard)
	err := c.replica.ApplyStructure(stage.Structure(c.number+1, 0, records...))
	if err != nil {
		require.Equal(c.t, before, c.replica.Digest())
		require.Len(c.t, c.heard, heard)
	} else {
		c.number += uint32(len(records))
	}
	require.Equal(c.t, c.replica.CountedBytes(), c.replica.KeptBytes())
	return err
}

func (c *textServer) send(records ...wire.Record) {
	c.t.Helper()
	require.NoError(c.t, c.try(records...))
}

func (c *textServer) texts(h bulk.Handle) []string {
	return c.replica.AppendTexts(nil, c.replica.Entity(h))
}

func TestTextsOfEnter(t *testing.T) {
	c := newTextServer(t)
	c.send(
		c.enter(h(1, 3), hasBadge|hasNote, true, "Ada", "secret", "\x00\xff", "hello"),
		c.enter(h(2, 3), hasBadge, false, "Bob", "not sent", "axe", ""),
		c.enter(h(3, 3), 0, true),
	)
	v := must.Have(c.badge.Get(c.replica.Entity(h(1, 3))))
	require.Equal(t, badge{5, "Ada", "secret", []byte{0, 255}}, v)
	v, _ = c.badge.At(c.replica.Entity(h(2, 3)), client.Moment{Tick: 1})
	require.Equal(t, badge{Level: 5, Name: "Bob", Items: []byte("axe")}, v)
	copy(v.Items, "???")
	v, _ = c.badge.Get(c.replica.Entity(h(2, 3)))
	require.Equal(t, "axe", string(v.Items), "a caller cannot write into the replica")
	n, _ := c.note.Get(c.replica.Entity(h(1, 3)))
	require.Equal(t, "hello", n.Text)
	must.Lack(c.note.Get(c.replica.Entity(h(2, 3))))
	require.Equal(t, []string{"Bob", "", "axe", ""}, c.texts(h(2, 3)))
	shown := map[bulk.Handle]string{}
	for _, h := range []bulk.Handle{h(1, 3), h(2, 3), h(3, 3)} {
		shown[h] = c.replica.Entity(h).Format()
	}
	require.Equal(t, map[bulk.Handle]string{
		h(1, 3): `badge{Level=5 Name="Ada" Key="secret" Items=00ff} note{Text="hello"}`,
		h(2, 3): `badge{Level=5 Name="Bob" Items=617865}`,
		h(3, 3): "",
	}, shown, "for tools")

	c.send(c.enter(h(1, 3), hasNote, false, "", "", "", "bye"))
	require.Equal(t, []string{"", "", "", "bye"}, c.texts(h(1, 3)), "an Enter replaces all")
}

// An entity of a kind without texts has no list of texts, so that a schema with names costs its
// other entities nothing.
func TestEntityWithoutTextsHasNoList(t *testing.T) {
	c := newTextServer(t)
	c.send(c.enter(h(1, 3), hasBadge, true, "Ada", "k", "axe"))
	kept := c.replica.KeptBytes()
	c.send(c.enter(h(2, 3), 0, true))
	require.Equal(t, client.SizeOfTextEntity+client.SizeOfState(c.schema), c.replica.KeptBytes()-kept)
	require.Equal(t, make([]string, 4), c.texts(h(2, 3)))
	c.send(textOf(h(1, 3), 0, "Eve"), leave(h(1, 3)), leave(h(2, 3)), c.enter(h(1, 3), 0, true))
	require.Equal(t, make([]string, 4), c.texts(h(1, 3)), "those of its former components are gone")
	require.Error(t, c.try(textOf(h(1, 3), 0, "Ada")))
	c.send(c.enter(h(1, 3), hasBadge, false, "Ada", "", ""), textOf(h(1, 3), 0, "Kim"))
	require.Equal(t, []string{"Kim", "", "", ""}, c.texts(h(1, 3)))
}

func TestTextChanges(t *testing.T) {
	c := newTextServer(t)
	c.send(c.enter(h(1, 3), hasBadge, true, "Ada", "k", "axe"), c.enter(h(2, 3), hasBadge, false, "Bob", "", ""))
	c.heard = nil
	c.send(textOf(h(1, 3), 0, "Eve"), textOf(h(1, 3), 1, ""), textOf(h(2, 3), 2, "bow"), textOf(h(1, 3), 2, ""))
	require.Equal(t, []string{"update 1v3", "update 2v3", "update 1v3"}, c.heard, "once for neighbouring records")
	require.Equal(t, []string{"Eve", "", "", ""}, c.texts(h(1, 3)))
	require.Equal(t, []string{"Bob", "", "bow", ""}, c.texts(h(2, 3)))
	v, _ := c.badge.At(c.replica.Entity(h(1, 3)), client.Moment{})
	require.Equal(t, "Eve", v.Name, "the newest, whatever the moment")
	c.heard = nil
	c.send(textOf(h(1, 3), 0, "Kim"), leave(h(1, 3)))
	require.Equal(t, []string{"update 1v3", "leave 1v3"}, c.heard, "while it is in view")
	require.EqualValues(t, 5, c.replica.Stats().Texts)
}

// A Text is for the tenant with its generation, if that is in view.
func TestTextOfAnotherTenant(t *testing.T) {
	c := newTextServer(t)
	c.send(c.enter(h(1, 5), hasBadge, false, "Ada", "", ""), c.enter(h(2, 3), hasBadge, false, "Bob", "", ""), leave(h(2, 3)))
	c.heard = nil
	c.send(
		textOf(h(1, 3), 0, "an earlier tenant"), textOf(h(1, 3), 99, "ignored, whatever it says"),
		textOf(h(1, 7), 0, "a later one"), textOf(h(2, 3), 0, "out of view"), textOf(h(3, 3), 0, "never seen"),
	)
	require.Empty(t, c.heard)
	require.Equal(t, []string{"Ada", "", "", ""}, c.texts(h(1, 5)))
	require.Equal(t, wire.Pending, c.replica.Resolve(h(1, 7)))
	require.Equal(t, wire.Pending, c.replica.Resolve(h(3, 3)))
	c.send(c.enter(h(2, 3), hasBadge, false, "Bea", "", ""), destroy(h(1, 5)), textOf(h(1, 5), 0, "dead"))
	require.Equal(t, []string{"Bea", "", "", ""}, c.texts(h(2, 3)))
	require.Equal(t, wire.Stale, c.replica.Resolve(h(1, 5)))
}

// A Text is checked against all records before it, also in its own message.
func TestHostileTexts(t *testing.T) {
	c := newTextServer(t)
	c.send(c.enter(h(1, 3), hasBadge, true, "Ada", "k", ""), c.enter(h(2, 3), hasBadge, false, "Bob", "", ""), c.enter(h(4, 3), hasNote, false, "", "", "", ""))
	ada, bob := h(1, 3), h(2, 3)
	withTexts := func(r wire.Record, data string) wire.Record {
		r.Data = []byte(data)
		return r
	}
	for what, records := range map[string][]wire.Record{
		"unknown field":                       {textOf(ada, 4, "")},
		"unknown field of a hidden entity":    {textOf(h(9, 3), 31, "")},
		"too long":                            {textOf(ada, 0, strings.Repeat("x", 25))},
		"too long, out of view":               {textOf(h(9, 3), 0, strings.Repeat("x", 25))},
		"not UTF-8":                           {textOf(ada, 0, "\xff")},
		"field of an absent component":        {textOf(ada, 3, "note")},
		"owner's field":                       {textOf(bob, 1, "k")},
		"owner's field after losing it":       {c.enter(ada, hasBadge, false, "Ada", "", ""), textOf(ada, 1, "k")},
		"component lost in the same message":  {c.enter(ada, hasNote, true, "", "", "", ""), textOf(ada, 0, "x")},
		"generation below the floor":          {textOf(h(1, 1), 0, "x")},
		"slot out of range":                   {textOf(h(100, 3), 0, "x")},
		"enter without its texts":             {withTexts(c.enter(ada, hasBadge, true, "", "", ""), "")},
		"enter with half of its texts":        {withTexts(c.enter(ada, hasBadge, true, "", "", ""), "\x01a\x00")},
		"enter with a text too many":          {withTexts(c.enter(ada, hasBadge, true, "", "", ""), "\x00\x00\x00\x00")},
		"enter with texts it has no room for": {withTexts(c.enter(ada, 0, true), "\x00")},
		"enter with the owner's text":         {withTexts(c.enter(bob, hasBadge, false, "", "", ""), "\x00\x01k\x00")},
		"enter with a text that is too long":  {withTexts(c.enter(bob, hasBadge, false, "", "", ""), "\x19"+strings.Repeat("x", 25)+"\x00")},
		"enter with a text that is not UTF-8": {withTexts(c.enter(bob, hasBadge, false, "", "", ""), "\x01\xff\x00")},
		"a wrong one behind right ones":       {textOf(ada, 0, "new"), c.enter(h(5, 3), hasBadge, false, "", "", ""), textOf(ada, 9, "")},
	} {
		require.ErrorIs(t, c.try(records...), &wire.Error{Code: wire.BadMessage}, what)
	}
	c.send(textOf(ada, 0, strings.Repeat("x", 24)), textOf(ada, 2, "\xff"), textOf(h(4, 3), 3, ""))
	c.send(c.enter(bob, hasBadge|hasNote, true, "", "", "", ""), textOf(bob, 1, "now"), textOf(bob, 3, "now"))
	require.Equal(t, []string{"", "now", "", "now"}, c.texts(bob))
}

// Without text fields in the schema no record has a text.
func TestTextsWithoutTextFields(t *testing.T) {
	p := newReplicaServer(t, 1, 100)
	p.send(p.enter(h(1, 1), 1))
	for _, r := range []wire.Record{textOf(h(1, 1), 0, "x"), {Op: wire.OpEnter, Handle: h(2, 1), Row: p.enter(h(2, 1), 1).Row, Data: []byte{0}}} {
		number := p.number
		require.ErrorIs(t, p.replica.ApplyStructure(p.structure(r)), &wire.Error{Code: wire.BadMessage})
		p.number = number
	}
}

// Memory is counted exactly under random records, and a model agrees on every text.
func TestTextModel(t *testing.T) {
	c, r := newTextServer(t), rand.New(rand.NewPCG(3, 4))
	const slots = 4
	model := map[bulk.Handle][]string{}
	generation := [slots]uint32{3, 3, 3, 3}
	for range 3000 {
		slot := r.Uint32N(slots)
		e := h(slot, generation[slot])
		texts := []string{strings.Repeat("n", r.IntN(24)), "", strings.Repeat("i", r.IntN(32)), strings.Repeat("t", r.IntN(600))}
		switch r.IntN(8) {
		case 0:
			c.send(c.enter(e, hasBadge|hasNote, false, texts...))
			model[e] = texts
		case 1:
			c.send(leave(e))
			delete(model, e)
		case 2:
			c.send(destroy(e))
			delete(model, e)
			generation[slot] += 2
		default:
			n := []uint32{0, 2, 3}[r.IntN(3)]
			c.send(textOf(e, n, texts[n]))
			if m := model[e]; m != nil {
				m[n] = texts[n]
			}
		}
		require.Equal(t, len(model), c.replica.Len())
		for e, want := range model {
			require.Equal(t, want, c.texts(e))
		}
	}
}

// A hostile server cannot make a client keep more than MaxBytes by texts.
func TestTextMemoryIsBounded(t *testing.T) {
	const (
		most    = 4 << 20
		allowed = most*6/5 + 4*wire.MaxStreamMessage
	)
	for _, length := range []int{0, 1, 9, 24, 600} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			racetest.SkipUnchecked(t)
			s := textSchema(t)
			f := newMemoryFlooderOf(t, client.SessionConfig{Schema: s, MaxEntities: 1 << 24, MaxBytes: most})
			var err error
			live := liveBytes(func() {
				for i := uint32(0); err == nil && f.sent < 10_500_000; i += 50 {
					var records []wire.Record
					for slot := i; slot < i+50; slot++ {
						name := strings.Repeat("x", min(length, 24))
						records = append(records, enterTexts(s, h(slot, 1), hasBadge|hasNote, false, name, "", name, ""),
							textOf(h(slot, 1), 3, strings.Repeat("y", length)))
					}
					err = f.structure(records...)
				}
			})
			require.ErrorIs(t, err, client.ErrLimit)
			require.ErrorContains(t, err, "MaxBytes is ")
			require.Less(t, live, int64(allowed))
			require.Equal(t, f.session.Replica().CountedBytes(), f.session.Replica().KeptBytes())
		})
	}
}

// A flood of changes costs no memory, and reading names does not allocate.
func TestTextFlood(t *testing.T) {
	c := newTextServer(t)
	c.send(c.enter(h(1, 3), hasBadge|hasNote, false, "", "", "", ""))
	kept := c.replica.KeptBytes()
	for range 200 {
		var records []wire.Record
		for range 50 {
			records = append(records, textOf(h(1, 3), 3, strings.Repeat("y", 600)))
		}
		c.send(records...)
	}
	require.Equal(t, kept+608, c.replica.KeptBytes())
	e := c.replica.Entity(h(1, 3))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if v, ok := c.note.Get(e); !ok || len(v.Text) != 600 {
			panic("no text")
		}
	}))
}

// FuzzTexts feeds a replica with arbitrary structure messages of entities with texts.
func FuzzTexts(f *testing.F) {
	s := textSchema(f)
	f.Add(stage.Structure(1, 0, enterTexts(s, h(1, 3), hasBadge|hasNote, true, "Ada", "key", "axe", "hi"), textOf(h(1, 3), 0, "Eve"), textOf(h(1, 3), 3, "")),
		stage.Structure(4, 0, textOf(h(1, 3), 1, "k")))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newTextServer(t)
		for _, body := range [][]byte{first, second} {
			before := c.replica.Digest()
			if c.replica.ApplyStructure(body) != nil {
				require.Equal(t, before, c.replica.Digest())
			}
			require.Equal(t, c.replica.CountedBytes(), c.replica.KeptBytes())
			for e := range c.replica.All() {
				v, _ := c.badge.Get(e)
				require.True(t, utf8.ValidString(v.Name) && len(v.Name) <= 24 && len(v.Items) <= 32)
				require.True(t, e.Owned() || v.Key == "")
			}
		}
	})
}
