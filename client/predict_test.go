package client_test

import (
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

var right, still = lever{X: 1}, lever{}

// nearRunner requires that two states agree to within what quantisation does to the position.
func nearRunner(t *testing.T, want, got runner, why string) {
	t.Helper()
	for i := range want.Position {
		require.InDelta(t, want.Position[i], got.Position[i], 1.5/256, "%s: position %d", why, i)
	}
	require.Equal(t, want.Stunned, got.Stunned, why)
	require.Equal(t, want.Jumps, got.Jumps, why)
}

// An input moves the player in the frame that it is made in, and the server, which applies it
// later, agrees.
func TestPredictsInputs(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, still)
	before := f.predicted()
	tick := f.input(right)
	require.Greater(t, f.predicted().Position[0], before.Position[0])
	require.EqualValues(t, tick, f.play.Stats().Predicted)
	f.frames(200, right)
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "running")
	stats := f.play.Stats()
	require.Zero(t, stats.Corrected)
	require.EqualValues(t, f.tick, stats.Confirmed)
	require.GreaterOrEqual(t, stats.Agreed, uint64(200))
}

// The prediction takes over a push by the server at once. The drawn position does not jump:
// half of the error is gone after 80 ms, and the state never has any of it.
func TestCorrection(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	before := f.drawn()
	f.serve()
	f.state.Position[2] += 1.5 // a push
	f.snapshot()
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "corrected")
	require.EqualValues(t, 1, f.play.Stats().Corrected)
	f.input(right)
	for frame := range 30 {
		got := f.drawn()
		require.InDelta(t, 1.5*halfLivesGone(frame+1), got.Position[2], 0.01, "frame %d", frame)
		require.LessOrEqual(t, got.Position[0]-before.Position[0], float32(0.11))
		before = got
		f.frames1(right)
		nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "state")
	}
	require.EqualValues(t, 1, f.play.Stats().Corrected)
}

// Stats names the fields that corrections changed, and by how much.
func TestCorrectedFields(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, still)
	require.Empty(t, f.play.Stats().Fields)
	push := func(by float32, jumps uint16) {
		f.serve()
		f.state.Position[2] += by
		f.state.Jumps += jumps
		f.snapshot()
		f.input(still)
	}
	push(1.5, 2)
	first := f.tick
	push(-0.5, 0)
	push(0.001, 0) // less than a step
	f.serve()
	f.state.Heading, f.state.Facing = 3, about(1, 3)
	f.snapshot()
	fields := f.play.Stats().Fields
	require.Len(t, fields, 4)
	const step = 1.0 / 256
	for i, want := range []client.FieldCorrections{
		{Component: "runner", Field: "Position[2]", Count: 2, Tick: first + 1, Last: 0.5, Largest: 1.5},
		{Component: "runner", Field: "Jumps", Count: 1, Tick: first, Last: 2, Largest: 2},
		{Component: "runner", Field: "Heading", Count: 1, Tick: f.tick, Last: 3, Largest: 3},
		{Component: "runner", Field: "Facing", Count: 1, Tick: f.tick, Last: 3, Largest: 3},
	} {
		got := fields[i]
		require.InDelta(t, want.Last, got.Last, step, "%v", got)
		require.InDelta(t, want.Largest, got.Largest, step, "%v", got)
		want.Last, want.Largest = got.Last, got.Largest
		require.Equal(t, want, got)
	}
}

// Beyond Snap an error is drawn at its new place at once.
func TestSnap(t *testing.T) {
	for _, c := range []struct {
		snap, push float64
		jumps      bool
	}{{0, 1.9, false}, {0, 2.1, true}, {5, 4.9, false}, {5, 5.2, true}} {
		f := newPredictionServer(t, client.PredictConfig{Snap: c.snap})
		f.frames(10, still)
		f.serve()
		f.state.Position[0] += float32(c.push)
		f.snapshot()
		if got := f.drawn().Position[0]; c.jumps {
			require.InDelta(t, c.push, got, 0.01, "%v", c)
		} else {
			require.Less(t, float64(got), 0.2*c.push, "%v", c)
		}
	}
}

