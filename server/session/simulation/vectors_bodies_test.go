package simulation

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// bodyMaker makes the hand-made cases of clients that simulate (SIMULATING.md of package wire).
type bodyMaker struct {
	t      *testing.T
	tickHz uint16
	schema *schema.Schema
	codec  *rowcodec.Codec
	mounts []bulk.Handle // by slot; nil: the entities have no component ride
	cases  []vectors.Case
}

// bodiesTick is the tick of the first Structure message of a bodySession.
const bodiesTick = 100

// bodySession builds the steps of one case.
type bodySession struct {
	k       *bodyMaker
	steps   []vectors.Step
	records uint32 // number of records sent
	tick    uint32 // tick of the newest Structure message
	floor   uint32 // first generation of the room
}

// bodyRow is a row of a datagram: the state of an entity, back ticks before the datagram's. Its
// baseline is the state of age ticks before; 0 means none.
type bodyRow struct {
	slot      uint32
	state     wire.BodyState
	back, age uint32
	base      wire.BodyState
	gap       uint32 // to older; 0: none
	older     wire.BodyState
	anchored  bool // to the row before
}

func newBodyMaker(t *testing.T, tickHz uint16, s *schema.Schema) *bodyMaker {
	return &bodyMaker{t: t, tickHz: tickHz, schema: s, codec: rowcodec.New(s, rowcodec.DefaultTables())}
}

// mask returns the components of the entities.
func (k *bodyMaker) mask() uint32 { return 1<<len(k.schema.Components()) - 1 }

func (k *bodyMaker) session() *bodySession {
	s := &bodySession{k: k, floor: hostileFloor}
	s.welcome(func(w *wire.Welcome) { w.SchemaText = k.schema.Text() })
	return s
}

func (s *bodySession) welcome(change func(*wire.Welcome)) {
	w := wire.Welcome{
		Protocol: wire.Version, Schema: s.k.schema.Hash(), Tables: rowcodec.DefaultTables().Version(), Epoch: 1, GenerationFloor: s.floor, GenerationCeiling: s.floor + 10,
		TickHz: s.k.tickHz, SnapshotHz: s.k.tickHz, MaxSlots: 64, Session: 7, Tick: bodiesTick, Secret: make([]byte, wire.SecretBytes), Simulate: 1,
	}
	change(&w)
	s.steps = append(s.steps, stream(wire.AppendMessage(nil, w)))
}

// move continues the session in another room. The Welcome to that room is a structure
// record.
func (s *bodySession) move() {
	s.records++
	s.floor, s.tick = moveFloor, 0
	s.welcome(func(w *wire.Welcome) { w.Epoch, w.Structure, w.Secret = 2, s.records, []byte("the other secret") })
}

// structure adds a Structure message of a tick.
func (s *bodySession) structure(tick uint32, records ...[]byte) *bodySession {
	s.steps = append(s.steps, stream(structureAt(s.records+1, tick-s.tick, records...)))
	s.records, s.tick = s.records+uint32(len(records)), tick
	return s
}

