package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

const (
	// A body becomes exact after 1/settledShare of a second awake without a disturbance,
	// and after at least minSettledTicks. An exact row costs as much as four to six
	// ordinary rows.
	settledShare    = 3
	minSettledTicks = 20
	// A body becomes ordinary when maxDisturbed of the ticks of the last quarter second (at
	// least minDisturbedWithin ticks) disturb it.
	maxDisturbed       = 3
	disturbedShare     = 4
	minDisturbedWithin = 15
)

// clean is the state shared by all viewers whose clients simulate: which bodies are exact,
// and the oldest state of each body that is still valid. It is updated while such viewers
// exist.
type clean struct {
	settledTicks    uint16 // awake ticks without a disturbance that make a body exact
	disturbedWithin uint32 // window in which maxDisturbed disturbances make a body ordinary, in ticks

	viewers  int // number of viewers that simulate
	body     int // component of bodies in the schema
	first    int // index of the body's first value in a row
	end      int // index after the body's last value
	kinds    []exactKind
	slots    []cleanSlot
	ordinary bulk.Bitset // slots of bodies of exact kinds that are ordinary now
	touched  []uint32    // scratch: slots disturbed in a step
	effects  effectLog
}

// exactKind holds the constants of a kind, and whether its bodies may be exact.
type exactKind struct {
	exact bool
	added bool // the schema lacks it: clients receive its constants in a record
	motion.Kind
}

// cleanSlot is the state of one slot for viewers that simulate.
type cleanSlot struct {
	handle    bulk.Handle // entity that the other fields describe; 0: none
	disturbed [maxDisturbed]uint32
	changed   uint32 // tick in which a value other than of the body changed
	owner     uint32 // tick in which a value other than of the body changed in the owners' row
	moved     uint32 // tick in which a withheld effect may have moved the body
	switched  uint32 // tick in which the body became exact or ordinary; 0: never
	settled   uint16 // awake ticks without a disturbance, while ordinary
	exact     bool
}

// newClean returns the shared state for a schema, or nil if its clients cannot simulate:
// the schema lacks the body component or the motion of the world.
func newClean(w *world.World, s *schema.Schema, tickBase uint64) *clean {
	body, ok := s.ByName(schema.BodyComponent)
	if _, moves := s.Motion(); !ok || !moves {
		return nil
	}
	component, hz, stepper := s.Components()[body], w.TickHz(), w.Motion()
	return &clean{
		settledTicks: settledTicksAt(hz), disturbedWithin: disturbedWithinAt(hz),
		body: body, first: component.Offset, end: component.Offset + component.Values,
		effects: effectLog{stepper: &stepper, maxBack: wire.MaxBack(hz), base: tickBase},
	}
}

// settledTicksAt and disturbedWithinAt return clean's limits for a tick rate.
func settledTicksAt(tickHz int) uint16 { return uint16(max(tickHz/settledShare, minSettledTicks)) }

func disturbedWithinAt(tickHz int) uint32 {
	return uint32(max(tickHz/disturbedShare, minDisturbedWithin))
}

// addViewer counts a viewer that simulates.
func (c *clean) addViewer() { c.viewers++ }

// removeViewer uncounts a viewer that simulates.
func (c *clean) removeViewer() { c.viewers-- }

// servesAll reports whether viewers exist and the clients of all viewers simulate. c may be
// nil.
func (c *clean) servesAll(viewers int) bool { return c != nil && c.viewers > 0 && c.viewers == viewers }

// anyExact reports whether the world has a kind whose bodies may be exact.
func (c *clean) anyExact() bool {
	return slices.ContainsFunc(c.kinds, func(k exactKind) bool { return k.exact })
}

