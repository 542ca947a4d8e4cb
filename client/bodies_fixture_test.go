package client_test

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/internal/wiretest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
	physics "github.com/worldd/worldd/world/motion"
)

// oracle plays a server whose viewer sees a part of a world and computes its bodies. It sends
// what PROTOCOL.md requires in the simplest way: rows in full or against acknowledged states,
// and every effect.
type oracle struct {
	t       testing.TB
	w       *world.World
	r       *rand.Rand
	schema  *schema.Schema
	sent    *schema.Schema // to the client
	codec   *rowcodec.Codec
	session *client.Session

	radius    float32
	interval  uint64 // ticks between snapshots
	acks      []wire.Ack
	records   []oracleRecord // not sent yet
	effects   map[uint32]world.EffectState
	programs  []*field.Program
	number    uint32 // structure records sent
	toldTick  uint32
	seq       uint32
	name      string
	began     uint64 // tick of the session's beginning
	view      map[uint32]*oracleView
	known     map[uint32][]physics.State // by tick, by slot
	handles   map[uint32][]bulk.Handle
	stream    []oracleBytes
	datagrams []oracleBytes
	audits    bool
	fickle    bool // entities become ordinary now and then
	wrong     bool // the server sends something wrong on purpose
	added     func(*wire.EffectAdded)
	rename    func(bulk.Handle) bulk.Handle // of effects
	spoil     int                           // exact Enters to spoil
	diverged  int
	resyncs   []uint64                      // ticks at which the client asked for one
	tap       func(b []byte, datagram bool) // receives a copy of what the client receives
	compared  int
	computed  uint32 // newest tick compared
}

type oracleRecord struct {
	from   uint64 // of effects
	append func(b []byte, tick uint64) []byte
	added  *wire.EffectAdded
}

type oracleView struct {
	h     bulk.Handle
	kind  world.KindID
	acked uint64 // tick of the newest state acknowledged
	base  []uint32
	sent  []oracleRow
	turns uint64 // tick at which it last became exact or ordinary
	exact bool   // in the latest row
}

type oracleRow struct {
	seq    uint32
	tick   uint64
	values []uint32
}

type oracleBytes struct {
	due   uint64
	bytes []byte
}

const oracleSlots = 1 << 14

// schemaOf returns a schema with the body, and the kinds and the motion of a world.
func schemaOf(t testing.TB, w *world.World) *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(t, s.Err())
	require.NoError(t, replication.DeclareWorld(s, w))
	return s
}

// newOracle watches a world. Systems that are added later run after it has seen the effects.
func newOracle(t testing.TB, w *world.World, seed uint64, radius float32) *oracle {
	o := &oracle{
		t: t, w: w, r: rand.New(rand.NewPCG(seed, 1)), schema: schemaOf(t, w), radius: radius, interval: 3, began: max(w.Tick(), 1), audits: true,
		view: map[uint32]*oracleView{}, effects: map[uint32]world.EffectState{},
		known: map[uint32][]physics.State{}, handles: map[uint32][]bulk.Handle{},
	}
	o.codec = rowcodec.New(o.schema, rowcodec.DefaultTables())
	o.sent = o.schema
	require.NoError(t, w.AddSystem(world.Before, "oracle", func(*world.World) { o.noteEffects() }))
	o.restart()
	return o
}

// restart begins the session, before anything was sent.
func (o *oracle) restart() {
	o.session = must.Get(client.NewSession(client.SessionConfig{
		Schema: o.declared(), Simulate: true,
		Observer: client.Observer{Diverge: func(uint32, []bulk.Handle) { o.diverged++ }},
	}))
	o.session.TakeStream()
	o.welcome()
}

func (o *oracle) declared() *schema.Schema {
	s := schema.New()
	schema.Define[schema.Body](s, schema.BodyComponent)
	require.NoError(o.t, s.Err())
	return s
}

func (o *oracle) welcome() {
	b := wire.AppendMessage(nil, wire.Welcome{
		Protocol: wire.Version, Schema: o.sent.Hash(), SchemaText: o.sent.Text(), Tables: rowcodec.DefaultTables().Version(),
		GenerationFloor: 1, GenerationCeiling: math.MaxUint32, TickHz: 60, SnapshotHz: 20, MaxSlots: oracleSlots, Tick: uint32(o.w.Tick()), Simulate: 1, Session: 1,
	})
	require.NoError(o.t, o.session.ReceiveStream(b))
	o.tapped(b, false)
}

