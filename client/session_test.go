package client_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Command returns an error for a command for which the server would end the session.
func TestCommandIsCheckedHere(t *testing.T) {
	s := must.Get(client.NewSession(client.SessionConfig{Schema: schema.New()}))
	require.NotEmpty(t, s.TakeStream(), "the Hello")
	require.ErrorIs(t, must.Fail(s.DoRaw("eat", 0, nil)), client.ErrNotJoined)
	rowSchema := schema.New()
	require.NoError(t, s.ReceiveStream(wire.AppendMessage(nil, stage.Welcome(rowSchema))))
	for name, c := range map[string]struct {
		command string
		args    []byte
		want    string
	}{
		"no name":       {"", nil, "without a name"},
		"long name":     {string(make([]byte, wire.MaxName+1)), nil, "name has 65 bytes"},
		"name, no text": {"\xff", nil, "not UTF-8"},
		"long args":     {"eat", make([]byte, wire.MaxCommandArgs+1), "arguments have 1025"},
		"no msgpack":    {"eat", []byte{0xc1}, "one msgpack value"},
		"two of it":     {"eat", []byte{1, 2}, "one msgpack value"},
		"cut off":       {"eat", []byte{0xcf, 1}, "one msgpack value"},
		"empty is none": {"eat", []byte{}, ""},
		"one value":     {"eat", []byte{5}, ""},
	} {
		_, err := s.DoRaw(c.command, 0, c.args)
		if c.want == "" {
			require.NoError(t, err, name)
			require.NotEmpty(t, s.TakeStream(), name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
		require.Empty(t, s.TakeStream(), name)
	}
}

// A resumed session must be the requested one in the same world: any difference is a protocol
// error (PROTOCOL.md, section 4.1).
func TestResumedSessionIsTheSame(t *testing.T) {
	rowSchema := schema.New()
	first := stage.Welcome(rowSchema)
	first.GenerationFloor = 3
	for name, change := range map[string]func(*wire.Welcome){
		"nothing": func(*wire.Welcome) {},
		"session": func(m *wire.Welcome) { m.Session++ },
		"epoch":   func(m *wire.Welcome) { m.Epoch++ },
		"floor":   func(m *wire.Welcome) { m.GenerationFloor++ },
		"slots":   func(m *wire.Welcome) { m.MaxSlots++ },
		"ticks":   func(m *wire.Welcome) { m.TickHz++ },
	} {
		s := must.Get(client.NewSession(client.SessionConfig{Schema: rowSchema}))
		require.NoError(t, s.ReceiveStream(wire.AppendMessage(nil, first)))
		s.Lost(&wire.Error{Code: wire.Timeout})
		s.Reconnect()
		again := first
		again.SchemaText = ""
		again.Resumed = 1
		change(&again)
		err := s.ReceiveStream(wire.AppendMessage(nil, again))
		if name == "nothing" {
			require.NoError(t, err)
			require.True(t, s.Joined())
			continue
		}
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), name)
		require.False(t, s.Joined(), name)
	}
}

// A server that was restarted with another snapshot rate resumes its sessions. From then on
// omitted snapshots are counted by the new rate.
func TestResumedSessionHasNewSnapshotRate(t *testing.T) {
	s := newLinkedServer(t, 1, simtest.Conditions{}, simtest.Conditions{})
	s.play(time.Second)
	s.every, s.welcome.SnapshotHz = linkedTickHz/10, 10
	s.reconnect(time.Second)
	s.play(time.Second)
	rests := s.tick - s.tick%s.every + s.every
	wakes := rests + 5*s.every
	s.motion = func(tick uint32) (schema.Body, bool) { return walk(tick), tick >= wakes }
	s.omits = func(tick uint32) bool { return tick > rests && tick < wakes }
	s.play(time.Second)
	require.Equal(t, wakes-2*s.every, client.BlendFromOf(s.session.Replica().Entity(walker), wakes), "over two of the new intervals")
}

// A Welcome must not grant what Hello did not request.
func TestWelcomeGrantsWhatWasAsked(t *testing.T) {
	rowSchema := schema.New()
	for simulate, code := range []wire.Code{wire.OK, wire.BadMessage} {
		s := must.Get(client.NewSession(client.SessionConfig{Schema: rowSchema}))
		m := stage.Welcome(rowSchema)
		m.Simulate = uint8(simulate)
		require.Equal(t, code, wire.CodeOf(s.ReceiveStream(wire.AppendMessage(nil, m))))
	}
}