// addKinds adds the kinds that the world gained. A kind stays ordinary if the schema
// declares it without a body or under another name, or if one of its constants is -0.
func (c *clean) addKinds(w *world.World, s *schema.Schema) {
	if len(c.kinds) == w.KindCount() {
		return // the common case: Motion and Kinds copy
	}
	stepper, kinds := w.Motion(), w.Kinds()
	for i := len(c.kinds); i < len(kinds); i++ {
		k := exactKind{exact: kinds[i].Exact && kinds[i].Body != nil, added: i >= len(s.Kinds()), Kind: stepper.Kinds[i]}
		if k.added {
			k.exact = k.exact && schema.New().AddKind(schema.EntityKind{Name: "added", Body: kindBody(&k.Kind)}) == nil
		} else {
			declared := s.Kinds()[i]
			k.exact = k.exact && declared.Body != nil && declared.Name == kinds[i].Name
		}
		c.kinds = append(c.kinds, k)
	}
}

// slotOf returns the state of the entity in a slot, or nil if its kind is not exact.
func (c *clean) slotOf(slot uint32, h bulk.Handle) *cleanSlot {
	if uint64(slot) < uint64(len(c.slots)) && c.slots[slot].handle == h && h != 0 {
		return &c.slots[slot]
	}
	return nil
}

// oldestValidTick returns the first tick whose state is still current: a simulating client
// whose state is older is owed a row. p is the summary of the row that the client receives;
// it is not read for an exact body (staleRows.lock).
func (s *cleanSlot) oldestValidTick(p *slotSummary, owned bool) uint32 {
	switch {
	case !s.exact:
		return max(p.version, s.switched)
	case owned:
		return max(s.disturbed[0], s.changed, s.owner, s.switched)
	}
	return max(s.disturbed[0], s.changed, s.switched)
}

// isRequired reports whether complete snapshots must contain the entity's row, for a client
// that acknowledged the state of tick acked: the body is exact, or was exact at acked.
func (s *cleanSlot) isRequired(acked uint32) bool { return s.exact || acked < s.switched }

// recordChange records that a value other than of the body changed in the row of the entity
// in a slot: in the owners' row, or in the row of everyone else.
func (c *clean) recordChange(slot, tick uint32, ownerRow bool) {
	if ownerRow {
		c.slots[slot].owner = tick
	} else {
		c.slots[slot].changed = tick
	}
}

// otherValuesDiffer reports whether two states of a row differ in more than the body.
func (c *clean) otherValuesDiffer(values, before []uint32) bool {
	return !slices.Equal(values[:c.first], before[:c.first]) || !slices.Equal(values[c.end:], before[c.end:])
}

// recordStep records the disturbances and effects of a step. It returns the slots whose rows
// viewers may be owed even if the rows do not change, valid until the next call.
func (c *clean) recordStep(w *world.World, s *schema.Schema, tick uint32) (touched []uint32) {
	c.addKinds(w, s)
	c.touched = w.Slots().AppendDisturbed(c.touched[:0])
	for _, slot := range c.touched {
		c.recordDisturbance(w, slot, tick)
	}
	c.effects.observeEffects(w, tick)
	c.disturbByWithheld(w, tick)
	c.settleBodies(w, tick)
	return c.touched
}

// recordDisturbance records a disturbance of the body in a slot.
func (c *clean) recordDisturbance(w *world.World, slot, tick uint32) {
	h := w.Slots().Handle(slot)
	kind, ok := w.KindOf(h)
	if !ok {
		return
	}
	if n := int(slot) + 1 - len(c.slots); n > 0 {
		c.slots = append(c.slots, make([]cleanSlot, n)...)
	}
	s := &c.slots[slot]
	if s.handle != h {
		c.ordinary.Clear(slot)
		*s = cleanSlot{}
		if !c.kinds[kind].exact {
			return
		}
		*s = cleanSlot{handle: h, exact: true}
	}
	if s.disturbed[0] != tick {
		copy(s.disturbed[1:], s.disturbed[:])
		s.disturbed[0] = tick
	}
	s.settled = 0
	if oldest := s.disturbed[maxDisturbed-1]; s.exact && oldest != 0 && tick-oldest < c.disturbedWithin {
		s.exact, s.switched = false, tick
		c.ordinary.Set(slot)
	}
}

