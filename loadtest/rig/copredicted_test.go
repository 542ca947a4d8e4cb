package rig_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

type (
	footballer struct {
		X, Z float32 `net:"range=-64..64,step=1/256"`
	}
	football struct {
		X, Z, VX, VZ float32 `net:"range=-64..64,step=1/256"`
	}
	stride struct { // input
		X, Z float32 `net:"range=-1..1,step=1/64"`
	}
)

// run moves a footballer by a tick.
func (f *footballer) run(in stride) {
	f.X = min(max(f.X+float32(in.X*0.1), -30), 30)
	f.Z = min(max(f.Z+float32(in.Z*0.1), -30), 30)
}

// kick returns the velocity of a ball at (x, z) after the footballer's kick, and false if the
// ball is too far away.
func (f *footballer) kick(x, z float32) (vx, vz float32, ok bool) {
	dx, dz := x-f.X, z-f.Z
	return 8 * dx, 8 * dz, dx*dx+dz*dz < 1
}

func (b *football) kicked(by *footballer) bool {
	vx, vz, ok := by.kick(b.X, b.Z)
	if ok {
		b.VX, b.VZ = vx, vz
	}
	return ok
}

// roll moves a ball by a tick. It bounces off the boards.
func (b *football) roll() {
	for _, axis := range [2][2]*float32{{&b.X, &b.VX}, {&b.Z, &b.VZ}} {
		at, v := axis[0], axis[1]
		*at += float32(*v * (1.0 / 64))
		if *at > 30 || *at < -30 {
			*at, *v = min(max(*at, -30), 30), -*v
		}
		*v *= 31.0 / 32
	}
}

// match is a football match over bad links.
type match struct {
	t       testing.TB
	rig     *rig.Rig
	players []*mate
	ball    world.Entity
	truth   map[uint32]football
	kicks   map[uint32]*mate
	close   map[uint32]bool // ticks in which quantisation decides whether the ball is hit or bounces
}

// tolerance bounds the error of a predicted ball, in metres.
const tolerance = 4.0 / 256

// mate is a player: the server's part, then the client's part.
type mate struct {
	entity world.Entity
	held   stride
	served map[uint32]stride

	*rig.Client
	own   *client.Prediction[footballer]
	balls client.CoPredicted[football]
	made  map[uint32]stride
	steer func() stride
}

func newMatch(t testing.TB, seed uint64, link rig.Link, names ...string) *match {
	m := &match{t: t, truth: map[uint32]football{}, kicks: map[uint32]*mate{}, close: map[uint32]bool{}}
	w := must.Get(world.New(world.Config{Seed: seed}))
	kind := must.Get(w.AddKind(world.Kind{Name: "thing"}))
	runners := must.Get(world.Register[footballer](w, "footballer"))
	balls := must.Get(world.Register[football](w, "football"))
	m.ball = must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
	balls.Set(m.ball, football{X: 3, Z: 1})
	require.NoError(t, w.AddSystem(world.Before, "play", func(*world.World) {
		tick := uint32(w.Tick())
		b := balls.Mut(m.ball)
		for _, p := range m.players {
			p.served[tick] = p.held
			if f := runners.Mut(p.entity); f != nil {
				f.run(p.held)
				m.close[tick] = m.close[tick] || math.Abs(math.Hypot(float64(b.X-f.X), float64(b.Z-f.Z))-1) < tolerance
				if b.kicked(f) {
					m.kicks[tick] = p
				}
			}
		}
		for _, next := range []float32{b.X + b.VX/64, b.Z + b.VZ/64} {
			m.close[tick] = m.close[tick] || math.Abs(math.Abs(float64(next))-30) < tolerance
		}
		b.roll()
		m.truth[tick] = *b
	}))
	s := schema.New()
	schema.Define[footballer](s, "footballer")
	schema.Define[football](s, "football")
	require.NoError(t, s.Err())
	striding := schema.DefineInput[stride](s)
	m.rig = must.Get(rig.New(seed, rig.Config{Link: link, Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: w, Schema: s, Replication: replication.Config{SnapshotHz: 30},
			Hooks: server.Hooks{
				Join: func(*server.Session) (world.Entity, error) {
					p := &mate{served: map[uint32]stride{}, made: map[uint32]stride{}, steer: func() stride { return stride{} }}
					m.players = append(m.players, p)
					var err error
					p.entity, err = w.Spawn(kind, world.Vec3{}, world.Vec3{})
					runners.Set(p.entity, footballer{X: -float32(len(m.players))})
					return p.entity, err
				},
				Input: server.OnInput(striding, func(s *server.Session, _ uint64, in stride) {
					for _, p := range m.players {
						if p.entity == s.Entity() {
							p.held = in
						}
					}
				}),
			},
		},
	}}))
	t.Cleanup(m.rig.Close)
	for i, name := range names {
		c := must.Get(m.rig.Dial(client.Config{Name: name, Schema: s}))
		m.players[i].plays(c, m.ball)
	}
	return m
}