// snapshot adds a datagram. A Structure of 0 stands for the newest record.
func (s *bodySession) snapshot(h wire.StateHeader, rows ...bodyRow) *bodySession {
	if h.Structure == 0 {
		h.Structure = s.records
	}
	var fold uint64
	for _, r := range rows {
		fold = wire.Fold(fold, s.handle(r.slot))
	}
	h.Fold, h.Rows, h.Exact = wire.Fold16(fold), len(rows), len(rows) > 0
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, h))
	coding := wire.RowCoding{}
	if len(rows) > 0 {
		wire.AppendRowCoding(&w, coding)
	}
	next := uint32(0)
	for _, r := range rows {
		_, grid := s.k.quantise(r.slot, r.state)
		wire.AppendRowHeader(&w, coding, r.slot-next, wire.Baseline{Age: r.age, Gap: r.gap})
		wire.AppendExact(&w, wire.Exact{Form: wire.FormOf(&r.state, &grid), Back: r.back})
		next = r.slot + 1
	}
	for i, r := range rows {
		values, grid := s.k.quantise(r.slot, r.state)
		var past *rowcodec.Past
		if r.age > 0 && r.age >= r.back {
			base, _ := s.k.quantise(r.slot, r.base)
			past = &rowcodec.Past{Base: base, Age: max(1, r.age-r.back), Gap: r.gap} // no codec writes age 0
			if r.gap > 0 {
				past.Older, _ = s.k.quantise(r.slot, r.older)
			}
		}
		if r.anchored {
			parent := rows[i-1]
			now, _ := s.k.quantise(parent.slot, parent.state)
			base, _ := s.k.quantise(parent.slot, parent.base)
			past.Anchor = new(rowcodec.Anchor)
			s.k.codec.SetAnchor(past.Anchor, 1, now, base, nil)
		}
		s.k.codec.Append(&w, rowschema.Row{Mask: s.k.mask(), Values: values}, past)
		wire.AppendBody(&w, wire.FormOf(&r.state, &grid), &r.state, &grid)
	}
	s.steps = append(s.steps, vectors.Step{Datagram: w.Bytes()})
	return s
}

// complete adds complete snapshots without rows.
func (s *bodySession) complete(seq, tick uint32) *bodySession {
	return s.snapshot(wire.StateHeader{Seq: seq, Tick: tick, Complete: true})
}

// quantise returns the values of the row of an entity in a state, and the body restored from them.
func (k *bodyMaker) quantise(slot uint32, s wire.BodyState) (values []uint32, g wire.Grid) {
	b := schema.Body{Position: s.Position, Velocity: s.Velocity}
	values = make([]uint32, k.schema.Values())
	rowschema.New(k.schema).Component(0).Quantise(&b, values)
	rowschema.New(k.schema).Component(0).Restore(values, &b)
	if k.mounts != nil {
		ride := values[k.schema.Components()[1].Offset:]
		for i, x := range s.Position {
			ride[i] = uint32(64 * (x + 64))
		}
		ride[3], ride[4] = k.mounts[slot].Index(), k.mounts[slot].Generation()
	}
	copy(g[:3], b.Position[:])
	copy(g[3:], b.Velocity[:])
	return values, g
}

func (s *bodySession) handle(slot uint32) bulk.Handle { return bulk.NewHandle(slot, s.floor) }

// enter returns an Enter with a state of back ticks before its message.
func (s *bodySession) enter(slot, kind uint32, b wire.BodyState, back uint32) []byte {
	values, grid := s.k.quantise(slot, b)
	form := wire.FormOf(&b, &grid)
	var w bitio.Writer
	rowschema.New(s.k.schema).AppendFull(&w, rowschema.Row{Mask: s.k.mask(), Values: values})
	wire.AppendBody(&w, form, &b, &grid)
	return wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: s.handle(slot), Kind: kind, Row: w.Bytes(), Exact: wire.Exact{Form: form, Back: back}})
}

// program returns a Program record of a text.
func (k *bodyMaker) program(number uint8, text string) []byte {
	p := must.Get(field.Compile(text))
	code := must.Get(p.MarshalBinary())
	return wire.Program{Number: number, Code: code}.Append(nil)
}

// effectHandle returns the handle of the effect in a slot.
func effectHandle(slot uint32) bulk.Handle { return bulk.NewHandle(slot, 1) }

// asleepAt returns a body that lies on the ground, flyingAt a body in the air.
func asleepAt(x float32) wire.BodyState { return wire.BodyState{Position: [3]float32{x, 0.5, 0}} }

func flyingAt(x, vx float32) wire.BodyState {
	return wire.BodyState{Position: [3]float32{x, 64, 0}, Velocity: [3]float32{vx, 0, 0}, Awake: true}
}

// Programs of the cases.
const (
	pushText = "effect push\nparam to = (4, 0, 0) in -8..8\neverywhere\noutput += to"
	boxText  = "effect box\nbox (-1, -1, -1) (1, 1, 1)\noutput += (4, 0, 0)"
	lateText = "effect late\nparam to = (4, 0, 0) in -8..8\neverywhere\noutput += to * step(1, time)"
)

