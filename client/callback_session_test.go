package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// newCallbackServer returns a server whose session calls f for each entity that enters, leaves or dies.
func newCallbackServer(t *testing.T, f func(s *client.Session)) *handServer {
	s := schema.New()
	schema.Define[health](s, "health")
	require.NoError(t, s.Err())
	h := newHandServer(t, s, s)
	h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Observer: client.Observer{
		Enter:   func(*client.Entity) { f(h.session) },
		Leave:   func(bulk.Handle, wire.Reason) { f(h.session) },
		Destroy: func(bulk.Handle, uint8) { f(h.session) },
	}}))
	return h
}

// move returns the Welcome that moves the session to another room.
func (s *handServer) move() []byte {
	w := s.welcome
	w.Epoch, w.Schema, w.Structure = 8, s.schema.Hash(), structureOf(s.session, 1)+1
	return wire.AppendMessage(nil, w)
}

// A callback may close the connection while a Welcome of another room, or of a new session, is
// applied, and begin another. The session is then not joined, and the next Hello asks for the
// session that the Welcome has begun.
func TestCallbackDuringWelcome(t *testing.T) {
	for name, reconnects := range map[string]bool{"closes": false, "reconnects": true} {
		t.Run(name, func(t *testing.T) {
			for _, moves := range []bool{true, false} {
				on := false
				h := newCallbackServer(t, func(s *client.Session) {
					if !on {
						return
					}
					s.Lost(errors.New("closed"))
					if reconnects {
						s.Reconnect()
					}
				})
				require.NoError(t, h.answer(asIs))
				h.enter(1, walker, 1)
				h.session.TakeStream()
				want, structure := h.welcome, structureOf(h.session, 1)+1
				if moves {
					on, want.Epoch = true, 8
					require.NoError(t, h.session.ReceiveStream(h.move()))
				} else {
					structure = 0
					h.lose()
					on, want.Session = true, 6
					require.NoError(t, h.answer(func(w *wire.Welcome) { w.Session = 6 }))
				}
				on = false
				require.False(t, h.session.Joined())
				require.ErrorIs(t, must.Fail(h.session.DoRaw("poke", 0, nil)), client.ErrNotJoined)
				if !reconnects {
					require.Empty(t, h.session.TakeStream())
					h.session.Reconnect()
				}
				hello := h.hello()
				require.Equal(t, want.Session, hello.Session)
				require.Equal(t, structure, hello.Structure)
				require.Empty(t, h.session.TakeStream(), "no Arrived")

				want.Schema, want.Structure, want.Resumed = h.schema.Hash(), structure, 1
				require.NoError(t, h.session.ReceiveStream(wire.AppendMessage(nil, want)), "it resumes")
				require.True(t, h.session.Joined())
			}
		})
	}
}

// A callback begins another connection during a message: the next Hello has the records of the
// whole message.
func TestCallbackDuringStructure(t *testing.T) {
	on := true
	h := newCallbackServer(t, func(s *client.Session) {
		if on {
			s.Lost(errors.New("closed"))
			s.Reconnect()
			on = false
		}
	})
	require.NoError(t, h.answer(asIs))
	h.send(1, destroy(bulk.NewHandle(0, 1)), destroy(bulk.NewHandle(1, 1)), destroy(bulk.NewHandle(2, 1)))
	require.False(t, h.session.Joined())
	require.EqualValues(t, 3, h.hello().Structure)
}

// After a callback has closed the connection, the rest of its bytes is dropped, even if valid:
// it can neither join the session again nor end the next connection.
func TestCallbackClosesInTheMiddle(t *testing.T) {
	for name, rest := range map[string][]byte{
		"a Welcome": nil, // of a move
		"a Control": wire.AppendMessage(nil, wire.Control{Entity: walker}),
		"nonsense":  wire.AppendFrame(nil, 99, nil),
	} {
		for _, reconnects := range []bool{false, true} {
			h := newCallbackServer(t, func(s *client.Session) {
				s.Lost(errors.New("closed"))
				if reconnects {
					s.Reconnect()
				}
			})
			require.NoError(t, h.answer(asIs))
			message := wire.AppendRecord(wire.AppendStructureHeader(nil, 1, 1), wire.Record{Op: wire.OpDestroy, Handle: walker})
			in := wire.AppendFrame(nil, wire.TypeStructure, message)
			if rest == nil {
				w := h.welcome
				w.Schema, w.Session = h.schema.Hash(), 6
				rest = wire.AppendMessage(nil, w)
			}
			require.NoError(t, h.session.ReceiveStream(append(in, rest...)), name)
			require.False(t, h.session.Joined(), name)
			if !reconnects {
				require.NoError(t, h.session.ReceiveStream(rest), "%s, later", name)
				require.False(t, h.session.Joined(), name)
				h.session.Reconnect()
			}
			require.NoError(t, h.answer(func(w *wire.Welcome) { w.Resumed, w.Structure = 1, 1 }), name)
			require.True(t, h.session.Joined(), name)
		}
	}
}

