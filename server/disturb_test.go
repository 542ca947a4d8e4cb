package server_test

import (
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// neighbour is a well-behaved client on a perfect link. It keeps the sum of
// everything that it is sent.
type neighbour struct {
	t       testing.TB
	server  *server.Peer
	session *client.Session
	now     time.Duration
	sum     hash.Hash64
	bytes   int
}

func (n *neighbour) SendStream(p []byte) bool {
	n.bytes += len(p)
	_, _ = n.sum.Write(p)
	require.NoError(n.t, n.session.ReceiveStream(p))
	return true
}

func (n *neighbour) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		n.bytes += len(d)
		_, _ = n.sum.Write(d)
		_, err := n.session.ReceiveDatagram(d, n.now)
		require.NoError(n.t, err)
	}
}

func (n *neighbour) Close(code wire.Code, text string) {
	require.Fail(n.t, "a neighbour was closed", "%v %s", code, text)
}

func (n *neighbour) send() {
	n.now += simTickMs * time.Millisecond
	if p := n.session.TakeStream(); p != nil {
		require.NoError(n.t, n.server.ReceiveStream(p))
	}
	require.NoError(n.t, n.session.SetInput(nil, n.now))
	if d := n.session.Input(n.now); d != nil {
		_, err := n.server.ReceiveDatagram(d)
		require.NoError(n.t, err)
	}
}

// intruder is a client played by hand, far away from all others.
type intruder struct {
	t       testing.TB
	server  *server.Peer
	frames  wire.FrameReader
	records uint32 // structure records that it was sent
	newest  uint32 // snapshot that it was sent
	unread  int    // bytes of structure since it last acknowledged any
	most    int    // of those
	deaf    bool   // its stream takes nothing more
	closed  wire.Code
}

func (x *intruder) SendStream(p []byte) bool {
	x.unread += len(p)
	x.most = max(x.most, x.unread)
	x.frames.Feed(p)
	for {
		kind, body, ok, err := x.frames.Next()
		require.NoError(x.t, err)
		if !ok {
			return !x.deaf
		}
		if kind == wire.TypeStructure {
			m, err := wire.ParseStructure(body)
			require.NoError(x.t, err)
			x.records += uint32(m.Count)
		}
	}
}

func (x *intruder) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		var rows wire.BitReader
		h, err := wire.ParseStateHeader(d, &rows)
		require.NoError(x.t, err)
		x.newest = h.Seq
	}
}

func (x *intruder) Close(code wire.Code, _ string) { x.closed = code }

// input sends a datagram; the session may be over.
func (x *intruder) input(a wire.Ack) {
	in := wire.Input{Stamp: 1, Ack: a}
	_, _ = x.server.ReceiveDatagram(in.Append(nil))
}

func (x *intruder) applied() {
	x.unread = 0
	x.input(wire.Ack{Seen: x.newest != 0, Newest: x.newest, Structure: x.records})
}

// stay is what a well-behaved intruder does in each tick.
func (x *intruder) stay(int) { x.applied() }

// neighbours plays 10 s of a busy world with three neighbours and an intruder,
// and returns the three sums.
func neighbours(t *testing.T, act func(*intruder, int)) ([]uint64, *intruder) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	crate, err := w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Radius: 0.5}})
	require.NoError(t, err)
	rock, err := w.AddKind(world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}})
	require.NoError(t, err)
	spawn := func(k world.KindID, x, z float32) bulk.Handle {
		h, err := w.Spawn(k, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{})
		require.NoError(t, err)
		return h
	}
	core, err := server.NewCore(server.CoreConfig{
		World: w, Schema: deskSchema(t), Epoch: deskEpoch, Random: rand.NewChaCha8([32]byte{1}),
		Replication: replication.Config{EnterRadius: 40, LeaveRadius: 50},
		Game: server.Game{Join: func(s *server.Session) (world.Entity, error) {
			if s.Name() == "intruder" {
				return spawn(rock, 400, 400), nil
			}
			return spawn(rock, float32(s.ID()), 0), nil
		}},
	})
	require.NoError(t, err)
	var near, far []bulk.Handle
	for i := range 3600 {
		far = append(far, spawn(rock, 380+float32(i%60)*0.6, 380+float32(i/60)*0.6))
	}
	for i := range 60 {
		near = append(near, spawn(crate, float32(i%8)*4-16, float32(i/8)*4-16))
	}
	hello := wire.Hello{Protocol: wire.Version, Schema: deskSchema(t).Hash(), Tables: wire.DefaultTables().Version(), Epoch: deskEpoch}
	var all []*neighbour
	for range 3 {
		n := &neighbour{t: t, sum: fnv.New64a()}
		n.session, err = client.NewSession(client.SessionConfig{Schema: deskSchema(t), Epoch: deskEpoch})
		require.NoError(t, err)
		n.server = core.Open(n)
		all = append(all, n)
	}
	x := &intruder{t: t}
	x.server = core.Open(x)
	hello.Name = "intruder"
	require.NoError(t, x.server.ReceiveStream(wire.AppendMessage(nil, hello)))
	for tick := range 640 {
		for _, n := range all {
			n.send()
		}
		if x.closed == wire.OK && tick > 0 {
			act(x, tick)
		}
		for i := range 10 {
			w.SetVelocity(near[(tick+7*i)%len(near)], world.Vec3{X: float32(i) - 5, Z: 5 - float32(i)})
		}
		w.SetVelocity(far[tick%len(far)], world.Vec3{Z: 1})
		core.Tick()
	}
	var sums []uint64
	for _, n := range all {
		require.Greater(t, n.bytes, 10_000)
		sums = append(sums, n.sum.Sum64())
	}
	return sums, x
}

