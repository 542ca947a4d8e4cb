package client_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// linkedPrediction is a server with one runner and a client that predicts it, over simulated links.
// Time is counted in ms.
type linkedPrediction struct {
	*stage.Linked
	t       *testing.T
	core    *session.Core
	runners *world.Component[runner]
	player  world.Entity
	play    *client.Prediction[runner]

	frames       int
	stick        func(frame int) lever
	touch        func(tick uint32, r *runner) // what else the server does to the player
	held         lever                        // of the server
	truth        map[uint32]runner            // the server's states by tick
	served, made map[uint32]lever             // inputs by tick: what the server stepped with, what the client made
	frame        func()                       // called for each frame
	synced       func()                       // called when datagrams have arrived
	prior        runner                       // predicted before the frame's input
	priorTick    uint32
}

// overseas is a link of 150 ms round trip, 20 ms jitter and 5 % loss.
var overseas = simtest.Conditions{DelayMin: 65, DelayMax: 85, Loss: 0.05}

func newLinkedPrediction(t *testing.T, seed uint64, link simtest.Conditions) *linkedPrediction {
	k := &linkedPrediction{
		Linked: &stage.Linked{Connection: simtest.NewConnection(seed, link), Unit: time.Millisecond},
		t:      t, truth: map[uint32]runner{}, served: map[uint32]lever{}, made: map[uint32]lever{},
		stick: func(int) lever { return lever{} }, touch: func(uint32, *runner) {}, frame: func() {}, synced: func() {},
	}
	s := schema.New()
	schema.Define[runner](s, "runner")
	require.NoError(t, s.Err())
	pulling := schema.DefineInput[lever](s)
	w := must.Get(world.New(world.Config{Seed: seed}))
	kind := must.Get(w.AddKind(world.Kind{Name: "runner"}))
	k.runners = must.Get(world.Register[runner](w, "runner"))
	require.NoError(t, w.AddSystem(world.Before, "run", func(*world.World) {
		if r := k.runners.Mut(k.player); r != nil {
			r.step(k.held)
			k.touch(uint32(w.Tick()), r)
		}
	}))
	k.core = must.Get(session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: s, Epoch: 7,
			Replication: replication.Config{SnapshotHz: 30},
			Hooks: session.Hooks{
				Join: func(*session.Session) (world.Entity, error) {
					var err error
					k.player, err = w.Spawn(kind, world.Vec3{}, world.Vec3{})
					k.runners.Set(k.player, newRunner())
					return k.player, err
				},
				Input: session.OnInput(pulling, func(_ *session.Session, _ uint64, in lever) { k.held = in }),
			},
		},
	}))
	k.Peer = k.core.Open(context.Background(), "", k)
	k.Client = must.Get(client.NewSession(client.SessionConfig{Schema: s}))
	k.play = must.Get(client.Predict(k.Client, func(_ uint32, r *runner, in lever) { r.step(in) }, client.PredictConfig{}))
	return k
}

// run simulates ms milliseconds.
func (k *linkedPrediction) run(ms int64) {
	for end := k.Now + ms; k.Now < end; k.Now++ {
		require.NoError(k.t, k.Serve())
		if k.Now*stepHz/1000 != (k.Now-1)*stepHz/1000 {
			k.serve()
		}
		k.receive()
		if (k.Now+7)*stepHz/1000 != (k.Now+6)*stepHz/1000 {
			k.render()
		}
		k.Flush()
	}
}

// serve plays a tick of the server.
func (k *linkedPrediction) serve() {
	k.core.Tick()
	tick := uint32(k.core.World().Tick())
	k.served[tick] = k.held
	if r := k.runners.Get(k.player); r != nil {
		k.truth[tick] = *r
	}
}

func (k *linkedPrediction) receive() {
	arrived := must.Get(k.Receive())
	if arrived > 0 {
		k.synced()
	}
	if k.Client.InputDue(arrived, k.Time()) {
		k.Answer()
	}
}

func (k *linkedPrediction) render() {
	k.frames++
	in := k.stick(k.frames)
	k.prior, _ = k.play.State()
	k.priorTick = k.play.Stats().Predicted
	tick := must.Get(k.Client.SetInputValue(&in, k.Time()))
	k.made[tick] = in
	k.frame()
}

// clientInput returns the input that the client predicts a tick with.
func (k *linkedPrediction) clientInput(tick uint32) lever {
	for t := tick; t > 0 && t+200 > tick; t-- {
		if in, ok := k.made[t]; ok {
			return in
		}
	}
	return lever{}
}