// A session that simulates needs a schema with the motion of bodies at its tick rate.
func TestSimulatingNeedsMotion(t *testing.T) {
	motion := schema.Motion{TickHz: 60, Gravity: 9.81, MaxSpeed: 128, HalfX: 9, HalfZ: 9, Height: 9}
	for name, c := range map[string]struct {
		body   bool
		change func(*schema.Motion)
		code   wire.Code
	}{
		"all of it":       {true, func(*schema.Motion) {}, wire.OK},
		"no body":         {false, func(*schema.Motion) {}, wire.BadMessage},
		"no motion":       {true, nil, wire.BadMessage},
		"other tick rate": {true, func(m *schema.Motion) { m.TickHz = 30 }, wire.BadMessage},
		"faster bodies":   {true, func(m *schema.Motion) { m.MaxSpeed = 129 }, wire.BadMessage},
	} {
		served := schema.New()
		if c.body {
			schema.Define[schema.Body](served, schema.BodyComponent)
			require.NoError(t, served.Err())
		}
		if c.change != nil {
			m := motion
			c.change(&m)
			require.NoError(t, served.SetMotion(m))
		}
		s := must.Get(client.NewSession(client.SessionConfig{Simulate: true}))
		m := stage.Welcome(served)
		m.Simulate = 1
		require.Equal(t, c.code, wire.CodeOf(s.ReceiveStream(wire.AppendMessage(nil, m))), name)
	}
}

// Datagrams that arrive together with a Goodbye are applied; those that arrive together
// with a protocol error are not.
func TestLastSnapshotCounts(t *testing.T) {
	goodbye := wire.AppendMessage(nil, wire.Goodbye{Code: wire.Draining})
	breach := wire.AppendFrame(nil, wire.TypeGoodbye, []byte{0xff})
	for _, last := range [][]byte{goodbye, breach} {
		s := newLinkedServer(t, 1, simtest.Conditions{}, simtest.Conditions{})
		s.play(100 * time.Millisecond)
		s.now += linkedStepHz / 10
		before := s.session.Replica().Tick()
		s.step()
		for s.last == nil || s.tick%s.every != 0 {
			s.step()
		}
		err := s.session.Receive(0, last, s.last)
		if bytes.Equal(last, goodbye) {
			require.Equal(t, wire.Draining, wire.CodeOf(err))
			require.Equal(t, s.tick, s.session.Replica().Tick())
		} else {
			require.Equal(t, wire.BadMessage, wire.CodeOf(err))
			require.Equal(t, before, s.session.Replica().Tick())
		}
	}
}

// A snapshot, the Pad before it, an input and the answer cost no allocation once the session
// is warm.
func TestUpdatesAllocateNothing(t *testing.T) {
	s := newLinkedServer(t, 21, near, near)
	s.render = func() { setInput(s.session, []byte("w"), s.time()) }
	s.play(2 * time.Second)
	type arrival struct {
		datagram []byte
		at       time.Duration
	}
	const runs = 50
	var arrivals []arrival
	for len(arrivals) <= runs { // AllocsPerRun makes one call more
		for range s.every {
			s.now += linkedStepHz / linkedTickHz
			s.step()
		}
		arrivals = append(arrivals, arrival{s.last, s.time()})
	}
	s.session.TakeStream()
	pad := wire.AppendFrame(nil, wire.TypePad)
	data := []byte("w")
	next := 0
	before := s.session.Stats().Replica.Snapshots
	alloctest.RequireNone(t, 0, runs, func() {
		a := arrivals[next]
		next++
		must.Do(s.session.ReceiveStream(pad))
		must.Get(s.session.ReceiveDatagram(a.datagram, a.at))
		must.Get(s.session.SetRawInput(data, a.at))
		if s.session.Input(a.at) == nil {
			t.Fatal("no answer")
		}
		if out := s.session.TakeStream(); out != nil {
			t.Fatalf("%d bytes for the stream", len(out))
		}
	})
	require.EqualValues(t, runs+1, s.session.Stats().Replica.Snapshots-before)
}

// A callback may close the client while a Welcome of another room, or of a new session, is applied:
// the session stays lost.
func TestCloseWhileWelcomed(t *testing.T) {
	s := schema.New()
	schema.Define[health](s, "health")
	require.NoError(t, s.Err())
	for name, welcome := range map[string]func(h *handServer) error{
		"to another room": func(h *handServer) error {
			w := h.welcome
			w.Epoch, w.Schema, w.Structure = 8, s.Hash(), structureOf(h.session, 0)+2
			return h.session.ReceiveStream(wire.AppendMessage(nil, w))
		},
		"to a new session": func(h *handServer) error {
			h.lose()
			return h.answer(func(w *wire.Welcome) { w.Session++ })
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandServer(t, s, s)
			closed := errors.New("closed")
			h.session = must.Get(client.NewSession(client.SessionConfig{Schema: s, Observer: client.Observer{
				Leave:   func(bulk.Handle, wire.Reason) { h.session.Lost(closed) },
				Destroy: func(bulk.Handle, uint8) { h.session.Lost(closed) },
			}}))
			require.NoError(t, h.answer(asIs))
			h.enter(1, walker, 1)
			require.True(t, h.session.Joined())
			require.NoError(t, welcome(h))
			require.False(t, h.session.Joined())
			require.ErrorIs(t, must.Fail(h.session.DoRaw("poke", 0, nil)), client.ErrNotJoined)
		})
	}
}
