package client

import (
	"math"
	"math/bits"
	"reflect"
	"runtime/debug"
	"slices"
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
)

const (
	// window is the size of the rings: the confirmed tick and MaxPredicted more. At 60 Hz
	// it is two seconds, more than inputs are ever ahead of snapshots.
	window = 128

	// Slots of states behind the ring.
	scratch    = window
	older      = window + 1
	stateSlots = window + 2

	// heldSlot is the input held at the confirmed tick.
	heldSlot   = window
	inputSlots = window + 1

	// all is the applied argument of run for all inputs.
	all = math.MaxUint32
)

func slotOf(tick uint32) int { return int(tick % window) }

// prediction is the part of a Prediction that does not depend on its types. Its functions
// work on slots of states and inputs; a tick has slotOf(tick).
//
// The rings hold the states of ticks confirmed to newest, and the inputs of the ticks after
// confirmed. An input counts from its tick on until the next one (C6).
type prediction struct {
	session *Session
	message *schema.Message
	undo    func(tick uint32, key uint64)
	snap    float64
	name    string // of the step function
	failed  *StepError

	step       func(tick uint32, state, input int)
	copyState  func(to, from int)
	zero       func(state int)
	copyInput  func(to, from int)
	clearInput func(slot int) any // returns a pointer to it
	parts      []part
	values     []uint32 // scratch: of a part

	handle    bulk.Handle // the predicted entity
	running   bool        // there is a state
	paused    bool        // the connection is lost; until the next state
	confirmed uint32      // newest tick whose state the server has sent
	newest    uint32      // newest tick predicted
	inputs    [window]uint32
	lastInput uint32 // newest tick in inputs; 0: none
	lostInput uint32 // of lastInput, when the connection broke
	stepping  uint32 // tick of the step function's call; 0: not in it

	blend   blend
	effects effects
	stats   PredictionStats
}

// part is a component of the state.
type part struct {
	number int // in the caller's schema
	field  int // of the state; -1: the state is the component
	at     [stateSlots]any
	texts  bool
	spans  []schema.Span
	first  int // its numbers in an offset
	count  int
	server int         // its number in the schema of the entity
	body   *bodyFields // nil: it is not the body
}

// in returns the component of the state at v, as a pointer.
func (p *part) in(v reflect.Value) any {
	if p.field < 0 {
		return v.Interface()
	}
	return v.Elem().Field(p.field).Addr().Interface()
}

func (p *prediction) setParts(parts []part) {
	declared, numbers, most := p.session.declared, 0, 0
	for i := range parts {
		c := &parts[i]
		first, end := declared.TextFieldsOf(c.number)
		c.texts, c.spans, c.first = first < end, declared.Spans(c.number), numbers
		c.body = bodyFieldsOf(declared.Component(c.number).Name, declared.Component(c.number).Type)
		for _, s := range c.spans {
			c.count += s.Count
		}
		numbers += c.count
		most = max(most, declared.Component(c.number).Values)
	}
	p.parts, p.values = parts, make([]uint32, most)
	p.blend.offset, p.blend.way = make([]float64, numbers), make([]float64, numbers)
}

// entity returns the controlled entity if it can be predicted.
func (p *prediction) entity() *Entity {
	r := p.session.replica
	if r == nil || p.failed != nil {
		return nil
	}
	e := r.Entity(p.session.controlled)
	if e == nil || !e.Owned() {
		return nil
	}
	for i := range p.parts {
		c := &p.parts[i]
		c.server = e.layout.numberOf(p.session.declared, c.number)
		if c.server < 0 || e.mask>>c.server&1 == 0 {
			return nil
		}
	}
	return e
}

// input records the input of a tick and predicts it.
func (p *prediction) input(tick uint32, body *schema.Payload) {
	switch {
	case p.failed != nil || p.stepping != 0:
		return
	case p.running && !p.paused && tick <= p.confirmed:
		return // the server has gone past it
	case p.running && !p.paused && tick > p.confirmed+MaxPredicted:
		p.stats.Stalled++
		return
	}
	if tick < p.lastInput { // the server's time went back
		p.forgetInputs(tick)
	}
	slot := slotOf(tick)
	if err := p.message.Restore(body, p.clearInput(slot)); err != nil {
		return // not possible: body is of the message
	}
	p.inputs[slot], p.lastInput = tick, tick
	if p.running && !p.paused {
		p.truncate(tick)
		p.run(min(tick, p.newest+1), tick, all)
	}
	p.deliverUndone()
}

// forgetInputs drops the inputs from tick on.
func (p *prediction) forgetInputs(tick uint32) {
	for i, t := range p.inputs {
		if t >= tick {
			p.inputs[i] = 0
		}
	}
}

// truncate drops the predicted states after tick.
func (p *prediction) truncate(tick uint32) {
	for p.newest > max(tick, p.confirmed) {
		p.effects.dropTick(p.newest)
		p.newest--
	}
}

