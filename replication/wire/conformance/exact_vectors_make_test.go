package conformance

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtest"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

const (
	exactTickHz    = 60
	exactRestTicks = 30
	fastTickHz     = 1000 // of the vectors about back
)

// exactSchema is the schema of exact.jsonl.
func exactSchema(t testing.TB) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(t, s.Err())
	require.NoError(t, s.AddKind(schema.EntityKind{Name: "stone", Body: &schema.KindBody{InvMass: 1, Coupling: 0.125, Radius: 0.5, Layers: 1}}))
	require.NoError(t, s.SetMotion(schema.Motion{TickHz: exactTickHz, Gravity: 9.81, MaxSpeed: 128, HalfX: 100, Height: 20, HalfZ: 50, RestSpeed: 0.08, RestTicks: exactRestTicks}))
	return s
}

// exactMaker makes the lines of exact.jsonl.
type exactMaker struct {
	schema *schema.Schema
	lines  []exactLine
}

// refused stands for an error until the line has been read.
var refused = exactRead{Error: "bad-message"}

// exactLines returns the lines without their expected results, except whether the result is
// an error.
func exactLines(s *schema.Schema) []exactLine {
	m := &exactMaker{schema: s}
	m.enters()
	m.programs()
	m.effects()
	m.paths()
	m.changes()
	m.kinds()
	m.headers()
	m.rows()
	m.audits()
	return m.lines
}

// message adds a Structure message of tick 1,000.
func (m *exactMaker) message(about string, want exactRead, records ...[]byte) {
	m.messageAt(about, 1000, want, records...)
}

func (m *exactMaker) messageAt(about string, tick uint32, want exactRead, records ...[]byte) {
	body := wire.AppendStructureHeader(nil, 1, tick)
	for _, r := range records {
		body = append(body, r...)
	}
	m.lines = append(m.lines, exactLine{About: about, Structure: body, exactRead: want})
}

// atRate adds a Structure message of tick 5,000 in a session of tickHz ticks a second.
func (m *exactMaker) atRate(tickHz uint32, about string, want exactRead, records ...[]byte) {
	m.messageAt(about, 5000, want, records...)
	m.lines[len(m.lines)-1].TickHz = tickHz
}

// Bodies of the vectors: some on the grid, some off it.
var (
	snapped = wire.BodyState{Position: [3]float32{17.25, 0.5, -99.99609375}, Velocity: [3]float32{-1.5, 0, 3.03125}, Awake: true}
	odd     = wiretest.OffGrid()
)

// enter returns an Enter with the exact state b.
func (m *exactMaker) enter(e wire.Exact, b wire.BodyState) []byte {
	row := rowtest.NewRow(m.schema, 0)
	quantised := schema.Body{Position: b.Position, Velocity: b.Velocity}
	rowtest.Set(m.schema, &row, "body", quantised)
	rowschema.New(m.schema).Component(0).Restore(row.Values, &quantised)
	var w bitio.Writer
	rowschema.New(m.schema).AppendFull(&w, row)
	wire.AppendBody(&w, e.Form, &b, wiretest.Grid(&quantised))
	return wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(300, 7), Exact: e, Row: w.Bytes()})
}

