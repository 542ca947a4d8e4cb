package session_test

import (
	"context"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// neighbour is a well-behaved client on a perfect link. It keeps a checksum of everything
// it receives.
type neighbour struct {
	t       testing.TB
	server  *session.Peer
	session *client.Session
	now     time.Duration
	sum     hash.Hash64
	bytes   int
	aside   time.Duration // time spent in its own callbacks
}

func (n *neighbour) SendStream(p []byte) bool {
	defer setAside(&n.aside, time.Now())
	n.bytes += len(p)
	_, _ = n.sum.Write(p)
	require.NoError(n.t, n.session.ReceiveStream(p))
	return true
}

func (*neighbour) HasUnsent() bool { return false }

func (n *neighbour) SendSnapshot(ds [][]byte) {
	defer setAside(&n.aside, time.Now())
	for _, d := range ds {
		n.bytes += len(d)
		_, _ = n.sum.Write(d)
		_, err := n.session.ReceiveDatagram(d, n.now)
		require.NoError(n.t, err)
	}
}

func (n *neighbour) Close(code wire.Code, text string) {
	require.Fail(n.t, "the neighbour's session ended", "%v %s", code, text)
}

func (n *neighbour) send() {
	n.now += 16 * time.Millisecond // a tick
	if p := n.session.TakeStream(); p != nil {
		require.NoError(n.t, n.server.ReceiveStream(p))
	}
	_, err := n.session.SetRawInput(nil, n.now)
	require.NoError(n.t, err)
	if d := n.session.Input(n.now); d != nil {
		_, err := n.server.ReceiveDatagram(d)
		require.NoError(n.t, err)
	}
}

// setAside adds the time since a moment.
func setAside(sum *time.Duration, since time.Time) { *sum += time.Since(since) }

// intruder is a scripted client, far away from all others.
type intruder struct {
	t       testing.TB
	server  *session.Peer
	frames  wire.FrameReader
	records uint32 // structure records received
	newest  uint32 // newest snapshot received
	unread  int    // stream bytes since its last acknowledgement
	most    int    // maximum of unread
	deaf    bool   // its stream is full
	closed  wire.Code
	aside   time.Duration // time spent in its own callbacks
}

func (x *intruder) SendStream(p []byte) bool {
	defer setAside(&x.aside, time.Now())
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

func (*intruder) HasUnsent() bool { return false }

func (x *intruder) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		var rows bitio.Reader
		h, err := wire.ParseStateHeader(d, &rows)
		require.NoError(x.t, err)
		x.newest = h.Seq
	}
}

func (x *intruder) Close(code wire.Code, _ string) { x.closed = code }

// input sends a datagram; the session may have ended.
func (x *intruder) input(a wire.Ack) {
	in := wire.Input{Stamp: 1, Ack: a}
	_, _ = x.server.ReceiveDatagram(in.Append(nil))
}

func (x *intruder) applied() {
	x.unread = 0
	x.input(wire.Ack{Seen: x.newest != 0, Newest: x.newest, Structure: x.records})
}

// stay is one tick of a well-behaved intruder.
func (x *intruder) stay(int) { x.applied() }

// street is a busy world with three neighbours, and an intruder far away.
type street struct {
	t         testing.TB
	world     *world.World
	core      *session.Core
	near, far []bulk.Handle
	all       []*neighbour
	intruder  *intruder
	ticks     int
}

func newStreet(t testing.TB) *street {
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
	s := &street{t: t, world: w, intruder: &intruder{t: t}}
	s.core, err = session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: testSchema(t), Epoch: testEpoch,
			Replication: replication.Config{EnterRadius: 40, LeaveRadius: 50},
			Hooks: session.Hooks{Join: func(s *session.Session) (world.Entity, error) {
				if s.Name() == "intruder" {
					return spawn(rock, 400, 400), nil
				}
				return spawn(rock, float32(s.ID()), 0), nil
			}},
		},
	})
	require.NoError(t, err)
	for i := range 3600 {
		s.far = append(s.far, spawn(rock, 380+float32(i%60)*0.6, 380+float32(i/60)*0.6))
	}
	for i := range 60 {
		s.near = append(s.near, spawn(crate, float32(i%8)*4-16, float32(i/8)*4-16))
	}
	hello := wire.Hello{Protocol: wire.Version, Schema: s.core.Config().Schema.Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: testEpoch}
	for range 3 {
		n := &neighbour{t: t, sum: fnv.New64a()}
		n.session, err = client.NewSession(client.SessionConfig{Schema: testSchema(t), Epoch: testEpoch})
		require.NoError(t, err)
		n.server = s.core.Open(context.Background(), "", n)
		s.all = append(s.all, n)
	}
	s.intruder.server = s.core.Open(context.Background(), "", s.intruder)
	hello.Name = "intruder"
	require.NoError(t, s.intruder.server.ReceiveStream(wire.AppendMessage(nil, hello)))
	return s
}

