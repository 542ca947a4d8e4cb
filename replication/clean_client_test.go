package replication_test

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

// simClient is a second implementation of a client that simulates. It follows PROTOCOL.md,
// shares no code with the server's half, reads the sent bytes and computes the rest.
type simClient struct {
	codec    *rowcodec.Codec
	sim      *motion.Sim
	messages wire.FrameReader
	records  uint32 // records applied
	tick     uint32 // tick of the newest Structure message
	newest   uint32 // number of the newest snapshot
	mask     uint64 // applied snapshots up to newest
	members  map[uint32]*simMember
	programs map[uint8]*field.Program
	effects  map[uint32]*simEffect
	pending  []simAction // by tick, stable
	complete uint32      // tick of the newest complete snapshot
	linked   bool        // no datagram of the newest tick before this one is missing
	audits   int
	maxBack  uint32
	kinds    map[uint32]bool // added
	rows     []simRow        // rows read since a test emptied the list
}

// simMember is an entity in view.
type simMember struct {
	handle bulk.Handle
	kind   uint32
	owned  bool
	mask   uint32
	states map[uint32][]uint32 // by tick
	exact  uint32              // tick of the entity's newest exact state; 0: ordinary
	newest uint32
	given  uint32 // tick of the message with the newest state
}

// simRow is a row that was read.
type simRow struct {
	handle bulk.Handle
	was    bool // the entity was exact before
}

type simEffect struct {
	motion.Source
	id    bulk.Handle
	first uint32
}

// simAction is an action that is due when the simulation has reached a tick.
type simAction struct {
	tick uint32
	do   func(late bool) error
}

func newSimClient(r *replication.Replicator, w *world.World) *simClient {
	stepper := w.Motion()
	stepper.Kinds = stepper.Kinds[:len(r.Schema().Kinds())]
	return &simClient{
		kinds: map[uint32]bool{}, maxBack: wire.MaxBack(w.TickHz()),
		codec: rowcodec.New(r.Schema(), r.Config().Tables), sim: motion.NewSim(stepper, w.Tick()), members: map[uint32]*simMember{},
		programs: map[uint8]*field.Program{}, effects: map[uint32]*simEffect{},
	}
}

// at calls do when the simulation has reached a tick, or at once if it already has.
func (c *simClient) at(tick uint32, do func(late bool) error) error {
	if uint64(tick) < c.sim.Now() {
		return do(true)
	}
	i, _ := slices.BinarySearchFunc(c.pending, tick+1, func(a simAction, t uint32) int { return int(a.tick) - int(t) })
	c.pending = slices.Insert(c.pending, i, simAction{tick, do})
	return nil
}

// stream applies structure.
func (c *simClient) stream(b []byte) error {
	c.messages.Feed(b)
	for {
		_, body, ok, err := c.messages.Next()
		if err != nil || !ok {
			return err
		}
		m, err := wire.ParseStructure(body)
		if err != nil {
			return err
		}
		if m.First != c.records+1 {
			return fmt.Errorf("message begins with record %d after %d", m.First, c.records)
		}
		c.tick += m.Ticks
		for r, err := range m.Records() {
			if err == nil {
				err = c.record(r)
			}
			if err != nil {
				return err
			}
			c.records++
		}
	}
}

func (c *simClient) record(r wire.Record) error {
	switch slot := r.Handle.Index(); r.Op {
	case wire.OpEnter:
		s := c.codec.Schema()
		var bits bitio.Reader
		bits.Reset(r.Row)
		row := rowschema.Row{Owned: r.Owned, Values: make([]uint32, s.Values())}
		if err := c.codec.Layout().ReadFull(&bits, &row); err != nil {
			return err
		}
		m := &simMember{handle: r.Handle, kind: r.Kind, owned: r.Owned, mask: row.Mask, states: map[uint32][]uint32{}}
		c.drop(slot)
		c.members[slot] = m
		if err := r.Exact.CheckBack(c.tick, c.maxBack); err != nil {
			return err
		}
		tick := c.tick - r.Exact.Back
		if err := c.receive(m, &bits, r.Exact, tick, row.Values); err != nil {
			return err
		}
		return wire.ExpectEnd(&bits)
	case wire.OpLeave, wire.OpDestroy:
		c.drop(slot)
	case wire.OpExtension:
		return c.extension(r)
	}
	return nil
}

func (c *simClient) drop(slot uint32) {
	delete(c.members, slot)
	c.sim.Drop(slot)
}