// noteEffects records the differences between the effects and those sent, before bodies move in
// a tick.
func (o *oracle) noteEffects() {
	tick, seen := o.w.Tick(), map[uint32]bool{}
	for _, e := range o.w.AppendEffects(nil) {
		slot := e.ID.Index()
		old, ok := o.effects[slot]
		if e.Hidden {
			continue
		}
		seen[slot] = true
		e.Params = slices.Clone(e.Params)
		switch {
		case !ok || old.ID != e.ID:
			if ok && (old.Last == 0 || old.Last >= tick) {
				o.note(tick, wire.EffectEnded{Effect: old.ID}, nil)
			}
			o.addEffect(e, tick)
		case old.Path != e.Path || !slices.Equal(old.Params, e.Params):
			o.note(tick, wire.EffectChanged{
				Effect: e.ID, HasPath: old.Path != e.Path, Path: o.wirePath(&e),
				HasParams: !slices.Equal(old.Params, e.Params), Params: wireParams(&e),
			}, nil)
		}
		o.effects[slot] = e
	}
	for _, slot := range slices.Sorted(maps.Keys(o.effects)) {
		if old := o.effects[slot]; !seen[slot] {
			if old.Last == 0 || old.Last >= tick {
				o.note(tick, wire.EffectEnded{Effect: old.ID}, nil)
			}
			delete(o.effects, slot)
		}
	}
}

func (o *oracle) addEffect(e world.EffectState, tick uint64) {
	n := slices.IndexFunc(o.programs, func(p *field.Program) bool { return p == e.Program })
	if n < 0 {
		n = len(o.programs)
		o.programs = append(o.programs, e.Program)
		code := must.Get(e.Program.MarshalBinary())
		o.records = append(o.records, oracleRecord{append: func(b []byte, _ uint64) []byte { return wire.Program{Number: uint8(n), Code: code}.Append(b) }})
	}
	from := max(e.First, tick, 1)
	if e.First < tick { // it is older than the session: states of all bodies depend on it
		from = max(e.First, o.began-min(o.began-1, 50))
	}
	a := wire.EffectAdded{
		Effect: e.ID, Program: uint8(n), Mode: uint8(e.Mode), Layers: uint32(e.Layers), Age: uint32(from - e.Born),
		Path: o.wirePath(&e), Params: wireParams(&e),
	}
	if e.Last != 0 {
		a.Life = uint32(e.Last - from + 1)
	}
	o.note(from, nil, &a)
}

// note notes a record of an effect from a tick on.
func (o *oracle) note(from uint64, r any, added *wire.EffectAdded) {
	record := oracleRecord{from: from, added: added}
	if added != nil && o.added != nil {
		o.added(added)
	}
	name := func(h bulk.Handle) bulk.Handle {
		if o.rename != nil {
			return o.rename(h)
		}
		return h
	}
	record.append = func(b []byte, tick uint64) []byte {
		back := uint32(tick + 1 - record.from)
		if added != nil {
			renamed := *added
			renamed.Effect, renamed.Back = name(added.Effect), back
			return renamed.Append(b)
		}
		switch r := r.(type) {
		case wire.EffectEnded:
			r.Effect, r.Back = name(r.Effect), back
			return r.Append(b)
		case wire.EffectChanged:
			r.Effect, r.Back = name(r.Effect), back
			return r.Append(b)
		}
		return b
	}
	o.records = append(o.records, record)
}

func (o *oracle) wirePath(e *world.EffectState) wire.Path {
	p := &e.Path
	return wire.Path{
		Form: wire.PathForm(p.Form), Center: array(p.Center), Velocity: array(p.Velocity), Axes: [2][3]float32{array(p.AxisU), array(p.AxisV)},
		Phase: p.Phase, Rate: p.Rate, Leader: e.Follow,
	}
}

func wireParams(e *world.EffectState) wire.Floats {
	var values []float32
	for i, d := range e.Program.Params() {
		if d.Scalar {
			values = append(values, e.Params[i][0])
		} else {
			values = append(values, e.Params[i][:]...)
		}
	}
	return wiretest.Floats(values...)
}

func array(v physics.Vec3) [3]float32 { return v.Array() }

func bodyStateOf(s physics.State) wire.BodyState {
	return wire.BodyState{Position: array(s.Position), Velocity: array(s.Velocity), Awake: s.Awake, Rest: s.Rest}
}

