package client_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	physics "github.com/worldd/worldd/world/motion"
)

// exactServer is a server that sends arbitrary messages to a client that simulates. Kind 0 has a
// body, kind 1 has none.
type exactServer struct {
	t       testing.TB
	schema  *schema.Schema
	session *client.Session
	body    client.Component[schema.Body]
	tickHz  uint16
	number  uint32
	tick    uint32 // of the newest Structure message
	seq     uint32
}

const exactServerHz = 60

func newExactServer(t testing.TB, c client.SessionConfig) *exactServer {
	return newExactServerAt(t, exactServerHz, c)
}

// newExactServerAt makes an exactServer whose server makes tickHz ticks a second.
func newExactServerAt(t testing.TB, tickHz uint16, c client.SessionConfig) *exactServer {
	m := &exactServer{t: t, tickHz: tickHz, schema: schema.New()}
	schema.Define[schema.Body](m.schema, schema.BodyComponent)
	require.NoError(t, m.schema.Err())
	own := m.schema.Clone()
	c.Simulate = true
	if c.Schema == nil {
		c.Schema = own
	}
	require.NoError(t, m.schema.AddKind(schema.EntityKind{Name: "ball", Body: &schema.KindBody{InvMass: 1, Coupling: 0.01, Radius: 0.5, Restitution: 1, Layers: 1}}))
	require.NoError(t, m.schema.AddKind(schema.EntityKind{Name: "mark"}))
	require.NoError(t, m.schema.SetMotion(schema.Motion{
		TickHz: tickHz, MaxSpeed: physics.MaxSpeed, HalfX: 900, Height: 900, HalfZ: 900, RestSpeed: 0.01, RestTicks: 30, Bounds: schema.BoundsBounce,
	}))
	m.body = must.Get(client.ComponentOf[schema.Body](own, schema.BodyComponent))
	m.session = must.Get(client.NewSession(c))
	hello := m.hello()
	require.Equal(t, wire.Simulates, hello.Abilities)
	m.welcome(0, 1)
	return m
}

func (m *exactServer) hello() wire.Hello {
	return must.Get(wire.Parse[wire.Hello](stage.FirstMessage(m.session.TakeStream(), wire.TypeHello)))
}

func (m *exactServer) welcome(resumed, simulate uint8) {
	w := stage.Welcome(m.schema)
	w.TickHz, w.MaxSlots, w.Tick = m.tickHz, 1<<16, 1
	w.Simulate, w.Resumed, w.Structure = simulate, resumed, structureOf(m.session, resumed)
	if _, again := m.session.Welcome(); again {
		w.SchemaText = ""
	}
	require.NoError(m.t, m.session.ReceiveStream(wire.AppendMessage(nil, w)))
}

// send sends records in a message of a tick.
func (m *exactServer) send(tick uint32, records ...[]byte) error {
	body := append(stage.Structure(m.number+1, tick-m.tick), slices.Concat(records...)...)
	m.number, m.tick = m.number+uint32(len(records)), tick
	return m.session.ReceiveStream(wire.AppendFrame(nil, wire.TypeStructure, body))
}

// enter returns an exact Enter.
func (m *exactServer) enter(h bulk.Handle, kind uint32, s physics.State, back uint32) []byte {
	b := schema.Body{Position: array(s.Position), Velocity: array(s.Velocity)}
	values := make([]uint32, m.schema.Values())
	rowschema.New(m.schema).Component(0).Quantise(&b, values)
	rowschema.New(m.schema).Component(0).Restore(values, &b)
	var g wire.Grid
	copy(g[:3], b.Position[:])
	copy(g[3:], b.Velocity[:])
	exact := bodyStateOf(s)
	form := wire.FormOf(&exact, &g)
	var w bitio.Writer
	rowschema.New(m.schema).AppendFull(&w, rowschema.Row{Mask: 1, Values: values})
	wire.AppendBody(&w, form, &exact, &g)
	return wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: h, Kind: kind, Row: w.Bytes(), Exact: wire.Exact{Form: form, Back: back}})
}

// ordinary returns an Enter without an exact state.
func (m *exactServer) ordinary(h bulk.Handle) []byte {
	return wire.AppendRecord(nil, stage.Enter(m.schema, h, rowschema.Row{Mask: 1, Values: make([]uint32, m.schema.Values())}))
}

