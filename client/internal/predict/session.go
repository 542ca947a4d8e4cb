// Package predict predicts the entity that a session controls, and its companions, from the
// player's inputs. [Core] works on slots of states and inputs; only package client knows their
// types. C6 to C10 are invariants of package client.
package predict

import (
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/bodies"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/world/motion"
)

// Session is the part of the client's session that a prediction reads.
type Session interface {
	// Controlled returns the handle that the session controls. It may be out of view.
	Controlled() bulk.Handle
	// Entity returns the entity that h names, nil unless it is in view.
	Entity(h bulk.Handle) Entity
	// Tick returns the tick of the newest snapshot.
	Tick() uint32
	// AppliedInput returns the tick of the newest input that the server had applied at Tick.
	AppliedInput() uint32
	// KnownUntil returns the newest tick at which the controlled entity is known to have its
	// newest state.
	KnownUntil(controlled Entity) uint32
	// OtherKnownUntil is KnownUntil for any other entity.
	OtherKnownUntil(e Entity) uint32
	// Ticks converts a duration to ticks of the server.
	Ticks(t time.Duration) float64
}

// Entity is the client's copy of an entity. Components are numbered as in the server's schema.
type Entity interface {
	Handle() bulk.Handle
	Owned() bool
	// Layout returns the layout of the server's rows.
	Layout() *rowschema.Layout
	// ComponentOf returns the server's number of the component that has number declared in the
	// caller's schema: Absent if the entity lacks it, Unserved if the server's schema lacks it.
	ComponentOf(declared int) int
	// Newest returns the newest values of a component, received or computed. They are valid
	// until the next call.
	Newest(component int) []uint32
	// Exact returns the newest state of a computed body.
	Exact() (s motion.State, tick uint32, ok bool)
	// Teleported returns the tick of the teleport of which the newest state tells; 0: none.
	Teleported() uint32
	// WriteTexts writes the newest texts of a component.
	WriteTexts(component int, to any)
	// WriteAt writes the result of Component.At. body is nil unless the component is the body.
	WriteAt(component int, m Moment, body *bodies.Fields, to any)
}

// Results of Entity.ComponentOf other than a number.
const (
	Absent   = -1
	Unserved = -2
)

// Moment is the time of a render, and the tick at which it shows entities that are not
// predicted.
type Moment struct {
	Tick float64 // tick at which they are drawn
	Render
}

// Render describes the session at the time of a render.
type Render struct {
	Newest         uint32  // newest tick of the replica
	MaxExtrapolate float64 // in ticks
	Now            time.Duration
	InputTick      float64 // tick for which an input is made at Now, with a fraction; 0: unknown
}
