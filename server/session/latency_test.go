package session_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// drawingClient is a client that draws pictures, with its server and simulated links, in
// virtual time. Time is counted in tenths of a millisecond.
type drawingClient struct {
	stage.Linked
	t     testing.TB
	rng   *rand.Rand
	world *world.World
	core  *session.Core
	crate world.KindID
	body  client.Component[schema.Body]

	inputs  int               // datagrams sent by the client
	ticks   map[uint32]uint64 // ticks of the snapshots, by number
	acked   uint64            // tick of the newest snapshot that the client acknowledged
	arrived int               // datagrams since the newest frame
	tickAt  int64             // start of tick 0
	frame   int64             // duration of a frame
	nextAt  int64             // time of the next frame
	draw    func()
}

const linkHz = 10_000

func linkTime(d time.Duration) int64 { return int64(d * linkHz / time.Second) }

type drawingConfig struct {
	seed       uint64
	frame      time.Duration
	snapshotHz int
	links      simtest.Conditions // each way
	viewAge    time.Duration
	world      world.Config
	prompt     bool // a press is sent at once, not in the next frame
}

// newDrawingClient joins a client whose entity is at the origin. change may replace the game's
// functions.
func newDrawingClient(t testing.TB, a drawingConfig, change func(*drawingClient, *session.Config)) *drawingClient {
	x := &drawingClient{t: t, rng: rand.New(rand.NewPCG(a.seed, 9)), frame: linkTime(a.frame), ticks: map[uint32]uint64{}, draw: func() {}}
	x.world = must.Get(world.New(a.world))
	x.crate = must.Get(x.world.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Radius: 0.5, Kinematic: true}}))
	config := session.Config{
		Random: stage.Random(byte(a.seed)),
		WorldConfig: session.WorldConfig{
			World: x.world, Schema: schema.NewWithBody(), Epoch: testEpoch,
			MaxViewAge:  a.viewAge,
			Replication: replication.Config{EnterRadius: 200, LeaveRadius: 210, SnapshotHz: a.snapshotHz},
			Hooks: session.Hooks{Join: func(*session.Session) (world.Entity, error) {
				return x.world.Spawn(x.crate, world.Vec3{Y: 5}, world.Vec3{})
			}},
		},
	}
	change(x, &config)
	x.core = must.Get(session.NewCore(config))
	x.Linked = stage.Linked{
		Connection: simtest.NewConnection(a.seed+1, a.links), Unit: time.Second / linkHz,
		Client: must.Get(client.NewSession(client.SessionConfig{Schema: config.Schema})),
	}
	x.body = must.Get(client.ComponentOf[schema.Body](config.Schema, schema.BodyComponent))
	x.tickAt, x.nextAt = int64(x.rng.IntN(200)), int64(x.rng.IntN(200))
	x.Peer = ackReader{x.core.Open(context.Background(), "", x), x}
	return x
}

// ackReader is the server's end. It records the client's acknowledgements.
type ackReader struct {
	*session.Peer
	x *drawingClient
}

func (p ackReader) ReceiveDatagram(d []byte) (uint32, error) {
	var in wire.Input
	require.NoError(p.x.t, in.Parse(d))
	p.x.acked = max(p.x.acked, p.x.ticks[in.Ack.Newest])
	return p.Peer.ReceiveDatagram(d)
}

func (x *drawingClient) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		h := must.Get(wire.ParseStateHeader(d, new(bitio.Reader)))
		x.ticks[h.Seq] = uint64(h.Tick)
	}
	x.Linked.SendSnapshot(ds)
}

// play simulates d.
func (x *drawingClient) play(d time.Duration) {
	hz := int64(x.world.TickHz())
	for end := x.Now + linkTime(d); x.Now < end; x.Now++ {
		must.Do(x.Serve()) // once a millisecond: require takes more time than the server
		if uint64((x.Now-x.tickAt)*hz/linkHz) > x.world.Tick() {
			x.core.Tick()
		}
		arrived := must.Get(x.Receive())
		x.arrived += arrived
		if x.Now >= x.nextAt {
			x.nextAt += x.frame
			x.sendDue()
			if x.Client.Joined() {
				x.draw()
			}
			x.Flush()
		}
	}
}

// sendDue sends an Input if one is due.
func (x *drawingClient) sendDue() {
	if x.Client.InputDue(x.arrived, x.Time()) {
		sent := x.UpData.Stats().Sent
		x.Answer()
		x.inputs += x.UpData.Stats().Sent - sent
		x.arrived = 0
	}
	x.Flush()
}

// input sets the player's input and sends it if it is due.
func (x *drawingClient) input(data []byte) {
	must.Get(x.Client.SetRawInput(data, x.Time()))
	x.sendDue()
}

// drawn returns the position at which the client draws an entity now.
func (x *drawingClient) drawn(e world.Entity) (world.Vec3, bool) {
	m := x.Client.Render(x.Time())
	v, ok := x.body.At(x.Client.Replica().Entity(e), m)
	return world.Vec3{X: v.Position[0], Y: v.Position[1], Z: v.Position[2]}, ok && m.Tick > 0
}

// latency is the time from a press until the first picture that shows its effect, in ms.
type latency struct {
	median, most float64
	inputs       float64 // Input datagrams a second
	late         float64 // share of inputs that were late or missed
}

// measureLatency plays presses at random times. Each moves the client's own entity by 10 m.
// A press is drawn when a picture shows the entity on its way.
func measureLatency(t testing.TB, a drawingConfig) latency {
	speed := float32(0)
	x := newDrawingClient(t, a, func(x *drawingClient, c *session.Config) {
		c.Hooks.Input = session.OnRawInput(func(s *session.Session, _ uint64, data []byte) {
			speed = float32(data[0]) * 5
			x.world.SetVelocity(s.Entity(), world.Vec3{X: speed})
		})
	})
	var times []float64
	held, pressed, before := byte(0), int64(0), float32(0)
	x.draw = func() {
		x.input([]byte{held})
		at, ok := x.drawn(x.Client.Controlled())
		if ok && pressed > 0 && at.X-before > 0.02 {
			times = append(times, float64(x.Now-pressed)*1000/linkHz)
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
		at, _ := x.drawn(x.Client.Controlled())
		before, held, pressed = at.X, 1, x.Now
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
	phases := shorttest.Pick(4.0, 2)
	for seed := range uint64(phases) {
		l := measureLatency(t, drawingConfig{
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
	racetest.SkipSequential(t)
	t.Log("| snapshots/s | RTT ms | jitter ms | frame ms | median ms | 98 % ms | inputs/s | late |")
	for _, rtt := range []int64{0, 50, 100} {
		l := measureLatencies(t, 30, time.Second/60, rtt, 0)
		require.LessOrEqual(t, l.median, float64(rtt)+60)
		require.Less(t, l.late, 0.02)
		require.InDelta(t, 60, l.inputs, 5, "one datagram a tick")
	}
}

// A press is drawn earlier if it is sent at once instead of in the next frame.
func TestPromptPressToDrawn(t *testing.T) {
	racetest.SkipSequential(t)
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
	for _, hz := range shorttest.Pick([]int{60, 30}, []int{60}) {
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