// row returns a snapshot of a tick with a row of an entity, whose state is back ticks old.
func (m *exactServer) row(tick uint32, h bulk.Handle, back uint32) []byte {
	m.seq++
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
		Seq: m.seq, Tick: tick, Structure: m.number, Fold: wire.Fold16(wire.Fold(0, h)), Rows: 1, Exact: true,
	}))
	wire.AppendRowCoding(&w, wire.RowCoding{})
	wire.AppendRowHeader(&w, wire.RowCoding{}, h.Index(), wire.Baseline{})
	wire.AppendExact(&w, wire.Exact{Form: wire.OnGrid, Back: back})
	rowschema.New(m.schema).AppendFields(&w, rowschema.Row{Mask: 1, Values: make([]uint32, m.schema.Values())})
	return w.Bytes()
}

// complete returns a complete snapshot without rows.
func (m *exactServer) complete(tick uint32) []byte {
	m.seq++
	return wire.AppendStateHeader(nil, wire.StateHeader{Seq: m.seq, Tick: tick, Structure: m.number, Complete: true})
}

func (m *exactServer) snapshot(tick uint32) {
	must.Get(m.session.ReceiveDatagram(m.complete(tick), time.Duration(tick)*time.Second/time.Duration(m.tickHz)))
}

func (m *exactServer) exact(h bulk.Handle) (physics.State, uint32) {
	s, tick, ok := m.session.Replica().Entity(h).Exact()
	require.True(m.t, ok)
	return s, tick
}

func programOf(text string) []byte {
	p := must.Get(field.Compile(text))
	return must.Get(p.MarshalBinary())
}

const lift = "effect lift\nbox (-9, -9, -9) (9, 9, 9)\nparam lift = 1 in 0 .. 9\noutput += (0, lift, time)\n"

func floating(x float32) physics.State {
	return physics.State{Position: physics.Vec3{X: x, Y: 100, Z: x / 7}, Velocity: physics.Vec3{X: 3, Z: 1}, Awake: true}
}

// The errors of SIMULATING.md and PROTOCOL.md 7 end the session.
func TestHostileEffects(t *testing.T) {
	handle := func(slot, generation uint32) bulk.Handle { return bulk.NewHandle(slot, generation) }
	added := func(change func(*wire.EffectAdded)) []byte {
		e := wire.EffectAdded{Effect: handle(5, 3), Age: 1}
		change(&e)
		return e.Append(nil)
	}
	plain := added(func(*wire.EffectAdded) {})
	nan := float32(math.NaN())
	program := wire.Program{Code: programOf(lift)}.Append(nil)
	ended := func(slot, generation uint32, back uint32) []byte {
		return wire.EffectEnded{Effect: handle(slot, generation), Back: back}.Append(nil)
	}
	kind := wire.KindAdded{Kind: 2, KindConstants: wire.KindConstants{InvMass: 1}}.Append(nil)
	m := newExactServer(t, client.SessionConfig{})
	for name, c := range map[string]struct {
		records [][]byte
		fails   bool
	}{
		"an effect":                    {[][]byte{program, plain}, false},
		"no program":                   {[][]byte{plain}, true},
		"a program that is no program": {[][]byte{wire.Program{Code: []byte("program")}.Append(nil)}, true},
		"a program cut off":            {[][]byte{wire.Program{Code: programOf(lift)[:40]}.Append(nil)}, true},
		"a program in use":             {[][]byte{program, plain, program}, true},
		"a program used before":        {[][]byte{program, plain, ended(5, 3, 0), program}, false},
		"a parameter beyond its range": {[][]byte{program, added(func(e *wire.EffectAdded) { e.Params = wiretest.Floats(10) })}, true},
		"too many parameters":          {[][]byte{program, added(func(e *wire.EffectAdded) { e.Params = wiretest.Floats(1, 1) })}, true},
		"a path of NaN":                {[][]byte{program, added(func(e *wire.EffectAdded) { e.Path.Center[1] = nan })}, true},
		"a path too fast": {[][]byte{program, added(func(e *wire.EffectAdded) {
			e.Path.Form, e.Path.Velocity[0] = wire.PathLinear, 2e6
		})}, true},
		"twice":                  {[][]byte{program, plain, plain}, true},
		"an older one":           {[][]byte{program, plain, added(func(e *wire.EffectAdded) { e.Effect = handle(5, 1) })}, true},
		"another one":            {[][]byte{program, plain, ended(5, 3, 0), added(func(e *wire.EffectAdded) { e.Effect = handle(5, 5) })}, false},
		"an end of nothing":      {[][]byte{program, ended(5, 3, 0)}, true},
		"an end twice":           {[][]byte{program, plain, ended(5, 3, 0), ended(5, 3, 0)}, true},
		"an end before its time": {[][]byte{program, plain, ended(5, 3, 9)}, true},
		"born before all":        {[][]byte{program, added(func(e *wire.EffectAdded) { e.Age = 200 })}, true},
		"a last tick beyond all": {[][]byte{program, added(func(e *wire.EffectAdded) { e.Life = math.MaxUint32 })}, true},
		"a change of its path":   {[][]byte{program, plain, wire.EffectChanged{Effect: handle(5, 3), HasPath: true}.Append(nil)}, false},
		"a change of no program": {[][]byte{program, plain, wire.EffectChanged{Effect: handle(5, 3), HasParams: true, Params: wiretest.Floats(1, 2, 3)}.Append(nil)}, true},
		"a kind":                 {[][]byte{kind, m.enter(h(1, 1), 2, floating(0), 0)}, false},
		"a kind twice":           {[][]byte{kind, kind}, true},
		"a kind of the text":     {[][]byte{wire.KindAdded{Kind: 1}.Append(nil)}, true},
		"exact without a body":   {[][]byte{m.enter(h(1, 1), 1, floating(0), 0)}, true},
		"follows nobody": {[][]byte{program, added(func(e *wire.EffectAdded) {
			e.Path = wire.Path{Form: wire.PathFollowing, Leader: h(1, 1)}
		})}, true},
		"follows a newcomer": {[][]byte{program, m.enter(h(1, 1), 0, floating(0), 0), added(func(e *wire.EffectAdded) {
			e.Path = wire.Path{Form: wire.PathFollowing, Leader: h(1, 1)}
		})}, false},
		"exact of no kind":    {[][]byte{m.enter(h(1, 1), 9, floating(0), 0)}, true},
		"exact before tick 1": {[][]byte{m.enter(h(1, 1), 0, floating(0), 63)}, false},
	} {
		m := newExactServer(t, client.SessionConfig{})
		err := m.send(100, c.records...)
		if !c.fails {
			require.NoError(t, err, name)
			m.snapshot(200)
			continue
		}
		require.Equal(t, wire.BadMessage, wire.CodeOf(err), name)
	}
	require.Equal(t, wire.BadMessage, wire.CodeOf(m.send(50, m.enter(h(1, 1), 0, floating(0), 50))), "a state of tick 0")
}

