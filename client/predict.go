package client

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/worldd/worldd/replication/schema"
)

// Prediction predicts the entity that a session controls. See Predict.
type Prediction[State any] struct {
	core   *prediction
	states []State // the ring of core, then its scratch
}

// PredictConfig configures Predict. The zero value is good.
type PredictConfig struct {
	// Snap bounds the mispredictions that are blended, in the units of the field. A vector
	// or number that was off by more is drawn at its new value at once. 0 means DefaultSnap.
	// Angles and rotations are always blended.
	Snap float64
	// Undo is called for an effect that Once has reported and that will not happen: its
	// tick was predicted again and did not ask for it, or was dropped. It is called when the
	// state is consistent, and may call any method that Observer's functions may call.
	Undo func(tick uint32, key uint64)
	// Along are the entities besides the controlled one that step may read and write.
	Along []Companions
}

// DefaultSnap is 2 metres where positions are in metres.
const DefaultSnap = 2

// PredictionStats counts what a Prediction did.
type PredictionStats struct {
	Predicted uint32 // newest tick predicted
	Confirmed uint32 // newest tick whose state the server has sent
	Agreed    uint64 // states of the server that were as predicted, to within a step of quantisation
	Corrected uint64 // states that were not
	Missed    uint64 // of Corrected: explained by inputs that the server missed or applied late
	Replayed  uint64 // ticks that were predicted again
	Stalled   uint64 // inputs not predicted: more ticks than MaxPredicted were unconfirmed
	Undone    uint64 // effects
}

// StepError reports that the step function of a Prediction panicked. The fault is the
// game's. The prediction is off; the session continues.
type StepError struct {
	Step  string // the function's name
	Tick  uint32 // that it was called for
	Value any    // of the panic
	Stack []byte
}