func (m *exactMaker) enters() {
	asleep, oddAsleep, still := snapped, odd, odd
	asleep.Awake, asleep.Velocity = false, [3]float32{}
	oddAsleep.Awake, oddAsleep.Velocity, oddAsleep.Rest = false, [3]float32{}, 0
	still.Velocity = [3]float32{0, float32(math.Copysign(0, -1)), 0}
	far := odd
	far.Position, far.Velocity, far.Rest = [3]float32{-math.MaxFloat32, 5000, math.SmallestNonzeroFloat32}, [3]float32{math.MaxFloat32, -1e-42, 128}, exactRestTicks
	m.message("a body on the grid", exactRead{}, m.enter(wire.Exact{Form: wire.OnGrid}, snapped))
	m.message("a spawn of 2 ticks ago", exactRead{}, m.enter(wire.Exact{Form: wire.OnGrid, Back: 2}, snapped))
	m.message("asleep on the grid", exactRead{}, m.enter(wire.Exact{Form: wire.OnGridAsleep}, asleep))
	m.message("asleep on the grid, and moving", refused, m.enter(wire.Exact{Form: wire.OnGridAsleep}, snapped))
	m.message("a body off the grid, 63 ticks ago", exactRead{}, m.enter(wire.Exact{Form: wire.Raw, Back: 63}, odd))
	m.message("the velocity has a -0", exactRead{}, m.enter(wire.Exact{Form: wire.Raw}, still))
	m.message("beyond the grid, and at rest for the longest time", exactRead{}, m.enter(wire.Exact{Form: wire.Raw, Back: 1}, far))
	far.Rest++
	m.message("at rest for longer", refused, m.enter(wire.Exact{Form: wire.Raw}, far))
	m.message("asleep off the grid", exactRead{}, m.enter(wire.Exact{Form: wire.RawAsleep, Back: 5}, oddAsleep))
	infinite := odd
	infinite.Position[1] = float32(math.Inf(1))
	m.message("an infinite height", refused, m.enter(wire.Exact{Form: wire.Raw}, infinite))
	infinite.Position[1] = float32(math.NaN())
	m.message("NaN for a height", refused, m.enter(wire.Exact{Form: wire.RawAsleep}, infinite))
	m.messageAt("the state of tick 1", 64, exactRead{}, m.enter(wire.Exact{Form: wire.OnGrid, Back: 63}, snapped))
	m.messageAt("the state of tick 0", 63, refused, m.enter(wire.Exact{Form: wire.OnGrid, Back: 63}, snapped))
	m.message("a spawn of 64 ticks ago", refused, m.enter(wire.Exact{Form: wire.OnGrid, Back: 64}, snapped))
	m.atRate(20, "a spawn of 63 ticks ago, at 20 ticks a second", exactRead{}, m.enter(wire.Exact{Form: wire.OnGrid, Back: 63}, snapped))
	m.atRate(fastTickHz, "a spawn of a second ago, at 1,000 ticks a second", exactRead{}, m.enter(wire.Exact{Form: wire.OnGrid, Back: 1000}, snapped))
	m.atRate(fastTickHz, "a spawn of a second and a tick ago", refused, m.enter(wire.Exact{Form: wire.OnGrid, Back: 1001}, snapped))
	cut := m.enter(wire.Exact{Form: wire.Raw}, odd)
	ordinary := m.enter(wire.Exact{Form: wire.OnGrid}, snapped)
	m.message("the row ends before the exact part", refused, withForm(ordinary, 2))
	m.message("an exact part that the form lacks", refused, withForm(cut, 0))
}

// withForm returns an exact Enter with another form byte, which follows head, entity and kind.
func withForm(enter []byte, form byte) []byte {
	const formAt = 5
	enter = slices.Clone(enter)
	enter[formAt] = form
	return enter
}

// extend returns an Extension of the bytes in parts: numbers are uvarints.
func extend(detail byte, parts ...any) []byte {
	b := []byte{7 | detail<<3}
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			b = append(b, p)
		case int:
			b = binary.AppendUvarint(b, uint64(p))
		case float64:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(p)))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func (m *exactMaker) programs() {
	m.message("a program", exactRead{}, wire.Program{Number: 200, Code: []byte("wfld...")}.Append(nil))
	m.message("the longest program, and another of its number", exactRead{}, wire.Program{Code: make([]byte, 18_432)}.Append(nil), wire.Program{Code: []byte{1}}.Append(nil))
	m.message("a longer program", refused, extend(0, byte(0), 18_433, make([]byte, 18_433)))
	m.message("an empty program", refused, extend(0, byte(0), 0))
	m.message("a cut program", refused, extend(0, byte(0), 9, make([]byte, 8)))
	m.message("an unknown extension", refused, extend(6, byte(0), 1, byte(1)))
}