// States and effects are at most a second old, or 63 ticks, so a server cannot make a client
// compute more. An older one ends the session.
func TestBackBeyondReach(t *testing.T) {
	program := wire.Program{Code: programOf(lift)}.Append(nil)
	effect := bulk.NewHandle(5, 3)
	for _, c := range []struct {
		tickHz uint16
		most   uint32
	}{{20, 63}, {60, 63}, {64, 64}, {240, 240}, {1000, 1000}} {
		begin := func(records ...[]byte) *exactServer {
			m := newExactServerAt(t, c.tickHz, client.SessionConfig{})
			require.NoError(t, m.send(1, append([][]byte{program}, records...)...))
			return m
		}
		check := func(over uint32, err error) {
			want := map[uint32]wire.Code{0: wire.OK, 1: wire.BadMessage}[over]
			require.Equal(t, want, wire.CodeOf(err), "%d beyond %d ticks, at %d a second: %v", over, c.most, c.tickHz, err)
		}
		for over := range uint32(2) {
			m := begin()
			check(over, m.send(5000, m.enter(h(1, 1), 0, floating(0), c.most+over)))
			check(over, begin().send(5000, wire.EffectAdded{Effect: effect, Back: c.most + 1 + over}.Append(nil)))
			for _, record := range [][]byte{
				wire.EffectChanged{Effect: effect, Back: c.most + 1 + over, HasParams: true}.Append(nil),
				wire.EffectEnded{Effect: effect, Back: c.most + 1 + over}.Append(nil),
			} {
				check(over, begin(wire.EffectAdded{Effect: effect}.Append(nil)).send(5000, record))
			}
			m = begin()
			require.NoError(t, m.send(4999, m.ordinary(h(0, 1))))
			_, err := m.session.ReceiveDatagram(m.row(5000, h(0, 1), c.most+over), 0)
			check(over, err)
		}
	}
}

