package client

import (
	"errors"
	"fmt"
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/predict"
)

// MaxCoPredicted bounds the entities of a CoPredicted. Further ones are not predicted. Each
// takes the memory of one state per tick of MaxPredicted. As many more, dropped by Set, may be
// drawn for a second.
const MaxCoPredicted = predict.MaxCompanions

// CoPredicted is a set of entities that a Prediction predicts together with the controlled one:
// the vehicle that the player steers, the ball that he pushes, the crate that he carries. The
// zero value is an empty set for PredictConfig.CoPredicted. State is a component or a struct of
// components, as in Predict. Owner-only fields are for entities that the client owns.
//
// The step function changes the states that All or Get returns, as the server's game changes
// the entities themselves. They are predicted from the server's states of the same tick as the
// controlled entity, and predicted again if any entity differed from its prediction.
type CoPredicted[State any] struct {
	group *predict.Group
	rings []*[]State // by number in group
}

// CoPredictedSet is a *CoPredicted.
type CoPredictedSet interface {
	attach(core *predict.Core) error
}

// attach makes the set a part of a prediction.
func (c *CoPredicted[State]) attach(core *predict.Core) error {
	if c.group != nil {
		return errors.New("client: a CoPredicted is in use by another Prediction")
	}
	g, err := core.AddGroup(func() (states predict.Ring, number int) {
		ring := new([]State)
		c.rings = append(c.rings, ring)
		return predict.RingIn(ring), len(c.rings) - 1
	})
	if err != nil {
		return fmt.Errorf("%w, for a CoPredicted", err)
	}
	c.group = g
	return nil
}

// Set replaces the set by the first MaxCoPredicted of handles that can be predicted: entities
// in view that have the components of State and are not the controlled one. The prediction of
// entities that remain continues. Call Set once per render, after Update, with what the player
// is about to touch.
//
// An entity that dies or leaves view leaves the set; Resolve says why. The set is emptied when
// the Prediction stops or a new session begins. Only Set adds entities again. Set does nothing
// inside the step function, and while the prediction is off or pauses.
func (c *CoPredicted[State]) Set(handles ...bulk.Handle) {
	if c.group != nil {
		c.group.SetMembers(handles)
	}
}

// All yields the entities of the set and their states at the tick of the step function's call,
// in the order of Set. The step function may change the states, and must not keep them. Outside
// the step function All yields nothing.
func (c *CoPredicted[State]) All() iter.Seq2[bulk.Handle, *State] {
	return func(yield func(bulk.Handle, *State) bool) {
		for i := 0; c.group != nil; i++ {
			s, ok := c.group.SteppingAt(i)
			if !ok || !yield(s.Handle, c.stateIn(s)) {
				return
			}
		}
	}
}

// Get returns the state of one entity for the step function, as All does, and nil if it is not
// in the set.
func (c *CoPredicted[State]) Get(h bulk.Handle) *State {
	if c.group == nil {
		return nil
	}
	s, ok := c.group.Stepping(h)
	if !ok {
		return nil
	}
	return c.stateIn(s)
}

// State returns the newest predicted state of an entity, and false if it is not in the set. See
// Prediction.State.
func (c *CoPredicted[State]) State(h bulk.Handle) (state State, ok bool) {
	if c.group == nil {
		return state, false
	}
	s, ok := c.group.Newest(h)
	if !ok {
		return state, false
	}
	return *c.stateIn(s), true
}

// At returns the state to draw of an entity, at the newest moment that Render returned. It
// returns false if the entity should be drawn by Component.At, as all others. Mispredictions
// are blended as by Prediction.At. Entities just added or dropped by Set are blended between
// their interpolated and predicted states for up to a second.
func (c *CoPredicted[State]) At(h bulk.Handle, m Moment) (state State, ok bool) {
	if c.group == nil {
		return state, false
	}
	s, ok := c.group.Draw(h, m.forPrediction())
	if !ok {
		return state, false
	}
	return *c.stateIn(s), true
}

func (c *CoPredicted[State]) stateIn(s predict.Slot) *State { return &(*c.rings[s.Ring])[s.Slot] }