// step steps the world and remembers all bodies.
func (o *oracle) step() {
	o.w.Step()
	tick := uint32(o.w.Tick())
	states, handles := make([]physics.State, oracleSlots), make([]bulk.Handle, oracleSlots)
	for slot := range o.w.Slots().Len() {
		if s, ok := o.w.Slots().Exact(slot); ok {
			states[slot], handles[slot] = s, o.w.Slots().Handle(slot)
		}
	}
	o.known[tick], o.handles[tick] = states, handles
	delete(o.known, tick-100)
	delete(o.handles, tick-100)
	if o.w.Tick()%o.interval == 0 {
		o.snapshot()
	}
}

// quantise returns the values of a state's row, and the numbers that they restore to.
func (o *oracle) quantise(s physics.State) (values []uint32, g wire.Grid) {
	b := schema.Body{Position: array(s.Position), Velocity: array(s.Velocity)}
	values = make([]uint32, o.schema.Values())
	rowschema.New(o.schema).Component(0).Quantise(&b, values)
	rowschema.New(o.schema).Component(0).Restore(values, &b)
	copy(g[:3], b.Position[:])
	copy(g[3:], b.Velocity[:])
	return values, g
}

// past returns a tick from whose state of a slot all later ones follow under the effects.
func (o *oracle) past(slot uint32, h bulk.Handle, tick uint64) uint64 {
	oldest := max(o.w.Slots().Disturbed(slot), tick-min(tick-1, 63), o.began)
	back := uint64(0)
	if o.r.IntN(2) == 0 {
		back = o.r.Uint64N(tick - oldest + 1)
	}
	for o.handles[uint32(tick-back)] == nil || o.handles[uint32(tick-back)][slot] != h {
		back--
	}
	return tick - back
}

// inView reports whether a place is in view. The viewer walks in a circle.
func (o *oracle) inView(p physics.Vec3) bool {
	angle := float32(o.w.Tick()) / 3000
	x, z := p.X-60*field.Sin(angle), p.Z-60*field.Sin(angle+0.25)
	return x*x+z*z < o.radius*o.radius
}

// structure queues the records of a tick.
func (o *oracle) structure() {
	tick := o.w.Tick()
	body := wire.AppendStructureHeader(nil, o.number+1, uint32(tick)-o.toldTick)
	before := o.number
	add := func(b []byte) { body = b; o.number++ }
	enter := func(replaced bool) {
		for slot, h := range o.handles[uint32(tick)] {
			slot := uint32(slot)
			if v := o.view[slot]; v != nil && v.h == h || (v != nil) != replaced {
				continue
			}
			if h == 0 || !o.inView(o.known[uint32(tick)][slot].Position) || len(body) > 60_000 {
				continue
			}
			add(o.enter(body, slot, h, tick))
		}
	}
	enter(false) // effects follow entities in view
	for _, r := range o.records {
		add(r.append(body, tick))
	}
	o.records = nil
	enter(true)
	for _, slot := range slices.Sorted(maps.Keys(o.view)) {
		v := o.view[slot]
		if now := o.handles[uint32(tick)][slot]; now != v.h {
			add(wire.AppendRecord(body, destroy(v.h)))
			delete(o.view, slot)
		} else if s, _ := o.w.Slots().Exact(slot); !o.inView(s.Position) {
			add(wire.AppendRecord(body, leave(v.h)))
			delete(o.view, slot)
		}
	}
	if o.number == before {
		return
	}
	o.toldTick = uint32(tick)
	due := tick + o.r.Uint64N(4)
	if n := len(o.stream); n > 0 {
		due = max(due, o.stream[n-1].due)
	}
	o.stream = append(o.stream, oracleBytes{due, wire.AppendFrame(nil, wire.TypeStructure, body)})
}

// enter appends an Enter whose state is from tick.
func (o *oracle) enter(body []byte, slot uint32, h bulk.Handle, tick uint64) []byte {
	kind, _ := o.w.KindOf(h)
	at := o.past(slot, h, tick)
	state := o.known[uint32(at)][slot]
	values, g := o.quantise(state)
	b := bodyStateOf(state)
	if o.spoil > 0 && b.Awake {
		o.spoil--
		b.Position[0] += 1.0 / 512
	}
	var w bitio.Writer
	rowschema.New(o.schema).AppendFull(&w, rowschema.Row{Mask: 1, Values: values})
	form := wire.FormOf(&b, &g)
	wire.AppendBody(&w, form, &b, &g)
	o.view[slot] = &oracleView{h: h, kind: kind, acked: at, base: values, exact: true}
	return wire.AppendRecord(body, wire.Record{
		Op: wire.OpEnter, Handle: h, Kind: uint32(kind), Row: w.Bytes(), Exact: wire.Exact{Form: form, Back: uint32(tick - at)},
	})
}