// An event may end the connection and the world before the rows of its snapshot are applied.
// The snapshot then measures nothing of the next world.
func TestCallbackEndsWorldDuringSnapshot(t *testing.T) {
	s := schema.New()
	hits := schema.DefineUnreliableEvent[hit](s, "hit")
	require.NoError(t, s.Err())
	events, h := &client.Events{}, newHandServer(t, s, s)
	client.OnEvent(events, hits, func(uint32, hit) { h.session.Lost(&wire.Error{Code: wire.EpochMismatch}) })
	h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Events: events}))
	require.NoError(t, h.answer(asIs))
	body := must.Get(rowschema.NewMessage(s.Events()[0].Message).AppendValue(nil, hit{}))
	header := wire.StateHeader{Seq: 1, Tick: 100, Echo: 1, Events: wire.AppendEvent(nil, wire.Event{Body: body})}
	outcome := must.Get(h.session.ReceiveDatagram(wire.AppendStateHeader(nil, header), time.Second))
	require.Equal(t, client.Applied, outcome)
	require.Zero(t, h.session.Clock(time.Second).Tick)
	require.Zero(t, h.session.Replica().Tick())
}

// The events of a snapshot are processed before its rows become current (PROTOCOL.md, section 8). No vector
// sees this order.
func TestEventsPrecedeRows(t *testing.T) {
	s := schema.New()
	healths := schema.Define[health](s, "health")
	hits := schema.DefineUnreliableEvent[hit](s, "hit")
	require.NoError(t, s.Err())
	var calls []string
	events, h := &client.Events{}, newHandServer(t, s, s)
	note := func(call string) {
		now, _ := client.Of(healths).Get(h.session.Replica().Entity(walker))
		calls = append(calls, fmt.Sprint(call, " at ", now.Points))
	}
	client.OnEvent(events, hits, func(uint32, hit) { note("hit") })
	h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Events: events, Observer: client.Observer{
		Update: func(*client.Entity) { note("update") },
	}}))
	require.NoError(t, h.answer(asIs))
	h.enter(1, walker, 7)
	body := must.Get(rowschema.NewMessage(s.Events()[0].Message).AppendValue(nil, hit{}))
	header := wire.StateHeader{Seq: 1, Structure: 1, Events: wire.AppendEvent(nil, wire.Event{Body: body})}
	require.Equal(t, client.Applied, must.Get(h.session.ReceiveDatagram(rowsAndEvents(s, header, 8, walker), time.Second)))
	require.Equal(t, []string{"hit at 7", "update at 8"}, calls)
}

// After a callback has ended the world, the rest of the message makes no entities and no calls: the
// handles of that world are Stale, and its entities have had their Destroy.
func TestCallbackEndsWorldDuringMessage(t *testing.T) {
	second := bulk.NewHandle(walker.Index()+1, 1)
	for _, call := range []string{"enter", "update"} {
		s := schema.New()
		schema.Define[health](s, "health")
		require.NoError(t, s.Err())
		var calls []string
		h := newHandServer(t, s, s)
		note := func(name string, of bulk.Handle) {
			calls = append(calls, name+" "+of.String())
			if name == call {
				h.session.Lost(&wire.Error{Code: wire.EpochMismatch})
			}
		}
		h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Observer: client.Observer{
			Enter:   func(e *client.Entity) { note("enter", e.Handle()) },
			Update:  func(e *client.Entity) { note("update", e.Handle()) },
			Destroy: func(of bulk.Handle, _ uint8) { note("destroy", of) },
		}}))
		require.NoError(t, h.answer(asIs))
		for i, e := range []bulk.Handle{walker, second} {
			h.enter(uint32(i)+1, e, 7)
		}
		entered := []string{"enter " + walker.String(), "enter " + second.String()}
		if call == "enter" {
			require.Equal(t, []string{entered[0], "destroy " + walker.String()}, calls)
			require.Equal(t, wire.Stale, h.session.Resolve(second))
			continue
		}
		require.Equal(t, entered, calls)
		calls = nil
		outcome := must.Get(h.session.ReceiveDatagram(wholeRows(s, 1, 2, 8, walker, second), time.Second))
		require.Equal(t, client.Applied, outcome)
		require.Len(t, calls, 3, calls)
		require.Equal(t, "update "+walker.String(), calls[0])
		require.ElementsMatch(t, []string{"destroy " + walker.String(), "destroy " + second.String()}, calls[1:])
	}
}