// sync compares the prediction with the newest state of the server. It is called after
// everything that the session has received.
func (p *prediction) sync() {
	if p.stepping != 0 {
		return
	}
	e := p.entity()
	if e == nil || e.handle != p.handle {
		p.stop()
		p.handle = p.session.controlled
	}
	if e != nil {
		switch tick := p.session.replica.knownUntil(e, p.session.resendTicks()); {
		case tick > math.MaxUint32-2*window: // no later tick can be predicted
			p.stop()
		case !p.running:
			p.start(e, tick)
		case tick > p.confirmed:
			p.confirm(e, tick)
		}
	}
	p.deliverUndone()
}

// start begins to predict from the state of e at tick.
func (p *prediction) start(e *Entity, tick uint32) {
	p.zero(slotOf(tick))
	p.restore(e, slotOf(tick))
	p.confirmed, p.newest, p.running, p.paused = tick, tick, true, false
	held := uint32(0)
	for _, t := range p.inputs {
		if t <= tick {
			held = max(held, t)
		}
	}
	p.hold(held)
	p.run(tick+1, p.target(), all)
}

// hold makes the recorded input of a tick the held one; 0 is none.
func (p *prediction) hold(tick uint32) {
	if tick == 0 {
		p.clearInput(heldSlot)
	} else {
		p.copyInput(heldSlot, slotOf(tick))
	}
}

// stop drops the prediction: the entity died, left view or is no longer controlled.
func (p *prediction) stop() {
	if p.running {
		p.truncate(p.confirmed)
		p.running, p.paused = false, false
		p.blend.reset()
	}
}

// renew drops everything at the start of a new session.
func (p *prediction) renew() {
	p.stop()
	p.inputs, p.lastInput = [window]uint32{}, 0
	p.deliverUndone()
}

// pause keeps the predicted state as it is until the session has resumed and received a
// state. Inputs are recorded meanwhile: the newest are sent when it resumes.
func (p *prediction) pause() {
	p.paused, p.lostInput = true, p.lastInput
}

// resume drops the inputs that were under way when the connection broke, or are too late at
// tick. The server holds the newest that it has applied.
func (p *prediction) resume(tick uint32) {
	applied := p.session.replica.input
	for i, t := range p.inputs {
		if t > applied && t <= max(p.lostInput, tick) {
			p.inputs[i] = 0
		}
	}
	if applied != 0 && p.inputs[slotOf(applied)] == applied {
		p.hold(applied)
	}
}

// target returns the newest tick to predict.
func (p *prediction) target() uint32 {
	return max(p.confirmed, min(p.lastInput, p.confirmed+MaxPredicted))
}

// confirm compares the server's state at tick with the predicted one, and corrects the
// prediction if they differ (C7).
func (p *prediction) confirm(e *Entity, tick uint32) {
	if !p.paused && tick > p.newest && tick-p.confirmed <= MaxPredicted {
		p.run(p.newest+1, tick, all) // the game makes no inputs, and the server holds the last one
	}
	known := tick <= p.newest && !p.paused && p.running
	agreed := known && p.matches(e, slotOf(tick))
	if agreed && p.equals(e, slotOf(tick)) {
		p.stats.Agreed++
		p.accept(tick)
		p.run(p.newest+1, p.target(), all)
		return
	}
	p.blend.before(p)
	switch {
	case p.paused:
		p.resume(tick)
		fallthrough
	case !known:
		p.undoUnapplied(tick)
		p.copyState(slotOf(tick), slotOf(p.newest))
	case agreed:
		p.stats.Agreed++
	case p.explained(e, tick):
		p.stats.Corrected++
		p.stats.Missed++
	default:
		p.stats.Corrected++
	}
	p.restore(e, slotOf(tick))
	p.accept(tick)
	p.truncate(p.target())
	p.run(tick+1, p.target(), all)
	p.blend.after(p)
}

// explained predicts again up to tick, without the inputs that the server had not applied by
// then, and reports whether that gives the server's state. If it does, the state
// keeps its full precision.
func (p *prediction) explained(e *Entity, tick uint32) bool {
	applied := p.session.replica.input
	missed := false
	for t := tick; t > p.confirmed && t > applied; t-- {
		missed = missed || p.inputs[slotOf(t)] == t
	}
	if !missed {
		return false
	}
	p.run(p.confirmed+1, tick, applied)
	return p.failed == nil && p.matches(e, slotOf(tick))
}

// accept makes tick the confirmed one.
func (p *prediction) accept(tick uint32) {
	held := uint32(0)
	for t := tick; t > max(p.confirmed, tick-min(tick, window)) && held == 0; t-- {
		if p.inputs[slotOf(t)] == t {
			held = t
		}
	}
	if held != 0 {
		p.hold(held)
	}
	p.confirmed, p.paused = tick, false
	p.newest = max(p.newest, tick)
}

