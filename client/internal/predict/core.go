package predict

import (
	"cmp"
	"math"
	"runtime/debug"
	"time"

	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
)

const (
	// MaxPredicted bounds the time that unconfirmed predicted ticks may span; see package
	// client.
	MaxPredicted = 3 * time.Second
	// DefaultSnap is the Snap of a game that sets none.
	DefaultSnap = 2

	// maxTickHz is the highest tick rate for which rings reach back MaxPredicted.
	maxTickHz = 1000
	// defaultTickHz sizes the rings before the first Welcome.
	defaultTickHz = 60
	// slotTime is the estimated time of a slot in the rings, in ns.
	slotTime = 200
)

// Config configures New.
type Config struct {
	Session Session
	Schema  *schema.Schema // schema of the caller
	TickHz  int            // 0: unknown
	Budget  *work.Budget
	Snap    float64
	Undo    func(tick uint32, key uint64)
	States  Ring // states of the controlled entity
	Inputs  Ring
	// Step calls the step function for a tick with a slot of States and one of Inputs.
	Step     func(tick uint32, state, input int)
	StepName string
}

// Core is the part of a Prediction that does not depend on the game's types.
//
// The rings hold the states of ticks confirmed to newest, and the inputs of later ticks. An
// input holds from its tick until the next input (C6). window is the size of the rings in
// ticks: the confirmed tick and the ticks of MaxPredicted.
type Core struct {
	subject // the controlled entity
	config  Config
	session Session
	layout  *rowschema.Layout // of the caller's schema
	window  uint32
	failed  *StepError

	subjects subjects

	phase     phase
	confirmed uint32 // newest tick whose state the server has sent
	newest    uint32 // newest tick predicted
	inputs    inputRing
	applied   uint32 // newest input that the server had certainly applied at the confirmed tick
	lostInput uint32 // newest input when the connection broke
	stepping  uint32 // tick of the step function's call; 0: no call

	guess       guess
	effects     reportedEffects
	stats       Stats // without Fields
	corrections corrections
}

// phase tells whether a Core predicts.
type phase uint8

const (
	stopped phase = iota // nothing: the entity is not controlled, not in view, or lacks a component
	running
	paused // no new ticks until the next state: the connection is lost
)

// Stats counts the work of a Core; see PredictionStats of package client.
type Stats struct {
	Predicted uint32
	Confirmed uint32
	Agreed    uint64
	Corrected uint64
	Missed    uint64
	Replayed  uint64
	Stalled   uint64
	Undone    uint64
	Fields    []FieldCorrections
}

// StepError is the panic of a step function; see StepError of package client.
type StepError struct {
	Step  string // the function's name
	Tick  uint32 // tick of the call
	Value any    // of the panic
	Stack []byte
}

// New returns the prediction of a session. The error says what the schema lacks.
func New(c Config) (*Core, error) {
	p := &Core{config: c, session: c.Session, layout: rowschema.New(c.Schema), inputs: inputRing{values: c.Inputs}}
	s, err := newSubject(p, c.States)
	if err != nil {
		return nil, err
	}
	p.subject = s
	p.subjects = subjects{session: c.Session, controlled: &p.subject, all: []*subject{&p.subject}}
	p.resizeRings(cmp.Or(c.TickHz, defaultTickHz))
	return p, nil
}

// Newest returns the slot of the newest predicted state, for game rules. It returns false while
// nothing is predicted.
func (p *Core) Newest() (slot int, ok bool) {
	if p.phase == stopped {
		return 0, false
	}
	p.copyToScratch(p.newest)
	return scratch, true
}

// Draw returns the slot of the state to draw, and false while nothing is predicted.
func (p *Core) Draw(m Moment) (slot int, ok bool) { return scratch, p.drawToScratch(m) }

// Failed returns the panic of the step function, nil if there was none.
func (p *Core) Failed() *StepError { return p.failed }

// Stats returns the counters since New. Fields is valid until the next state of the server.
func (p *Core) Stats() Stats {
	n := p.stats
	if p.phase != stopped {
		n.Predicted, n.Confirmed = p.newest, p.confirmed
	}
	n.Fields = p.corrections.fields
	return n
}

// controlledEntity returns the controlled entity if it can be predicted.
func (p *Core) controlledEntity() Entity {
	if p.failed != nil {
		return nil
	}
	if e := p.session.Entity(p.session.Controlled()); e != nil && e.Owned() && p.bindTo(e) {
		return e
	}
	return nil
}

// AddInput records the input of a tick, a body of the server's message m, and predicts it.
func (p *Core) AddInput(tick uint32, m *rowschema.Message, body *rowschema.Payload) {
	switch {
	case p.failed != nil || p.stepping != 0:
		return
	case p.phase == running && tick >= p.confirmed+p.window:
		p.stats.Stalled++
		return
	}
	if err := p.inputs.recordInput(tick, m, body); err != nil {
		return // cannot fail: body is of the message
	}
	if p.phase == running && tick > p.confirmed { // the server may apply an earlier one too, late
		p.truncateAfter(tick)
		p.predictTicks(min(tick, p.newest+1), tick)
	}
	p.deliverUndone()
}

// truncateAfter drops the predicted states after tick.
func (p *Core) truncateAfter(tick uint32) {
	for p.newest > max(tick, p.confirmed) {
		p.effects.dropTick(p.newest)
		p.newest--
	}
}