func (p *mate) plays(c *rig.Client, ball world.Entity) {
	p.Client = c
	p.own = must.Get(client.Predict(c.Client, func(_ uint32, f *footballer, in stride) {
		f.run(in)
		for _, b := range p.balls.All() {
			b.kicked(f)
			b.roll()
		}
	}, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&p.balls}}))
	c.EachFrame(60, func() error {
		in := p.steer()
		tick, err := c.SetInputValue(&in)
		if err != nil {
			return err
		}
		p.made[tick] = in
		c.Render()
		err = c.Update()
		p.balls.Set(ball)
		return err
	})
}

// chase returns inputs that run after the ball, as the player's client predicts it.
func (m *match) chase(p *mate, seed uint64) func() stride {
	return chase(seed, func() (x, z float32) {
		f, _ := p.own.State()
		b, _ := p.balls.State(m.ball)
		return b.X - f.X, b.Z - f.Z
	})
}

// chase returns inputs that run roughly in the direction of way, in a new direction every fifth
// of a second.
func chase(seed uint64, way func() (x, z float32)) func() stride {
	r, frame, in := rand.New(rand.NewPCG(seed, 1)), 0, stride{}
	return func() stride {
		frame++
		if frame%12 == 0 {
			dx, dz := way()
			x, z := float64(dx)+r.NormFloat64()/2, float64(dz)+r.NormFloat64()/2
			l := math.Hypot(x, z) + 0.1
			in = stride{float32(math.Round(x/l*64)) / 64, float32(math.Round(z/l*64)) / 64}
		}
		return in
	}
}

// agreed reports whether the server had the client's inputs in the ticks (from, to].
func (p *mate) agreed(from, to uint32) bool {
	for t := from + 1; t <= to; t++ {
		in, made := p.made[t]
		for before := t; !made && before > 0; before-- {
			in, made = p.made[before]
		}
		if p.served[t] != in {
			return false
		}
	}
	return true
}

// A player pushes a ball that nobody else touches. Until the server misses an input, the
// predicted ball equals the server's to the bit.
func TestCoPredictedAlone(t *testing.T) {
	right := 0
	for seed := range flightSeeds() {
		m := newMatch(t, seed, flightLink, "ada")
		ada := m.players[0]
		require.NoError(t, m.rig.RunFor(3*time.Second))
		ada.steer = m.chase(ada, seed)
		predicted, missed := map[uint32]football{}, false
		for range 1800 {
			require.NoError(t, m.rig.Step())
			tick := uint32(len(m.truth))
			missed = missed || !ada.agreed(tick-1, tick)
			if missed {
				break
			}
			b := must.Have(ada.balls.State(m.ball))
			predicted[ada.own.Stats().Predicted] = b
			require.Zero(t, ada.own.Stats().Corrected)
		}
		for tick, b := range predicted {
			if truth, known := m.truth[tick]; known && ada.agreed(tick-1, tick) {
				require.Equal(t, truth, b, "seed %d, tick %d", seed, tick)
				right++
			}
		}
		t.Logf("seed %d: %d ticks, %d kicks, missed %v; %+v", seed, len(predicted), len(m.kicks), missed, ada.own.Stats())
		require.Greater(t, len(m.kicks), 10)
	}
	require.Greater(t, right, 300)
}