// add adds the case of a session that ends with an error, or with none.
func (k *bodyMaker) add(code wire.Code, name, about string, s *bodySession) *vectors.Case {
	c := playedAs(k.t, k.schema, vectors.Case{
		Name: name, About: about, Protocol: wire.Version, Schema: k.schema.Text(), SchemaHash: fmt.Sprintf("%016x", k.schema.Hash()), Simulate: true,
		Handles: []bulk.Handle{bulk.NewHandle(1, hostileFloor), bulk.NewHandle(2, hostileFloor), bulk.NewHandle(1, moveFloor)},
	}, s.steps)
	requireEnd(k.t, code, &c)
	k.cases = append(k.cases, c)
	return &k.cases[len(k.cases)-1]
}

// stateOf returns the newest state that the case expects of the entity on a slot.
func (k *bodyMaker) stateOf(c *vectors.Case, slot uint32) (newest vectors.Exact) {
	for _, s := range c.Steps {
		for _, e := range s.Expect.Exact {
			if e.Handle.Index() == slot {
				newest = e
			}
		}
	}
	require.NotZero(k.t, newest.Handle, c.Name)
	return newest
}

// awake checks whether the entity in slot 1 is awake at the end.
func (k *bodyMaker) awake(c *vectors.Case, want bool) {
	require.Equal(k.t, want, k.stateOf(c, 1).State[6] == 1, c.Name)
}

func bodyCases(t *testing.T) []vectors.Case {
	k := newBodyMaker(t, vectors.BodiesHz, must.Get(vectors.BodiesSchema(vectors.BodiesHz)))
	k.wakes()
	k.times()
	k.linked()
	k.earlierStates()
	k.uncheckedAudits()
	k.lateRecords()
	k.overMoves()
	k.wrongRecords()
	k.oldestStates()
	fast := newBodyMaker(t, vectors.FastBodiesHz, must.Get(vectors.BodiesSchema(vectors.FastBodiesHz)))
	fast.oldestStates()
	riding := newBodyMaker(t, vectors.BodiesHz, must.Get(vectors.RidingBodiesSchema()))
	riding.anchors()
	riding.takenSlots()
	riding.lateChanges()
	riding.begunAgain()
	return slices.Concat(k.cases, fast.cases, riding.cases)
}

// anchors adds cases of a body on slot 2 that rides on the body of slot 1.
func (k *bodyMaker) anchors() {
	k.mounts = []bulk.Handle{0, 0, bulk.NewHandle(1, hostileFloor)}
	before := [2]wire.BodyState{flyingAt(0, 40), flyingAt(1, 40)}
	after := [2]wire.BodyState{flyingAt(6, 40), flyingAt(7, 40)}
	for _, back := range [][2]uint32{{0, 0}, {1, 1}, {1, 2}, {2, 1}} {
		s := k.session()
		s.structure(bodiesTick, s.enter(1, vectors.BodiesBall, before[0], 0), s.enter(2, vectors.BodiesBall, before[1], 0))
		s.snapshot(wire.StateHeader{Seq: 1, Tick: 104, Complete: true},
			bodyRow{slot: 1, state: after[0], back: back[0], age: 4, base: before[0]},
			bodyRow{slot: 2, state: after[1], back: back[1], age: 4, base: before[1], anchored: back[0] == back[1]})
		c := k.add(wire.OK, fmt.Sprintf("a ride of %d on a row of %d ticks before", back[1], back[0]), "a row is anchored to one with the same back alone", s)
		for slot, want := range after {
			require.InDelta(k.t, want.Position[0], bodyOfWords(k.stateOf(c, uint32(slot)+1)).Position[0], 5)
		}
	}
}

// takenSlots adds a case of an effect whose slot another one takes, which the body does not feel.
func (k *bodyMaker) takenSlots() {
	k.mounts = make([]bulk.Handle, 2)
	s := k.pushed(asleepAt(0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Age = 40 })).complete(1, 102)
	s.structure(102, added(0, func(e *wire.EffectAdded) { e.Effect, e.Age, e.Layers = bulk.NewHandle(0, 3), 40, 2 }))
	c := k.add(wire.OK, "later effect beside a sleeper", "the earlier effect of a slot has left, and has not ended: it wakes nobody", s.complete(2, 104))
	k.awake(c, false)
}

