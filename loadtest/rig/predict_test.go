package rig_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

// thrust is added to the velocity of a player's missile, in m/s per tick.
type thrust struct {
	X, Z float32 `net:"range=-8..8,step=1/8"`
}

const gale = "effect gale\neverywhere\noutput += (9 * sin(time / 5), 6 * sin(time / 3), position.x / -8)\n"

// flight is a player's missile in a gale. Client and server compute it by the same function.
type flight struct {
	t       testing.TB
	rig     *rig.Rig
	world   *world.World
	sim     *motion.Sim
	kind    world.KindID
	missile world.Entity
	gale    motion.Source
	held    thrust
	push    func(tick uint64) world.Vec3 // unexpected pushes
	truth   map[uint32]schema.Body       // the server's states by tick
	served  map[uint32]thrust
	made    map[uint32]thrust
	client  *rig.Client
	own     *client.Prediction[schema.Body]
}

func newFlight(t testing.TB, seed uint64, simulate bool, link rig.Link) *flight {
	w := must.Get(world.New(world.Config{Seed: seed, Gravity: -1}))
	f := &flight{
		t: t, world: w, push: func(uint64) world.Vec3 { return world.Vec3{} },
		truth: map[uint32]schema.Body{}, served: map[uint32]thrust{}, made: map[uint32]thrust{},
	}
	f.kind = must.Get(w.AddKind(world.Kind{Name: "missile", Exact: true, Body: &world.BodyDef{Drag: 0.7, Radius: 0.2}}))
	program := must.Get(field.Compile(gale))
	_, err := w.AddEffect(world.EffectDef{Program: program})
	require.NoError(t, err)
	for _, e := range w.AppendEffects(nil) {
		f.gale = motion.Source{Program: program, Mode: e.Mode, Born: e.Born, First: e.First}
	}
	f.sim = motion.NewSim(w.Motion(), 0)
	require.NoError(t, w.AddSystem(world.Before, "steer", func(*world.World) {
		f.served[uint32(w.Tick())] = f.held
		if v, ok := w.Velocity(f.missile); ok && f.held != (thrust{}) {
			w.SetVelocity(f.missile, world.Vec3{X: v.X + f.held.X, Y: v.Y, Z: v.Z + f.held.Z})
		}
		if p := f.push(w.Tick()); p != (world.Vec3{}) {
			w.Impulse(f.missile, p)
		}
	}))
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	thrusting := schema.DefineInput[thrust](s)
	f.rig = must.Get(rig.New(seed, rig.Config{Link: link, Server: server.Config{
		WorldConfig: server.WorldConfig{
			World: w, Schema: s, Replication: replication.Config{SnapshotHz: 30},
			Hooks: server.Hooks{
				Join: func(*server.Session) (world.Entity, error) {
					f.missile, err = w.Spawn(f.kind, world.Vec3{Y: 128}, world.Vec3{X: 12.4375, Z: 3.1})
					return f.missile, err
				},
				Input: server.OnInput(thrusting, func(_ *server.Session, _ uint64, in thrust) { f.held = in }),
			},
		},
	}}))
	t.Cleanup(f.rig.Close)
	f.client = must.Get(f.rig.Dial(client.Config{Name: "ada", Schema: s, Simulate: simulate}))
	f.own = must.Get(client.Predict(f.client.Client, f.step, client.PredictConfig{}))
	f.frames(func(int) thrust { return thrust{} })
	return f
}

// frames makes the client send in(frame) in each frame.
func (f *flight) frames(in func(frame int) thrust) {
	frame := 0
	f.client.EachFrame(60, func() error {
		frame++
		held := in(frame)
		tick, err := f.client.SetInputValue(&held)
		f.made[tick] = held
		if err != nil {
			return err
		}
		f.client.Render()
		return f.client.Update()
	})
}

// step moves the missile by a tick.
func (f *flight) step(tick uint32, b *schema.Body, in thrust) {
	b.Velocity[0] += in.X
	b.Velocity[2] += in.Z
	f.sim.Reset(uint64(tick) - 1)
	require.NoError(f.t, f.sim.SetEffect(0, &f.gale, false))
	f.sim.Put(0, f.kind, motion.State{
		Position: motion.VecOf(b.Position),
		Velocity: motion.VecOf(b.Velocity), Awake: true,
	})
	f.sim.Tick()
	s, _ := f.sim.State(0)
	*b = bodyOf(s.Position, s.Velocity)
}

func bodyOf(at, v world.Vec3) schema.Body {
	return schema.Body{Position: at.Array(), Velocity: v.Array()}
}

// run steps the rig by ticks, and calls each after every tick.
func (f *flight) run(ticks int, each func(tick uint32)) {
	for range ticks {
		require.NoError(f.t, f.rig.Step())
		at := must.Have(f.world.Position(f.missile))
		v, _ := f.world.Velocity(f.missile)
		tick := uint32(f.world.Tick())
		f.truth[tick] = bodyOf(at, v)
		if f.own.Stats().Predicted != 0 {
			each(tick)
		}
	}
}

// agreed reports whether the server had the client's inputs in the ticks (from, to].
func (f *flight) agreed(from, to uint32) bool {
	for t := from + 1; t <= to; t++ {
		in, made := f.made[t]
		for before := t; !made && before > 0; before-- {
			in, made = f.made[before]
		}
		if f.served[t] != in {
			return false
		}
	}
	return true
}

