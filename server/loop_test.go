package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// newTestLoop returns a loop over an empty world. Each step takes work(tick) of the bubble's
// time.
func newTestLoop(t *testing.T, work func(tick uint64) time.Duration) *loop {
	return newTestLoopAt(t, 50, work)
}

// newTestLoopAt is newTestLoop with a tick rate.
func newTestLoopAt(t *testing.T, hz int, work func(tick uint64) time.Duration) *loop {
	w := must.Get(world.New(world.Config{TickHz: hz}))
	require.NoError(t, w.AddSystem(world.Before, "work", func(w *world.World) { time.Sleep(work(w.Tick())) }))
	core := must.Get(session.NewCore(Config{WorldConfig: WorldConfig{World: w, Schema: schema.NewWithBody(), Epoch: 1, Replication: replication.Config{SnapshotHz: 10}}}.sessionConfig()))
	return newLoop(core, admin.NewTimings().Ticks(), newSaver(ImageConfig{}, core.World(), zap.NewNop()), zap.NewNop())
}

// openClient connects a client to core. It joins at the next tick.
func openClient(t *testing.T, core *session.Core, c *stage.Conn, abilities wire.Abilities) {
	c.Peer = core.Open(context.Background(), "", c)
	hello := stage.Hello(core.Config().Schema)
	hello.Abilities = abilities
	require.NoError(t, c.Send(hello))
}

func runFor(t *testing.T, l *loop, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	l.tickUntil(ctx)
}

const testInterval = time.Second / 50

func TestLoopKeepsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(uint64) time.Duration { return testInterval / 2 })
		runFor(t, l, 10*time.Second-testInterval/4)
		r := l.report()
		require.EqualValues(t, 500, r.Tick.Count)
		require.Zero(t, r.Tick.Late)
		require.Equal(t, 500*testInterval/2, r.Tick.Step)
		require.InEpsilon(t, testInterval/2, r.Tick.P99, 0.01)
		require.Equal(t, []world.SystemStats{{
			Name: "work", Phase: world.Before, Runs: 500,
			Last: testInterval / 2, Longest: testInterval / 2, Total: 500 * testInterval / 2,
		}}, r.World.Systems)
		l.core.Step() // Report must not read the world itself
		l.core.World().Stats()
		require.EqualValues(t, 500, r.World.Systems[0].Runs)
	})
}

// After a short stall the world catches up with the clock.
func TestLoopCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(tick uint64) time.Duration {
			if tick == 100 {
				return 4 * testInterval
			}
			return 0
		})
		runFor(t, l, 10*time.Second-testInterval/4)
		r := l.report()
		require.EqualValues(t, 500, r.Tick.Count)
		require.NotZero(t, r.Tick.Late)
		require.InEpsilon(t, 4*testInterval, r.Tick.Max, 0.01)
	})
}

// A recording notes the ticks that the server counts as late.
func TestLoopRecordsLateTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(tick uint64) time.Duration {
			if tick == 100 {
				return 4*testInterval + time.Millisecond
			}
			return 0
		})
		var img world.Image
		l.core.World().TakeImage(&img)
		var file bytes.Buffer
		recorder := must.Get(l.core.World().Record(&file, &img, 60))
		runFor(t, l, 10*time.Second-testInterval/4)
		require.NoError(t, recorder.Close())
		w := must.Get(world.New(world.Config{TickHz: 50}))
		replay := must.Get(w.Replay(&file))
		late := map[uint64]time.Duration{}
		for replay.Next() == nil {
			if by, _ := replay.Late(); by > 0 {
				late[w.Tick()] = by
			}
		}
		require.EqualValues(t, len(late), l.report().Tick.Late)
		require.Equal(t, map[uint64]time.Duration{101: 61 * time.Millisecond, 102: 41 * time.Millisecond, 103: 21 * time.Millisecond}, late)
	})
}

// A stall of a few frames is made up for at every tick rate.
func TestLoopMakesUpForAStall(t *testing.T) {
	for _, hz := range []int{60, 240, 1000} {
		synctest.Test(t, func(t *testing.T) {
			l := newTestLoopAt(t, hz, func(tick uint64) time.Duration {
				if tick == uint64(hz) {
					return 60 * time.Millisecond
				}
				return 0
			})
			runFor(t, l, 3*time.Second)
			require.Zero(t, l.report().Tick.Missed, "%d ticks a second", hz)
		})
	}
}