// lateChanges adds cases of changes and ends of ticks that were computed. The body on slot 2 is given afterwards, in a
// state from before.
func (k *bodyMaker) lateChanges() {
	k.mounts = make([]bulk.Handle, 3)
	play := func(name, about string, record []byte, ball wire.BodyState, age uint32) (computed, given wire.BodyState) {
		s := k.pushed(ball).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Age = age })).complete(1, 104)
		c := k.add(wire.OK, name, about, s.structure(104, record, s.enter(2, vectors.BodiesBall, ball, 4)).complete(2, 106))
		return bodyOfWords(k.stateOf(c, 1)), bodyOfWords(k.stateOf(c, 2))
	}
	late := func(what string, record []byte) {
		computed, given := play("late "+what, "a body that was computed feels the "+what+" from then on, one given afterwards from its first tick", record, flyingAt(0, 0), 1)
		require.Greater(k.t, computed.Velocity[0], given.Velocity[0])
		computed, given = play("late "+what+" and sleepers", "a body that was computed does not wake by the "+what+", and one given afterwards does", record, asleepAt(0), 40)
		require.False(k.t, computed.Awake)
		require.True(k.t, given.Awake)
	}
	late("change", wire.EffectChanged{Effect: effectHandle(0), Back: 3, HasParams: true, Params: wiretest.Floats(-8, 0, 0, 0)}.Append(nil))
	late("end", wire.EffectEnded{Effect: effectHandle(0), Back: 3}.Append(nil))
}

// begunAgain adds a case of a session that begins again in its room, as after a crash of the server.
func (k *bodyMaker) begunAgain() {
	kind := wire.KindAdded{Kind: vectors.BodiesUnused, KindConstants: wire.KindConstants{InvMass: 1, Coupling: 0.5, Radius: 0.5, Layers: 1}}.Append(nil)
	s := k.pushed(flyingAt(0, 0)).structure(bodiesTick, kind, added(0, func(e *wire.EffectAdded) { e.Age = 1 })).complete(1, 102)
	s.steps = append(s.steps, vectors.Step{Lost: true})
	s.records++
	s.tick = 0
	s.welcome(func(w *wire.Welcome) { w.Structure = s.records })
	s.structure(104, k.program(0, boxText), kind, added(0, func(e *wire.EffectAdded) { e.Age = 1 }), s.enter(1, vectors.BodiesUnused, flyingAt(0, 0), 0))
	c := k.add(wire.OK, "effects of a session begun again", "programs, kinds and effects are sent from the start, and may use the numbers of before", s.complete(2, 107))
	require.Zero(k.t, bodyOfWords(k.stateOf(c, 1)).Velocity[0], "the effect of before acts")
}

// pushed begins a session with the program push as number 0, and the ball on slot 1.
func (k *bodyMaker) pushed(ball wire.BodyState) *bodySession {
	s := k.session()
	return s.structure(bodiesTick, k.program(0, pushText), s.enter(1, vectors.BodiesBall, ball, 0))
}

// added returns an effect of program 0 that acts in the tick after its message and later.
func added(slot uint32, change func(*wire.EffectAdded)) []byte {
	e := wire.EffectAdded{Effect: effectHandle(slot)}
	change(&e)
	return e.Append(nil)
}