// flightSeeds returns the number of flights that a test makes.
func flightSeeds() uint64 { return shorttest.Pick[uint64](6, 2) }

var flightLink = rig.Link{Delay: 60 * time.Millisecond, Jitter: 25 * time.Millisecond, Loss: 0.05, Reorder: 0.02}

// A player predicts an exact body. The server sends no rows while nothing disturbs it, and
// never pushes it, so the client predicts all its bits.
func TestPredictExactBody(t *testing.T) {
	for seed := range flightSeeds() {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newFlight(t, seed, true, flightLink)
			f.run(180, func(uint32) {})
			f.frames(func(frame int) thrust {
				if frame%150 == 0 {
					return thrust{X: float32(frame/150%3*4 - 4), Z: 2}
				}
				return thrust{}
			})
			predicted, confirmed := map[uint32]schema.Body{}, map[uint32]uint32{}
			f.run(1800, func(uint32) {
				b := must.Have(f.own.State())
				n := f.own.Stats()
				predicted[n.Predicted], confirmed[n.Predicted] = b, n.Confirmed
			})
			right, missed := 0, 0
			for tick, b := range predicted {
				switch truth, known := f.truth[tick]; {
				case !known: // not there yet
				case f.agreed(confirmed[tick], tick):
					right++
					require.Equal(t, truth, b, "tick %d", tick)
				default:
					missed++
				}
			}
			n, s := f.own.Stats(), f.client.Stats().Replica
			t.Logf("%d ticks right, %d with inputs that the server missed; %+v; %+v", right, missed, n, s)
			require.Greater(t, right, 1500)
			require.Greater(t, n.Agreed, uint64(300))
			require.Equal(t, n.Missed, n.Corrected, "nothing but a missed input surprises")
			require.Less(t, s.Rows, uint64(120), "rows only of ticks with thrust")
			require.Zero(t, s.Motion.Faults)
		})
	}
}

// A push by the server reaches the prediction within a round trip and a snapshot interval, to
// the bit.
func TestPushOfExactBody(t *testing.T) {
	for seed := range flightSeeds() {
		f := newFlight(t, seed, true, flightLink)
		pushed, at, pushes, longest := uint32(0), time.Duration(0), 0, time.Duration(0)
		f.run(180, func(uint32) {})
		f.push = func(tick uint64) world.Vec3 {
			if tick%97 != 0 {
				return world.Vec3{}
			}
			pushed, at = uint32(tick), f.rig.Now()
			return world.Vec3{X: 1.5, Y: -0.3, Z: -2}
		}
		predicted := map[uint32]schema.Body{}
		f.run(1800, func(tick uint32) {
			n := f.own.Stats()
			b := must.Have(f.own.State())
			if pushed == 0 || n.Confirmed < pushed {
				return
			}
			predicted[n.Predicted] = b
			if pushed != 0 {
				longest = max(longest, f.rig.Now()-at)
				pushed = 0
				pushes++
			}
		})
		for tick, b := range predicted {
			if truth, ok := f.truth[tick]; ok {
				require.Equal(t, truth, b, "seed %d, tick %d", seed, tick)
			}
		}
		t.Logf("seed %d: %d pushes, at most %v; %+v", seed, pushes, longest, f.own.Stats())
		require.GreaterOrEqual(t, pushes, 16)
		require.EqualValues(t, pushes, f.own.Stats().Corrected)
		require.LessOrEqual(t, longest, 2*(flightLink.Delay+flightLink.Jitter)+time.Second/30+2*time.Second/60, "a round trip, an interval and a tick on each side")
	}
}

// The controller of an exact body whose client does not simulate receives rows as usual.
func TestPredictWithoutSimulation(t *testing.T) {
	f := newFlight(t, 1, false, flightLink)
	f.run(900, func(uint32) {
		must.Have(f.own.State())
	})
	n, s := f.own.Stats(), f.client.Stats().Replica
	t.Logf("%+v; %+v", n, s)
	require.Greater(t, n.Agreed, uint64(100))
	require.Greater(t, s.Rows, uint64(300))
}

// A body that is disturbed often is ordinary for a while. When it is exact again, the
// prediction takes over its bits, even if it agrees after quantisation.
func TestPredictAcrossForms(t *testing.T) {
	for seed := range flightSeeds() {
		f := newFlight(t, seed, true, flightLink)
		f.push = func(tick uint64) world.Vec3 {
			if tick%120 < 6 {
				return world.Vec3{X: 0.5, Y: float32(tick%3) - 1, Z: -0.5}
			}
			return world.Vec3{}
		}
		predicted, ordinary := map[uint32]schema.Body{}, 0
		f.run(1800, func(tick uint32) {
			e := f.client.Replica().Entity(f.client.Controlled())
			if _, _, exact := e.Exact(); !exact {
				ordinary++
				return
			}
			n := f.own.Stats()
			if into := tick % 120; into > 60 && n.Predicted/120 == tick/120 {
				predicted[n.Predicted], _ = f.own.State()
			}
		})
		for tick, b := range predicted {
			if truth, ok := f.truth[tick]; ok {
				require.Equal(t, truth, b, "seed %d, tick %d", seed, tick)
			}
		}
		t.Logf("seed %d: %d ticks ordinary, %d compared; %+v", seed, ordinary, len(predicted), f.own.Stats())
		require.Greater(t, ordinary, 100)
		require.Greater(t, len(predicted), 400)
	}
}
