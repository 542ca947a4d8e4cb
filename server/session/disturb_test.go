package session_test

import (
	"context"
	"hash"
	"hash/fnv"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// watchedConn keeps a checksum of everything that is sent over a connection, and the time that its
// client takes within ticks.
type watchedConn struct {
	session.Conn
	sum   hash.Hash64
	bytes int
	spent time.Duration
}

func (c *watchedConn) SendStream(p []byte) bool {
	defer c.addTime(time.Now())
	c.add(p)
	return c.Conn.SendStream(p)
}

func (c *watchedConn) SendSnapshot(ds [][]byte) {
	defer c.addTime(time.Now())
	for _, d := range ds {
		c.add(d)
	}
	c.Conn.SendSnapshot(ds)
}

func (c *watchedConn) add(p []byte) {
	c.bytes += len(p)
	_, _ = c.sum.Write(p)
}

func (c *watchedConn) addTime(since time.Time) { c.spent += time.Since(since) }

// openWatched opens a connection to core.
func openWatched(core *session.Core, conn session.Conn) (*watchedConn, *session.Peer) {
	c := &watchedConn{Conn: conn, sum: fnv.New64a()}
	return c, core.Open(context.Background(), "", c)
}

// goodClient is a well-behaved client on a perfect link.
type goodClient struct {
	stage.Linked
	watched *watchedConn
	peer    *session.Peer
}

func newGoodClient(t testing.TB, core *session.Core) *goodClient {
	c := &goodClient{Linked: stage.Linked{
		Connection: simtest.NewConnection(1, simtest.Conditions{}), Unit: time.Millisecond,
		Client: must.Get(client.NewSession(client.SessionConfig{Schema: schema.NewWithBody(), Epoch: testEpoch})),
		OnClose: func(code wire.Code, text string) {
			require.Fail(t, "a well-behaved client's session ended", "%v %s", code, text)
		},
	}}
	c.watched, c.peer = openWatched(core, c)
	c.Peer = c.peer
	return c
}

// play plays the client's part of a tick, before the server's.
func (c *goodClient) play(t testing.TB) {
	c.Now += 16
	must.Get(c.Receive())
	must.Get(c.Client.SetRawInput(nil, c.Time()))
	c.Answer()
	require.NoError(t, c.Serve())
}

// attacker is a scripted client, far away from all other clients.
type attacker struct {
	stage.Conn
	peer    *session.Peer
	watched *watchedConn
	acked   int // stream bytes at its last acknowledgement
	most    int // most stream bytes since an acknowledgement
}

// end returns the code with which the server closed the connection; OK: it is open.
func (x *attacker) end() wire.Code {
	if len(x.Closed) > 0 {
		return x.Closed[0]
	}
	return wire.OK
}

// input sends a datagram; the session may have ended.
func (x *attacker) input(a wire.Ack) { _ = x.SendInput(a) }

// sendCommand sends a command; the session may have ended.
func (x *attacker) sendCommand(id uint32, h bulk.Handle) {
	_ = x.Send(wire.Command{ID: id, Name: "take", Target: h})
}

func (x *attacker) acknowledge() {
	x.acked = x.StreamBytes
	x.input(x.Ack())
}

// behave plays one tick of a well-behaved attacker.
func (x *attacker) behave(int) { x.acknowledge() }

// crowdedServer is a busy world with three well-behaved clients, and an attacker far away.
type crowdedServer struct {
	t         testing.TB
	world     *world.World
	core      *session.Core
	near, far []bulk.Handle
	good      []*goodClient
	attacker  *attacker
	ticks     int
}

func newCrowdedServer(t testing.TB) *crowdedServer {
	w := must.Get(world.New(world.Config{Seed: 1}))
	crate := must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Drag: 0.5, Radius: 0.5}}))
	rock := must.Get(w.AddKind(world.Kind{Name: "rock", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	spawn := func(k world.KindID, x, z float32) bulk.Handle {
		return must.Get(w.Spawn(k, world.Vec3{X: x, Y: 0.5, Z: z}, world.Vec3{}))
	}
	s := &crowdedServer{t: t, world: w, attacker: &attacker{Conn: stage.Conn{Forget: true}}}
	s.core = must.Get(session.NewCore(session.Config{
		Random: stage.Random(1),
		WorldConfig: session.WorldConfig{
			World: w, Schema: schema.NewWithBody(), Epoch: testEpoch,
			Replication: replication.Config{EnterRadius: 40, LeaveRadius: 50},
			Hooks: session.Hooks{Join: func(s *session.Session) (world.Entity, error) {
				if s.Name() == "attacker" {
					return spawn(rock, 400, 400), nil
				}
				return spawn(rock, float32(s.ID()), 0), nil
			}},
		},
	}))
	for i := range 3600 {
		s.far = append(s.far, spawn(rock, 380+float32(i%60)*0.6, 380+float32(i/60)*0.6))
	}
	for i := range 60 {
		s.near = append(s.near, spawn(crate, float32(i%8)*4-16, float32(i/8)*4-16))
	}
	for range 3 {
		s.good = append(s.good, newGoodClient(t, s.core))
	}
	x := s.attacker
	x.watched, x.peer = openWatched(s.core, x)
	x.Peer = x.peer
	hello := stage.Hello(s.core.Config().Schema)
	hello.Name = "attacker"
	require.NoError(t, x.Send(hello))
	return s
}

// stir changes the world and the clients ahead of a tick.
func (s *crowdedServer) stir(act func(*attacker, int)) {
	for _, c := range s.good {
		c.play(s.t)
	}
	x := s.attacker
	x.most = max(x.most, x.StreamBytes-x.acked)
	if x.end() == wire.OK && s.ticks > 0 {
		act(x, s.ticks)
	}
	for i := range 10 {
		s.world.SetVelocity(s.near[(s.ticks+7*i)%len(s.near)], world.Vec3{X: float32(i) - 5, Z: 5 - float32(i)})
	}
	s.world.SetVelocity(s.far[s.ticks%len(s.far)], world.Vec3{Z: 1})
	s.ticks++
}

// effort counts the work of one tick, independent of the machine: the work for each
// good client, and for the attacker.
type effort struct {
	good     [3]replication.ViewerStats
	attacker replication.ViewerStats
	commands uint64 // the attacker's commands: other clients send none
}

// effort returns the work since the start.
func (s *crowdedServer) effort() (e effort) {
	of := func(p *session.Peer) (t replication.ViewerStats) {
		if session := p.Session(); session != nil {
			t = session.Traffic()
		}
		return t
	}
	for i, c := range s.good {
		e.good[i] = of(c.peer)
	}
	e.attacker, e.commands = of(s.attacker.peer), s.core.Stats().Commands
	return e
}

// mostInATick returns the largest increase of each of the attacker's counts in one tick.
// The counts restart at 0 when its session ends.
func mostInATick(efforts []effort) (most effort) {
	for i := range efforts[1:] {
		was, now := &efforts[i], &efforts[i+1]
		most.commands = max(most.commands, now.commands-was.commands)
		if now.attacker.StructureBytes < was.attacker.StructureBytes {
			continue
		}
		most.attacker.Rows = max(most.attacker.Rows, now.attacker.Rows-was.attacker.Rows)
		most.attacker.StateBytes = max(most.attacker.StateBytes, now.attacker.StateBytes-was.attacker.StateBytes)
		most.attacker.StructureBytes = max(most.attacker.StructureBytes, now.attacker.StructureBytes-was.attacker.StructureBytes)
	}
	return most
}

// clientTime returns the time that clients took within ticks.
func (s *crowdedServer) clientTime() time.Duration {
	sum := s.attacker.watched.spent
	for _, c := range s.good {
		sum += c.watched.spent
	}
	return sum
}

// crowdedTicks is the length of a run: 10 s.
const crowdedTicks = 640

// playCrowded simulates 10 s of a crowded server. It returns checksums of the bytes that
// the good clients received, and the effort after each tick.
func playCrowded(t *testing.T, act func(*attacker, int)) (sums []uint64, efforts []effort, x *attacker) {
	s := newCrowdedServer(t)
	for range crowdedTicks {
		s.stir(act)
		s.core.Tick()
		efforts = append(efforts, s.effort())
	}
	for _, c := range s.good {
		require.Greater(t, c.watched.bytes, 10_000)
		sums = append(sums, c.watched.sum.Sum64())
	}
	s.attacker.most = max(s.attacker.most, s.attacker.StreamBytes-s.attacker.acked)
	return sums, efforts, s.attacker
}

// attack is an attacker's behaviour in each tick.
type attack struct {
	name string
	code wire.Code // code that ends the session; OK: the session stays
	act  func(*attacker, int)
}

func attacks() []attack {
	return []attack{
		{"says nothing", wire.Timeout, func(*attacker, int) {}},
		{"never acknowledges", wire.OK, func(x *attacker, _ int) { x.input(wire.Ack{}) }},
		{"acknowledges snapshots but no structure", wire.OK, func(x *attacker, _ int) {
			x.input(wire.Ack{Seen: x.Newest != 0, Newest: x.Newest})
		}},
		{"acknowledges future snapshots", wire.BadMessage, func(x *attacker, tick int) {
			x.input(wire.Ack{Seen: true, Newest: x.Newest + uint32(tick)})
		}},
		{"acknowledges future structure", wire.BadMessage, func(x *attacker, tick int) {
			x.input(wire.Ack{Structure: x.Records + uint32(tick)})
		}},
		{"acknowledges backwards", wire.OK, func(x *attacker, tick int) {
			x.acknowledge()
			if x.Newest > 0 {
				x.input(wire.Ack{Seen: true, Newest: 1 + x.Newest*uint32(tick%7)/7, Mask: 1<<64 - 1, Structure: x.Records * uint32(tick%5) / 5})
			}
		}},
		{"forges handles within its limit", wire.OK, func(x *attacker, tick int) {
			x.acknowledge()
			for i := range uint32(200) {
				x.sendCommand(i, bulk.NewHandle(i*uint32(tick)%(1<<20), 1+2*i))
			}
		}},
		{"forges handles beyond its limit", wire.TooFast, func(x *attacker, tick int) {
			x.acknowledge()
			for i := range uint32(2000) {
				x.sendCommand(i, bulk.NewHandle(i, 1+2*uint32(tick)))
			}
		}},
		{"stops in the middle of a message", wire.OK, func(x *attacker, tick int) {
			x.acknowledge()
			_ = x.Peer.ReceiveStream([]byte{0xff, 0x0f, wire.TypeCommand}[min(tick-1, 2):min(tick, 3)])
		}},
		{"does not read", wire.TooSlow, func(x *attacker, tick int) {
			x.acknowledge()
			x.Full = tick > 100
			x.sendCommand(uint32(tick), 0) // has an answer
		}},
		{"requests a resync in every tick", wire.OK, func(x *attacker, _ int) {
			x.acknowledge()
			_ = x.Send(wire.Resync{})
		}},
		{"sends noise", wire.BadMessage, func(x *attacker, tick int) {
			_, _ = x.Peer.ReceiveDatagram([]byte{wire.TypeInput, byte(tick)})
		}},
	}
}

// Whatever one client does, other clients receive the same bytes, and the server does the
// same work for them in each tick. The attacker's session ends with a code, or costs
// bounded memory, and bounded work in each tick.
func TestAttackerDisturbsNobody(t *testing.T) {
	shorttest.Skip(t, "takes a minute under the race detector, and has one goroutine")
	undisturbed, efforts, behaved := playCrowded(t, (*attacker).behave)
	require.Equal(t, wire.OK, behaved.end())
	for _, c := range attacks() {
		t.Run(c.name, func(t *testing.T) {
			sums, got, x := playCrowded(t, c.act)
			require.Equal(t, undisturbed, sums, "the good clients received different bytes")
			require.Equal(t, c.code, x.end())
			// The server keeps unacknowledged structure: 48 KiB, plus one snapshot.
			require.Less(t, x.most, 56<<10)
			for i := range got {
				require.Equal(t, efforts[i].good, got[i].good, "tick %d: different work for the good clients", i)
			}
			// A tick's work for the attacker delays the other clients. The cost is no more
			// than for a well-behaved client, except for structure. Structure may take the
			// budget of two snapshots at once, and its last record may exceed that budget.
			// Commands have a separate bound.
			lawful, most := mostInATick(efforts), mostInATick(got)
			require.LessOrEqual(t, most.attacker.Rows, lawful.attacker.Rows)
			require.LessOrEqual(t, most.attacker.StateBytes, lawful.attacker.StateBytes)
			require.LessOrEqual(t, most.attacker.StructureBytes, 2*lawful.attacker.StructureBytes+wire.MaxEnterBytes)
			require.LessOrEqual(t, most.commands, uint64(wire.MaxUnanswered))
		})
	}
}

// BenchmarkTickBesideAttacker alternates ticks with an attacker and ticks with a
// well-behaved client. It reports the ratios of the medians and of the sums of their
// durations, without the clients' time.
func BenchmarkTickBesideAttacker(b *testing.B) {
	for _, c := range attacks() {
		b.Run(c.name, func(b *testing.B) {
			var spent [2][]float64
			for b.Loop() {
				servers := [2]*crowdedServer{newCrowdedServer(b), newCrowdedServer(b)}
				acts := [2]func(*attacker, int){(*attacker).behave, c.act}
				for range crowdedTicks {
					for i, s := range servers {
						s.stir(acts[i])
						before, began := s.clientTime(), time.Now()
						s.core.Tick()
						spent[i] = append(spent[i], float64(time.Since(began)-s.clientTime()+before))
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