// oldestStates adds cases with states and effects that are as old as the tick rate allows,
// and cases with older ones by one tick.
func (k *bodyMaker) oldestStates() {
	most := wire.MaxBack(int(k.tickHz))
	about := fmt.Sprintf("back is at most %d, and of an effect %d, at %d ticks a second", most, most+1, k.tickHz)
	ball, now := flyingAt(0, 4), bodiesTick+4+most
	for over, code := range []wire.Code{wire.OK, wire.BadMessage} {
		back := most + uint32(over)
		add := func(name string, s *bodySession) {
			if code == wire.OK {
				s.complete(2, now+2)
			}
			k.add(code, fmt.Sprintf("%s of %d ticks before, of %d a second", name, back, k.tickHz), about, s)
		}
		add("row", k.pushed(ball).snapshot(wire.StateHeader{Seq: 1, Tick: now, Complete: true}, bodyRow{slot: 1, state: flyingAt(8, 4), back: back}))
		s := k.session()
		add("Enter", s.structure(now, k.program(0, pushText), s.enter(1, vectors.BodiesBall, ball, back)))
		s = k.pushed(ball)
		effect := added(0, func(e *wire.EffectAdded) { e.Back, e.Age = back+1, 1 })
		add("effect", s.structure(now, effect, s.enter(2, vectors.BodiesBall, ball, most)))
	}
}

func (k *bodyMaker) wakes() {
	for _, age := range []uint32{0, 1, 2, 40} {
		s := k.pushed(asleepAt(0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Age = age }))
		c := k.add(wire.OK, fmt.Sprintf("effect of age %d", age), "an effect wakes if its age is 0 or 1", s.complete(1, 103))
		k.awake(c, age <= 1)
	}
	for _, left := range []bool{false, true} {
		s := k.pushed(asleepAt(0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Age = 40 })).complete(1, 102)
		s.structure(102, wire.EffectEnded{Effect: effectHandle(0), Left: left}.Append(nil))
		c := k.add(wire.OK, fmt.Sprintf("effect left: %v", left), "the end of an effect wakes, and leaving it does not", s.complete(2, 104))
		k.awake(c, !left)
	}
	s := k.pushed(asleepAt(0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Age, e.Layers = 1, 2 }))
	k.awake(k.add(wire.OK, "layers", "an effect wakes the bodies that feel it alone", s.complete(1, 103)), false)
}

func (k *bodyMaker) times() {
	linear := wire.Path{Form: wire.PathLinear, Velocity: [3]float32{20, 0, 0}} // 1 m in a tick
	s := k.session()
	s.structure(bodiesTick, k.program(0, boxText), s.enter(1, vectors.BodiesBall, asleepAt(3), 0),
		added(0, func(e *wire.EffectAdded) { e.Age, e.Path.Center = 40, [3]float32{0, 64, 0} }))
	s.complete(1, 102).structure(102, wire.EffectChanged{Effect: effectHandle(0), HasPath: true, Path: linear}.Append(nil))
	c := k.add(wire.OK, "path of a change", "ticks of a changed path count from the first of its change", s.complete(2, 108))
	k.awake(c, true)
	s = k.session()
	s.structure(bodiesTick, k.program(0, boxText), s.enter(1, vectors.BodiesBall, asleepAt(1.5), 0), added(0, func(e *wire.EffectAdded) {
		e.Age, e.Path = 40, wire.Path{Form: wire.PathLinear, Center: [3]float32{-39.5, 0.5, 0}, Velocity: [3]float32{20, 0, 0}}
	}))
	c = k.add(wire.OK, "first tick of an older effect", "an older effect has not moved in its first tick, and wakes nothing", s.complete(1, 101).complete(2, 102))
	k.awake(c, true)
	require.Len(k.t, c.Steps[2].Expect.Exact, 0, "in the first tick")
	s = k.session()
	s.structure(bodiesTick, k.program(0, lateText), s.enter(1, vectors.BodiesBall, flyingAt(0, 0), 0), added(0, func(e *wire.EffectAdded) { e.Age = 2 * vectors.BodiesHz }))
	s.structure(bodiesTick, wire.EffectChanged{Effect: effectHandle(0), HasParams: true, Params: wiretest.Floats(-4, 0, 0, 0)}.Append(nil))
	c = k.add(wire.OK, "time of a change", "the time of a program counts from its birth, also after a change", s.complete(1, 101))
	require.Less(k.t, bodyOfWords(k.stateOf(c, 1)).Velocity[0], float32(0))
	s = k.pushed(flyingAt(0, 0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Life = 3 }))
	k.add(wire.OK, "life", "an effect acts in as many ticks as its life", s.complete(1, 103).complete(2, 106))
}