// As above, for a callback that is called because texts have changed.
func TestCallbackEndsWorldAfterText(t *testing.T) {
	s, one, two := textSchema(t), bulk.NewHandle(1, 1), bulk.NewHandle(2, 1)
	for name, last := range map[string]wire.Record{
		"before an Enter": enterTexts(s, two, hasNote, false, "", "", "", "new"),
		"before another":  textOf(two, 3, "b"),
		"of the last":     textOf(one, 3, "b"),
	} {
		var calls []string
		h := newHandServer(t, s, s)
		h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Observer: client.Observer{
			Enter: func(e *client.Entity) { calls = append(calls, "enter "+e.Handle().String()) },
			Update: func(e *client.Entity) {
				calls = append(calls, "update "+e.Handle().String())
				h.session.Lost(&wire.Error{Code: wire.EpochMismatch})
			},
		}}))
		require.NoError(t, h.answer(asIs))
		first := []wire.Record{enterTexts(s, one, hasNote, false, "", "", "", "a"), textOf(one, 3, "aa"), last}
		want := []string{"enter " + one.String(), "update " + one.String()}
		if name == "before another" {
			first = append([]wire.Record{enterTexts(s, two, hasNote, false, "", "", "", "b")}, first...)
			want = append([]string{"enter " + two.String()}, want...)
		}
		h.send(1, first...)
		require.Equal(t, want, calls, name)
		require.Equal(t, wire.Stale, h.session.Resolve(one), name)
	}
}

// wholeRows returns a datagram with a row of one value for each entity, by ascending slots.
func wholeRows(s *schema.Schema, seq, structure, value uint32, of ...bulk.Handle) []byte {
	return rowsAndEvents(s, wire.StateHeader{Seq: seq, Structure: structure}, value, of...)
}

// rowsAndEvents does the same, with the events of a header.
func rowsAndEvents(s *schema.Schema, header wire.StateHeader, value uint32, of ...bulk.Handle) []byte {
	var fold uint64
	for _, h := range of {
		fold = wire.Fold(fold, h)
	}
	header.Tick, header.Fold, header.Rows = 100+header.Seq, wire.Fold16(fold), len(of)
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, header))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	next := uint32(0)
	for _, h := range of {
		wire.AppendRowHeader(&w, wire.RowCoding{}, h.Index()-next, wire.Baseline{})
		next = h.Index() + 1
	}
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	for range of {
		codec.Append(&w, rowschema.Row{Mask: 1, Values: []uint32{value}}, nil)
	}
	return w.Bytes()
}

// A callback may end the world while the entities of a session leave because another session
// begins: the Welcome of that session is dropped too.
func TestCallbackEndsWorldDuringWelcome(t *testing.T) {
	on := false
	h := newCallbackServer(t, func(s *client.Session) {
		if on {
			on = false
			s.Lost(&wire.Error{Code: wire.EpochMismatch})
		}
	})
	require.NoError(t, h.answer(asIs))
	second := bulk.NewHandle(walker.Index()+1, 1)
	h.enter(1, walker, 1)
	h.enter(2, second, 1)
	h.lose()
	on = true
	require.NoError(t, h.answer(func(w *wire.Welcome) { w.Session, w.Structure = 6, 0 }))
	require.Zero(t, h.session.Replica().Len())
	for _, e := range []bulk.Handle{walker, second} {
		require.Equal(t, wire.Stale, h.session.Resolve(e))
	}
	must.Lack(h.session.Welcome())
	h.session.Reconnect()
	require.Zero(t, h.hello().Session)
}