// settleBodies makes ordinary bodies exact that were undisturbed for settledTicks.
func (c *clean) settleBodies(w *world.World, tick uint32) {
	for slot := range c.ordinary.All() {
		s := &c.slots[slot]
		switch state, ok := w.Slots().Exact(slot); {
		case !ok || w.Slots().Handle(slot) != s.handle:
			c.ordinary.Clear(slot)
		case state.Awake && s.disturbed[0] != tick:
			s.settled++
			if s.settled >= c.settledTicks {
				s.exact, s.switched = true, tick
				c.touched = append(c.touched, slot)
				c.ordinary.Clear(slot)
			}
		}
	}
}

// beginClean makes every body of an exact kind exact, for the first viewer that simulates.
func (c *clean) beginClean(w *world.World, s *schema.Schema, tick uint32) {
	c.addKinds(w, s)
	clear(c.slots)
	c.ordinary.Reset()
	c.effects.forgetEffects()
	for slot := range w.Slots().Len() {
		c.recordDisturbance(w, slot, tick)
	}
	c.effects.observeEffects(w, tick)
}

// exactPart is the exact part of a row, the same for all clients that simulate.
type exactPart struct {
	capture uint64 // capture number of the frame
	form    wire.Form
	chunk   rowcodec.Chunk
}

// exactParts caches the exact parts of the present frame by slot, for one goroutine.
type exactParts struct {
	replicator *Replicator
	capture    uint64
	parts      []exactPart
	quantised  schema.Body
	state      wire.BodyState
	grid       wire.Grid
	values     []uint32 // scratch of spawnedRow
}

// beginFrame drops the parts of another capture's frame.
func (e *exactParts) beginFrame(capture uint64) { e.capture = capture }

// readSlot reads the exact state and the quantised body of a slot.
func (e *exactParts) readSlot(slot uint32) (wire.Form, bool) {
	r := e.replicator
	f := r.frame
	s := r.clean.slotOf(slot, f.summaries[slot].handle)
	if s == nil || !s.exact {
		return wire.Ordinary, false
	}
	state, _ := r.world.Slots().Exact(slot)
	return e.readRow(f.tenants[slot].newestRow(), &state), true
}

// readRow reads a state and the quantised body of a row.
func (e *exactParts) readRow(values []uint32, state *motion.State) wire.Form {
	c := e.replicator.clean
	e.state = bodyState(state)
	e.replicator.frame.rows.Component(c.body).Restore(values[c.first:c.end], &e.quantised)
	copy(e.grid[:3], e.quantised.Position[:])
	copy(e.grid[3:], e.quantised.Velocity[:])
	return wire.FormOf(&e.state, &e.grid)
}

// spawnedRow returns a copy of a row with the body in the given state, valid until the next
// call.
func (e *exactParts) spawnedRow(row rowschema.Row, state *motion.State) rowschema.Row {
	c := e.replicator.clean
	e.values = append(e.values[:0], row.Values...)
	body := bodyState(state)
	e.quantised = schema.Body{Position: body.Position, Velocity: body.Velocity}
	e.replicator.frame.rows.Component(c.body).Quantise(&e.quantised, e.values[c.first:c.end])
	row.Values = e.values
	return row
}

func bodyState(s *motion.State) wire.BodyState {
	return wire.BodyState{
		Position: [3]float32{s.Position.X, s.Position.Y, s.Position.Z},
		Velocity: [3]float32{s.Velocity.X, s.Velocity.Y, s.Velocity.Z},
		Awake:    s.Awake, Rest: s.Rest,
	}
}

// partOf returns the exact part of the row of a slot, made at most once in a frame.
func (e *exactParts) partOf(slot uint32, cache *rowCache) *exactPart {
	if n := len(e.replicator.frame.summaries) - len(e.parts); n > 0 {
		e.parts = append(e.parts, make([]exactPart, n)...)
	}
	p := &e.parts[slot]
	if p.capture == e.capture {
		return p
	}
	*p = exactPart{capture: e.capture}
	form, ok := e.readSlot(slot)
	if !ok {
		return p
	}
	p.form = form
	wire.AppendBody(cache.chunks.Begin(), form, &e.state, &e.grid)
	p.chunk = cache.chunks.End()
	cache.keptLen = cache.chunks.Len()
	return p
}