// Two players predict the same ball. A kick by one corrects the other's prediction within a
// round trip and a snapshot interval; until then each sees his own game.
func TestCoPredictedTogether(t *testing.T) {
	for seed := range flightSeeds() {
		m := newMatch(t, seed, flightLink, "ada", "bob")
		ada, bob := m.players[0], m.players[1]
		require.NoError(t, m.rig.RunFor(3*time.Second))
		bob.steer = m.chase(bob, seed)
		last, at, longest, learned, late := uint32(0), time.Duration(0), time.Duration(0), 0, 0
		compared := 0
		predicted, confirmed := map[uint32]football{}, map[uint32]uint32{}
		for range 1800 {
			require.NoError(t, m.rig.Step())
			tick := uint32(len(m.truth))
			for newest := range m.kicks {
				if newest > last && m.kicks[newest] == bob && at == 0 {
					last, at = newest, m.rig.Now()
				}
			}
			n := ada.own.Stats()
			if at != 0 && n.Confirmed >= last {
				took := m.rig.Now() - at
				longest = max(longest, took)
				if took > 2*(flightLink.Delay+flightLink.Jitter)+time.Second/30 {
					late++
				}
				at, learned, last = 0, learned+1, tick+1
			}
			if b, ok := ada.balls.State(m.ball); ok {
				predicted[n.Predicted], confirmed[n.Predicted] = b, n.Confirmed
			}
		}
		for tick, b := range predicted {
			truth, known := m.truth[tick]
			for t := confirmed[tick]; t <= tick; t++ {
				known = known && m.kicks[t] == nil && !m.close[t]
			}
			if known && ada.agreed(confirmed[tick], tick) {
				compared++
				require.InDelta(t, 0, math.Hypot(float64(truth.X-b.X), float64(truth.Z-b.Z)), tolerance, "seed %d, tick %d", seed, tick)
			}
		}
		t.Logf("seed %d: %d kicks learned, %d late, at most %v, %d ticks compared; %+v", seed, learned, late, longest, compared, ada.own.Stats())
		require.Greater(t, learned, 20)
		require.Greater(t, compared, 200)
		require.Positive(t, ada.own.Stats().Corrected)
		require.LessOrEqual(t, 50*late, learned, "a round trip and an interval, unless two snapshots in a row are lost")
	}
}