// A body whose given state is the oldest allowed one is computed as if it had been in time,
// under an effect that follows another body.
func TestOldestState(t *testing.T) {
	const pull = "effect pull\nbox (-9, -9, -9) (9, 9, 9)\noutput += position * -3\n"
	for _, tickHz := range []uint16{60, 64, 240, 1000} {
		back := wire.MaxBack(int(tickHz))
		begin := func() *exactServer {
			m := newExactServerAt(t, tickHz, client.SessionConfig{})
			e := wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Age: 1, Path: wire.Path{Form: wire.PathFollowing, Leader: h(1, 1)}}
			require.NoError(t, m.send(5, wire.Program{Code: programOf(pull)}.Append(nil), m.enter(h(1, 1), 0, floating(0), 0), e.Append(nil)))
			return m
		}
		newcomer := func(m *exactServer, back uint32) []byte { return m.enter(h(2, 1), 0, floating(4), back) }
		early, late := begin(), begin()
		require.NoError(t, early.send(10, newcomer(early, 0)))
		for tick := uint32(5); tick < 10+back; tick++ {
			early.snapshot(max(tick, 10))
			late.snapshot(tick)
		}
		require.NoError(t, late.send(10+back, newcomer(late, back)))
		early.snapshot(10 + back)
		late.snapshot(10 + back)
		want, _ := early.exact(h(2, 1))
		got, tick := late.exact(h(2, 1))
		require.Equal(t, 10+back, tick)
		require.Equal(t, want, got, "%d ticks a second", tickHz)
		require.NotEqual(t, floating(4).Velocity, got.Velocity)
	}
}

// A snapshot that announces exact rows has one.
func TestExactRowsAreThere(t *testing.T) {
	for _, exact := range []bool{false, true} {
		m := newExactServer(t, client.SessionConfig{})
		require.NoError(t, m.send(100, m.ordinary(h(0, 1))))
		var w bitio.Writer
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
			Seq: 1, Tick: 103, Structure: m.number, Fold: wire.Fold16(wire.Fold(0, h(0, 1))), Rows: 1, Exact: exact,
		}))
		wire.AppendRowCoding(&w, wire.RowCoding{})
		wire.AppendRowHeader(&w, wire.RowCoding{}, 0, wire.Baseline{})
		if exact {
			wire.AppendExact(&w, wire.Exact{})
		}
		rowschema.New(m.schema).AppendFields(&w, rowschema.Row{Mask: 1, Values: make([]uint32, m.schema.Values())})
		_, err := m.session.ReceiveDatagram(w.Bytes(), 0)
		if !exact {
			require.NoError(t, err)
			require.Equal(t, uint32(1), m.session.Replica().Stats().Ack.Newest)
			continue
		}
		require.Equal(t, wire.BadMessage, wire.CodeOf(err))
	}
}

// An effect that follows an ordinary entity stands still.
func TestLeaderIsOrdinary(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	e := wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Age: 1, Path: wire.Path{Form: wire.PathFollowing, Leader: h(9, 1), Center: [3]float32{0, 100, 0}}}
	require.NoError(t, m.send(10, wire.Program{Code: programOf(lift)}.Append(nil), m.enter(h(1, 1), 0, floating(0), 0), m.ordinary(h(9, 1)), e.Append(nil)))
	for tick := uint32(12); tick < 100; tick += 3 {
		m.snapshot(tick)
	}
	_, at := m.exact(h(1, 1))
	require.Equal(t, uint32(99), at)
	_, _, ok := m.session.Replica().Entity(h(9, 1)).Exact()
	require.False(t, ok)
}

// A body is computed in the highest tick, and its earlier states remain known.
func TestComputingInTheLastTick(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	require.NoError(t, m.send(math.MaxUint32-1, m.enter(h(9, 1), 0, floating(1), 0)))
	m.snapshot(math.MaxUint32 - 1)
	m.snapshot(math.MaxUint32)
	e := m.session.Replica().Entity(h(9, 1))
	_, at, ok := e.Exact()
	require.True(t, ok)
	require.EqualValues(t, uint32(math.MaxUint32), at)
	must.Have(m.body.At(e, client.Moment{Tick: math.MaxUint32 - 1}))
}