// Whatever one client does, no other is sent a byte more, less, or other than
// without it; it is ended by name, or costs a bounded amount of memory.
func TestIntruderDisturbsNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute under the race detector, for which there is nothing in one goroutine")
	}
	calm, guest := neighbours(t, (*intruder).stay)
	require.Equal(t, wire.OK, guest.closed)
	command := func(id uint32, h bulk.Handle) []byte {
		return wire.AppendMessage(nil, wire.Command{ID: id, Name: "take", Target: h})
	}
	for _, c := range []struct {
		name string
		code wire.Code // with which it ends; OK: it stays
		act  func(*intruder, int)
	}{
		{"says nothing", wire.Timeout, func(*intruder, int) {}},
		{"never acknowledges", wire.OK, func(x *intruder, _ int) { x.input(wire.Ack{}) }},
		{"acknowledges snapshots and no structure", wire.OK, func(x *intruder, _ int) {
			x.input(wire.Ack{Seen: x.newest != 0, Newest: x.newest})
		}},
		{"acknowledges snapshots to come", wire.BadMessage, func(x *intruder, tick int) {
			x.input(wire.Ack{Seen: true, Newest: x.newest + uint32(tick)})
		}},
		{"acknowledges structure to come", wire.BadMessage, func(x *intruder, tick int) {
			x.input(wire.Ack{Structure: x.records + uint32(tick)})
		}},
		{"acknowledges backwards", wire.OK, func(x *intruder, tick int) {
			if x.applied(); x.newest > 0 {
				x.input(wire.Ack{Seen: true, Newest: 1 + x.newest*uint32(tick%7)/7, Mask: 1<<64 - 1, Structure: x.records * uint32(tick%5) / 5})
			}
		}},
		{"forges handles, as many as it may", wire.OK, func(x *intruder, tick int) {
			x.applied()
			for i := range uint32(200) {
				_ = x.server.ReceiveStream(command(i, bulk.NewHandle(i*uint32(tick)%(1<<20), 1+2*i)))
			}
		}},
		{"forges handles by the thousand", wire.TooFast, func(x *intruder, tick int) {
			x.applied()
			for i := range uint32(2000) {
				_ = x.server.ReceiveStream(command(i, bulk.NewHandle(i, 1+2*uint32(tick))))
			}
		}},
		{"stops in the middle of a message", wire.OK, func(x *intruder, tick int) {
			x.applied()
			_ = x.server.ReceiveStream([]byte{0xff, 0x0f, wire.TypeCommand}[min(tick-1, 2):min(tick, 3)])
		}},
		{"does not read", wire.TooSlow, func(x *intruder, tick int) {
			x.applied()
			x.deaf = tick > 100
			_ = x.server.ReceiveStream(command(uint32(tick), 0)) // which is answered
		}},
		{"asks for everything again, always", wire.OK, func(x *intruder, _ int) {
			x.applied()
			_ = x.server.ReceiveStream(wire.AppendMessage(nil, wire.Resync{}))
		}},
		{"sends noise", wire.BadMessage, func(x *intruder, tick int) {
			_, _ = x.server.ReceiveDatagram([]byte{wire.TypeInput, byte(tick)})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sums, x := neighbours(t, c.act)
			require.Equal(t, calm, sums, "the neighbours were sent other bytes")
			require.Equal(t, c.code, x.closed)
			// Structure that was not acknowledged is what the server keeps in mind:
			// 48 KiB of it, and what one snapshot more may hold.
			require.Less(t, x.most, 56<<10)
		})
	}
}