// bodyOfWords returns the state of an expectation.
func bodyOfWords(e vectors.Exact) (b wire.BodyState) {
	for i, x := range e.State[:3] {
		b.Position[i], b.Velocity[i] = floatOf(x), floatOf(e.State[3+i])
	}
	b.Awake, b.Rest = e.State[6] == 1, e.State[7]
	return b
}

func floatOf(bits uint32) float32 {
	return wire.Floats{byte(bits), byte(bits >> 8), byte(bits >> 16), byte(bits >> 24)}.At(0)
}

func (k *bodyMaker) linked() {
	s := k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 2, Tick: 103, Complete: true, Continued: true})
	s.snapshot(wire.StateHeader{Seq: 1, Tick: 103})
	c := k.add(wire.OK, "linked", "a complete snapshot waits for the one that it continues", s)
	require.Empty(k.t, c.Steps[2].Expect.Exact, "before the link was applied")
	require.Equal(k.t, uint32(103), k.stateOf(c, 1).Tick)
	s = k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 1, Tick: 101}).snapshot(wire.StateHeader{Seq: 2, Tick: 103, Complete: true, Continued: true})
	c = k.add(wire.OK, "linked to another tick", "a snapshot that continues one of another tick is not complete", s)
	require.Equal(k.t, uint32(bodiesTick), k.stateOf(c, 1).Tick)
	s = k.pushed(flyingAt(0, 4)).complete(2, 106)
	s.snapshot(wire.StateHeader{Seq: 1, Tick: 103, Complete: true}, bodyRow{slot: 1, state: flyingAt(2, 8)}).complete(3, 107)
	c = k.add(wire.OK, "complete and late", "a complete snapshot of a tick below the newest computed computes nothing; a state in it that is newer than the entity's is computed with the next one", s)
	require.Equal(k.t, uint32(107), k.stateOf(c, 1).Tick)
}

func (k *bodyMaker) earlierStates() {
	for back := range uint32(4) {
		s := k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 1, Tick: 104, Complete: true}, bodyRow{slot: 1, state: flyingAt(8, 4), back: back})
		c := k.add(wire.OK, fmt.Sprintf("row of %d ticks before", back), "the state of a row is back ticks older than its datagram, and computed up to its tick", s)
		require.InDelta(k.t, 64-0.5*10*0.05*0.05*float64(back*(back+1)), bodyOfWords(k.stateOf(c, 1)).Position[1], 0.02) // without drag
		s = k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 1, Tick: 104, Complete: true}, bodyRow{slot: 1, state: flyingAt(8, 4), back: back, age: 4, base: flyingAt(0, 4)})
		k.add(wire.OK, fmt.Sprintf("coded row of %d ticks before", back), "the age of a row in CODEC.md is less by back, its baseline a state of age ticks before the datagram", s)
	}
	for back := range uint32(4) {
		s := k.pushed(flyingAt(0, 40)).snapshot(wire.StateHeader{Seq: 1, Tick: 102, Complete: true}, bodyRow{slot: 1, state: flyingAt(3, 20)})
		s.snapshot(wire.StateHeader{Seq: 2, Tick: 106, Complete: true}, bodyRow{
			slot: 1, state: flyingAt(7, 10), back: back, age: 4, base: flyingAt(3, 20), gap: 2, older: flyingAt(0, 40),
		})
		k.add(wire.OK, fmt.Sprintf("coded row with an older state, of %d ticks before", back), "a prediction from two states reaches to the tick of the row, which is back ticks before the datagram's", s)
	}
	for _, back := range []uint32{4, 5} {
		s := k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 1, Tick: 104, Complete: true}, bodyRow{slot: 1, state: flyingAt(8, 4), back: back, age: 4, base: flyingAt(0, 4)})
		k.add(wire.BadMessage, fmt.Sprintf("age 4 and back %d", back), "the age of a row with a baseline is above its back", s)
	}
	s := k.session()
	s.structure(bodiesTick, k.program(0, pushText), s.enter(1, vectors.BodiesBall, flyingAt(0, 4), 3), s.enter(2, vectors.BodiesDrone, flyingAt(9, -4), 0))
	k.add(wire.OK, "Enters of ticks before", "the state of an Enter is back ticks older than its message", s.complete(1, 102))
}