// Angles and rotations are blended the shorter way, however far.
func TestTurnsAreBlended(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.state.Heading, f.state.Facing = 3, about(1, 3)
	f.frames(5, still)
	f.serve()
	f.state.Heading, f.state.Facing = -3, about(1, -3)
	f.snapshot()
	for range 60 {
		got := f.drawn()
		require.GreaterOrEqual(t, math.Abs(float64(got.Heading)), 2.99, "by way of pi")
		require.Less(t, math.Abs(float64(got.Facing[3])), 0.08, "by way of a half turn")
		f.now += time.Second / stepHz
	}
	got := f.drawn()
	require.InDelta(t, 0, math.Remainder(float64(got.Heading)+3, 2*math.Pi), 0.01)
}

// AppliedInput tells the client which input the server missed. The client then predicts without
// it, and loses no precision to quantisation.
func TestInputMissed(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	tick := f.input(lever{Z: 1})
	f.inputs[tick] = f.inputs[tick-1]
	delete(f.inputs, tick)
	for f.tick < tick {
		f.serve()
		f.snapshot()
		f.input(right)
	}
	stats := f.play.Stats()
	require.EqualValues(t, 1, stats.Corrected)
	require.EqualValues(t, 1, stats.Missed)
	require.Equal(t, f.ahead(stats.Predicted).Position, f.predicted().Position, "bit for bit")
	f.frames(50, right)
	require.EqualValues(t, 1, f.play.Stats().Corrected)
}

// In a tick without an input both sides hold the previous one.
func TestInputsHeld(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	for i := range 100 {
		f.frames(1, lever{X: float32(i%3) / 2})
		for range i % 4 { // a slow frame
			f.serve()
			f.snapshot()
		}
	}
	require.Zero(t, f.play.Stats().Corrected)
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "held")
}

// The last of several inputs for a tick counts.
func TestInputReplaced(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, still)
	at := f.predicted()
	first := f.input(right)
	require.Equal(t, first, f.input(lever{X: -1}))
	require.InDelta(t, at.Position[0]-0.1, f.predicted().Position[0], 1e-4)
	f.frames(10, still)
	require.Zero(t, f.play.Stats().Corrected)
}

// The prediction uses inputs as the server receives them: quantised.
func TestInputsAreQuantised(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	var got []lever
	f.step = func(_ uint32, r *runner, in lever) { got = append(got, in); r.step(in) }
	f.input(lever{X: 0.333})
	require.Equal(t, []lever{{X: 21.0 / 64}}, got[len(got)-1:])
}

// A snapshot without the player's row says that the player has not moved.
func TestUnmovedPlayerIsCorrected(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, still)
	for range 3 {
		f.input(right)
		f.serveWall()
		f.deliver(f.datagram(false))
	}
	require.NotZero(t, f.play.Stats().Corrected)
	require.Equal(t, f.tick, f.play.Stats().Confirmed)
	require.LessOrEqual(t, f.predicted().Position[0], float32(0.1*predictionLead+0.01))
}

// A lost snapshot may have had the player's row. Until the server has sent that row again,
// snapshots without a row confirm nothing.
func TestLostRowSaysNothing(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	confirmed := f.play.Stats().Confirmed
	f.serve()
	f.datagram(true) // lost
	for range 9 {
		f.serve()
		f.input(right)
		f.deliver(f.datagram(false))
		require.Equal(t, confirmed, f.play.Stats().Confirmed)
	}
	require.Zero(t, f.play.Stats().Corrected)
	f.serve()
	f.deliver(f.datagram(false))
	require.Equal(t, confirmed, f.play.Stats().Confirmed)
	f.serve()
	f.deliver(f.datagram(false))
	require.Equal(t, f.tick, f.play.Stats().Confirmed)
	f.serve()
	f.snapshot()
	require.Equal(t, f.tick, f.play.Stats().Confirmed)
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "later")
}