// Error names the step function and the value of its panic.
func (e *StepError) Error() string {
	return fmt.Sprintf("client: the step function %s panicked at tick %d: %v: the prediction is off", e.Step, e.Tick, e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *StepError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Predictor is a *Client or a *Session.
type Predictor interface{ predicting() *Session }

func (s *Session) predicting() *Session { return s }
func (c *Client) predicting() *Session  { return c.session }

// Predict predicts the controlled entity from the inputs of SetInputValue, without waiting
// for the server. A session has at most one Prediction, for all entities that it comes to
// control.
//
// step moves a player by one tick: the function that the server's game calls once per tick
// and player, with the newest input that the game has received from the player; before the
// first, the zero Input. Input is the type that the schema declares, quantised as the
// server receives it. State is either the type of a component, or a struct with a field for
// each component that step needs. Its other fields are the game's own: they are predicted,
// and no server state changes them. State is copied by assignment, so what it points to
// must not change.
//
// step should depend on its arguments and on config.Along alone. Only the controlled entity and
// those that it takes along are predicted: all others are where Component.At draws them, in the
// past of the predicted ones. A step that looks at them, to collide for example, often
// disagrees with the server and is corrected. It must not
// call methods that change the Session or Client.
//
// The error says what the schema lacks.
func Predict[State, Input any](c Predictor, step func(tick uint32, state *State, in Input), config PredictConfig) (*Prediction[State], error) {
	s := c.predicting()
	message := s.declared.Input()
	switch {
	case s.prediction != nil:
		return nil, errors.New("client: the session has a Prediction already")
	case message == nil || message.Type != reflect.TypeFor[Input]():
		return nil, fmt.Errorf("client: the schema does not declare the input %v: add it with schema.DefineInput", reflect.TypeFor[Input]())
	case !(config.Snap >= 0):
		return nil, fmt.Errorf("client: Snap is %v: want 0 or more", config.Snap)
	}
	p := &Prediction[State]{}
	var inputs []Input
	p.core = &prediction{
		session: s, message: message, undo: config.Undo, snap: cmp.Or(config.Snap, DefaultSnap),
		name:      runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name(),
		step:      func(tick uint32, state, in int) { step(tick, &p.states[state], inputs[in]) },
		copyInput: func(to, from int) { inputs[to] = inputs[from] },
		clearInput: func(i int) any {
			inputs[i] = *new(Input)
			return &inputs[i]
		},
		makeInputs: func(slots int) { inputs = make([]Input, slots) },
	}
	var err error
	if p.core.subject, err = newSubject(p.core, &p.states); err != nil {
		return nil, err
	}
	p.core.subjects = []*subject{&p.core.subject}
	p.core.resize(cmp.Or(s.clock.hz, 60)) // a Welcome may say another rate
	for _, a := range config.Along {
		if err := a.attach(p.core); err != nil {
			return nil, err
		}
	}
	s.prediction = p.core
	p.core.sync()
	return p, nil
}

// predictedFields returns the components of which t consists.
func predictedFields(s *schema.Schema, t reflect.Type) ([]part, error) {
	if n, err := componentOfType(s, t); n >= 0 || err != nil {
		return []part{{number: n, field: -1}}, err
	}
	var parts []part
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		n, err := componentOfType(s, f.Type)
		if err != nil {
			return nil, err
		}
		if n >= 0 {
			parts = append(parts, part{number: n, field: i})
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("client: %v is no component of the schema, nor a struct of components: add it with schema.Define", t)
	}
	return parts, nil
}

// componentOfType returns the number of the component with Go type t, -1 if there is none.
func componentOfType(s *schema.Schema, t reflect.Type) (int, error) {
	found := -1
	for i := range s.Components() {
		if c := s.Component(i); c.Type == t {
			if found >= 0 {
				return -1, fmt.Errorf("client: components %q and %q are both a %v: declare a type of its own for the predicted one", s.Component(found).Name, c.Name, t)
			}
			found = i
		}
	}
	return found, nil
}

// State returns the newest predicted state, of Stats().Predicted, for game rules. It contains
// the whole of an input as soon as SetInputValue has returned. ok is false while nothing is
// predicted: no entity is controlled, it is not in view or lacks a component, or Err is set.
func (p *Prediction[State]) State() (state State, ok bool) {
	c := p.core
	if !c.running {
		return state, false
	}
	c.copyState(scratch, c.slotOf(c.newest))
	c.setTexts(scratch)
	return p.states[scratch], true
}

// At returns the state to draw at the newest moment that Render returned, and false while
// nothing is predicted: then draw the entity as all others. Motion within a tick is
// interpolated, and mispredictions are blended: half of an error is gone after 80 ms. A NaN
// is drawn as what the schema makes of it.
func (p *Prediction[State]) At(m Moment) (state State, ok bool) {
	if !p.core.draw(m) {
		return state, false
	}
	return p.states[scratch], true
}

// Once reports whether to start an effect, such as a sound, that step asks for at its tick
// under a key that is unique in the tick. It is true when the effect is first predicted,
// not when the tick is predicted again. If that does not ask for the effect,
// PredictConfig.Undo is called. Effects of a tick that the server has confirmed are final.
// Once is false outside step, and for more than MaxOnce effects of a tick.
func (p *Prediction[State]) Once(tick uint32, key uint64) bool { return p.core.once(tick, key) }

// Err returns a *StepError if the step function panicked, otherwise nil.
func (p *Prediction[State]) Err() error {
	if e := p.core.failed; e != nil {
		return e
	}
	return nil
}

// Stats returns the counters since Predict.
func (p *Prediction[State]) Stats() PredictionStats {
	n := p.core.stats
	if p.core.running {
		n.Predicted, n.Confirmed = p.core.newest, p.core.confirmed
	}
	return n
}

const (
	// MaxPredicted is how long the predicted ticks may last that are unconfirmed: more than
	// inputs are ahead of snapshots on a link of two seconds. Beyond it the predicted state
	// stands still, and inputs are still sent.
	MaxPredicted = 3 * time.Second
	// MaxOnce is how many effects a tick may have.
	MaxOnce = 8

	// blendHalfLife is the time after which half of a misprediction is still drawn.
	blendHalfLife = 80 * time.Millisecond
)
