package session_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// sink is a client that acknowledges everything at once and allocates nothing.
type sink struct {
	server  *session.Peer
	frames  wire.FrameReader
	newest  uint32
	records uint32
	inputs  [1]wire.TickInput
	stick   [4]byte
	buf     []byte
}

func (c *sink) SendStream(p []byte) bool {
	c.frames.Feed(p)
	for {
		kind, body, ok, err := c.frames.Next()
		if err != nil || !ok {
			return err == nil
		}
		if kind == wire.TypeStructure {
			m, _ := wire.ParseStructure(body)
			c.records += uint32(m.Count)
		}
	}
}

func (*sink) HasUnsent() bool { return false }

func (c *sink) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		c.newest = binary.LittleEndian.Uint32(d[7:]) // PROTOCOL.md section 8
	}
}

func (c *sink) Close(wire.Code, string) {}

// answer sends the client's input datagram.
func (c *sink) answer(t testing.TB, tick uint32) {
	c.inputs[0] = wire.TickInput{Tick: tick, Data: c.stick[:]}
	in := wire.Input{Stamp: tick | 1, Ack: wire.Ack{Seen: c.newest > 0, Newest: c.newest, Structure: c.records}, Inputs: c.inputs[:]}
	c.buf = in.Append(c.buf[:0])
	if _, err := c.server.ReceiveDatagram(c.buf); err != nil {
		t.Fatal(err)
	}
}

// A warm tick with inputs, acknowledgements and snapshots of every client allocates
// nothing; only the transport may.
func TestTickAllocatesNothing(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the audits allocate")
	}
	raw := testSchema(t)
	requireNoAllocations(t, raw, session.OnRawInput(func(*session.Session, uint64, []byte) {}))
	typed := testSchema(t)
	type stick struct{ X, Z int16 } // the 4 bytes of sink.stick
	requireNoAllocations(t, typed, session.OnInput(schema.DefineInput[stick](typed), func(s *session.Session, _ uint64, in stick) {
		if _, viewed := s.View(); viewed || in != (stick{}) {
			t.Fatal(in)
		}
	}))
}

// References in inputs cost nothing more.
func TestTickWithReferencesAllocatesNothing(t *testing.T) {
	if invariants.Enabled {
		t.Skip("the audits allocate")
	}
	s := testSchema(t)
	type stick struct { // the 4 bytes of sink.stick
		At bulk.Handle `net:"ref"`
		N  uint32      `net:"bits=31"`
	}
	requireNoAllocations(t, s, session.OnInput(schema.DefineInput[stick](s), func(s *session.Session, _ uint64, in stick) {
		if s.IsProvisional(in.At) || in != (stick{}) {
			t.Fatal(in)
		}
	}))
}

func requireNoAllocations(t *testing.T, s *schema.Schema, input session.Input) {
	w, err := world.New(world.Config{Seed: 3})
	require.NoError(t, err)
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Friction: 1}})
	require.NoError(t, err)
	spawn := func(x, z float32) bulk.Handle {
		h, err := w.Spawn(crate, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{})
		require.NoError(t, err)
		return h
	}
	core, err := session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s, Epoch: testEpoch, Replication: replication.Config{EnterRadius: 200, LeaveRadius: 210},
			Hooks: session.Hooks{
				Join:  func(s *session.Session) (world.Entity, error) { return spawn(float32(s.ID()), -20), nil },
				Input: input,
			},
		},
	})
	require.NoError(t, err)
	var movers []bulk.Handle
	for i := range 200 {
		movers = append(movers, spawn(float32(i%20)*2-20, float32(i/20)*2))
	}
	var sinks []*sink
	hello := wire.Hello{Protocol: wire.Version, Schema: core.Config().Schema.Hash(), Tables: rowcodec.DefaultTables().Version()}
	for range 30 {
		c := &sink{}
		c.server = core.Open(context.Background(), "", c)
		require.NoError(t, c.server.ReceiveStream(wire.AppendMessage(nil, hello)))
		sinks = append(sinks, c)
	}
	tick := uint32(0)
	play := func() {
		tick++
		for _, c := range sinks {
			c.answer(t, tick)
		}
		for i := range uint32(20) {
			w.SetVelocity(movers[(tick*7+i*13)%200], world.Vec3{X: float32(tick%9) - 4, Z: float32(i%5) - 2})
		}
		core.Tick()
	}
	for range 900 {
		play()
	}
	sent := core.Replication().StateBytes
	allocs := testing.AllocsPerRun(300, play)
	require.Greater(t, core.Replication().StateBytes, sent+100_000, "rows were sent meanwhile")
	require.Equal(t, 30, core.Active())
	require.Zero(t, allocs)
	require.Greater(t, core.Stats().Inputs, uint64(30*1000))
}