// A snapshot that arrives after a newer one changes nothing.
func TestOlderSnapshotIsIgnored(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	f.serve()
	f.state.Position[2] = 1
	late := f.datagram(true)
	f.serve()
	f.state.Position[2] = 0
	f.snapshot()
	want, stats, applied := f.predicted(), f.play.Stats(), f.session.Replica().Stats().AppliedInput
	f.deliver(late)
	require.Equal(t, applied, f.session.Replica().Stats().AppliedInput)
	require.Equal(t, want, f.predicted())
	require.Equal(t, stats, f.play.Stats())
}

// Without snapshots the prediction stands still after MaxPredicted, and catches up with
// the next ones.
func TestPredictionStalls(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(10, right)
	confirmed := f.play.Stats().Confirmed
	const most = int(client.MaxPredicted * stepHz / time.Second)
	for range most + 40 {
		f.serve()
		f.input(right)
	}
	stats := f.play.Stats()
	require.NotZero(t, stats.Stalled)
	require.EqualValues(t, int(confirmed)+most, stats.Predicted)
	at := f.predicted()
	f.serve()
	f.input(right)
	require.Equal(t, at, f.predicted())
	f.snapshot()
	for range 10 {
		f.frames(1, right)
		nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "caught up")
	}
}

// A game that makes no inputs sees the server's states.
func TestWithoutInputs(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	for range 50 {
		f.serve()
		f.state.Position[0]++
		f.snapshot()
		nearRunner(t, f.state, f.predicted(), "the server's")
	}
}

// Once is true when an effect is first predicted. One that a later prediction of its tick does
// not ask for is undone, and may begin again.
func TestOnce(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	began := map[uint32]int{}
	const jump = 7
	f.step = func(tick uint32, r *runner, in lever) {
		before := r.Jumps
		r.step(in)
		if r.Jumps > before && f.play.Once(tick, jump) {
			began[tick]++
		}
	}
	f.frames(10, still)
	for range 5 { // the snapshots are under way
		f.serve()
		f.input(right)
	}
	at := f.input(lever{Jump: true})
	require.Equal(t, at, f.input(lever{Jump: true}))
	require.Equal(t, map[uint32]int{at: 1}, began)

	f.state.Position[2]++ // a push: the ticks are predicted again, with the jump
	f.snapshot()
	require.Equal(t, 1, began[at])
	require.Empty(t, f.undone)

	f.serve()
	f.input(still)
	f.state.Stunned = 100
	f.snapshot() // there was no jump
	require.Equal(t, []uint64{jump}, f.undone)
	require.Equal(t, map[uint32]int{at: 1}, began)

	f.serve()
	f.state.Stunned = 0
	f.snapshot() // after all
	require.Equal(t, map[uint32]int{at: 2}, began)
	require.Len(t, f.undone, 1)

	f.frames(20, still) // the server confirms it: it is final
	require.Equal(t, map[uint32]int{at: 2}, began)
	require.Len(t, f.undone, 1)
	require.EqualValues(t, 1, f.play.Stats().Undone)
	require.False(t, f.play.Once(at, 99), "outside step")
}

// beginOnceAtJumps makes each jump begin effect 7.
func (f *predictionServer) beginOnceAtJumps() {
	f.step = func(tick uint32, r *runner, in lever) {
		r.step(in)
		if in.Jump {
			f.play.Once(tick, 7)
		}
	}
}

// If the server missed an input, the effects of that input are undone.
func TestOnceOfMissedInput(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.beginOnceAtJumps()
	f.frames(10, still)
	at := f.input(lever{Jump: true})
	delete(f.inputs, at)
	f.frames(1, still)
	require.Empty(t, f.undone)
	f.frames(5, still)
	require.Equal(t, []uint64{7}, f.undone)
}