// SyncWithServer compares the prediction with the newest state of the server. It is called
// after everything that the session has received is applied.
func (p *Core) SyncWithServer() {
	if p.stepping != 0 {
		return
	}
	e := p.controlledEntity()
	if e == nil || e.Handle() != p.handle {
		p.stopPredicting()
	}
	if h := p.session.Controlled(); h != p.handle {
		p.setHandle(h)
		p.effects.forgetAll()
	}
	p.dropGone()
	if e != nil {
		switch tick := p.subjects.knownTick(e); {
		case tick > math.MaxUint32-2*p.window: // no further tick can be predicted
			p.stopPredicting()
		case p.phase == stopped:
			p.startAt(e, tick)
		case tick > p.confirmed:
			p.reviseUntil(tick - 1)
			if p.failed == nil {
				p.confirmTick(e, tick)
			}
		default:
			p.reviseUntil(p.confirmed)
		}
	}
	p.deliverUndone()
}

// startAt begins to predict from the state of e at tick.
func (p *Core) startAt(e Entity, tick uint32) {
	p.startFrom(e, p.slotOf(tick))
	p.confirmed, p.newest, p.phase = tick, tick, running
	held := p.inputs.newestUntil(tick)
	p.applied = 0
	if p.session.Tick() == tick {
		p.applied = p.session.AppliedInput()
		if p.applied == 0 {
			held = 0 // late, if it arrives at all
		}
	}
	p.inputs.holdInput(held)
	p.predictTicks(tick+1, p.targetTick())
}

// stopPredicting drops the prediction: the entity died, left view or is no longer controlled.
func (p *Core) stopPredicting() {
	if p.phase != stopped {
		p.truncateAfter(p.confirmed)
		p.phase = stopped
		p.forgetDrawn()
		p.subjects.dropCompanions()
	}
}

// Renew drops everything at the start of a new session. A tickHz of 0 is unknown.
func (p *Core) Renew(tickHz int) {
	p.stopPredicting()
	p.setHandle(0)
	p.inputs.dropAll()
	p.effects.forgetAll()
	p.subjects.forgetEntities()
	if tickHz > 0 {
		p.resizeRings(tickHz)
	}
	p.deliverUndone()
}

// resizeRings makes the rings long enough for a tick rate. Nothing may be predicted.
func (p *Core) resizeRings(tickHz int) {
	window := uint32(MaxPredicted*time.Duration(min(tickHz, maxTickHz))/time.Second) + 1
	if window == p.window {
		return
	}
	p.window = window
	slots := ringSlot + int(window)
	p.inputs.resizeSlots(slots)
	p.effects.resizeSlots(slots)
	p.resizeStates(slots)
	companions := p.subjects.resizeSpare(slots) // all companions are spare now
	p.config.Budget.Spend(slotTime * slots * (companions + 1))
}

func (p *Core) slotOf(tick uint32) int { return ringSlot + int(tick%p.window) }

// Pause freezes the predicted state until the session has resumed and received a state. Inputs
// are still recorded: the newest are sent when the session resumes.
func (p *Core) Pause() {
	if p.phase == running {
		p.phase = paused
	}
	p.lostInput = p.inputs.newest
}

// resumeAt drops the inputs that were under way when the connection broke or are too late at
// tick. The server keeps using the newest input that it has applied.
func (p *Core) resumeAt(tick uint32) {
	applied := p.session.AppliedInput()
	p.inputs.dropRange(applied+1, max(p.lostInput, tick))
	if applied != 0 && p.inputs.hasInput(applied) {
		p.inputs.holdInput(applied)
	}
}

// targetTick returns the newest tick to predict.
func (p *Core) targetTick() uint32 {
	return max(p.confirmed, min(p.inputs.newest, p.confirmed+p.window-1))
}

// predictTicks predicts the ticks from from to to. The tick before from must have a state.
func (p *Core) predictTicks(from, to uint32) {
	if from > to || p.failed != nil {
		return
	}
	if invariants.Enabled {
		invariants.Checkf(from > p.confirmed && to-p.confirmed < p.window, "C8: predicting %d to %d, confirmed %d", from, to, p.confirmed)
	}
	defer p.recoverStep()
	input := heldSlot
	for t := p.confirmed + 1; t < from; t++ {
		if p.inputs.hasInput(t) {
			input = p.slotOf(t)
		}
	}
	for t := from; t <= to; t++ {
		if p.inputs.hasInput(t) {
			input = p.slotOf(t)
		}
		p.predictTick(t, input)
	}
}

// predictTick predicts a tick with the input in a slot.
func (p *Core) predictTick(t uint32, input int) {
	if t <= p.newest {
		p.stats.Replayed++
	}
	p.effects.beginTick(t)
	p.callStep(t, input)
	p.effects.endTick(t)
	p.newest = max(p.newest, t)
}

func (p *Core) callStep(t uint32, input int) {
	p.subjects.copyStates(p.slotOf(t), p.slotOf(t-1))
	p.stepping = t
	p.config.Step(t, p.slotOf(t), input)
	p.stepping = 0
}

// recoverStep turns a panic of the step function into a *StepError.
func (p *Core) recoverStep() {
	tick := p.stepping
	p.stepping = 0
	if v := recover(); v != nil {
		if tick == 0 {
			panic(v)
		}
		p.failed = &StepError{Step: p.config.StepName, Tick: tick, Value: v, Stack: debug.Stack()}
		p.effects.dropTick(tick)
		p.stopPredicting()
	}
}
