package session_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// arena is a core and one client that draws, over simulated links, in virtual time. Time is
// counted in tenths of a millisecond.
type arena struct {
	t     testing.TB
	rng   *rand.Rand
	world *world.World
	core  *session.Core
	crate world.KindID

	peer             *session.Peer
	client           *client.Session
	body             client.Component[schema.Body]
	upStream, stream *simtest.Stream
	up, down         *simtest.Link
	stamp            uint32
	heard            int64
	inputs           int               // datagrams sent by the client
	ticks            map[uint32]uint64 // of the snapshots, by number
	acked            uint64            // tick of the newest snapshot that the client acknowledged

	now     int64
	arrived int   // datagrams since the newest frame
	tickAt  int64 // start of tick 0
	frame   int64 // duration of a frame
	nextAt  int64 // of the next frame
	draw    func()
	lie     func(datagram []byte) []byte // changes what the client sends
}

const arenaHz = 10_000

func arenaTime(d time.Duration) int64 { return int64(d * arenaHz / time.Second) }

type arenaConfig struct {
	seed       uint64
	frame      time.Duration
	snapshotHz int
	links      simtest.Conditions // each way
	viewAge    time.Duration
	world      world.Config
	prompt     bool // a press is sent at once, not in the next frame
}

// newArena joins a client whose entity is at the origin. change may replace the game's
// functions.
func newArena(t testing.TB, a arenaConfig, change func(*arena, *session.Config)) *arena {
	x := &arena{t: t, rng: rand.New(rand.NewPCG(a.seed, 9)), frame: arenaTime(a.frame), ticks: map[uint32]uint64{}, draw: func() {}, lie: func(d []byte) []byte { return d }}
	var err error
	x.world, err = world.New(a.world)
	require.NoError(t, err)
	x.crate, err = x.world.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5, Kinematic: true}})
	require.NoError(t, err)
	config := session.Config{
		Random: rand.NewChaCha8([32]byte{byte(a.seed)}),
		WorldConfig: session.WorldConfig{
			World: x.world, Schema: testSchema(t), Epoch: testEpoch,
			MaxViewAge:  a.viewAge,
			Replication: replication.Config{EnterRadius: 200, LeaveRadius: 210, SnapshotHz: a.snapshotHz},
			Hooks: session.Hooks{Join: func(*session.Session) (world.Entity, error) {
				return x.world.Spawn(x.crate, world.Vec3{Y: 5}, world.Vec3{})
			}},
		},
	}
	change(x, &config)
	x.core, err = session.NewCore(config)
	require.NoError(t, err)
	x.client, err = client.NewSession(client.SessionConfig{Schema: config.Schema})
	require.NoError(t, err)
	x.body, err = client.ComponentOf[schema.Body](config.Schema, schema.BodyComponent)
	require.NoError(t, err)
	x.up, x.down = simtest.NewLink(a.seed+1, a.links), simtest.NewLink(a.seed+2, a.links)
	x.upStream, x.stream = simtest.NewStream(a.seed+3, a.links), simtest.NewStream(a.seed+4, a.links)
	x.tickAt, x.nextAt = int64(x.rng.IntN(200)), int64(x.rng.IntN(200))
	x.peer = x.core.Open(context.Background(), "", x)
	return x
}

func (x *arena) SendStream(p []byte) bool { x.stream.Send(x.now, p); return true }

func (*arena) HasUnsent() bool { return false }

func (x *arena) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		h, err := wire.ParseStateHeader(d, new(bitio.Reader))
		require.NoError(x.t, err)
		x.ticks[h.Seq] = uint64(h.Tick)
		wire.StampState(d, x.stamp, uint16(min(x.now-x.heard, math.MaxUint16)))
		x.down.Send(x.now, d)
	}
}

func (x *arena) Close(code wire.Code, text string) {
	require.Fail(x.t, "the session ended", "%v %s", code, text)
}

func (x *arena) time() time.Duration { return time.Duration(x.now) * time.Second / arenaHz }

// play simulates d.
func (x *arena) play(d time.Duration) {
	hz := int64(x.world.TickHz())
	for end := x.now + arenaTime(d); x.now < end; x.now++ {
		if p := x.upStream.Receive(x.now); len(p) > 0 {
			require.NoError(x.t, x.peer.ReceiveStream(p))
		}
		for _, d := range x.up.Receive(x.now) {
			stamp, err := x.peer.ReceiveDatagram(d)
			require.NoError(x.t, err)
			x.stamp, x.heard = stamp, x.now
			var in wire.Input
			err = in.Parse(d)
			require.NoError(x.t, err)
			x.acked = max(x.acked, x.ticks[in.Ack.Newest])
		}
		if uint64((x.now-x.tickAt)*hz/arenaHz) > x.world.Tick() {
			x.core.Tick()
		}
		if p := x.stream.Receive(x.now); len(p) > 0 {
			require.NoError(x.t, x.client.ReceiveStream(p))
		}
		for _, d := range x.down.Receive(x.now) {
			_, err := x.client.ReceiveDatagram(d, x.time())
			require.NoError(x.t, err)
			x.arrived++
		}
		if x.now >= x.nextAt {
			x.nextAt += x.frame
			x.sendDue()
			if x.client.Joined() {
				x.draw()
			}
			x.sendStream()
		}
	}
}

// sendDue sends an Input if the client is to send one.
func (x *arena) sendDue() {
	if x.client.InputDue(x.arrived, x.time()) {
		if d := x.client.Input(x.time()); d != nil {
			x.inputs++
			x.up.Send(x.now, x.lie(d))
		}
		x.arrived = 0
	}
	x.sendStream()
}

func (x *arena) sendStream() {
	if p := x.client.TakeStream(); p != nil {
		x.upStream.Send(x.now, p)
	}
}

