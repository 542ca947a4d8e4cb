package session_test

import (
	"context"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var mutantsFlag = flag.Int("mutants", 10_000, "number of mutants in TestMutantSessions")

// mutator is a client whose messages are mutated on the way.
type mutator struct {
	*stage.Conn // its newest connection
	t           testing.TB
	source      *mutate.Source
	hello       wire.Hello
	peer        *session.Peer
	welcome     wire.Welcome
	fault       error // fault of its last message
	inputs      [][]byte
	others      []sentMessage
	targets     int // number of commands at the start of others, one per entity
}

// sentMessage is one message of a client.
type sentMessage struct {
	kind byte
	body []byte
}

// sendMutant delivers one message, mutated or not. It returns false once the connection
// accepts no more messages. Unreadable messages end the session, and are therefore rare.
func (v *mutator) sendMutant() bool {
	if v.fault != nil || len(v.Closed) > 0 {
		return false
	}
	s := v.source
	if s.IntN(2) == 0 {
		v.datagram()
		return true
	}
	m := v.others[s.IntN(len(v.others))]
	kind, body := m.kind, s.Of(m.body)
	frame := wire.AppendFrame(nil, kind, body)
	switch _, err := wire.Parse[wire.Command](body); {
	case s.IntN(64) == 0: // mutate the frame as well
		frame = s.Of(frame)
	case s.IntN(64) == 0:
		frame = wire.AppendFrame(nil, byte(s.IntN(32)), body)
	case s.IntN(256) == 0: // valid, but not in this state
		frame = wire.AppendMessage(nil, v.hello)
	case kind == wire.TypeCommand && err != nil && s.IntN(32) > 0, kind != wire.TypeCommand && s.IntN(16) > 0:
		frame = wire.AppendFrame(nil, wire.TypeCommand, v.others[s.IntN(v.targets)].body)
	}
	v.fault = v.peer.ReceiveStream(frame)
	return true
}

// datagram sends a mutated Input, which usually acknowledges a snapshot that was sent,
// however old.
func (v *mutator) datagram() {
	s := v.source
	of := v.inputs[s.IntN(len(v.inputs))]
	d := append([]byte(nil), s.Of(of)...)
	var in wire.Input
	err := in.Parse(d)
	if err != nil && s.IntN(32) > 0 {
		err = in.Parse(of)
		require.NoError(v.t, err)
	}
	if err == nil {
		if s.IntN(64) > 0 {
			in.Ack = v.ack(in.Ack.Mask)
		}
		d = in.Append(nil)
	}
	_, v.fault = v.peer.ReceiveDatagram(d)
	require.Equal(v.t, err == nil, v.fault == nil, "parsing: %v, the server: %v: %x", err, v.fault, d)
}

// ack acknowledges one of the snapshots sent.
func (v *mutator) ack(mask uint64) wire.Ack {
	a := wire.Ack{Structure: uint32(v.source.IntN(int(v.Records) + 1))}
	if v.Newest > 0 {
		a.Seen, a.Newest, a.Mask = true, 1+uint32(v.source.IntN(int(v.Newest))), mask
	}
	return a
}

// reconnect opens a connection to resume or to begin a session, with a Hello that is usually
// valid.
func (v *mutator) reconnect(core *session.Core) {
	hello := v.hello
	if n := len(v.Welcomes); n > 0 {
		v.welcome = v.Welcomes[n-1]
	}
	if len(v.welcome.Secret) > 0 && v.source.IntN(2) == 0 {
		hello.Session, hello.Secret, hello.Structure = v.welcome.Session, v.welcome.Secret, v.Records
	}
	v.fault, v.Conn = nil, &stage.Conn{Forget: true, Received: stage.Received{Records: v.Records, Newest: v.Newest}}
	v.OnMessage = func(kind byte, body []byte) {
		if kind == wire.TypeWelcome && v.Welcomes[len(v.Welcomes)-1].Resumed == 0 {
			v.Records, v.Newest = 0, 0
		}
	}
	v.peer = core.Open(context.Background(), "", v.Conn)
	v.Peer = v.peer
	body := hello.Append(nil)
	if v.source.IntN(4) == 0 {
		body = v.source.Of(body)
	}
	v.fault = v.peer.ReceiveStream(wire.AppendFrame(nil, wire.TypeHello, body))
}

// TestMutantSessions mutates all messages of a client: inputs, acknowledgements, commands,
// Hellos. Rejected messages end the connection with a code, accepted ones are valid, the
// good client is unaffected, and memory stays bounded.
func TestMutantSessions(t *testing.T) {
	const perPlay, perTick = 48, 6
	executed := 0
	d := newTestServerWith(t, func(c *session.Config) {
		c.MaxSessions, c.Random = 4, stage.Random(2)
		c.Hooks.Input = session.OnRawInput(func(_ *session.Session, _ uint64, data []byte) { require.LessOrEqual(t, len(data), wire.MaxInputBytes) })
		c.Hooks.Commands = []session.Command{command("poke", func(s *session.Session, h world.Entity) error {
			require.True(t, h == 0 || s.Resolve(h) == wire.Live && c.World.Status(h) == bulk.Live, "H2: %v", h)
			executed++
			return nil
		})}
	})
	var crowd []bulk.Handle
	for i := range 20 {
		crowd = append(crowd, d.spawn(float32(i)-10))
	}
	good := newGoodClient(t, d.core)
	v := newMutator(t, d.hello(), crowd)
	ends, inputs, most := map[wire.Code]int{}, 0, mutate.Count(*mutantsFlag)
	for play := 0; inputs < most; play++ {
		before := mutate.Allocated()
		v.reconnect(d.core)
		for i := range perPlay {
			if i%perTick == 0 {
				d.world.SetVelocity(crowd[(play+i)%len(crowd)], world.Vec3{X: float32(play%7) - 3})
				good.play(t)
				d.core.Tick()
			}
			if !v.sendMutant() {
				break
			}
			inputs++
		}
		d.core.Tick()
		d.core.Tick()
		if v.fault != nil {
			require.Len(t, v.Closed, 1, "play %d: %v", play, v.fault)
			require.Contains(t, []wire.Code{wire.CodeOf(v.fault), wire.BadMessage}, v.Closed[0], "or an earlier acknowledgement ended it: play %d: %v", play, v.fault)
		}
		require.LessOrEqual(t, len(v.Closed), 1)
		for _, code := range v.Closed {
			ends[code]++
			require.NotEqual(t, wire.Internal, code, "play %d", play)
		}
		v.peer.Gone()
		d.core.Tick()
		if play%8 == 1 {
			f := must.Get(good.Client.DoRaw("poke", good.Client.Controlled(), nil))
			for range 2 {
				good.play(t)
				d.tick()
			}
			r, done := f.Poll()
			require.True(t, done && r.Err == nil, "S2: play %d: the good client's command failed: %v", play, r.Err)
		}
		require.LessOrEqual(t, d.core.Len(), 4)
		require.Less(t, mutate.Allocated()-before, uint64(4<<20), "play %d: bytes allocated for %d inputs", play, perPlay)
	}
	stats := d.core.Stats()
	t.Logf("%d inputs, ends: %v, %d commands of which %d executed, %d resumed, %d joined", inputs, ends, stats.Commands, executed, stats.Resumed, stats.Joined)
	require.LessOrEqual(t, d.world.Live().Count(), len(crowd)+4)
	for _, n := range []int{executed, int(stats.Resumed), int(stats.Rejected), ends[wire.BadMessage], ends[wire.BadState]} {
		require.NotZero(t, n)
	}
}

func newMutator(t testing.TB, hello wire.Hello, crowd []bulk.Handle) *mutator {
	hello.Name = "mutator"
	v := &mutator{Conn: &stage.Conn{}, t: t, hello: hello, targets: len(crowd)}
	for n := range 8 {
		in := wire.Input{Stamp: uint32(n), Ack: wire.Ack{Seen: n > 0, Newest: uint32(n), Structure: uint32(n)}}
		for i := range n * 2 {
			in.Inputs = append(in.Inputs, wire.TickInput{Tick: uint32(100 - i), Data: make([]byte, i*4)})
		}
		v.inputs = append(v.inputs, in.Append(nil))
	}
	for i, h := range crowd {
		v.others = append(v.others, sentMessage{wire.TypeCommand, wire.Command{ID: uint32(i), Name: "poke", Target: h, Args: []byte{0x93, 1, 2, 0xa1, 'x'}}.Append(nil)})
	}
	v.others = append(v.others, sentMessage{wire.TypeResync, nil}, sentMessage{wire.TypePad, nil},
		sentMessage{wire.TypeBye, wire.Bye{Text: "later"}.Append(nil)})
	pool := append([][]byte{v.hello.Append(nil)}, v.inputs...)
	for _, m := range v.others {
		pool = append(pool, m.body)
	}
	v.source = mutate.NewSource(4, pool...)
	return v
}