// stir changes the world and the clients ahead of a tick.
func (s *street) stir(act func(*intruder, int)) {
	for _, n := range s.all {
		n.send()
	}
	if x := s.intruder; x.closed == wire.OK && s.ticks > 0 {
		act(x, s.ticks)
	}
	for i := range 10 {
		s.world.SetVelocity(s.near[(s.ticks+7*i)%len(s.near)], world.Vec3{X: float32(i) - 5, Z: 5 - float32(i)})
	}
	s.world.SetVelocity(s.far[s.ticks%len(s.far)], world.Vec3{Z: 1})
	s.ticks++
}

// effort counts the work of one tick, independent of the machine: the work for each
// neighbour, and for the intruder.
type effort struct {
	neighbours [3]replication.ViewerStats
	intruder   replication.ViewerStats
	commands   uint64 // the intruder's: the others send none
}

// effort returns the work since the start.
func (s *street) effort() (e effort) {
	of := func(p *session.Peer) (t replication.ViewerStats) {
		if session := p.Session(); session != nil {
			t = session.Traffic()
		}
		return t
	}
	for i, n := range s.all {
		e.neighbours[i] = of(n.server)
	}
	e.intruder, e.commands = of(s.intruder.server), s.core.Stats().Commands
	return e
}

// mostInATick returns the largest increase of each of the intruder's counts in one tick.
// The counts restart at 0 when its session ends.
func mostInATick(efforts []effort) (most effort) {
	for i := range efforts[1:] {
		was, now := &efforts[i], &efforts[i+1]
		most.commands = max(most.commands, now.commands-was.commands)
		if now.intruder.StructureBytes < was.intruder.StructureBytes {
			continue
		}
		most.intruder.Rows = max(most.intruder.Rows, now.intruder.Rows-was.intruder.Rows)
		most.intruder.StateBytes = max(most.intruder.StateBytes, now.intruder.StateBytes-was.intruder.StateBytes)
		most.intruder.StructureBytes = max(most.intruder.StructureBytes, now.intruder.StructureBytes-was.intruder.StructureBytes)
	}
	return most
}

// aside returns the time that clients took within ticks.
func (s *street) aside() time.Duration {
	sum := s.intruder.aside
	for _, n := range s.all {
		sum += n.aside
	}
	return sum
}

// neighbourTicks is the length of a run: 10 s.
const neighbourTicks = 640

// neighbours simulates 10 s of the street. It returns the checksums of what the neighbours
// received, and the effort after each tick.
func neighbours(t *testing.T, act func(*intruder, int)) (sums []uint64, efforts []effort, x *intruder) {
	s := newStreet(t)
	for range neighbourTicks {
		s.stir(act)
		s.core.Tick()
		efforts = append(efforts, s.effort())
	}
	for _, n := range s.all {
		require.Greater(t, n.bytes, 10_000)
		sums = append(sums, n.sum.Sum64())
	}
	return sums, efforts, s.intruder
}

// attack is an intruder's behaviour in each tick.
type attack struct {
	name string
	code wire.Code // of its end; OK: it stays
	act  func(*intruder, int)
}