// A tick has MaxOnce effects at most, each once, and Once is false for another tick.
func TestOnceIsBounded(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	began := 0
	f.step = func(tick uint32, r *runner, in lever) {
		r.step(in)
		for key := range uint64(2 * client.MaxOnce) {
			if f.play.Once(tick, key) {
				began++
			}
		}
		require.False(t, f.play.Once(tick-1, 0))
		require.False(t, f.play.Once(tick+1, 0))
	}
	f.input(right)
	predicted := int(f.play.Stats().Predicted - f.play.Stats().Confirmed)
	require.Equal(t, client.MaxOnce*predicted, began)
	f.session.Lost(nil)
	f.session.Reconnect()
	require.Empty(t, f.undone)
	f.join()
	require.Len(t, f.undone, client.MaxOnce*predicted, "a new session: none will be confirmed")
}

// Effects belong to one world, session and controlled entity. Effects that another one had at the
// same ticks are not undone, and do not prevent new effects.
func TestOnceOfAnotherWorld(t *testing.T) {
	key, began := uint64(7), 0
	play := func() *predictionServer {
		f := newPredictionServer(t, client.PredictConfig{})
		f.step = func(tick uint32, r *runner, in lever) {
			r.step(in)
			if f.play.Once(tick, key) {
				began++
			}
		}
		f.frames(10, right)
		return f
	}
	check := func(f *predictionServer, from uint32) {
		require.EqualValues(t, f.play.Stats().Predicted-from, began, "key %d", key)
		require.Empty(t, f.undone)
	}
	for _, key = range []uint64{7, 8} {
		for _, epoch := range []uint64{1, 2} {
			f := play()
			f.session.Lost(nil)
			f.session.Reconnect()
			f.welcome.Epoch, f.welcome.Session = epoch, 2
			f.tick, f.state, f.applied = 1000, newRunner(), 0
			clear(f.inputs)
			f.stream(wire.TypeWelcome, f.welcome.Append(nil))
			f.undone, began = nil, 0
			f.show()
			f.frames(5, right)
			check(f, 1000)
		}

		f := play()
		other := h(6, 1)
		f.enter(other)
		known := f.session.Replica().Entity(other).Tick()
		f.frames(3, right)
		f.seq++ // a lost snapshot, which may have had a row of other
		f.frames(3, right)
		f.control(0)
		f.undone, began = nil, 0
		f.control(other)
		check(f, known)
	}
}

// The newest input that a server says it has applied may be for the highest tick, far after the
// state that it sends: a search through all ticks would take a minute.
func TestOnceWithTheHighestInput(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.step = func(tick uint32, r *runner, in lever) { r.step(in); f.play.Once(tick, 7) }
	f.session.Lost(nil)
	f.session.Reconnect()
	f.welcome.Session, f.tick, f.applied = 2, 4_000_000_000, 0
	clear(f.inputs)
	f.stream(wire.TypeWelcome, f.welcome.Append(nil))
	f.show()
	f.frames(10, right)
	f.undone = nil
	f.tick += 500 // beyond what is predicted
	late, tick := f.datagram(true), f.tick
	f.seq++ // lost
	f.tick, f.applied = math.MaxUint32, math.MaxUint32
	f.deliver(f.datagram(false))
	f.deliver(late)
	require.Equal(t, tick, f.play.Stats().Confirmed)
	require.Empty(t, f.undone)
}

// A step function that panics ends the prediction, not the session.
func TestStepPanics(t *testing.T) {
	for _, replayed := range []bool{false, true} {
		f := newPredictionServer(t, client.PredictConfig{})
		f.step = func(tick uint32, r *runner, in lever) {
			f.play.Once(tick, 7)
			r.step(in)
			if in.Jump && (!replayed || r.Position[2] > 0) {
				panic(io.ErrUnexpectedEOF)
			}
		}
		f.frames(5, still)
		require.NoError(t, f.play.Err())
		confirmed := f.play.Stats().Confirmed
		at := f.input(lever{Jump: true})
		if replayed {
			f.serve()
			f.state.Position[2]++
			f.snapshot()
			confirmed++
		}
		var failed *client.StepError
		require.ErrorAs(t, f.play.Err(), &failed)
		require.ErrorIs(t, f.play.Err(), io.ErrUnexpectedEOF)
		require.Equal(t, at, failed.Tick)
		require.Contains(t, failed.Step, "newPredictionServer")
		require.Contains(t, failed.Error(), failed.Step)
		require.Contains(t, string(failed.Stack), "TestStepPanics")
		must.Lack(f.play.State())
		must.Lack(f.play.At(f.session.Render(f.now)))
		require.Len(t, f.undone, int(at-confirmed), "its effects are undone")
		for range 10 {
			f.frames1(still)
		}
		require.True(t, f.session.Joined())
		require.Equal(t, f.tick, f.session.Replica().Tick())
		require.Equal(t, failed, f.play.Err())
	}
}

