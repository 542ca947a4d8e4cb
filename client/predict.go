package client

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"runtime"

	"github.com/worldd/worldd/client/internal/predict"
)

// Prediction predicts the entity that a session controls. See Predict.
type Prediction[State any] struct {
	core    *predict.Core
	stateAt func(slot int) State // of core's ring
}

// PredictConfig configures Predict. The zero value is good.
type PredictConfig struct {
	// Snap is the largest misprediction that is blended, in the units of the field. A vector or
	// number with a larger error is drawn at its new value at once. 0 means DefaultSnap. Angles
	// and rotations are always blended.
	Snap float64
	// Undo is called for an effect that Once has reported and that will not happen: its tick
	// was dropped, or predicted again without the effect. The state is consistent during the
	// call, which may use any method that Observer's functions may use.
	Undo func(tick uint32, key uint64)
	// CoPredicted are the sets of entities besides the controlled one that step may read and write.
	CoPredicted []CoPredictedSet
}

// DefaultSnap is 2 metres where positions are in metres.
const DefaultSnap = predict.DefaultSnap

// PredictionStats counts what a Prediction did.
type PredictionStats struct {
	Predicted uint32 // newest tick predicted
	Confirmed uint32 // newest tick whose state the server has sent
	Agreed    uint64 // states of the server that equalled the prediction, to within a step of quantisation
	Corrected uint64 // states of the server that differed
	Missed    uint64 // of Corrected: due to inputs that the server missed or applied late
	Replayed  uint64 // ticks that were predicted again
	Stalled   uint64 // inputs not predicted because MaxPredicted was reached
	Undone    uint64 // effects undone
	// Fields has the fields of the states that differed, in the order of their first corrections.
	Fields []FieldCorrections
}

