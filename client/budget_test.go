package client_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	physics "github.com/worldd/worldd/world/motion"
)

// frame is the duration of a frame.
const frame = time.Second / 60

// enterAll enters n bodies of a generation.
func (m *exactServer) enterAll(tick, generation, n uint32) {
	for from := uint32(0); from < n; from += 500 {
		var records [][]byte
		for i := from; i < min(from+500, n); i++ {
			records = append(records, m.enter(h(i, generation), 0, floating(float32(i)/64), 0))
		}
		require.NoError(m.t, m.send(tick, records...))
	}
}

// addEffects adds effects of program 1 on slots [0, n).
func (m *exactServer) addEffects(tick, n uint32, e wire.EffectAdded) {
	e.Program, e.Age = 1, 1
	for from := uint32(0); from < n; from += 500 {
		var records [][]byte
		for i := from; i < min(from+500, n); i++ {
			e.Effect = bulk.NewHandle(i, 1)
			records = append(records, e.Append(nil))
		}
		require.NoError(m.t, m.send(tick, records...))
	}
}

// snapshots returns complete snapshots, ticks apart.
func (m *exactServer) snapshots(n int, tick, apart uint32) (all [][]byte) {
	for i := range uint32(n) {
		all = append(all, m.complete(tick+i*apart))
	}
	return all
}

const everywhere = "effect all\neverywhere\noutput += (sin(position.x), sin(position.y), sin(time))\n"

// Whatever the number of snapshots in an Update and the computing they cause, the work is
// within the budget plus one step.
func TestUpdateIsBounded(t *testing.T) {
	program := wire.Program{Number: 1, Code: programOf(everywhere)}.Append(nil)
	follow := wire.EffectAdded{Path: wire.Path{Form: wire.PathFollowing, Leader: h(0, 1)}}
	for name, c := range map[string]struct {
		bodies, effects uint32
		effect          wire.EffectAdded
		from, apart     uint32
		changes         int
	}{
		"an empty world, far apart":    {apart: 200_000},
		"bodies, far apart":            {bodies: 300, apart: 200_000},
		"bodies of the past":           {bodies: 300, from: 1_000_000, apart: 1},
		"many bodies":                  {bodies: 20_000, apart: 1},
		"effects without bodies":       {effects: wire.MaxEffects, apart: 50},
		"effects around a body":        {bodies: 1, effects: wire.MaxEffects, apart: 50},
		"effects that follow":          {bodies: 300, effects: wire.MaxEffects, effect: follow, apart: 1},
		"changes of effects in a tick": {bodies: 5000, effects: 1, changes: 20_000, apart: 1},
	} {
		t.Run(name, func(t *testing.T) {
			racetest.SkipUnchecked(t)
			m := newExactServer(t, client.SessionConfig{})
			m.enterAll(10, 1, c.bodies)
			require.NoError(t, m.send(10, program))
			m.addEffects(10, c.effects, c.effect)
			m.session.Receive(time.Minute, nil)
			for range c.changes / 500 {
				var records [][]byte
				for range 500 {
					records = append(records, wire.EffectChanged{Effect: bulk.NewHandle(0, 1), HasParams: true}.Append(nil))
				}
				require.NoError(t, m.send(10, records...))
			}
			m.session.Receive(2*time.Minute, nil)
			require.Zero(t, client.Debt(m.session))
			require.NoError(t, m.session.Receive(2*time.Minute, nil, m.snapshots(256, 11+c.from, c.apart)...))
			n := m.session.Stats().Replica.Motion
			require.LessOrEqual(t, client.Debt(m.session), 3*client.MaxWork)
			require.LessOrEqual(t, n.Overruns, uint64(1))
			require.Positive(t, n.Behind)
			require.LessOrEqual(t, n.Steps*100, uint64(2*client.MaxWork))
		})
	}
}