// agreed reports whether the server stepped from one tick to another with the client's inputs.
func (k *linkedPrediction) agreed(from, to uint32) bool {
	for t := from + 1; t <= to; t++ {
		if k.served[t] != k.clientInput(t) {
			return false
		}
	}
	return true
}

// zigzag changes direction at random, as players do.
func zigzag(seed uint64) func(frame int) lever {
	r, in, left := rand.New(rand.NewPCG(seed, 5)), lever{}, 0
	return func(int) lever {
		left--
		if left < 0 {
			left = 5 + r.IntN(40)
			in = lever{X: float32(r.IntN(129)-64) / 64, Z: float32(r.IntN(129)-64) / 64}
		}
		return in
	}
}

// Over an overseas link an input moves the player in the frame that makes it, and the server
// agrees with every predicted tick to within quantisation, unless it missed an input.
func TestPredictionOverLoss(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			k := newLinkedPrediction(t, 10*seed, overseas)
			k.run(3000)
			k.stick = zigzag(seed)
			first := map[uint32]runner{}     // states when first predicted
			confirmed := map[uint32]uint32{} // newest confirmed tick then
			replaced := 0
			k.frame = func() {
				now := must.Have(k.play.State())
				stats := k.play.Stats()
				want := k.prior
				for tick := k.priorTick + 1; tick <= stats.Predicted; tick++ {
					want.step(k.clientInput(tick))
				}
				if stats.Predicted > k.priorTick {
					require.Equal(t, want.Position, now.Position, "in the same frame")
				} else { // it replaces the input of the frame before
					replaced++
				}
				first[stats.Predicted], confirmed[stats.Predicted] = now, stats.Confirmed
			}
			k.run(20_000)
			right, missed := 0, 0
			for tick, r := range first {
				truth, ok := k.truth[tick]
				switch {
				case !ok: // not there yet
				case k.agreed(confirmed[tick], tick):
					require.LessOrEqual(t, distance(truth.Position, r.Position), 1.8/256, "tick %d", tick)
					right++
				default:
					missed++
				}
			}
			stats := k.play.Stats()
			t.Logf("%d ticks right, %d with an input that the server missed: %+v", right, missed, stats)
			require.Greater(t, right, 1000)
			require.Less(t, replaced, 100)
			require.Less(t, missed, 100)
			if missed == 0 {
				require.Zero(t, stats.Corrected)
			}
		})
	}
}

// A push by the server moves the predicted player within a round trip and a snapshot's
// interval. In no frame does the drawn position move farther than running and blending allow.
func TestPushOverLoss(t *testing.T) {
	const push = 1.0
	for seed := range uint64(8) {
		k := newLinkedPrediction(t, 10*seed, overseas)
		k.stick = func(frame int) lever { return lever{X: float32(1 - frame/100%2*2)} }
		pushed, at, pushes, longest := uint32(0), int64(0), 0, int64(0)
		k.touch = func(tick uint32, r *runner) {
			if k.Now > 3000 && tick%97 == 0 {
				r.Position[2] += push
				pushed, at = tick, k.Now
			}
		}
		var before runner
		frame := 0
		k.frame = func() {
			now, ok := k.play.At(k.Client.Render(k.Time()))
			if !ok {
				return
			}
			frame++
			if k.Now > 2000 { // the link is measured
				blended := push * halfLivesGone(1) * 17 / 16.67
				require.LessOrEqual(t, distance(now.Position, before.Position), 1.15*runnerSpeed/stepHz+blended+0.01, "seed %d, frame %d", seed, frame)
			}
			before = now
		}
		for k.Now < 20_000 {
			k.run(1)
			state, ok := k.play.State()
			if pushed == 0 || !ok || distance([3]float32{2: k.truth[pushed].Position[2]}, [3]float32{2: state.Position[2]}) > 2.0/256 {
				continue
			}
			require.GreaterOrEqual(t, k.play.Stats().Confirmed, pushed)
			longest = max(longest, k.Now-at)
			pushed = 0
			pushes++
		}
		t.Logf("seed %d: %d pushes, at most %d ms; %+v", seed, pushes, longest, k.play.Stats())
		require.GreaterOrEqual(t, pushes, 9)
		require.LessOrEqual(t, longest, int64(2*overseas.DelayMax+1000/30), "a round trip and an interval")
	}
}

func distance(a, b [3]float32) float64 {
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return math.Sqrt(sum)
}