// added returns an effect in slot 9, of generation 3.
func added() wire.EffectAdded {
	return wire.EffectAdded{
		Effect: bulk.NewHandle(9, 3), Program: 200, Mode: 1, Layers: 1 << 31, Back: 1, Age: 1, Life: 100,
		Path: wire.Path{Center: [3]float32{1.5, -2, 1e9}}, Params: wiretest.Floats(3, -0.5),
	}
}

func (m *exactMaker) effects() {
	add := func(about string, want exactRead, change func(e *wire.EffectAdded)) {
		e := added()
		change(&e)
		m.message(about, want, e.Append(nil))
	}
	add("an effect", exactRead{}, func(*wire.EffectAdded) {})
	add("an endless effect of the defaults, in the highest slot", exactRead{}, func(e *wire.EffectAdded) {
		e.Effect, e.Mode, e.Layers, e.Life, e.Params = bulk.NewHandle(4095, math.MaxUint32), 0, 0, 0, nil
	})
	add("a slot beyond the last", refused, func(e *wire.EffectAdded) { e.Effect = bulk.NewHandle(4096, 3) })
	add("an even generation", refused, func(e *wire.EffectAdded) { e.Effect = bulk.NewHandle(9, 4) })
	add("an unknown mode", refused, func(e *wire.EffectAdded) { e.Mode = 2 })
	add("256 numbers", exactRead{}, func(e *wire.EffectAdded) { e.Params = wiretest.Floats(make([]float32, 256)...) })
	add("257 numbers", refused, func(e *wire.EffectAdded) { e.Params = wiretest.Floats(make([]float32, 257)...) })
	add("a parameter that is NaN", refused, func(e *wire.EffectAdded) { e.Params = wiretest.Floats(1, float32(math.NaN())) })
	add("from 63 ticks ago on", exactRead{}, func(e *wire.EffectAdded) { e.Back = 64 })
	add("from 64 ticks ago on", refused, func(e *wire.EffectAdded) { e.Back = 65 })
	back := func(n uint32) []byte {
		e := added()
		e.Back = n
		return e.Append(nil)
	}
	m.atRate(20, "from 63 ticks ago on, at 20 ticks a second", exactRead{}, back(64))
	m.atRate(fastTickHz, "from a second ago on, at 1,000 ticks a second", exactRead{}, back(1001))
	m.atRate(fastTickHz, "from a second and a tick ago on", refused, back(1002))
	add("it acts in the tick of its birth", exactRead{}, func(e *wire.EffectAdded) { e.Age = 0 })
	add("born in tick 0", exactRead{}, func(e *wire.EffectAdded) { e.Age, e.Life = 1000, 0 })
	add("born before tick 0", refused, func(e *wire.EffectAdded) { e.Age, e.Life = 1001, 0 })
	add("its first tick is its last", exactRead{}, func(e *wire.EffectAdded) { e.Age, e.Life = 8, 1 })
	add("the tick of its birth is its last", exactRead{}, func(e *wire.EffectAdded) { e.Age, e.Life = 0, 1 })
	add("its last tick is 2^32 - 1", exactRead{}, func(e *wire.EffectAdded) { e.Life = 1<<32 - 1000 })
	add("its last tick is 2^32", refused, func(e *wire.EffectAdded) { e.Life = 1<<32 - 999 })
	first := added()
	first.Back, first.Age = 64, 0
	m.messageAt("its first tick is 1", 64, exactRead{}, first.Append(nil))
	m.messageAt("its first tick is 0", 63, refused, first.Append(nil))
	first.Back = 0
	m.messageAt("its first tick is 2^32", 1<<32-1, refused, first.Append(nil))
	m.message("ended", exactRead{}, wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Back: 2}.Append(nil))
	m.message("left", exactRead{}, wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Left: true}.Append(nil))
	m.message("the end of an even generation", refused, wire.EffectEnded{Effect: bulk.NewHandle(9, 2)}.Append(nil))
	m.atRate(fastTickHz, "an end a second ago, at 1,000 ticks a second", exactRead{}, wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Back: 1001}.Append(nil))
	m.atRate(fastTickHz, "an end a second and a tick ago", refused, wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Back: 1002}.Append(nil))
	m.messageAt("the end in tick 0", 1, refused, wire.EffectEnded{Effect: bulk.NewHandle(9, 3), Back: 2}.Append(nil))
}