// FieldCorrections describes the corrections of one field of the predicted entities.
//
// The distance of a correction is how far the server's value is from the predicted one: in the
// units of the field, in radians for angles and rotations, 1 for bools and handles, and +Inf if
// one of the two is not finite.
type FieldCorrections struct {
	Component, Field string // as the game declares them: "body", "Position[0]"
	Count            uint64
	Tick             uint32  // of the newest correction
	Last, Largest    float64 // distances
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

// Predict predicts the controlled entity from the inputs of SetInput, without waiting
// for the server. A session has at most one Prediction, for all entities that it comes to
// control.
//
// step moves a player by one tick: it is the function that the server's game calls once per
// tick and player. in is the newest input that the game has received from the player, or before
// the first the zero Input. Input is the type that the schema declares, quantised as the server
// receives it. State is either the type of a component, or a struct with a field for each
// component that step needs. Its other fields belong to the game alone: they are predicted, and
// the server's states do not change them. State is copied by assignment, so data that it points
// to must not change.
//
// step should depend on its arguments and on config.CoPredicted alone. Component.At draws other
// entities in the past of the predicted ones: a step that reads them, to collide for example,
// often disagrees with the server and is corrected. step must not call methods that change the
// Session or Client.
//
// The error says what the schema lacks.
func Predict[State, Input any](of Endpoint, step func(tick uint32, state *State, in Input), config PredictConfig) (*Prediction[State], error) {
	declared := of.ownSession().greeting.declared.Input()
	if declared == nil || declared.Type != reflect.TypeFor[Input]() {
		return nil, fmt.Errorf("client: the schema does not declare the input %v: add it with schema.DefineInput", reflect.TypeFor[Input]())
	}
	var states []State
	var inputs []Input
	core, err := newPrediction(of.ownSession(), config, predict.Config{
		States: predict.RingIn(&states), Inputs: predict.RingIn(&inputs),
		Step:     func(tick uint32, state, in int) { step(tick, &states[state], inputs[in]) },
		StepName: runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name(),
	})
	if err != nil {
		return nil, err
	}
	return &Prediction[State]{core, func(slot int) State { return states[slot] }}, nil
}

// PredictValue is Predict for programs that predict entities of any game: state is the type of the State, and step receives
// pointers to a State and to an Input, which it must not keep. The Prediction returns pointers to States that hold until its next call.
func PredictValue(of Endpoint, state reflect.Type, step func(tick uint32, state, in any), config PredictConfig) (*Prediction[any], error) {
	declared := of.ownSession().greeting.declared.Input()
	if declared == nil {
		return nil, errors.New("client: the schema declares no input: add schema.DefineInput")
	}
	states, inputs := predict.RingOf(state), predict.RingOf(declared.Type)
	core, err := newPrediction(of.ownSession(), config, predict.Config{
		States: states, Inputs: inputs,
		Step:     func(tick uint32, state, in int) { step(tick, states.PointerAt(state), inputs.PointerAt(in)) },
		StepName: runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name(),
	})
	if err != nil {
		return nil, err
	}
	return &Prediction[any]{core, states.PointerAt}, nil
}

// newPrediction begins the prediction of a session. c has its rings and its step function.
func newPrediction(s *Session, config PredictConfig, c predict.Config) (*predict.Core, error) {
	switch {
	case s.prediction.core != nil:
		return nil, errors.New("client: the session has a Prediction already")
	case !(config.Snap >= 0):
		return nil, fmt.Errorf("client: Snap is %v: want 0 or more", config.Snap)
	}
	c.Session, c.Schema, c.TickHz, c.Budget = predictedSession{s}, s.greeting.declared, s.time.clock.hz, &s.budget
	c.Snap, c.Undo = cmp.Or(config.Snap, DefaultSnap), config.Undo
	core, err := predict.New(c)
	if err != nil {
		return nil, err
	}
	for _, set := range config.CoPredicted {
		if err := set.attach(core); err != nil {
			return nil, err
		}
	}
	s.prediction.attachCore(core)
	core.SyncWithServer()
	return core, nil
}

// State returns the newest predicted state, at tick Stats().Predicted, for game rules. It
// includes an input's effect as soon as SetInput has returned. ok is false while nothing is
// predicted: no entity is controlled, it is not in view or lacks a component, or Err is set.
func (p *Prediction[State]) State() (state State, ok bool) {
	slot, ok := p.core.Newest()
	if !ok {
		return state, false
	}
	return p.stateAt(slot), true
}

// At returns the state to draw at the newest moment that Render returned. It returns false
// while nothing is predicted: then draw the entity as all others. Motion within a tick is
// interpolated. Mispredictions are blended: half of an error is gone after 80 ms. NaN is drawn
// as the schema quantises it.
func (p *Prediction[State]) At(m Moment) (state State, ok bool) {
	slot, ok := p.core.Draw(m.forPrediction())
	if !ok {
		return state, false
	}
	return p.stateAt(slot), true
}

// Once reports whether to start an effect, such as a sound, that step asks for at its tick
// under a key that is unique in the tick. It is true when the effect is first predicted, and
// false when the tick is predicted again. If the tick's new prediction does not ask for the
// effect, PredictConfig.Undo is called. Effects of a tick that the server has confirmed are
// final. Once is false outside step, and for more than MaxOnce effects of a tick.
func (p *Prediction[State]) Once(tick uint32, key uint64) bool { return p.core.Once(tick, key) }

// Err returns a *StepError if the step function panicked, otherwise nil.
func (p *Prediction[State]) Err() error {
	if e := p.core.Failed(); e != nil {
		return (*StepError)(e)
	}
	return nil
}

// Stats returns the counters since Predict.
func (p *Prediction[State]) Stats() PredictionStats {
	s := p.core.Stats()
	fields := make([]FieldCorrections, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = FieldCorrections(f)
	}
	return PredictionStats{
		Predicted: s.Predicted, Confirmed: s.Confirmed, Agreed: s.Agreed, Corrected: s.Corrected, Missed: s.Missed,
		Replayed: s.Replayed, Stalled: s.Stalled, Undone: s.Undone, Fields: fields,
	}
}

const (
	// MaxPredicted bounds the time that unconfirmed predicted ticks may span. The lead of
	// inputs over snapshots is less even on a link of two seconds. At the bound the predicted
	// state stands still, and inputs are still sent.
	MaxPredicted = predict.MaxPredicted
	// MaxOnce is how many effects a tick may have.
	MaxOnce = predict.MaxOnce
)