// receive takes the state of a row and reads its exact part.
func (c *simClient) receive(m *simMember, bits *bitio.Reader, e wire.Exact, tick uint32, values []uint32) error {
	m.states[tick] = values
	if tick < m.newest {
		return nil
	}
	m.newest, m.given, m.exact = tick, tick+e.Back, 0
	slot := m.handle.Index()
	if e.Form == wire.Ordinary {
		c.sim.Drop(slot)
		return nil
	}
	s := c.codec.Schema()
	if int(m.kind) >= len(s.Kinds()) && !c.kinds[m.kind] {
		return fmt.Errorf("%v is exact, and of the unknown kind %d", m.handle, m.kind)
	}
	i, _ := s.ByName(schema.BodyComponent)
	body := schema.Body{}
	c.codec.Layout().Component(i).Restore(values[s.Components()[i].Offset:][:s.Components()[i].Values], &body)
	grid := wire.Grid{body.Position[0], body.Position[1], body.Position[2], body.Velocity[0], body.Velocity[1], body.Velocity[2]}
	constants, _ := s.Motion()
	exact := wire.ReadBody(bits, e.Form, &grid, constants.RestTicks)
	m.exact = tick
	return c.at(tick, func(late bool) error {
		if late {
			return fmt.Errorf("%v: exact state of tick %d after tick %d was computed", m.handle, tick, c.sim.Now())
		}
		if c.members[slot] != m || m.exact != tick {
			return nil
		}
		c.sim.Put(slot, motion.KindID(m.kind), motion.State{
			Position: vectorOf(exact.Position), Velocity: vectorOf(exact.Velocity), Rest: exact.Rest, Awake: exact.Awake,
		})
		return nil
	})
}

func vectorOf(v [3]float32) motion.Vec3 { return motion.Vec3{X: v[0], Y: v[1], Z: v[2]} }

func (c *simClient) extension(r wire.Record) error {
	switch wire.Extension(r.Number) {
	case wire.ExtendProgram:
		p := r.Program()
		program, err := field.Load(p.Code)
		if err != nil {
			return err
		}
		c.programs[p.Number] = program
	case wire.ExtendKind:
		k := r.KindAdded()
		if c.kinds[k.Kind] || int(k.Kind) < len(c.codec.Schema().Kinds()) {
			return fmt.Errorf("kind %d is added, which is known", k.Kind)
		}
		c.kinds[k.Kind] = true
		c.sim.SetKind(motion.KindID(k.Kind), motion.Kind{
			InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius, Friction: k.Friction, Restitution: k.Restitution,
			Layers: motion.Layers(k.Layers),
		})
	case wire.ExtendEffectAdded:
		return c.added(r.EffectAdded())
	case wire.ExtendEffectChanged:
		e := r.EffectChanged()
		known := c.effects[e.Effect.Index()]
		if known == nil || known.id != e.Effect {
			return fmt.Errorf("change of %v, which is not known", e.Effect)
		}
		first, err := e.FirstTick(c.tick, c.maxBack)
		if err != nil {
			return err
		}
		if first < known.first || known.Last != 0 && known.Last < uint64(first) {
			return fmt.Errorf("change of %v from tick %d, after %d", e.Effect, first, known.first)
		}
		known.first = first
		if e.HasPath {
			known.Path = pathOf(&e.Path)
		}
		if e.HasParams {
			known.Params = paramsOf(known.Program, e.Params)
		}
		source := known.Source
		return c.at(first-1, func(late bool) error { return c.sim.SetEffect(e.Effect.Index(), &source, !late) })
	case wire.ExtendEffectEnded, wire.ExtendEffectLeft:
		e := r.EffectEnded()
		known := c.effects[e.Effect.Index()]
		if known == nil || known.id != e.Effect {
			return fmt.Errorf("end of %v, which is not known", e.Effect)
		}
		first, err := e.FirstTick(c.tick, c.maxBack)
		if err != nil {
			return err
		}
		if first < known.first || known.Last != 0 && known.Last < uint64(first) {
			return fmt.Errorf("end of %v from tick %d, after %d", e.Effect, first, known.first)
		}
		delete(c.effects, e.Effect.Index())
		return c.at(first-1, func(late bool) error {
			c.sim.EndEffect(e.Effect.Index(), !e.Left && !late)
			return nil
		})
	}
	return nil
}

func (c *simClient) added(e wire.EffectAdded) error {
	born, first, last, err := e.Ticks(c.tick, c.maxBack)
	if err != nil {
		return err
	}
	program := c.programs[e.Program]
	if program == nil {
		return fmt.Errorf("effect %v of program %d, which is not known", e.Effect, e.Program)
	}
	slot := e.Effect.Index()
	if known := c.effects[slot]; known != nil && known.id.Generation() >= e.Effect.Generation() {
		return fmt.Errorf("effect %v was added before", e.Effect)
	}
	known := &simEffect{id: e.Effect, first: first, Source: motion.Source{
		Program: program, Params: paramsOf(program, e.Params), Mode: motion.Mode(e.Mode), Layers: motion.Layers(e.Layers),
		Path: pathOf(&e.Path), Born: uint64(born), First: uint64(first), Last: uint64(last),
	}}
	c.effects[slot] = known
	source := known.Source
	return c.at(first-1, func(late bool) error { return c.sim.SetEffect(slot, &source, e.Age <= 1 && !late) })
}

func pathOf(p *wire.Path) motion.Path {
	return motion.Path{
		Form: motion.PathForm(p.Form), Center: vectorOf(p.Center), Velocity: vectorOf(p.Velocity),
		AxisU: vectorOf(p.Axes[0]), AxisV: vectorOf(p.Axes[1]), Phase: p.Phase, Rate: p.Rate,
	}
}