// If a server makes the client compute endlessly, the bodies stand still. The client asks for
// their states at most once a second, and computing continues from there.
func TestComputingIsBounded(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	records := [][]byte{wire.Program{Code: programOf(lift)}.Append(nil)}
	for i := range uint32(300) {
		records = append(records, m.enter(h(i, 1), 0, floating(float32(i)), 0))
	}
	require.NoError(t, m.send(10, records...))
	m.snapshot(12)
	m.snapshot(15)
	before, _ := m.exact(h(0, 1))
	m.snapshot(math.MaxUint32 - 1000) // far in the future
	n := m.session.Stats().Replica.Motion
	require.Equal(t, uint64(1), n.Overruns)
	require.NotNil(t, m.session.TakeStream(), "a Resync")
	shown := must.Have(m.body.Get(m.session.Replica().Entity(h(0, 1))))
	require.InDelta(t, before.Position.Y, shown.Position[1], 1)
	// The server enters everything again, with effects everywhere.
	tick := uint32(math.MaxUint32 - 900)
	records = records[:0]
	for i := range uint32(300) {
		records = append(records, m.enter(h(i, 1), 0, floating(float32(i)), 0))
	}
	require.NoError(t, m.send(tick, records...))
	m.snapshot(tick + 3)
	_, at := m.exact(h(0, 1))
	require.Equal(t, tick+3, at)
	records = [][]byte{wire.Program{Number: 1, Code: programOf("effect all\neverywhere\noutput += (sin(position.x), sin(position.y), sin(time))\n")}.Append(nil)}
	for i := range uint32(wire.MaxEffects) {
		e := wire.EffectAdded{Effect: bulk.NewHandle(i, 1), Program: 1, Age: 1, Back: 0}
		if len(records) == 1000 {
			require.NoError(t, m.send(tick+3, records...))
			records = nil
		}
		records = append(records, e.Append(nil))
	}
	require.NoError(t, m.send(tick+3, records...))
	m.snapshot(tick + 600)
	require.Equal(t, uint64(2), m.session.Stats().Replica.Motion.Overruns)
	require.Less(t, m.session.Stats().Replica.Motion.Steps, uint64(300*700))
}

// Programs and effects count for MaxBytes.
func TestEffectsAreCounted(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{MaxBytes: 1 << 20})
	require.NoError(t, m.send(10, wire.Program{Code: programOf(lift)}.Append(nil)))
	for i := range uint32(wire.MaxEffects) {
		e := wire.EffectAdded{Effect: bulk.NewHandle(i, 1), Age: 1}
		if err := m.send(10, e.Append(nil)); err != nil {
			require.Equal(t, wire.TooMuch, wire.CodeOf(err))
			require.Less(t, m.session.Replica().Stats().Bytes, 2<<20)
			return
		}
	}
	require.Fail(t, "no limit")
}

// A replaced program counts for MaxBytes as long as an ended effect still uses it.
func TestReplacedProgramsAreCounted(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	program := wire.Program{Code: programOf(lift)}.Append(nil)
	one := func(tick, slot uint32) {
		e := wire.EffectAdded{Effect: bulk.NewHandle(slot, 1), Age: 1, Life: 1}
		require.NoError(t, m.send(tick, program, e.Append(nil)))
	}
	one(10, 0)
	first := m.session.Replica().Stats().Bytes
	one(12, 1)
	grown := m.session.Replica().Stats().Bytes - first
	require.Greater(t, grown, 4<<10, "the first program is still there")
	m.snapshot(20)
	m.snapshot(2000)
	one(2001, 2)
	require.Less(t, m.session.Replica().Stats().Bytes, first+grown)
}

// A record about computed ticks does not change them, but bodies with equally old given states
// are computed with it.
func TestLateEffect(t *testing.T) {
	still := physics.State{Position: physics.Vec3{Y: 100}}
	e := wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Age: 1, Path: wire.Path{Center: [3]float32{0, 100, 0}}}
	begin := func() *exactServer {
		m := newExactServer(t, client.SessionConfig{})
		require.NoError(t, m.send(10, wire.Program{Code: programOf(lift)}.Append(nil), m.enter(h(1, 1), 0, still, 0), m.enter(h(2, 1), 0, floating(50), 0)))
		return m
	}
	m := begin()
	require.NoError(t, m.send(19, e.Append(nil)))
	m.snapshot(60)
	want, at := m.exact(h(1, 1))
	require.Equal(t, uint32(60), at)
	require.True(t, want.Awake)

	m = begin()
	m.snapshot(40)
	before := m.session.Stats().Replica.Motion.Rerun
	e.Back = 21
	require.NoError(t, m.send(40, e.Append(nil), m.enter(h(3, 1), 0, still, 21)))
	m.snapshot(60)
	require.Equal(t, before+21, m.session.Stats().Replica.Motion.Rerun, "of one body")
	got, _ := m.exact(h(3, 1))
	require.Equal(t, want, got)
	got, _ = m.exact(h(1, 1))
	require.Equal(t, still, got)
}