// A step function that depends on more than its arguments is corrected with every snapshot. The
// cost stays bounded.
func TestStepDisagrees(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	calls := 0
	f.step = func(_ uint32, r *runner, in lever) {
		r.step(in)
		calls++
		r.Position[2] += float32(calls%7+1) / 8
	}
	for range 200 {
		before := calls
		f.frames(1, right)
		require.LessOrEqual(t, calls-before, 2*predictionLead)
	}
	require.Greater(t, f.play.Stats().Corrected, uint64(150))
	require.InDelta(t, f.state.Position[0], f.drawn().Position[0], 1)
	require.Less(t, f.drawn().Position[2], float32(6))
}

// A NaN is compared and drawn as the value that the schema sends for it.
func TestStepReturnsNaN(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(5, still)
	nan := float32(math.NaN())
	f.step = func(_ uint32, r *runner, in lever) {
		r.step(in)
		r.Position[0], r.Heading, r.Facing[2] = nan, nan, nan
	}
	for range 10 {
		f.frames1(still)
		got := f.drawn()
		require.Zero(t, got.Position[0])
		require.Zero(t, got.Heading)
		for _, v := range got.Facing {
			require.False(t, math.IsNaN(float64(v)))
		}
	}
	f.step = func(_ uint32, r *runner, in lever) { r.step(in) }
	f.state.Position[0] = 3
	f.frames(60, still)
	require.InDelta(t, 3, f.drawn().Position[0], 0.05)
}

// pair predicts two components, and state of its own.
type pair struct {
	Runner runner
	Is     friend
	Calls  int
	hidden int
}

func TestPredictComponents(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	session := must.Get(client.NewSession(client.SessionConfig{Schema: f.schema}))
	both := must.Get(client.Predict(session, func(_ uint32, s *pair, in lever) {
		s.Runner.step(in)
		s.Calls, s.hidden = s.Calls+1, s.hidden+1
	}, client.PredictConfig{}))
	f.session, f.welcome.SchemaText = session, f.schema.Text()
	f.join()
	f.input(right)
	_, ok := both.State()
	require.False(t, ok, "the entity lacks a component")
	f.mask = 3
	f.enter(player)
	for range 10 {
		f.frames1(right)
	}
	got := must.Have(both.State())
	nearRunner(t, f.ahead(both.Stats().Predicted), got.Runner, "runs")
	require.Equal(t, int(both.Stats().Predicted)-int(f.entered), got.Calls, "what is not replicated stays")
	require.Equal(t, got.Calls, got.hidden)
	drawn := must.Have(both.At(session.Render(f.now)))
	require.InDelta(t, got.Runner.Position[0], drawn.Runner.Position[0], 0.11)
}

// A component that the server lacks is predicted from its default.
func TestPredictsUnservedFromItsDefault(t *testing.T) {
	type stamina struct {
		Left  uint8
		Label string `net:"max=8"`
	}
	type tired struct {
		Runner  runner
		Stamina stamina
	}
	own := runnerSchema(t)
	schema.Define[stamina](own, "stamina").WithDefault(stamina{100, "fresh"})
	require.NoError(t, own.Err())
	session := must.Get(client.NewSession(client.SessionConfig{Schema: own}))
	play := must.Get(client.Predict(session, func(_ uint32, s *tired, in lever) {
		s.Runner.step(in)
		s.Stamina.Left--
	}, client.PredictConfig{}))
	f := newPredictionServer(t, client.PredictConfig{})
	f.serveTo(session, f.schema)
	for range 5 {
		f.frames1(right)
	}
	got := must.Have(play.State())
	steps := play.Stats().Predicted - f.entered
	require.Equal(t, stamina{uint8(100 - steps), "fresh"}, got.Stamina)
}