func paramsOf(p *field.Program, f wire.Floats) (params []field.Vec4) {
	at := 0
	for _, declared := range p.Params() {
		var v field.Vec4
		n := 4
		if declared.Scalar {
			n = 1
		}
		for i := range n {
			v[i] = f.At(at + i)
		}
		if n == 1 {
			v = field.Vec4{v[0], v[0], v[0], v[0]}
		}
		at += n
		params = append(params, v)
	}
	return params
}

// datagram applies a State datagram.
func (c *simClient) datagram(d []byte) (h wire.StateHeader, err error) {
	var bits bitio.Reader
	if h, err = wire.ParseStateHeader(d, &bits); err != nil {
		return h, err
	}
	if h.Structure > c.records {
		return h, fmt.Errorf("snapshot %d needs record %d of %d", h.Seq, h.Structure, c.records)
	}
	type header struct {
		m     *simMember
		base  wire.Baseline
		exact wire.Exact
	}
	var rows []header
	marked := false
	if h.Rows > 0 {
		coding := wire.ReadRowCoding(&bits, h.Tick)
		next, fold := uint32(0), uint64(0)
		for range h.Rows {
			skip, base := wire.ReadRowHeader(&bits, coding, h.Tick)
			exact := wire.Exact{}
			if h.Exact {
				exact = wire.ReadExact(&bits, h.Tick, base, c.maxBack)
			}
			marked = marked || exact.Form != wire.Ordinary
			m := c.members[next+skip]
			if m == nil {
				return h, fmt.Errorf("row of slot %d, which is not in view: %w", next+skip, bits.Err())
			}
			next += skip + 1
			fold = wire.Fold(fold, m.handle)
			rows = append(rows, header{m, base, exact})
		}
		if wire.Fold16(fold) != h.Fold {
			return h, fmt.Errorf("fold")
		}
	}
	if marked != h.Exact {
		return h, fmt.Errorf("snapshot %d announces exact rows and has none", h.Seq)
	}
	for _, r := range rows {
		c.rows = append(c.rows, simRow{r.m.handle, r.m.exact != 0})
		row := rowschema.Row{Mask: r.m.mask, Owned: r.m.owned, Values: make([]uint32, c.codec.Schema().Values())}
		var past *rowcodec.Past
		if r.base.Age != 0 {
			past = &rowcodec.Past{Base: r.m.states[h.Tick-r.base.Age], Age: r.base.Age - r.exact.Back, Gap: r.base.Gap}
			if r.base.Gap != 0 {
				past.Older = r.m.states[h.Tick-r.base.Age-r.base.Gap]
			}
			if past.Base == nil {
				return h, fmt.Errorf("%v: no state of tick %d", r.m.handle, h.Tick-r.base.Age)
			}
		}
		if err := c.codec.Read(&bits, &row, past); err != nil {
			return h, err
		}
		if err := c.receive(r.m, &bits, r.exact, h.Tick-r.exact.Back, row.Values); err != nil {
			return h, err
		}
	}
	if h.Rows > 0 {
		if err := wire.ExpectEnd(&bits); err != nil {
			return h, err
		}
	}
	c.linked = !h.Continued || c.newest == h.Seq-1 && c.linked
	c.mask = c.mask<<(h.Seq-c.newest) | 1<<(h.Seq-c.newest-1)
	c.newest = h.Seq
	if !h.Complete || !c.linked {
		return h, nil
	}
	if err := c.advance(h.Tick); err != nil {
		return h, err
	}
	if h.Audited {
		c.audits++
		if sum := c.audit(h.Seq); sum != h.Audit {
			return h, fmt.Errorf("audit of snapshot %d at tick %d is %08x, want %08x", h.Seq, h.Tick, sum, h.Audit)
		}
	}
	return h, nil
}

// advance computes all ticks up to tick to.
func (c *simClient) advance(to uint32) error {
	for {
		for len(c.pending) > 0 && uint64(c.pending[0].tick) <= c.sim.Now() {
			do := c.pending[0].do
			c.pending = c.pending[1:]
			if err := do(false); err != nil {
				return err
			}
		}
		if c.sim.Now() >= uint64(to) {
			c.complete = to
			return nil
		}
		c.sim.Tick()
	}
}

func (c *simClient) audit(seq uint32) (sum uint32) {
	var slots []uint32
	for slot, m := range c.members {
		if m.exact != 0 && wire.Audited(m.handle, seq) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	for _, slot := range slots {
		s, _ := c.sim.State(slot)
		sum = wire.Audit(sum, c.members[slot].handle, &wire.BodyState{
			Position: [3]float32{s.Position.X, s.Position.Y, s.Position.Z},
			Velocity: [3]float32{s.Velocity.X, s.Velocity.Y, s.Velocity.Z}, Awake: s.Awake, Rest: s.Rest,
		})
	}
	return sum
}

func (c *simClient) ack() wire.Ack {
	return wire.Ack{Seen: c.newest != 0, Newest: c.newest, Mask: c.mask, Structure: c.records}
}