// While a change of an effect is due, each tick costs the versions on its slot, not all of them:
// at 1,000 ticks a second the others would spend the budget.
func TestOtherEffectsCostNothingInATick(t *testing.T) {
	const ended, ticks = 2000, 100
	spent := func(change bool) time.Duration {
		m := newExactServerAt(t, 1000, client.SessionConfig{})
		records := [][]byte{wire.Program{Code: programOf(lift)}.Append(nil)}
		for slot := range uint32(ended + 1) {
			records = append(records, wire.EffectAdded{Effect: bulk.NewHandle(slot, 1), Age: 1}.Append(nil))
		}
		for slot := range uint32(ended) {
			records = append(records, wire.EffectEnded{Effect: bulk.NewHandle(slot+1, 1)}.Append(nil))
		}
		require.NoError(t, m.send(10, records...))
		m.snapshot(20)
		require.NoError(t, m.session.Receive(time.Minute, nil))
		require.Zero(t, client.Debt(m.session))
		if change {
			require.NoError(t, m.send(21, wire.EffectChanged{Effect: bulk.NewHandle(0, 1), HasParams: true}.Append(nil)))
		}
		require.NoError(t, m.session.Receive(time.Minute, nil, m.complete(20+ticks)))
		return client.Debt(m.session)
	}
	require.Less(t, spent(true)-spent(false), 200*time.Microsecond)
}

// A server that causes as much work as possible in every frame gets a quarter of the time.
// After ten overruns the client receives rows instead.
func TestWorkIsBoundedOverTime(t *testing.T) {
	racetest.SkipUnchecked(t)
	m := newExactServer(t, client.SessionConfig{})
	tick, now, generation := uint32(10), time.Second, uint32(1)
	m.enterAll(tick, 1, 4000)
	for range 700 {
		work := time.Duration(100 * m.session.Stats().Replica.Motion.Steps)
		require.LessOrEqual(t, work, 2*client.MaxWork+now/4)
		require.NoError(t, m.session.Receive(now, nil, m.snapshots(3, tick+20, 20)...))
		tick, now = tick+60, now+frame
		if m.session.TakeStream() != nil {
			generation += 2
			m.enterAll(tick, generation, 4000)
		}
	}
	require.Greater(t, 100*m.session.Stats().Replica.Motion.Steps, uint64(time.Second/2))
	require.True(t, m.session.Stats().Ordinary)
}

// A client that had no time for a while computes the same states as a client that had.
func TestFallsBehindAndCatchesUp(t *testing.T) {
	racetest.SkipUnchecked(t)
	const bodies, missed = 4000, 160 // more than the budget, but less than that and a second
	run := func(every uint32) (*exactServer, physics.State) {
		m := newExactServer(t, client.SessionConfig{})
		m.enterAll(10, 1, bodies)
		m.snapshot(10)
		m.session.Receive(time.Minute, nil)
		now, behind := time.Minute, false
		for tick := 10 + every; tick <= 10+missed; tick += every {
			now += time.Duration(every) * time.Second
			require.NoError(t, m.session.Receive(now, nil, m.complete(tick)))
		}
		_, at := m.exact(h(7, 1))
		behind = at < 10+missed
		if behind {
			require.Greater(t, at, uint32(10+missed-exactServerHz))
			require.NotZero(t, must.Have(m.body.Get(m.session.Replica().Entity(h(7, 1)))).Position)
		}
		require.Equal(t, every == missed, behind)
		for tick := uint32(10 + missed + 3); tick <= 10+missed+60; tick += 3 {
			now += time.Second / 20
			require.NoError(t, m.session.Receive(now, nil, m.complete(tick)))
		}
		s, at := m.exact(h(7, 1))
		require.EqualValues(t, 10+missed+60, at)
		require.Zero(t, m.session.Stats().Replica.Motion.Overruns)
		return m, s
	}
	_, want := run(1)
	m, got := run(missed)
	require.Equal(t, want, got)
	require.Positive(t, m.session.Stats().Replica.Motion.Behind)
}