// A server whose numbers are finer than the client's float32 agrees with its prediction to the
// precision of float32: a million metres from the centre, 1/16 m.
func TestPredictsAtThePrecisionOfFloat32(t *testing.T) {
	type ranged struct {
		Position [3]float64 `net:"range=-1048576..1048576,step=1/1024"`
	}
	type whole struct{ Position [3]float64 }
	t.Run("range", func(t *testing.T) {
		testFarPrediction(t, func(s *schema.Schema) error { schema.Define[ranged](s, "runner"); return s.Err() },
			func(at [3]float64) any { return &ranged{at} })
	})
	t.Run("float64", func(t *testing.T) {
		testFarPrediction(t, func(s *schema.Schema) error { schema.Define[whole](s, "runner"); return s.Err() },
			func(at [3]float64) any { return &whole{at} })
	})
}

func testFarPrediction(t *testing.T, define func(*schema.Schema) error, stateAt func([3]float64) any) {
	served := schema.New()
	schema.Define[ball](served, "ball")
	require.NoError(t, define(served))
	schema.DefineInput[lever](served)
	f := newPredictionServer(t, client.PredictConfig{})
	session := must.Get(client.NewSession(client.SessionConfig{Schema: runnerSchema(t)}))
	f.play = must.Get(client.Predict(session, func(tick uint32, r *runner, in lever) { f.step(tick, r, in) }, client.PredictConfig{}))
	at := [3]float64{1e6 + 0.03, 0, -1e6 - 0.01}
	f.served = stateAt(at)
	f.serveTo(session, served)
	move := func(x float64) {
		f.input(lever{X: 1, Z: -0.5})
		f.serve()
		in := f.inputs[f.applied]
		at[0] += float64(in.X)*runnerSpeed/stepHz + x
		at[2] += float64(in.Z) * runnerSpeed / stepHz
		f.served = stateAt(at)
		f.drawn()
	}
	for tick := range 300 {
		move(0)
		if tick%3 == 0 { // 20 snapshots a second
			f.snapshot()
		}
	}
	stats := f.play.Stats()
	require.Greater(t, stats.Agreed, uint64(90))
	require.Zero(t, stats.Corrected)

	move(1) // a push that the client does not know
	f.snapshot()
	require.EqualValues(t, 1, f.play.Stats().Corrected)
}

func TestPredictErrors(t *testing.T) {
	type unknown struct{ A int32 }
	s := runnerSchema(t)
	schema.Define[health](s, "health")
	schema.Define[health](s, "armour")
	require.NoError(t, s.Err())
	session := must.Get(client.NewSession(client.SessionConfig{Schema: s}))
	_, err := client.Predict(session, func(uint32, *unknown, lever) {}, client.PredictConfig{})
	require.ErrorContains(t, err, "client_test.unknown is no component of the schema")
	require.ErrorContains(t, must.Fail(client.Predict(session, func(uint32, *int, lever) {}, client.PredictConfig{})), "int is no component of the schema")
	_, err = client.Predict(session, func(uint32, *runner, unknown) {}, client.PredictConfig{})
	require.ErrorContains(t, err, "does not declare the input client_test.unknown")
	_, err = client.Predict(session, func(uint32, *health, lever) {}, client.PredictConfig{})
	require.ErrorContains(t, err, `components "health" and "armour" are both a client_test.health`)
	require.ErrorContains(t, must.Fail(client.Predict(session, func(uint32, *struct{ H health }, lever) {}, client.PredictConfig{})), "are both")
	for _, snap := range []float64{-1, math.NaN()} {
		require.ErrorContains(t, must.Fail(client.Predict(session, func(uint32, *runner, lever) {}, client.PredictConfig{Snap: snap})), "Snap")
	}
	must.Get(client.Predict(session, func(uint32, *runner, lever) {}, client.PredictConfig{}))
	require.ErrorContains(t, must.Fail(client.Predict(session, func(uint32, *runner, lever) {}, client.PredictConfig{})), "a Prediction already")
	nothing := must.Get(client.NewSession(client.SessionConfig{}))
	require.ErrorContains(t, must.Fail(client.Predict(nothing, func(uint32, *runner, lever) {}, client.PredictConfig{})), "does not declare the input")
}