func (m *exactMaker) paths() {
	add := func(about string, want exactRead, p wire.Path) {
		e := added()
		e.Path = p
		m.message(about, want, e.Append(nil))
	}
	center := [3]float32{1, 2, 3}
	nan := float32(math.NaN())
	orbit := wire.Path{Form: wire.PathOrbit, Center: center, Axes: [2][3]float32{{5, 0, 0}, {0, 0, -5}}, Phase: 1 << 31, Rate: 1<<32 - 77}
	add("a linear path", exactRead{}, wire.Path{Form: wire.PathLinear, Center: center, Velocity: [3]float32{-1, 0, 0.1}})
	add("an orbit", exactRead{}, orbit)
	add("a path that follows an entity", exactRead{}, wire.Path{Form: wire.PathFollowing, Center: center, Leader: bulk.NewHandle(1<<24-1, 1)})
	add("it follows a slot beyond the last", refused, wire.Path{Form: wire.PathFollowing, Center: center, Leader: bulk.NewHandle(1<<24, 1)})
	add("it follows an even generation", refused, wire.Path{Form: wire.PathFollowing, Center: center, Leader: bulk.NewHandle(1, 2)})
	add("an unknown path", refused, wire.Path{Form: 4, Center: center})
	add("an infinite centre", refused, wire.Path{Center: [3]float32{0, 0, float32(math.Inf(-1))}})
	add("an infinite velocity", refused, wire.Path{Form: wire.PathLinear, Velocity: [3]float32{0, nan, 0}})
	add("the fastest velocity", exactRead{}, wire.Path{Form: wire.PathLinear, Velocity: [3]float32{1e6, 0, -1e6}})
	add("a faster velocity", refused, wire.Path{Form: wire.PathLinear, Velocity: [3]float32{0, math.Nextafter32(-1e6, -2e6), 0}})
	orbit.Axes[0] = [3]float32{0, -1e6, 1e6}
	add("the longest axis", exactRead{}, orbit)
	orbit.Axes[0][2] = math.Nextafter32(1e6, 2e6)
	add("a longer axis", refused, orbit)
	orbit.Axes[0][2] = 0
	orbit.Axes[1][2] = nan
	add("an axis that is NaN", refused, orbit)
}

func (m *exactMaker) changes() {
	c := wire.EffectChanged{Effect: bulk.NewHandle(9, 3), Path: wire.Path{Center: [3]float32{4, 5, 6}}, Params: wiretest.Floats(1)}
	c.HasPath = true
	m.message("another path", exactRead{}, c.Append(nil))
	c.HasParams, c.Back = true, 3
	m.message("another path and parameters", exactRead{}, c.Append(nil))
	c.HasPath = false
	m.message("other parameters", exactRead{}, c.Append(nil))
	m.messageAt("a change in tick 0", 2, refused, c.Append(nil))
	c.Back = 1001
	m.atRate(fastTickHz, "a change a second ago, at 1,000 ticks a second", exactRead{}, c.Append(nil))
	c.Back = 1002
	m.atRate(fastTickHz, "a change a second and a tick ago", refused, c.Append(nil))
	m.message("a change of nothing", refused, extend(2, 9, 3, byte(0), byte(0)))
	m.message("a change of something else", refused, extend(2, 9, 3, byte(0), byte(6), 0))
	m.message("a change 65 ticks back", refused, extend(2, 9, 3, byte(65), byte(2), 0))
}