// A path that replaces another counts from the tick of the change.
func TestChangedPath(t *testing.T) {
	way := wire.Path{Form: wire.PathLinear, Center: [3]float32{0, 100, 0}, Velocity: [3]float32{3, 0, 1}}
	const push = "effect push\nbox (-9, -9, -9) (9, 9, 9)\noutput += position * 0.5\n"
	run := func(change func(*exactServer)) physics.State {
		m := newExactServer(t, client.SessionConfig{})
		require.NoError(t, m.send(10, wire.Program{Code: programOf(push)}.Append(nil), m.enter(h(1, 1), 0, floating(0), 0)))
		change(m)
		m.snapshot(60)
		s, _ := m.exact(h(1, 1))
		return s
	}
	added := run(func(m *exactServer) {
		require.NoError(t, m.send(19, wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Path: way}.Append(nil)))
	})
	require.Equal(t, added, run(func(m *exactServer) {
		far := wire.Path{Center: [3]float32{500, 500, 500}}
		require.NoError(t, m.send(10, wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Age: 1, Path: far}.Append(nil)))
		require.NoError(t, m.send(19, wire.EffectChanged{Effect: bulk.NewHandle(0, 1), HasPath: true, Path: way}.Append(nil)))
	}))
	require.NotEqual(t, added, run(func(*exactServer) {}))
}

// A new session begins without bodies, a resumed one continues with them.
func TestBodiesAcrossSessions(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 3)))
	m.snapshot(30)
	before, _ := m.exact(h(1, 1))
	reconnect := func(resumed uint8) {
		m.session.Lost(nil)
		m.session.Reconnect()
		require.Equal(t, wire.Simulates, m.hello().Abilities)
		m.welcome(resumed, 1)
	}
	reconnect(1)
	after, _ := m.exact(h(1, 1))
	require.Equal(t, before, after)
	m.snapshot(900)
	_, at := m.exact(h(1, 1))
	require.Equal(t, uint32(900), at)
	reconnect(0)
	require.Zero(t, m.session.Replica().Len())
	m.number, m.tick, m.seq = 0, 0, 0
	require.NoError(t, m.send(1000, m.enter(h(1, 1), 0, floating(0), 3)))
	m.snapshot(1010)
	_, at = m.exact(h(1, 1))
	require.Equal(t, uint32(1010), at)
	require.Equal(t, 1, m.session.Stats().Replica.Motion.Clean)
}

// At is exact at ticks and between them, and Get is the newest computed state.
func TestAtIsComputed(t *testing.T) {
	m := newExactServer(t, client.SessionConfig{})
	require.NoError(t, m.send(10, m.enter(h(1, 1), 0, floating(0), 0)))
	var states []physics.State
	for tick := uint32(11); tick <= 31; tick++ {
		m.snapshot(tick)
		s, _ := m.exact(h(1, 1))
		states = append(states, s)
	}
	e := m.session.Replica().Entity(h(1, 1))
	for i, s := range states {
		got := must.Have(m.body.At(e, client.Moment{Tick: float64(11 + i)}))
		require.Equal(t, array(s.Position), got.Position)
		require.Equal(t, array(s.Velocity), got.Velocity)
	}
	got, _ := m.body.At(e, client.Moment{Tick: 20.5})
	require.InDelta(t, (states[9].Position.X+states[10].Position.X)/2, got.Position[0], 1e-5)
	got, _ = m.body.Get(e)
	require.Equal(t, array(states[20].Position), got.Position)
	got, _ = m.body.Jumping(func(schema.Body, schema.Body, uint32) bool { return true }).At(e, client.Moment{Tick: 20.5})
	require.Equal(t, array(states[9].Position), got.Position)
}

// A warm step allocates nothing.
func TestComputingAllocatesNothing(t *testing.T) {
	alloctest.SkipAudited(t)
	for _, around := range []bool{false, true} {
		m := newManyBodies(t, around)
		var datagrams [][]byte
		for i := range uint32(102) {
			datagrams = append(datagrams, m.complete(400+3*i))
		}
		before := m.session.Stats().Replica.Motion.Steps
		require.Zero(t, testing.AllocsPerRun(100, func() {
			must.Get(m.session.ReceiveDatagram(datagrams[0], 0))
			datagrams = datagrams[1:]
		}))
		require.Greater(t, m.session.Stats().Replica.Motion.Steps-before, uint64(100*3*200))
	}
}