// Too much work that cannot wait ends the session.
func TestFloodEndsTheSession(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	program := wire.Program{Number: 1, Code: programOf(everywhere)}.Append(nil)
	welcome, _ := m.session.Welcome()
	for name, next := range map[string]func(i uint32) error{
		"programs": func(uint32) error { return m.send(10, program, program, program, program) },
		"leaves": func(i uint32) error {
			return m.send(10, wire.AppendRecord(nil, wire.Record{Op: wire.OpLeave, Handle: h(i%1000, 1)}))
		},
		"moves": func(i uint32) error {
			w := welcome
			w.Secret, w.Resumed, w.Epoch, w.Structure = make([]byte, 16), 0, uint64(1000+i), m.number+1
			m.number++
			m.tick = 0
			return m.session.ReceiveStream(wire.AppendMessage(nil, w))
		},
	} {
		t.Run(name, func(t *testing.T) {
			racetest.SkipUnchecked(t)
			m = newExactServer(t, client.SessionConfig{})
			var err error
			sent := uint32(0)
			for ; err == nil && sent < 1_000_000; sent++ {
				err = next(sent)
			}
			require.ErrorIs(t, err, &wire.Error{Code: wire.TooMuch})
			require.ErrorContains(t, err, "the server causes")
			t.Log(sent)
		})
		t.Run("few "+name, func(t *testing.T) {
			racetest.SkipUnchecked(t)
			m = newExactServer(t, client.SessionConfig{})
			for i := range uint32(1000) {
				require.NoError(t, m.session.Receive(time.Duration(i)*frame, nil))
				require.NoError(t, next(i))
			}
		})
	}
}

// A schema of a few bytes makes a client compare all that it declares: a Move to it costs at least
// 300 ns for each declared field.
func TestMoveCostsTheDeclaredSchema(t *testing.T) {
	const components, fields = 32, 60
	served, declared := schema.New(), schema.New()
	for i := range components {
		var all []reflect.StructField
		for j := range fields {
			all = append(all, reflect.StructField{Name: fmt.Sprintf("F%d", j), Type: reflect.TypeFor[bool]()})
		}
		schema.DefineType(served, fmt.Sprint("c", i), reflect.StructOf(all[:1]))
		schema.DefineType(declared, fmt.Sprint("c", i), reflect.StructOf(all))
	}
	require.NoError(t, declared.Err())
	h := newHandServer(t, schema.New(), declared)
	require.NoError(t, h.answer(asIs))
	h.schema = served
	h.welcome.SchemaText = served.Text()
	require.NoError(t, h.session.ReceiveStream(h.move()))
	require.Len(t, h.session.SchemaChanges(), components*(fields-1))
	require.GreaterOrEqual(t, client.Debt(h.session), 300*components*fields*time.Nanosecond)

	before := client.Debt(h.session)
	w, _ := h.session.Welcome()
	w.Secret, w.Resumed, w.Epoch, w.Structure = make([]byte, 16), 0, 9, structureOf(h.session, 1)+1
	require.NoError(t, h.session.ReceiveStream(wire.AppendMessage(nil, w)))
	require.Less(t, client.Debt(h.session)-before, 100*time.Microsecond, "the same schema is bound already")
}

// Bodies that enter and leave before a snapshot leave nothing behind.
func TestWaitingBodiesLeave(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	for i := range uint32(5000) {
		require.NoError(t, m.send(10, m.enter(h(i, 1), 0, floating(1), 0)))
		require.NoError(t, m.send(10, wire.AppendRecord(nil, leave(h(i, 1)))))
		m.session.Receive(time.Duration(i)*frame, nil)
	}
	require.LessOrEqual(t, client.WaitingBodies(m.session), 100)
}

// A prediction is compared with the server once in an Update, with the newest of its states.
func TestPredictionIsComparedOnceInAnUpdate(t *testing.T) {
	p := newPredictionServer(t, client.PredictConfig{})
	p.frames(30, still)
	before := p.play.Stats()
	var datagrams [][]byte
	for i := range 30 {
		p.serve()
		p.state.Position[1] = float32(i)
		datagrams = append(datagrams, p.datagram(true))
	}
	require.NoError(t, p.session.Receive(p.now, nil, datagrams...))
	after := p.play.Stats()
	require.EqualValues(t, 1, after.Corrected-before.Corrected, fmt.Sprint(after))
	require.Equal(t, p.tick, after.Confirmed)
}