// Beyond minDebtTicks, a long stall is skipped.
func TestLoopSkipsALongDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(tick uint64) time.Duration {
			if tick == 100 {
				return 3 * time.Second
			}
			return 0
		})
		runFor(t, l, 10*time.Second-testInterval/4)
		r := l.report()
		require.InDelta(t, 500-150+minDebtTicks, r.Tick.Count, 2)
		require.Equal(t, [admin.Phases + 1]uint64{admin.PhaseStep: r.Tick.Missed}, r.Tick.MissedBy)
		require.LessOrEqual(t, r.Tick.Late, uint64(minDebtTicks+1))
	})
}

// A world that is always too slow runs slowly, and its loop still ends with its context.
func TestLoopNeverSpirals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newTestLoop(t, func(uint64) time.Duration { return 3 * testInterval })
		began := time.Now()
		runFor(t, l, 10*time.Second)
		require.LessOrEqual(t, time.Since(began), 10*time.Second+3*testInterval)
		require.InDelta(t, 500/3, l.report().Tick.Count, 2)
	})
}

// The end of a run is an error. It is logged once a day in the month before.
func TestLoopEndsWithTheTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, lines := observer.New(zap.WarnLevel)
		l := newTestLoop(t, func(uint64) time.Duration { return 0 })
		l.log = zap.New(log)
		const day = 24 * 3600 * 50
		for left := uint64(40 * day); left > 0; left -= day / 2 {
			l.warnRunEnd(left)
			require.Equal(t, left > 30*day, (&run{loop: l}).checkHandOver() == nil, "it could not pass to another process")
		}
		require.Len(t, lines.TakeAll(), 30)

		before := uint64(math.MaxUint32 - 1<<16 - 100) // ticks already made
		config := l.core.Config()
		config.Replication.TickBase = -before
		core := must.Get(session.NewCore(config))
		l.core = core
		require.ErrorIs(t, l.tickUntil(t.Context()), ErrTicksSpent)
		require.EqualValues(t, 100, core.World().Tick())
		require.NotEmpty(t, lines.All())
	})
}

// Every session receives the last tick, even if its turn is not due. Without sessions the loop
// ends without another tick.
func TestLoopSendsTheLastTick(t *testing.T) {
	for _, clients := range []int{0, 7} { // at most two have turns in a tick
		synctest.Test(t, func(t *testing.T) {
			l := newTestLoop(t, func(uint64) time.Duration { return 0 })
			conns := make([]stage.Conn, clients)
			for i := range conns {
				openClient(t, l.core, &conns[i], 0)
			}
			runFor(t, l, time.Second-testInterval/4)
			r := l.report()
			require.EqualValues(t, 50+min(clients, 1), r.Tick.Count)
			require.Equal(t, r.StateHash, l.core.World().StateHash())
			for i := range conns {
				require.EqualValues(t, l.core.World().Tick(), conns[i].Tick)
			}
			l.endSessions()
			for i := range conns {
				require.Len(t, conns[i].Closed, 1)
			}
		})
	}
}

// Each interpreted effect is logged once, and stays in reports.
func TestLoopNamesInterpretedEffects(t *testing.T) {
	l := newTestLoop(t, func(uint64) time.Duration { return 0 })
	log, lines := observer.New(zap.WarnLevel)
	l.log = zap.New(log)
	slow := []world.InterpretedEffect{{Name: "slow", Live: 2, Reason: errors.New("too large")}}
	l.warnInterpreted(slow)
	l.warnInterpreted(append(slow, world.InterpretedEffect{Name: "slower", Live: 1}))
	require.Equal(t, 2, lines.Len())
	require.Equal(t, map[string]any{"effect": "slow", "error": "too large"}, lines.All()[0].ContextMap())
	for i := range 200 {
		l.warnInterpreted([]world.InterpretedEffect{{Name: fmt.Sprint(i)}})
	}
	require.Equal(t, maxWarned, lines.Len())
}

// Missed ticks are counted by the longest phase of the tick before, unless the process did not run.
func TestStallCause(t *testing.T) {
	long := [admin.Phases]time.Duration{admin.PhaseReceive: 10 * time.Millisecond, admin.PhaseBetween: 2 * time.Second}
	require.Equal(t, admin.PhaseBetween, stallCause(long, 3*time.Second))
	require.Equal(t, admin.Phases, stallCause(long, 5*time.Second))
	require.Equal(t, admin.Phases, stallCause([admin.Phases]time.Duration{}, time.Second))
}