func (m *exactMaker) kinds() {
	k := wire.KindAdded{Kind: 1<<16 - 1, KindConstants: wire.KindConstants{InvMass: 0.5, Coupling: 1, Radius: 2, Friction: 3, Restitution: 1, Layers: 1 << 31}}
	m.message("a kind", exactRead{}, k.Append(nil))
	m.message("a kind beyond the last", refused, extend(5, 1<<16, 0.0, 0.0, 0.0, 0.0, 0.0, make([]byte, 4)))
	m.message("a negative radius", refused, extend(5, 1, 0.0, 0.0, -1.0, 0.0, 0.0, make([]byte, 4)))
	m.message("a radius of -0", refused, extend(5, 1, 0.0, 0.0, math.Copysign(0, -1), 0.0, 0.0, make([]byte, 4)))
	m.message("an infinite mass", refused, extend(5, 1, math.Inf(1), 0.0, 0.0, 0.0, 0.0, make([]byte, 4)))
	m.message("coupling above 1", refused, extend(5, 1, 0.0, 1.25, 0.0, 0.0, 0.0, make([]byte, 4)))
	m.message("restitution above 1", refused, extend(5, 1, 0.0, 0.0, 0.0, 0.0, 1.25, make([]byte, 4)))
}

func (m *exactMaker) headers() {
	add := func(about string, want exactRead, d []byte) {
		m.lines = append(m.lines, exactLine{About: about, State: d, exactRead: want})
	}
	h := wire.StateHeader{Seq: 9, Tick: 1000, Structure: 3, Complete: true}
	add("complete", exactRead{}, wire.AppendStateHeader(nil, h))
	h.Audited, h.Audit = true, 0xdeadbeef
	h.Events = wire.AppendEvent(nil, wire.Event{Number: 1, Age: 2, Body: []byte{3}})
	add("an audit, after events", exactRead{}, wire.AppendStateHeader(nil, h))
	h.Rows, h.Teleports = 2, wire.AppendTeleport(nil, 0, wire.Teleport{Row: 1, Age: 5})
	add("teleports, after an audit", exactRead{}, wire.AppendStateHeader(nil, h))
	h.Rows, h.Teleports = 0, nil
	const flagsAt = 20
	d := wire.AppendStateHeader(nil, h)
	d[flagsAt] &^= 2
	add("an audit of what is not complete", refused, d)
	h = wire.StateHeader{Seq: 9, Tick: 1000, Continued: true}
	add("continued", exactRead{}, wire.AppendStateHeader(nil, h))
	d = wire.AppendStateHeader(nil, h)
	d[flagsAt] |= 64
	add("an unknown flag", refused, d)
	h = wire.StateHeader{Seq: 9, Tick: 1000, Rows: 1, Exact: true}
	add("exact rows", exactRead{}, wire.AppendStateHeader(nil, h))
	h.Complete, h.Exact = true, false
	add("ordinary rows", exactRead{}, wire.AppendStateHeader(nil, h))
	h = wire.StateHeader{Seq: 9, Tick: 1000, Continued: true}
	d = wire.AppendStateHeader(nil, h)
	d[flagsAt] |= 16
	add("exact rows, and no rows", refused, d)
	h.Seq = 1
	add("the first is continued", refused, wire.AppendStateHeader(nil, h))
}