// acknowledge applies the client's acknowledgement of some ticks ago.
func (o *oracle) acknowledge() {
	o.acks = append(o.acks, o.session.Replica().Stats().Ack)
	if len(o.acks) < 3 {
		return
	}
	ack := o.acks[0]
	o.acks = o.acks[1:]
	for _, v := range o.view {
		for _, s := range v.sent {
			if d := ack.Newest - s.seq; s.tick > v.acked && (d == 0 || d <= 64 && ack.Mask>>(d-1)&1 == 1) {
				v.acked, v.base = s.tick, s.values
			}
		}
		v.sent = slices.DeleteFunc(v.sent, func(s oracleRow) bool { return s.tick <= v.acked })
	}
}

// snapshot queues the structure and the State datagrams of a tick.
func (o *oracle) snapshot() {
	o.acknowledge()
	o.structure()
	tick := o.w.Tick()
	var owed []uint32
	for slot, v := range o.view {
		if o.w.Slots().Disturbed(slot) > v.acked || !v.exact || v.turns > v.acked {
			owed = append(owed, slot)
		}
	}
	slices.Sort(owed)
	full := len(owed) > 60
	for first := true; ; first = false {
		n := min(len(owed), 20)
		if n > 1 && o.r.IntN(3) == 0 {
			n /= 2
		}
		rest := owed[n:]
		o.datagram(tick, owed[:n], !first, len(rest) == 0)
		owed = rest
		if len(owed) == 0 || full && !first {
			return // the rest is sent with the next snapshot
		}
	}
}

func (o *oracle) datagram(tick uint64, slots []uint32, continued, complete bool) {
	o.seq++
	head := wire.StateHeader{Seq: o.seq, Tick: uint32(tick), Structure: o.number, Rows: len(slots), Complete: complete, Continued: continued}
	fold := uint64(0)
	for _, slot := range slots {
		v := o.view[slot]
		fold = wire.Fold(fold, v.h)
		if exact := !o.fickle || o.r.IntN(4) > 0 || o.leads(v.h); exact != v.exact {
			v.exact, v.turns = exact, tick
		}
	}
	head.Fold = wire.Fold16(fold)
	if complete && o.audits {
		head.Audited, head.Audit = true, o.audit(uint32(tick))
	}
	type coded struct {
		row   oracleRow
		grid  wire.Grid
		exact wire.Exact
		body  wire.BodyState
		past  *rowcodec.Past
	}
	var rows []coded
	var headers []wire.RowHeader
	next := uint32(0)
	for _, slot := range slots {
		v := o.view[slot]
		at := max(o.past(slot, v.h, tick), v.turns)
		if o.r.IntN(4) > 0 || !v.exact { // usually the newest
			at = tick
		}
		c := coded{body: bodyStateOf(o.known[uint32(at)][slot])}
		c.row = oracleRow{seq: o.seq, tick: at}
		c.row.values, c.grid = o.quantise(o.known[uint32(at)][slot])
		c.exact = wire.Exact{Form: wire.FormOf(&c.body, &c.grid), Back: uint32(tick - at)}
		if !v.exact {
			c.exact = wire.Exact{}
		}
		age := wire.Baseline{}
		if back := uint64(c.exact.Back); o.r.IntN(2) == 0 && tick-v.acked > back && tick-v.acked < 60 {
			age.Age = uint32(tick - v.acked)
			c.past = &rowcodec.Past{Base: v.base, Age: uint32(tick - v.acked - back)}
		}
		v.sent = append(v.sent, c.row)
		headers = append(headers, wire.RowHeader{Skip: slot - next, Baseline: age})
		next = slot + 1
		rows = append(rows, c)
		head.Exact = head.Exact || c.exact.Form != wire.Ordinary
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, head))
	if len(slots) > 0 {
		wire.AppendRowCoding(&w, wire.RowCoding{})
	}
	for i, h := range headers {
		wire.AppendRowHeader(&w, wire.RowCoding{}, h.Skip, h.Baseline)
		if head.Exact {
			wire.AppendExact(&w, rows[i].exact)
		}
	}
	for _, c := range rows {
		o.codec.Append(&w, rowschema.Row{Mask: 1, Values: c.row.values}, c.past)
		wire.AppendBody(&w, c.exact.Form, &c.body, &c.grid)
	}
	d := w.Bytes()
	if o.r.IntN(8) == 0 {
		return // lost
	}
	o.datagrams = append(o.datagrams, oracleBytes{tick + o.r.Uint64N(8), d})
	if o.r.IntN(10) == 0 {
		o.datagrams = append(o.datagrams, oracleBytes{tick + o.r.Uint64N(12), d})
	}
}

