package client

import (
	"math"
	"math/bits"
	"runtime/debug"
	"time"

	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/replication/schema"
)

const (
	// Slots of states before the ring.
	scratch = 0
	older   = 1
	// heldSlot is the input held at the confirmed tick, before the ring of inputs.
	heldSlot = 0
	// ringSlot is the first slot of the rings.
	ringSlot = 2

	// maxTickHz is the highest tick rate for which rings reach back MaxPredicted.
	maxTickHz = 1000
)

// prediction is the part of a Prediction that does not depend on its types. Its functions
// work on slots of states and inputs; a tick has slotOf(tick).
//
// window is the size of the rings in ticks: the confirmed one and as many as MaxPredicted lasts.
//
// The rings hold the states of ticks confirmed to newest, and the inputs of the ticks after
// confirmed. An input counts from its tick on until the next one (C6).
type prediction struct {
	subject // the controlled entity
	window  uint32
	session *Session
	message *schema.Message
	undo    func(tick uint32, key uint64)
	snap    float64
	name    string // of the step function
	failed  *StepError

	step       func(tick uint32, state, input int)
	copyInput  func(to, from int)
	clearInput func(slot int) any // returns a pointer to it
	makeInputs func(slots int)

	subjects []*subject // the controlled entity, then those that are taken along
	groups   []*group
	sure     []judgement // scratch

	running   bool     // there is a state
	paused    bool     // the connection is lost; until the next state
	confirmed uint32   // newest tick whose state the server has sent
	newest    uint32   // newest tick predicted
	inputs    []uint32 // by slot: their ticks; 0: none
	lastInput uint32   // newest tick in inputs; 0: none
	held      uint32   // tick of the input in heldSlot; 0: none
	applied   uint32   // newest input that the server is known to have applied by the confirmed tick
	lostInput uint32   // of lastInput, when the connection broke
	stepping  uint32   // tick of the step function's call; 0: not in it

	guess   guess
	effects effects
	stats   PredictionStats
}

// entity returns the controlled entity if it can be predicted.
func (p *prediction) entity() *Entity {
	r := p.session.replica
	if r == nil || p.failed != nil {
		return nil
	}
	if e := r.Entity(p.session.controlled); e != nil && e.Owned() && p.bind(e) {
		return e
	}
	return nil
}

// input records the input of a tick and predicts it.
func (p *prediction) input(tick uint32, body *schema.Payload) {
	switch {
	case p.failed != nil || p.stepping != 0:
		return
	case p.running && !p.paused && tick <= p.confirmed:
		return // the server has gone past it
	case p.running && !p.paused && tick >= p.confirmed+p.window:
		p.stats.Stalled++
		return
	}
	if tick < p.lastInput { // the server's time went back
		p.forgetInputs(tick)
	}
	slot := p.slotOf(tick)
	if err := p.message.Restore(body, p.clearInput(slot)); err != nil {
		return // not possible: body is of the message
	}
	p.inputs[slot], p.lastInput = tick, tick
	if p.running && !p.paused {
		p.truncate(tick)
		p.run(min(tick, p.newest+1), tick)
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
	p.dropGone()
	if e != nil {
		switch tick := p.known(e); {
		case tick > math.MaxUint32-2*p.window: // no later tick can be predicted
			p.stop()
		case !p.running:
			p.start(e, tick)
		case tick > p.confirmed:
			p.revise(tick - 1)
			if p.failed == nil {
				p.confirm(e, tick)
			}
		default:
			p.revise(p.confirmed)
		}
	}
	p.deliverUndone()
}

// start begins to predict from the state of e at tick.
func (p *prediction) start(e *Entity, tick uint32) {
	p.zero(p.slotOf(tick))
	p.restore(e, p.slotOf(tick))
	p.confirmed, p.newest, p.running, p.paused = tick, tick, true, false
	p.applied = 0
	if r := p.session.replica; r.tick == tick {
		p.applied = r.input
	}
	held := uint32(0)
	for _, t := range p.inputs {
		if t <= tick {
			held = max(held, t)
		}
	}
	p.hold(held)
	p.run(tick+1, p.target())
}

// hold makes the recorded input of a tick the held one; 0 is none.
func (p *prediction) hold(tick uint32) {
	p.held = tick
	if tick == 0 {
		p.clearInput(heldSlot)
	} else {
		p.copyInput(heldSlot, p.slotOf(tick))
	}
}

// stop drops the prediction: the entity died, left view or is no longer controlled.
func (p *prediction) stop() {
	if p.running {
		p.truncate(p.confirmed)
		p.running, p.paused = false, false
		p.blend.reset()
		p.dropAll()
	}
}

// renew drops everything at the start of a new session.
func (p *prediction) renew() {
	p.stop()
	clear(p.inputs)
	p.lastInput = 0
	p.deliverUndone()
	if hz := p.session.clock.hz; hz > 0 {
		p.resize(hz)
	}
}

// resize makes the rings long enough for a tick rate, while nothing is predicted.
func (p *prediction) resize(tickHz int) {
	window := uint32(MaxPredicted*time.Duration(min(tickHz, maxTickHz))/time.Second) + 1
	if window == p.window {
		return
	}
	p.window = window
	slots := ringSlot + int(window)
	p.inputs = make([]uint32, slots)
	p.makeInputs(slots)
	p.effects.resize(slots)
	p.makeStates(slots)
	for _, g := range p.groups {
		for _, c := range g.spare { // all
			c.makeStates(slots)
		}
		p.session.budget.Spend(slotTime * slots * len(g.spare))
	}
	p.session.budget.Spend(slotTime * slots)
}

func (p *prediction) slotOf(tick uint32) int { return ringSlot + int(tick%p.window) }

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
	if applied != 0 && p.inputs[p.slotOf(applied)] == applied {
		p.hold(applied)
	}
}