// input sets the player's input and sends it if it is due.
func (x *arena) input(data []byte) {
	_, err := x.client.SetRawInput(data, x.time())
	require.NoError(x.t, err)
	x.sendDue()
}

// drawn returns the position at which the client draws an entity now.
func (x *arena) drawn(e world.Entity) (world.Vec3, bool) {
	m := x.client.Render(x.time())
	v, ok := x.body.At(x.client.Replica().Entity(e), m)
	return world.Vec3{X: v.Position[0], Y: v.Position[1], Z: v.Position[2]}, ok && m.Tick > 0
}

// latency is the time from a press until the first picture that shows its effect, in ms.
type latency struct {
	median, most float64
	inputs       float64 // Input datagrams a second
	late         float64 // share of inputs that were late or missed
}

// measureLatency plays presses that move the client's own entity by 10 m, at random times.
// A press is drawn when the entity is drawn on the way.
func measureLatency(t testing.TB, a arenaConfig) latency {
	speed := float32(0)
	x := newArena(t, a, func(x *arena, c *session.Config) {
		c.Hooks.Input = session.OnRawInput(func(s *session.Session, _ uint64, data []byte) {
			speed = float32(data[0]) * 5
			x.world.SetVelocity(s.Entity(), world.Vec3{X: speed})
		})
	})
	var times []float64
	held, pressed, before := byte(0), int64(0), float32(0)
	x.draw = func() {
		x.input([]byte{held})
		at, ok := x.drawn(x.client.Controlled())
		if ok && pressed > 0 && at.X-before > 0.02 {
			times = append(times, float64(x.now-pressed)*1000/arenaHz)
			pressed, held = 0, 0
		}
		if pressed == 0 {
			before = at.X
		}
	}
	x.play(8 * time.Second)
	from, stats := x.inputs, x.core.Stats()
	const presses = 60
	for range presses {
		x.play(400*time.Millisecond + time.Duration(x.rng.IntN(50_000))*time.Microsecond)
		at, _ := x.drawn(x.client.Controlled())
		before, held, pressed = at.X, 1, x.now
		if a.prompt {
			x.input([]byte{held})
		}
		x.play(400 * time.Millisecond)
		require.Zero(t, pressed, "drawn")
	}
	end := x.core.Stats()
	slices.Sort(times)
	n := float64(end.Inputs - stats.Inputs)
	return latency{
		median: times[len(times)/2], most: times[len(times)*98/100],
		inputs: float64(x.inputs-from) / (presses * 0.825), late: float64(end.InputsLate+end.InputsMissed-stats.InputsLate-stats.InputsMissed) / n,
	}
}

// measureLatencies returns the latency over several phases of frames and ticks.
func measureLatencies(t testing.TB, hz int, frame time.Duration, rtt, jitter int64) latency {
	return measurePresses(t, hz, frame, rtt, jitter, false)
}

func measurePresses(t testing.TB, hz int, frame time.Duration, rtt, jitter int64, prompt bool) latency {
	var all latency
	phases := 4.0
	if testing.Short() {
		phases = 2
	}
	for seed := range uint64(phases) {
		l := measureLatency(t, arenaConfig{
			seed: 10 * seed, frame: frame, snapshotHz: hz, world: world.Config{Gravity: -1}, prompt: prompt,
			links: simtest.Conditions{DelayMin: rtt * 5, DelayMax: rtt*5 + jitter*10},
		})
		all.median += l.median / phases
		all.most = max(all.most, l.most)
		all.inputs += l.inputs / phases
		all.late += l.late / phases
	}
	t.Logf("| %d | %d | %d | %.1f | %.0f | %.0f | %.0f | %.3f |", hz, rtt, jitter, frame.Seconds()*1000, all.median, all.most, all.inputs, all.late)
	return all
}

// At 60 ticks, 60 pictures and 30 snapshots a second a press is drawn 60 ms after the round
// trip, on a steady link.
func TestPressToDrawn(t *testing.T) {
	t.Log("| snapshots/s | RTT ms | jitter ms | frame ms | median ms | 98 % ms | inputs/s | late |")
	for _, rtt := range []int64{0, 50, 100} {
		l := measureLatencies(t, 30, time.Second/60, rtt, 0)
		require.LessOrEqual(t, l.median, float64(rtt)+60)
		require.Less(t, l.late, 0.02)
		require.InDelta(t, 60, l.inputs, 5, "one datagram a tick")
	}
}

// A press that is sent at once, not in the next frame, is drawn earlier.
func TestPromptPressToDrawn(t *testing.T) {
	for _, rtt := range []int64{0, 100} {
		frames := measurePresses(t, 30, time.Second/60, rtt, 0, false)
		prompt := measurePresses(t, 30, time.Second/60, rtt, 0, true)
		require.Less(t, prompt.median, frames.median-4)
		require.Less(t, prompt.most, frames.most)
		require.Less(t, prompt.late, 0.02)
	}
}

// Drawing more often never adds latency, nor more than a datagram a tick.
func TestFastFramesAddNoLatency(t *testing.T) {
	racetest.SkipSequential(t)
	rates := []int{60, 30}
	if testing.Short() {
		rates = rates[:1]
	}
	for _, hz := range rates {
		for _, rtt := range []int64{0, 100} {
			slow := measureLatencies(t, hz, time.Second/60, rtt, 10)
			for _, frame := range []time.Duration{time.Millisecond, 7 * time.Millisecond} {
				l := measureLatencies(t, hz, frame, rtt, 10)
				require.Less(t, l.median, slow.median, "frames of %v", frame)
				require.LessOrEqual(t, l.inputs, 62.0)
			}
		}
	}
}