// leads reports whether an effect follows an entity.
func (o *oracle) leads(h bulk.Handle) bool {
	for _, e := range o.effects {
		if e.Follow == h {
			return true
		}
	}
	return false
}

// audit returns the audit of snapshot o.seq.
func (o *oracle) audit(tick uint32) (sum uint32) {
	var slots []uint32
	for slot, v := range o.view {
		if v.exact && wire.Audited(v.h, o.seq) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	for _, slot := range slots {
		b := bodyStateOf(o.known[tick][slot])
		sum = wire.Audit(sum, o.view[slot].h, &b)
	}
	return sum
}

// deliver delivers due datagrams, and compares the bodies each time they were computed.
func (o *oracle) deliver() {
	now := o.w.Tick()
	o.receive()
	for len(o.stream) > 0 && o.stream[0].due <= now {
		require.NoError(o.t, o.session.ReceiveStream(o.stream[0].bytes))
		o.compare()
		o.tapped(o.stream[0].bytes, false)
		o.stream = o.stream[1:]
	}
	slices.SortStableFunc(o.datagrams, func(a, b oracleBytes) int { return cmp.Compare(a.due, b.due) })
	for len(o.datagrams) > 0 && o.datagrams[0].due <= now {
		must.Get(o.session.ReceiveDatagram(o.datagrams[0].bytes, time.Duration(now)*time.Second/60))
		o.compare()
		o.tapped(o.datagrams[0].bytes, true)
		o.datagrams = o.datagrams[1:]
	}
}

func (o *oracle) tapped(b []byte, datagram bool) {
	if o.tap != nil {
		o.tap(b, datagram)
	}
}

// receive answers the client's stream: a Resync enters everything again.
func (o *oracle) receive() {
	for kind := range stage.Messages(o.session.TakeStream()) {
		if kind == wire.TypeResync {
			o.resyncs = append(o.resyncs, o.w.Tick())
			clear(o.view)
		}
	}
}

// compare compares the computed bodies with the world's at the same tick.
func (o *oracle) compare() {
	computed := o.session.Replica().ComputedTick()
	if computed == o.computed || o.wrong {
		return
	}
	o.computed = computed
	for e := range o.session.Replica().All() {
		got, tick, ok := e.Exact()
		if !ok {
			continue
		}
		slot := e.Handle().Index()
		if o.handles[tick] == nil || o.handles[tick][slot] != e.Handle() {
			continue // it has died since
		}
		want := o.known[tick][slot]
		a, b := bodyStateOf(want), bodyStateOf(got)
		if wire.Audit(0, e.Handle(), &a) != wire.Audit(0, e.Handle(), &b) {
			require.Fail(o.t, "differs", "%s: tick %d, now %d, slot %d, disturbed %d: %+v, computed %+v", o.name, tick, o.w.Tick(), slot, o.w.Slots().Disturbed(slot), want, got)
		}
		o.compared++
	}
}

// storm returns the storm with players that steer and poke.
type storm struct {
	*scenes.Scene
	r       *rand.Rand
	players []world.Entity
}

func newStorm() *storm {
	f := must.Get(scenes.Named("storm"))
	return &storm{Scene: must.Get(scenes.Build(f)), r: rand.New(rand.NewPCG(6, 6))}
}

func (s *storm) play() {
	switch {
	case len(s.players) < 40 && s.r.IntN(5) == 0:
		e := must.Get(s.Join())
		s.players = append(s.players, e)
	case s.r.IntN(3) == 0:
		_ = s.Poke(s.World.Slots().Handle(uint32(s.r.IntN(10000))))
	}
	for _, e := range s.players {
		if s.r.IntN(30) == 0 {
			s.Steer(e, [2]float32{s.r.Float32() - 0.5, s.r.Float32() - 0.5})
		}
	}
}