func (k *bodyMaker) uncheckedAudits() {
	wrong := wire.StateHeader{Seq: 1, Tick: 103, Complete: true, Audited: true, Audit: 0xbad}
	behind := wrong
	behind.Structure = 2
	s := k.pushed(flyingAt(0, 4))
	s.structure(bodiesTick+1, s.enter(2, vectors.BodiesBall, flyingAt(9, 4), 0)).snapshot(behind)
	k.unchecked("audit of less structure", "the structure of the snapshot is below the client's", s)
	k.unchecked("audit of an earlier tick", "a later tick was computed before", k.pushed(flyingAt(0, 4)).complete(2, 106).snapshot(wrong))
	s = k.pushed(flyingAt(0, 4)).snapshot(wire.StateHeader{Seq: 2, Tick: 104}, bodyRow{slot: 1, state: flyingAt(8, 4)}).snapshot(wrong)
	k.unchecked("audit before a state", "an entity that the audit covers was given a later state", s)
}

// unchecked adds a case with a wrong audit that clients must not check.
func (k *bodyMaker) unchecked(name, about string, s *bodySession) {
	c := k.add(wire.OK, name, "an audit is not checked: "+about, s)
	require.Zero(k.t, c.Steps[len(c.Steps)-1].Expect.Audits)
}

func (k *bodyMaker) lateRecords() {
	s := k.pushed(flyingAt(0, 0)).complete(1, 104)
	s.structure(104, added(0, func(e *wire.EffectAdded) { e.Back = 3 }), s.enter(2, vectors.BodiesBall, flyingAt(0, 0), 4)).complete(2, 106)
	c := k.add(wire.OK, "late effect", "an effect of ticks that were computed: a body that was computed feels it from then on, one given afterwards from its first tick", s)
	early, late := bodyOfWords(k.stateOf(c, 2)), bodyOfWords(k.stateOf(c, 1))
	require.Greater(k.t, early.Velocity[0], late.Velocity[0])
	require.Positive(k.t, late.Velocity[0])
	s = k.pushed(asleepAt(0)).complete(1, 104).structure(104, added(0, func(e *wire.EffectAdded) { e.Back, e.Age = 3, 1 }))
	k.awake(k.add(wire.OK, "late effect wakes nobody", "a new effect whose first tick was computed wakes no body that was computed", s.complete(2, 106)), false)
}

func (k *bodyMaker) overMoves() {
	kind := wire.KindAdded{Kind: vectors.BodiesUnused, KindConstants: wire.KindConstants{InvMass: 1, Coupling: 0.5, Radius: 0.5, Layers: 1}}.Append(nil)
	begin := func() *bodySession {
		return k.pushed(flyingAt(0, 0)).structure(bodiesTick, kind, added(0, func(e *wire.EffectAdded) { e.Age = 1 })).complete(1, 102)
	}
	s := begin()
	s.move()
	s.structure(50, k.program(0, boxText), kind, added(0, func(e *wire.EffectAdded) { e.Age = 1 }), s.enter(1, vectors.BodiesUnused, flyingAt(0, 0), 0))
	c := k.add(wire.OK, "programs, kinds and effects over a move", "the new room begins without the old one's, and may use their numbers", s.complete(2, 53))
	require.Zero(k.t, bodyOfWords(k.stateOf(c, 1)).Velocity[0], "the old room's effect acts")
	s = begin()
	s.move()
	k.add(wire.BadMessage, "program of the old room", "an effect has a program that only the old room has sent", s.structure(50, added(0, func(e *wire.EffectAdded) { e.Age = 1 })))
	s = begin()
	s.move()
	k.add(wire.BadMessage, "effect of the old room", "a record of an effect that only the old room has added", s.structure(50, k.program(0, pushText), wire.EffectEnded{Effect: effectHandle(0)}.Append(nil)))
	s = begin()
	s.move()
	k.add(wire.BadMessage, "kind twice in a room", "a kind is added twice after the move", s.structure(50, kind, kind))
	s = begin()
	s.steps = append(s.steps, vectors.Step{Lost: true})
	s.welcome(func(w *wire.Welcome) { w.Resumed, w.Structure = 1, s.records })
	k.add(wire.OK, "programs over a resume", "programs and effects last when the session resumes", s.structure(104, added(1, func(*wire.EffectAdded) {})).complete(2, 106))
}