// A respawn begins a new prediction: what was predicted of the other entity is dropped, and
// nothing of it is blended.
func TestControlMovesPrediction(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.step = func(tick uint32, r *runner, in lever) { r.step(in); f.play.Once(tick, 7) }
	f.frames(10, right)
	other := h(6, 1)
	f.control(other)
	_, ok := f.play.State()
	require.False(t, ok, "it has not entered")
	require.Len(t, f.undone, predictionLead)
	f.input(right)
	f.state = newRunner()
	f.state.Position[0] = 1
	f.enter(other)
	require.InDelta(t, 1+0.1*predictionLead, f.drawn().Position[0], 0.2, "the inputs under way are for it")
	f.frames(10, right)
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "the other")
	require.Zero(t, f.play.Stats().Corrected)
	f.control(0)
	must.Lack(f.play.State())
}

// An entity that left view or died is not predicted, and one that enters is, from there on.
func TestHiddenIsNotPredicted(t *testing.T) {
	for _, end := range []wire.Record{leave(player), destroy(player)} {
		f := newPredictionServer(t, client.PredictConfig{})
		f.frames(10, right)
		f.record(end)
		must.Lack(f.play.State())
		must.Lack(f.play.At(f.session.Render(f.now)))
		for range 10 {
			f.serve()
			f.deliver(f.datagram(false))
			f.input(right)
			must.Lack(f.play.State())
		}
		if end.Op == wire.OpDestroy {
			continue
		}
		f.state.Position[2] = 1.5
		f.enter(player)
		nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "again")
		require.InDelta(t, 1.5, f.drawn().Position[2], 0.01, "nothing to blend")
		for range 10 {
			f.frames(1, right)
			nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "again")
		}
	}
}

// Another's entity is not predicted: its owner-only fields are unknown.
func TestOnlyOwnedIsPredicted(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.frames(2, right)
	f.owned = false
	f.enter(player)
	must.Lack(f.play.State())
	f.owned = true
	f.enter(player)
	must.Have(f.play.State())
}

// While the connection is lost, the prediction stands still. After the session has resumed, the
// first state corrects the prediction, and new inputs are predicted.
func TestPredictionResumes(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{Snap: 10})
	f.frames(10, right)
	at := f.drawn()
	f.session.Lost(nil)
	for range 30 {
		delete(f.inputs, f.tick+1) // it does not arrive
		f.serve()
		f.input(lever{Z: 1})
		drawn := f.drawn()
		require.InDelta(t, at.Position[0], drawn.Position[0], 0.21)
		require.InDelta(t, 0, drawn.Position[2], 0.01)
	}
	f.session.Reconnect()
	f.welcome.Resumed, f.welcome.Structure = 1, structureOf(f.session, 1)
	f.stream(wire.TypeWelcome, f.welcome.Append(nil))
	f.serve()
	f.input(right)
	stands := f.predicted()
	f.serve()
	f.input(right)
	require.Equal(t, stands, f.predicted())
	f.state.Position[2] = 1
	before := f.drawn()
	f.snapshot()
	require.InDelta(t, before.Position[2], f.drawn().Position[2], 0.01, "blended")
	for range 30 {
		nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "resumed")
		f.frames(1, right)
	}
	require.InDelta(t, f.predicted().Position[2], f.drawn().Position[2], 0.05)
}

