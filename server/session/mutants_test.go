package session_test

import (
	"context"
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/mutate"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

var mutantsFlag = flag.Int("mutants", 10_000, "number of mutants in TestMutantSessions")

// vandal is a client whose messages are mutated on the way.
type vandal struct {
	t       testing.TB
	source  *mutate.Source
	hello   wire.Hello
	peer    *session.Peer
	frames  wire.FrameReader
	welcome wire.Welcome
	records uint32 // structure records received
	newest  uint32 // newest snapshot received
	closed  []wire.Code
	fault   error // of its last message
	inputs  [][]byte
	others  []sentMessage
	targets int // the first of others are commands, one for each entity
}

// sentMessage is one message of a client.
type sentMessage struct {
	kind byte
	body []byte
}

func (v *vandal) SendStream(p []byte) bool {
	v.frames.Feed(p)
	for {
		kind, body, ok, err := v.frames.Next()
		require.NoError(v.t, err)
		if !ok {
			return true
		}
		switch kind {
		case wire.TypeWelcome:
			v.welcome, err = wire.Parse[wire.Welcome](body)
			require.NoError(v.t, err)
			if v.welcome.Resumed == 0 {
				v.records, v.newest = 0, 0
			}
		case wire.TypeStructure:
			m, err := wire.ParseStructure(body)
			require.NoError(v.t, err)
			v.records = m.First + uint32(m.Count) - 1
		}
	}
}

func (*vandal) HasUnsent() bool { return false }

func (v *vandal) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		var rows bitio.Reader
		h, err := wire.ParseStateHeader(d, &rows)
		require.NoError(v.t, err)
		v.newest = h.Seq
	}
}

func (v *vandal) Close(code wire.Code, _ string) { v.closed = append(v.closed, code) }

// send delivers one message, mutated or not. It returns false once nothing more is
// accepted. Unreadable messages end the session, and are therefore rare.
func (v *vandal) send() bool {
	if v.fault != nil || len(v.closed) > 0 {
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
	case s.IntN(256) == 0: // valid, but not now
		frame = wire.AppendMessage(nil, v.hello)
	case kind == wire.TypeCommand && err != nil && s.IntN(32) > 0, kind != wire.TypeCommand && s.IntN(16) > 0:
		frame = wire.AppendFrame(nil, wire.TypeCommand, v.others[s.IntN(v.targets)].body)
	}
	v.fault = v.peer.ReceiveStream(frame)
	return true
}

// datagram sends a mutated Input, which usually acknowledges a snapshot that was sent,
// however old.
func (v *vandal) datagram() {
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
func (v *vandal) ack(mask uint64) wire.Ack {
	a := wire.Ack{Structure: uint32(v.source.IntN(int(v.records) + 1))}
	if v.newest > 0 {
		a.Seen, a.Newest, a.Mask = true, 1+uint32(v.source.IntN(int(v.newest))), mask
	}
	return a
}

// again opens a connection to resume or to begin a session, with a Hello that is usually
// valid.
func (v *vandal) again(core *session.Core) {
	v.frames, v.closed, v.fault = wire.FrameReader{}, nil, nil
	v.peer = core.Open(context.Background(), "", v)
	hello := v.hello
	if len(v.welcome.Secret) > 0 && v.source.IntN(2) == 0 {
		hello.Session, hello.Secret, hello.Structure = v.welcome.Session, v.welcome.Secret, v.records
	}
	body := hello.Append(nil)
	if v.source.IntN(4) == 0 {
		body = v.source.Of(body)
	}
	v.fault = v.peer.ReceiveStream(wire.AppendFrame(nil, wire.TypeHello, body))
}

// TestMutantSessions mutates everything that a client sends: inputs, acknowledgements,
// commands, Hellos. Rejected messages end the connection with a code, accepted ones are
// valid, the neighbour is unaffected, and memory stays bounded.
func TestMutantSessions(t *testing.T) {
	const perPlay, perTick = 48, 6
	executed := 0
	d := newTestServerWith(t, func(c *session.Config) {
		c.MaxSessions, c.Random = 4, rand.NewChaCha8([32]byte{2})
		c.Hooks.Input = session.OnRawInput(func(_ *session.Session, _ uint64, data []byte) { require.LessOrEqual(t, len(data), wire.MaxInputBytes) })
		c.Hooks.Commands = []session.Command{session.OnRawCommand("poke", func(s *session.Session, h world.Entity, _ []byte) error {
			require.True(t, h == 0 || s.Resolve(h) == wire.Live && c.World.Status(h) == bulk.Live, "H2: %v", h)
			executed++
			return nil
		})}
	})
	var crowd []bulk.Handle
	for i := range 20 {
		crowd = append(crowd, d.spawn(float32(i)-10))
	}
	good := &neighbour{t: t, sum: fnv.New64a()}
	var err error
	good.session, err = client.NewSession(client.SessionConfig{Schema: testSchema(t), Epoch: testEpoch})
	require.NoError(t, err)
	good.server = d.core.Open(context.Background(), "", good)
	v := newVandal(t, d.schemaHash(), crowd)
	ends, inputs, most := map[wire.Code]int{}, 0, *mutantsFlag
	if testing.Short() {
		most /= 4
	}
	for play := 0; inputs < most; play++ {
		before := allocated()
		v.again(d.core)
		for i := range perPlay {
			if i%perTick == 0 {
				d.world.SetVelocity(crowd[(play+i)%len(crowd)], world.Vec3{X: float32(play%7) - 3})
				good.send()
				d.core.Tick()
			}
			if !v.send() {
				break
			}
			inputs++
		}
		d.core.Tick()
		d.core.Tick()
		if v.fault != nil {
			require.Len(t, v.closed, 1, "play %d: %v", play, v.fault)
			require.Contains(t, []wire.Code{wire.CodeOf(v.fault), wire.BadMessage}, v.closed[0], "or an earlier acknowledgement ended it: play %d: %v", play, v.fault)
		}
		require.LessOrEqual(t, len(v.closed), 1)
		for _, code := range v.closed {
			ends[code]++
			require.NotEqual(t, wire.Internal, code, "play %d", play)
		}
		v.peer.Gone()
		d.core.Tick()
		if play%8 == 1 {
			f, err := good.session.DoRaw("poke", good.session.Controlled(), nil)
			require.NoError(t, err)
			good.send()
			d.core.Tick()
			r, done := f.Poll()
			require.True(t, done && r.Err == nil, "S2: play %d: the neighbour's command failed: %v", play, r.Err)
		}
		require.LessOrEqual(t, d.core.Len(), 4)
		require.Less(t, allocated()-before, uint64(4<<20), "play %d: bytes allocated for %d inputs", play, perPlay)
	}
	stats := d.core.Stats()
	t.Logf("%d inputs, ends: %v, %d commands of which %d executed, %d resumed, %d joined", inputs, ends, stats.Commands, executed, stats.Resumed, stats.Joined)
	require.LessOrEqual(t, d.world.Live().Count(), len(crowd)+4)
	for _, n := range []int{executed, int(stats.Resumed), int(stats.Rejected), ends[wire.BadMessage], ends[wire.BadState]} {
		require.NotZero(t, n)
	}
}

func newVandal(t testing.TB, schemaHash uint64, crowd []bulk.Handle) *vandal {
	v := &vandal{t: t, hello: wire.Hello{Protocol: wire.Version, Schema: schemaHash, Tables: rowcodec.DefaultTables().Version(), Epoch: testEpoch, Name: "vandal"}, targets: len(crowd)}
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

// allocated returns the bytes allocated since the start.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