func (m *exactMaker) rows() {
	usual := wire.RowCoding{SkipBits: 3, Usual: wire.Baseline{Age: 6, Gap: 3}}
	grid := wire.Grid{17.25, 0.5, -100, -1.5, 0, 3.03125}
	add := func(about string, want exactRead, tick uint32, write func(w *bitio.Writer)) {
		var w bitio.Writer
		write(&w)
		r := &exactRow{Tick: tick, K: usual.SkipBits, Age: usual.Usual.Age, Gap: usual.Usual.Gap, Bits: slices.Clone(w.Bytes())}
		for i, x := range grid {
			r.Grid[i] = math.Float32bits(x)
		}
		m.lines = append(m.lines, exactLine{About: about, Row: r, exactRead: want})
	}
	row := func(b wire.Baseline, e wire.Exact, s wire.BodyState) func(w *bitio.Writer) {
		return func(w *bitio.Writer) {
			wire.AppendRowHeader(w, usual, 17, b)
			wire.AppendExact(w, e)
			wire.AppendBody(w, e.Form, &s, &grid)
		}
	}
	own := wire.Baseline{Age: 64, Gap: 9}
	oddAsleep := odd
	oddAsleep.Awake, oddAsleep.Velocity, oddAsleep.Rest = false, [3]float32{}, 0
	add("an ordinary row", exactRead{}, 1000, row(usual.Usual, wire.Exact{}, odd))
	add("an ordinary row of its own baseline", exactRead{}, 1000, row(own, wire.Exact{}, odd))
	add("an exact row on the grid", exactRead{}, 1000, row(usual.Usual, wire.Exact{Form: wire.OnGrid, Back: 2}, snapped))
	add("an exact row of its own baseline", exactRead{}, 1000, row(own, wire.Exact{Form: wire.Raw, Back: 63}, odd))
	add("an exact row asleep", exactRead{}, 1000, row(usual.Usual, wire.Exact{Form: wire.RawAsleep}, oddAsleep))
	add("an exact row asleep that moves on the grid", refused, 1000, row(usual.Usual, wire.Exact{Form: wire.OnGridAsleep}, snapped))
	add("one tick after its base", exactRead{}, 1000, row(usual.Usual, wire.Exact{Form: wire.OnGrid, Back: 5}, snapped))
	add("in the tick of its base", refused, 1000, row(usual.Usual, wire.Exact{Form: wire.OnGrid, Back: 6}, snapped))
	add("in full, of tick 1", exactRead{}, 10, row(wire.Baseline{}, wire.Exact{Form: wire.OnGrid, Back: 9}, snapped))
	add("in full, of tick 0", refused, 10, row(wire.Baseline{}, wire.Exact{Form: wire.OnGrid, Back: 10}, snapped))
	add("in full, 64 ticks back", refused, 1000, func(w *bitio.Writer) {
		wire.AppendRowHeader(w, usual, 0, wire.Baseline{})
		w.Write(1, 3)
		w.WriteGolomb(64, 1)
	})
	atRate := func(tickHz uint32, about string, want exactRead, back uint32) {
		add(about, want, 5000, row(wire.Baseline{}, wire.Exact{Form: wire.OnGrid, Back: back}, snapped))
		m.lines[len(m.lines)-1].TickHz = tickHz
	}
	atRate(20, "63 ticks back, at 20 ticks a second", exactRead{}, 63)
	atRate(fastTickHz, "a second back, at 1,000 ticks a second", exactRead{}, 1000)
	atRate(fastTickHz, "a second and a tick back", refused, 1001)
	long := odd
	long.Rest = exactRestTicks + 1
	add("at rest for too long", refused, 1000, row(usual.Usual, wire.Exact{Form: wire.Raw}, long))
	long.Rest, long.Velocity[2] = 0, float32(math.Inf(-1))
	add("infinitely fast", refused, 1000, row(usual.Usual, wire.Exact{Form: wire.Raw}, long))
}

func (m *exactMaker) audits() {
	all := &exactBodies{Seq: 65}
	for i, slot := range []uint32{1, 2, 33, 34, 4097} {
		b := odd
		b.Position[0] += float32(i)
		b.Awake = i != 2
		if i == 4 {
			b.Velocity[2] = float32(math.Copysign(0, -1))
		}
		all.Handles, all.Bodies = append(all.Handles, bulk.NewHandle(slot, uint32(2*i+1))), append(all.Bodies, *bitsOf(&b))
	}
	m.lines = append(
		m.lines,
		exactLine{About: "three bodies of five in turn", Audited: all},
		exactLine{About: "none in turn", Audited: &exactBodies{Seq: 67, Handles: all.Handles, Bodies: all.Bodies}},
	)
}