// A new session, of this run of the world or another, begins a new prediction.
func TestPredictionInANewSession(t *testing.T) {
	for _, epoch := range []uint64{1, 2} {
		f := newPredictionServer(t, client.PredictConfig{})
		f.frames(10, right)
		f.session.Lost(nil)
		f.session.Reconnect()
		f.welcome.Epoch, f.welcome.Session = epoch, 2
		f.tick, f.state, f.applied = 50, newRunner(), 0
		f.state.Position[2] = 1
		clear(f.inputs)
		f.stream(wire.TypeWelcome, f.welcome.Append(nil))
		must.Lack(f.play.State())
		f.show()
		require.InDelta(t, 1, f.drawn().Position[2], 0.01)
		for range 30 {
			f.frames(1, right)
			nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "new")
		}
		require.Zero(t, f.play.Stats().Corrected)
	}
}

// Callbacks of a prediction may use the session.
func TestUndoMaySetInputs(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	asked := 0
	f.step = func(tick uint32, r *runner, in lever) {
		r.step(in)
		if in.Jump && r.Stunned == 0 {
			f.play.Once(tick, 7)
		}
	}
	f.undo = func() {
		asked++
		f.input(right)
	}
	f.frames(5, still)
	f.input(lever{Jump: true})
	f.serve()
	f.state.Stunned = 50
	f.snapshot()
	require.Equal(t, 1, asked)
	nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "after the callback")
}

// A prediction in steady state allocates nothing, whether it is corrected or not.
func TestPredictionAllocatesNothing(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.step = func(tick uint32, r *runner, in lever) { r.step(in); f.play.Once(tick, 7) }
	f.frames(50, right)
	frame := func() {
		f.now += time.Second / stepHz
		must.Get(f.session.SetInputValue(&f.held, f.now))
		f.play.At(f.session.Render(f.now))
		client.Recorrect(f.play)
	}
	for range 30 {
		frame()
	}
	before := f.play.Stats().Replayed
	alloctest.RequireNone(t, 0, measuredFrames, frame)
	require.GreaterOrEqual(t, f.play.Stats().Replayed-before, uint64(30*measuredFrames))
	require.Zero(t, f.play.Stats().Stalled)
}

// measuredFrames is how many frames a test of allocations measures. AllocsPerRun counts the whole
// process: a cleanup that the runtime runs for earlier tests must not count as one per frame.
const measuredFrames = 100

// BenchmarkReplay predicts 30 ticks again. The goal is below 50 us and no allocation.
func BenchmarkReplay(b *testing.B) {
	f := newPredictionServer(b, client.PredictConfig{})
	f.frames(50, right)
	for range 30 - predictionLead {
		f.now += time.Second / stepHz
		f.input(right)
	}
	require.EqualValues(b, 30, f.play.Stats().Predicted-f.play.Stats().Confirmed)
	b.ReportAllocs()
	for b.Loop() {
		client.Recorrect(f.play)
	}
}

// A server that claims to be at the end of time is not predicted.
func TestPredictionAtTheLastTicks(t *testing.T) {
	for _, tick := range []uint32{math.MaxUint32, math.MaxUint32 - 1, math.MaxUint32 - 130} {
		f := newPredictionServer(t, client.PredictConfig{})
		f.frames(5, right)
		f.tick = tick
		f.snapshot()
		f.input(right)
		f.input(right)
		must.Lack(f.play.State())
	}
}

// After a stall of the server, inputs are for ticks that were predicted before: they replace
// the inputs made for these, and the states after them are dropped.
func TestServerStands(t *testing.T) {
	f := newPredictionServer(t, client.PredictConfig{})
	f.step = func(tick uint32, r *runner, in lever) { r.step(in); f.play.Once(tick, 7) }
	f.frames(10, right)
	for range 60 {
		f.now += time.Second / stepHz
		f.input(right)
	}
	ahead := f.play.Stats().Predicted
	undone := 0
	f.undo = func() { undone++ }
	for range 70 {
		f.frames(1, lever{Z: 1})
		nearRunner(t, f.ahead(f.play.Stats().Predicted), f.predicted(), "it goes on")
	}
	require.Greater(t, ahead, f.tick-20)
	require.NotZero(t, undone)
}