// run predicts the ticks from a tick whose predecessor has a state, with the inputs up to
// applied.
func (p *prediction) run(from, to, applied uint32) {
	if from > to || p.failed != nil {
		return
	}
	if invariants.Enabled {
		invariants.Checkf(from > p.confirmed && to-p.confirmed <= MaxPredicted, "C8: predicting %d to %d, confirmed %d", from, to, p.confirmed)
	}
	defer p.recoverStep()
	input := heldSlot
	for t := p.confirmed + 1; t < from; t++ {
		if p.inputs[slotOf(t)] == t && t <= applied {
			input = slotOf(t)
		}
	}
	for t := from; t <= to; t++ {
		slot := slotOf(t)
		if p.inputs[slot] == t && t <= applied {
			input = slot
		}
		if t <= p.newest {
			p.stats.Replayed++
		}
		p.copyState(slot, slotOf(t-1))
		p.effects.begin(t)
		p.stepping = t
		p.step(t, slot, input)
		p.stepping = 0
		p.effects.end(t)
		p.newest = max(p.newest, t)
	}
}

// recoverStep turns a panic of the step function into a *StepError.
func (p *prediction) recoverStep() {
	tick := p.stepping
	p.stepping = 0
	if v := recover(); v != nil {
		if tick == 0 {
			panic(v)
		}
		p.failed = &StepError{Step: p.name, Tick: tick, Value: v, Stack: debug.Stack()}
		p.effects.dropTick(tick)
		p.stop()
	}
}

// restore gives the state of a slot the newest values of e. Fields that are not replicated or
// have them after quantisation keep what they have; an exact body takes over all bits.
func (p *prediction) restore(e *Entity, slot int) {
	for i := range p.parts {
		c := &p.parts[i]
		e.layout.schema.Adopt(c.server, e.current(c.server), c.at[slot])
		if s, _, ok := e.Exact(); ok && c.body != nil {
			c.body.set(c.pointer(slot), &s)
		}
	}
}

// equals reports whether the state of a slot has the bits of e's body, if that is exact.
func (p *prediction) equals(e *Entity, slot int) bool {
	for i := range p.parts {
		c := &p.parts[i]
		if s, _, ok := e.Exact(); ok && c.body != nil && !c.body.equal(c.pointer(slot), &s) {
			return false
		}
	}
	return true
}

// pointer returns the component in the state of a slot.
func (p *part) pointer(slot int) unsafe.Pointer { return reflect.ValueOf(p.at[slot]).UnsafePointer() }

// matches reports whether the state of a slot quantises to the newest one of e.
func (p *prediction) matches(e *Entity, slot int) bool {
	for i := range p.parts {
		c := &p.parts[i]
		want := e.current(c.server)
		got := p.values[:len(want)]
		e.layout.schema.Quantise(c.server, c.at[slot], got)
		if !slices.Equal(got, want) {
			return false
		}
	}
	return true
}

// setTexts gives the state of a slot the newest texts.
func (p *prediction) setTexts(slot int) {
	e := p.entity()
	for i := range p.parts {
		if c := &p.parts[i]; c.texts && e != nil {
			e.layout.schema.SetTexts(c.server, true, *textsOf(e), c.at[slot])
		}
	}
}

func (s *Session) syncPrediction() {
	if s.prediction != nil {
		s.prediction.sync()
	}
}

// resendSnapshots is after how many snapshots without an own row a server has sent a lost
// one again.
const resendSnapshots = 9

// resendTicks returns resendSnapshots in ticks.
func (s *Session) resendTicks() uint32 {
	if s.welcome == nil {
		return 0
	}
	return resendSnapshots * max(1, uint32(s.welcome.TickHz)/max(1, uint32(s.welcome.SnapshotHz)))
}

// knownUntil returns the newest tick at which the controlled entity e is known to have its
// current state. Every snapshot that is made for its controller has a row of e unless the
// client has its state, or a snapshot that has it is under way. So a snapshot without such a
// row repeats the current state if none was lost since that, or in the time of resend ticks,
// after which the server sends the row again. Of an exact body a row is sent only after a
// disturbance, and a complete snapshot says that there was none.
func (r *Replica) knownUntil(e *Entity, resend uint32) uint32 {
	if r.bodies.of(e) != nil {
		_, tick, _ := e.Exact()
		return max(tick, e.states.tick)
	}
	applied := min(uint32(bits.TrailingZeros64(^r.acks.mask)), uint32(len(r.ackTicks)-1)) // before the newest, without a gap
	since := r.ackTicks[(r.acks.newest-applied)%uint32(len(r.ackTicks))]
	if r.tick <= e.states.tick || e.states.tick < since && r.tick-since <= resend {
		return e.states.tick
	}
	return r.tick
}
