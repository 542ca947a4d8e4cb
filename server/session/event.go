package session

import (
	"errors"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/world"
)

// ErrEventRefused: the client has not taken the reliable events before, or they exceed its
// budget (replication.Config.BudgetBytesPerSecond). The event is not sent, and the session
// continues. It is the game's fault unless the client is slow: send fewer events, or
// unreliable ones.
var ErrEventRefused = errors.New("server: event refused: the client has too much to receive")

// Send sends event to the client: a struct of the type of a schema.DefinedEvent, or a pointer to
// one.
//
// A reliable event arrives once, in the order of sending and before the Enter and Destroy of
// entities that spawn and die in the same tick. It outlasts a broken connection. An
// unreliable event is lost with a lost packet, dropped if it finds no room for a second, and
// dropped for a session that is away. A server that is short of time loses none otherwise.
//
// The client learns of every handle in event as by NoteSent; one that was never issued becomes
// null. The error is ErrEventRefused, or says that the schema has no such event. After the
// end of the session Send does nothing.
func (s *Session) Send(event any) error {
	e, err := s.core.replicator.NewEvent(event)
	if err != nil || s.viewer == nil {
		return err
	}
	if !s.viewer.Send(e) {
		return ErrEventRefused
	}
	return nil
}

// The methods below send an event to several sessions, as Session.Send does: the game's
// hooks and systems may call them, on the goroutine that calls Tick. A session that would
// refuse the event misses it; Stats of replication counts these. The error says that the
// schema has no such event.

// SendSeen sends event to every client that has the entity in view. If the entity has
// spawned since the last tick, these are the clients that receive its Enter in their next
// snapshot, and event follows the Enter.
func (c *Core) SendSeen(entity world.Entity, event any) error {
	return c.eachViewer(event, func(v *replication.Viewer, e *replication.Event) { v.SendSeen(entity, e) })
}

// SendWithin sends event to every client that views the world from a point within radius
// metres of center: the position of its controlled entity, or of the one of SetViewpoint.
func (c *Core) SendWithin(center world.Vec3, radius float32, event any) error {
	return c.eachViewer(event, func(v *replication.Viewer, e *replication.Event) {
		if v.Viewpoint().Sub(center).Len() <= radius {
			v.Send(e)
		}
	})
}

// Broadcast sends event to every client.
func (c *Core) Broadcast(event any) error {
	return c.eachViewer(event, func(v *replication.Viewer, e *replication.Event) { v.Send(e) })
}

// eachViewer encodes event once and calls f for the viewer of every session.
func (c *Core) eachViewer(event any, f func(*replication.Viewer, *replication.Event)) error {
	e, err := c.replicator.NewEvent(event)
	if err != nil {
		return err
	}
	for _, s := range c.sessions {
		if s.viewer != nil {
			f(s.viewer, e)
		}
	}
	return nil
}