func attacks() []attack {
	command := func(id uint32, h bulk.Handle) []byte {
		return wire.AppendMessage(nil, wire.Command{ID: id, Name: "take", Target: h})
	}
	return []attack{
		{"says nothing", wire.Timeout, func(*intruder, int) {}},
		{"never acknowledges", wire.OK, func(x *intruder, _ int) { x.input(wire.Ack{}) }},
		{"acknowledges snapshots but no structure", wire.OK, func(x *intruder, _ int) {
			x.input(wire.Ack{Seen: x.newest != 0, Newest: x.newest})
		}},
		{"acknowledges future snapshots", wire.BadMessage, func(x *intruder, tick int) {
			x.input(wire.Ack{Seen: true, Newest: x.newest + uint32(tick)})
		}},
		{"acknowledges future structure", wire.BadMessage, func(x *intruder, tick int) {
			x.input(wire.Ack{Structure: x.records + uint32(tick)})
		}},
		{"acknowledges backwards", wire.OK, func(x *intruder, tick int) {
			x.applied()
			if x.newest > 0 {
				x.input(wire.Ack{Seen: true, Newest: 1 + x.newest*uint32(tick%7)/7, Mask: 1<<64 - 1, Structure: x.records * uint32(tick%5) / 5})
			}
		}},
		{"forges handles within its limit", wire.OK, func(x *intruder, tick int) {
			x.applied()
			for i := range uint32(200) {
				_ = x.server.ReceiveStream(command(i, bulk.NewHandle(i*uint32(tick)%(1<<20), 1+2*i)))
			}
		}},
		{"forges handles beyond its limit", wire.TooFast, func(x *intruder, tick int) {
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
			_ = x.server.ReceiveStream(command(uint32(tick), 0)) // has an answer
		}},
		{"requests a resync in every tick", wire.OK, func(x *intruder, _ int) {
			x.applied()
			_ = x.server.ReceiveStream(wire.AppendMessage(nil, wire.Resync{}))
		}},
		{"sends noise", wire.BadMessage, func(x *intruder, tick int) {
			_, _ = x.server.ReceiveDatagram([]byte{wire.TypeInput, byte(tick)})
		}},
	}
}

// Whatever one client does, no other receives different bytes and the server does no
// different work for it in any tick. The intruder is ended with a code, or costs bounded
// memory, and bounded work in each tick.
func TestIntruderDisturbsNobody(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under the race detector, and has one goroutine")
	}
	undisturbed, efforts, behaved := neighbours(t, (*intruder).stay)
	require.Equal(t, wire.OK, behaved.closed)
	for _, c := range attacks() {
		t.Run(c.name, func(t *testing.T) {
			sums, got, x := neighbours(t, c.act)
			require.Equal(t, undisturbed, sums, "the neighbours received different bytes")
			require.Equal(t, c.code, x.closed)
			// The server keeps unacknowledged structure: 48 KiB, plus one snapshot.
			require.Less(t, x.most, 56<<10)
			for i := range got {
				require.Equal(t, efforts[i].neighbours, got[i].neighbours, "tick %d: different work for the neighbours", i)
			}
			// A tick's work for the intruder, which delays the others, is no more than for a
			// well-behaved one except for structure: that may take the budget of two
			// snapshots at once, and the last record may exceed it. Its commands are bounded
			// apart.
			lawful, most := mostInATick(efforts), mostInATick(got)
			require.LessOrEqual(t, most.intruder.Rows, lawful.intruder.Rows)
			require.LessOrEqual(t, most.intruder.StateBytes, lawful.intruder.StateBytes)
			require.LessOrEqual(t, most.intruder.StructureBytes, 2*lawful.intruder.StructureBytes+wire.MaxEnterBytes)
			require.LessOrEqual(t, most.commands, uint64(wire.MaxUnanswered))
		})
	}
}

// BenchmarkTickBesideIntruder alternates ticks beside an intruder with ticks beside a
// well-behaved client, and reports the ratio of their durations without the clients' time:
// of medians and of sums.
func BenchmarkTickBesideIntruder(b *testing.B) {
	for _, c := range attacks() {
		b.Run(c.name, func(b *testing.B) {
			var spent [2][]float64
			for b.Loop() {
				streets := [2]*street{newStreet(b), newStreet(b)}
				acts := [2]func(*intruder, int){(*intruder).stay, c.act}
				for range neighbourTicks {
					for i, s := range streets {
						s.stir(acts[i])
						before, began := s.aside(), time.Now()
						s.core.Tick()
						spent[i] = append(spent[i], float64(time.Since(began)-s.aside()+before))
					}
				}
			}
			var median, sum [2]float64
			for i, all := range spent {
				slices.Sort(all)
				median[i] = all[len(all)/2]
				for _, t := range all {
					sum[i] += t
				}
			}
			b.ReportMetric(median[1]/median[0], "times/median")
			b.ReportMetric(sum[1]/sum[0], "times/sum")
			b.ReportMetric(median[0], "ns/tick")
			b.ReportMetric(0, "ns/op")
		})
	}
}