// target returns the newest tick to predict.
func (p *prediction) target() uint32 {
	return max(p.confirmed, min(p.lastInput, p.confirmed+p.window-1))
}

// confirm compares the server's state at tick with the predicted one, and corrects the
// prediction if they differ (C7).
func (p *prediction) confirm(e *Entity, tick uint32) {
	if !p.paused && tick > p.newest && tick-p.confirmed < p.window {
		p.run(p.newest+1, tick) // the game makes no inputs, and the server holds the last one
	}
	sure := p.judge(e, tick)
	known := tick <= p.newest && !p.paused && p.running
	agreed := known && p.agree(sure, tick)
	if agreed && p.equal(sure, tick) {
		p.stats.Agreed++
		p.accept(tick)
		p.run(p.newest+1, p.target())
		return
	}
	p.beforeCorrection()
	switch {
	case p.paused:
		p.resume(tick)
		fallthrough
	case !known:
		p.undoUnapplied(tick)
		p.copyStates(p.slotOf(tick), p.slotOf(p.newest))
		sure = p.judgeAll(e)
	case agreed:
		p.stats.Agreed++
	case p.explained(sure, tick):
		p.stats.Corrected++
		p.stats.Missed++
	default:
		p.stats.Corrected++
	}
	for _, j := range sure {
		j.restore(j.entity, p.slotOf(tick))
	}
	p.accept(tick)
	p.truncate(p.target())
	p.run(tick+1, p.target())
	p.afterCorrection()
}

// accept makes tick the confirmed one.
func (p *prediction) accept(tick uint32) {
	held := uint32(0)
	for t := tick; t > max(p.confirmed, tick-min(tick, p.window)) && held == 0; t-- {
		if p.inputs[p.slotOf(t)] == t {
			held = t
		}
	}
	if held != 0 {
		p.hold(held)
	}
	if r := p.session.replica; r.tick == tick {
		p.applied = r.input
	}
	p.confirmed, p.paused = tick, false
	p.newest = max(p.newest, tick)
}

// run predicts the ticks from a tick whose predecessor has a state.
func (p *prediction) run(from, to uint32) {
	if from > to || p.failed != nil {
		return
	}
	if invariants.Enabled {
		invariants.Checkf(from > p.confirmed && to-p.confirmed < p.window, "C8: predicting %d to %d, confirmed %d", from, to, p.confirmed)
	}
	defer p.recoverStep()
	input := heldSlot
	for t := p.confirmed + 1; t < from; t++ {
		if p.inputs[p.slotOf(t)] == t {
			input = p.slotOf(t)
		}
	}
	for t := from; t <= to; t++ {
		if p.inputs[p.slotOf(t)] == t {
			input = p.slotOf(t)
		}
		p.runTick(t, input)
	}
}

// runTick predicts a tick with the input of a slot.
func (p *prediction) runTick(t uint32, input int) {
	if t <= p.newest {
		p.stats.Replayed++
	}
	p.effects.begin(t)
	p.callStep(t, input)
	p.effects.end(t)
	p.newest = max(p.newest, t)
}

func (p *prediction) callStep(t uint32, input int) {
	p.copyStates(p.slotOf(t), p.slotOf(t-1))
	p.stepping = t
	p.step(t, p.slotOf(t), input)
	p.stepping = 0
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

func (s *Session) syncPrediction() {
	if s.prediction != nil && !s.busy {
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
	return resendSnapshots * s.intervalTicks()
}

// knownUntil returns the newest tick at which the controlled entity e is known to have its
// current state. Every snapshot that is made for its controller has a row of e unless the
// client has its state, or a snapshot that has it is under way. So a snapshot without such a
// row repeats the current state if none was lost since that, or in the time of resend ticks,
// after which the server sends the row again. Of an exact body a row is sent only after a
// disturbance, and a complete snapshot says that there was none.
func (r *Replica) knownUntil(e *Entity, resend uint32) uint32 {
	if e.isComputed() {
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