// A body that the client computes is co-predicted to the bit, until the server misses an input.
// The server sends rows of the body only when a player has pushed it.
func TestCoPredictedExactBody(t *testing.T) {
	for seed := range flightSeeds() {
		w := must.Get(world.New(world.Config{Seed: seed, Gravity: -1}))
		kind := must.Get(w.AddKind(world.Kind{Name: "crate", Exact: true, Body: &world.BodyDef{Radius: 0.2}}))
		player := must.Get(w.AddKind(world.Kind{Name: "player", Body: &world.BodyDef{Kinematic: true}})) // the crate is in view of the player's body
		runners := must.Get(world.Register[footballer](w, "footballer"))
		crate := must.Get(w.Spawn(kind, world.Vec3{X: 3, Y: 5}, world.Vec3{}))
		var own world.Entity
		var held stride
		inputs := &mate{served: map[uint32]stride{}, made: map[uint32]stride{}}
		pushed := 0
		require.NoError(t, w.AddSystem(world.Before, "play", func(*world.World) {
			inputs.served[uint32(w.Tick())] = held
			f := runners.Mut(own)
			if f == nil {
				return
			}
			f.run(held)
			at, _ := w.Position(crate)
			if _, _, near := f.kick(at.X, at.Z); near && held != (stride{}) {
				w.SetVelocity(crate, world.Vec3{X: 4 * held.X, Z: 4 * held.Z})
				pushed++
			}
		}))
		s := schema.New()
		schema.Define[schema.Body](s, schema.BodyComponent)
		schema.Define[footballer](s, "footballer")
		require.NoError(t, s.Err())
		striding := schema.DefineInput[stride](s)
		r := must.Get(rig.New(seed, rig.Config{Link: flightLink, Server: server.Config{
			WorldConfig: server.WorldConfig{
				World: w, Schema: s, Replication: replication.Config{SnapshotHz: 30},
				Hooks: server.Hooks{
					Join: func(*server.Session) (_ world.Entity, err error) {
						own, err = w.Spawn(player, world.Vec3{}, world.Vec3{})
						runners.Set(own, footballer{})
						return own, err
					},
					Input: server.OnInput(striding, func(_ *server.Session, _ uint64, in stride) { held = in }),
				},
			},
		}}))
		t.Cleanup(r.Close)
		c := must.Get(r.Dial(client.Config{Schema: s, Simulate: true}))
		var crates client.CoPredicted[schema.Body]
		sim := motion.NewSim(w.Motion(), 0)
		play := must.Get(client.Predict(c.Client, func(tick uint32, f *footballer, in stride) {
			f.run(in)
			for _, b := range crates.All() {
				if _, _, near := f.kick(b.Position[0], b.Position[2]); near && in != (stride{}) {
					b.Velocity = [3]float32{4 * in.X, 0, 4 * in.Z}
				}
				sim.Reset(uint64(tick) - 1)
				sim.Put(0, kind, motion.State{Position: motion.VecOf(b.Position), Velocity: motion.VecOf(b.Velocity), Awake: true})
				sim.Tick()
				moved, _ := sim.State(0)
				*b = bodyOf(moved.Position, moved.Velocity)
			}
		}, client.PredictConfig{CoPredicted: []client.CoPredictedSet{&crates}}))
		steer := chase(seed, func() (x, z float32) {
			f, _ := play.State()
			b, _ := crates.State(crate)
			return b.Position[0] - f.X, b.Position[2] - f.Z
		})
		frame := 0
		c.EachFrame(60, func() error {
			in := stride{}
			frame++
			if frame > 180 && frame%180 < 90 {
				in = steer()
			}
			tick, err := c.SetInputValue(&in)
			if err != nil {
				return err
			}
			inputs.made[tick] = in
			c.Render()
			err = c.Update()
			crates.Set(crate)
			return err
		})
		predicted, truth := map[uint32]schema.Body{}, map[uint32]schema.Body{}
		tick := uint32(w.Tick())
		for end := tick + 1200; tick < end && (tick < 200 || inputs.agreed(tick-1, tick)); tick++ {
			require.NoError(t, r.Step())
			at, _ := w.Position(crate)
			v, _ := w.Velocity(crate)
			truth[uint32(w.Tick())] = bodyOf(at, v)
			if b, ok := crates.State(crate); ok {
				predicted[play.Stats().Predicted] = b
				require.Zero(t, play.Stats().Corrected)
			}
		}
		same := 0
		for at, b := range predicted {
			if known, ok := truth[at]; ok && at < tick {
				require.Equal(t, known, b, "seed %d, tick %d", seed, at)
				same++
			}
		}
		t.Logf("seed %d: %d ticks, %d pushes, %+v, %+v", seed, same, pushed, play.Stats(), c.Stats().Replica.Motion)
		require.Greater(t, same, 100)
		require.Positive(t, pushed)
		computed := c.Stats().Replica.Motion
		require.Greater(t, computed.Steps, uint64(100))
		require.Zero(t, computed.Faults)
	}
}
