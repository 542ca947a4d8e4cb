package client

import (
	"reflect"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/client/internal/predict"
	"github.com/worldd/worldd/internal/rowschema"
)

// predictedSession adapts a Session to predict.Session.
type predictedSession struct{ *Session }

// Entity implements predict.Session.
func (s predictedSession) Entity(h bulk.Handle) predict.Entity {
	if s.replica == nil {
		return nil
	}
	if e := s.replica.Entity(h); e != nil {
		return predictedEntity{e}
	}
	return nil
}

// Tick implements predict.Session.
func (s predictedSession) Tick() uint32 { return s.replica.timeline.tick }

// AppliedInput implements predict.Session.
func (s predictedSession) AppliedInput() uint32 { return s.replica.timeline.input }

// KnownUntil implements predict.Session.
func (s predictedSession) KnownUntil(e predict.Entity) uint32 {
	return s.replica.timeline.knownUntil(e.(predictedEntity).Entity)
}

// OtherKnownUntil implements predict.Session. The entity's row may be in a later datagram of
// the newest snapshot, so a missing row proves only that nothing changed up to the snapshot
// before.
func (s predictedSession) OtherKnownUntil(of predict.Entity) uint32 {
	t, e := &s.replica.timeline, of.(predictedEntity).Entity
	until := t.knownUntil(e)
	if !e.isComputed() && until == t.tick {
		return max(e.states.tick, t.before)
	}
	return until
}

// Ticks implements predict.Session.
func (s predictedSession) Ticks(t time.Duration) float64 { return s.time.clock.ticksIn(t) }

// prediction is a session's Prediction, if it has one.
type prediction struct{ core *predict.Core }

func (p *prediction) attachCore(c *predict.Core) { p.core = c }

// syncWithServer compares the prediction with the newest state of the server.
func (p *prediction) syncWithServer() {
	if p.core != nil {
		p.core.SyncWithServer()
	}
}

// addInput records the input of a tick, and predicts the tick.
func (p *prediction) addInput(tick uint32, m *rowschema.Message, body *rowschema.Payload) {
	if p.core != nil {
		p.core.AddInput(tick, m, body)
	}
}

// pause freezes the predicted state: the connection is lost.
func (p *prediction) pause() {
	if p.core != nil {
		p.core.Pause()
	}
}

// renew drops everything at the start of a session.
func (p *prediction) renew(tickHz int) {
	if p.core != nil {
		p.core.Renew(tickHz)
	}
}

// predictedEntity adapts an Entity to predict.Entity.
type predictedEntity struct{ *Entity }

// Layout implements predict.Entity.
func (e predictedEntity) Layout() *rowschema.Layout { return e.layout.rows }

// ComponentOf implements predict.Entity.
func (e predictedEntity) ComponentOf(declared int) int {
	n := e.layout.numberOf(e.layout.declared, declared)
	switch {
	case n < 0:
		return predict.Unserved
	case e.mask>>n&1 == 0:
		return predict.Absent
	}
	return n
}

// Newest implements predict.Entity.
func (e predictedEntity) Newest(component int) []uint32 { return e.newestValues(component) }

// WriteTexts implements predict.Entity.
func (e predictedEntity) WriteTexts(component int, to any) {
	e.layout.rows.Component(component).SetTexts(e.Owned(), e.texts(), to)
}

// WriteAt implements predict.Entity.
func (e predictedEntity) WriteAt(component int, m predict.Moment, body *bodies.Fields, to any) {
	from, next, ratio := e.states.statesAt(Moment{m.Tick, m.Render})
	e.layout.rows.Component(component).Blend(e.Owned(), e.valuesOf(component, from), e.valuesOf(component, next), ratio, to)
	if !e.isBody(component) {
		return
	}
	state, _, _, ok := e.layout.bodies.At(e.index, m.Tick, m.MaxExtrapolate)
	switch {
	case !ok:
	case body != nil:
		body.SetBody(reflect.ValueOf(to).UnsafePointer(), &state)
	default:
		e.layout.rows.Component(component).Restore(e.layout.bodies.Quantise(&state), to)
	}
}