func (k *bodyMaker) wrongRecords() {
	effect := added(0, func(e *wire.EffectAdded) { e.Age = 1 })
	bad := func(name, about string, records ...[]byte) {
		k.add(wire.BadMessage, name, about, k.pushed(flyingAt(0, 0)).structure(bodiesTick, records...))
	}
	ended := func(back uint32) []byte { return wire.EffectEnded{Effect: effectHandle(0), Back: back}.Append(nil) }
	kind := wire.KindAdded{Kind: vectors.BodiesUnused, KindConstants: wire.KindConstants{InvMass: 1, Radius: 0.5}}.Append(nil)
	bad("kind twice", "a kind is added twice", kind, kind)
	bad("kind of the schema", "a kind is added that the schema has", wire.KindAdded{Kind: vectors.BodiesDrone, KindConstants: wire.KindConstants{InvMass: 1, Radius: 0.5}}.Append(nil))
	bad("params out of range", "params beyond the range of the program", added(0, func(e *wire.EffectAdded) { e.Params = wiretest.Floats(9, 0, 0, 0) }))
	bad("params too few", "three numbers for a vector", added(0, func(e *wire.EffectAdded) { e.Params = wiretest.Floats(1, 0, 0) }))
	bad("first goes back", "a record of an effect is of a tick before its last record's", effect, ended(1))
	bad("program in use", "a program is replaced that an effect has", effect, k.program(0, boxText))
	bad("ended twice", "an effect ends that has ended", effect, ended(0), ended(0))
	bad("older effect", "an effect is added whose slot has had a later one", added(0, func(e *wire.EffectAdded) { e.Effect = bulk.NewHandle(0, 3) }), effect)
	bad("leader not in view", "an effect follows an entity that is not Live", added(0, func(e *wire.EffectAdded) {
		e.Path = wire.Path{Form: wire.PathFollowing, Leader: bulk.NewHandle(9, hostileFloor)}
	}))
	s := k.pushed(flyingAt(0, 0)).structure(bodiesTick, added(0, func(e *wire.EffectAdded) { e.Life = 2 })).complete(1, 103)
	s.structure(103, k.program(0, boxText))
	k.add(wire.OK, "program out of use", "a program is replaced after the last tick of its effect", s.complete(2, 104))
	s = k.pushed(flyingAt(0, 0)).structure(bodiesTick, effect).complete(1, 102)
	s.structure(102, added(0, func(e *wire.EffectAdded) {
		e.Effect, e.Params = bulk.NewHandle(0, 3), wiretest.Floats(-8, 0, 0, 0)
	}))
	c := k.add(wire.OK, "later effect of a slot", "an effect of a later generation says that the slot's earlier one has left", s.complete(2, 106))
	require.Less(k.t, bodyOfWords(k.stateOf(c, 1)).Velocity[0], float32(0))
	s = k.pushed(flyingAt(0, 0))
	s.structure(bodiesTick, s.enter(2, vectors.BodiesDrone, flyingAt(3, 8), 0), k.program(1, boxText), added(0, func(e *wire.EffectAdded) {
		e.Program, e.Path = 1, wire.Path{Form: wire.PathFollowing, Leader: bulk.NewHandle(2, hostileFloor), Center: [3]float32{-3, 0, 0}}
	}))
	k.add(wire.OK, "following", "an effect is at an offset from where its leader was before the tick", s.complete(1, 105))
}
