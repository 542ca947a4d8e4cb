package session

import (
	"errors"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/world"
)

// ErrEventRefused reports that an event was not sent: too many earlier reliable events
// await acknowledgement, or exceed the client's budget
// (replication.Config.BudgetBytesPerSecond). The session continues. Unless the client is
// slow, the game is at fault: send fewer events, or unreliable ones.
var ErrEventRefused = errors.New("server: event refused: the client has too much to receive")

// Send sends event to the client: a struct of the type of a schema.DefinedEvent, or a pointer to
// one.
//
// A reliable event arrives once, in the order of sending and before the Enter and Destroy
// of entities that spawn and die in the same tick. It outlasts a broken connection, but not a crash. An
// unreliable event is lost with its packet, and dropped if no datagram has room for it
// within a second or the session is away. A server that is short of time drops no other
// events.
//
// Send calls NoteSent for every handle in event; a handle that was never issued becomes
// null. The error is ErrEventRefused, or says that the schema has no such event. After the
// session has ended, Send does nothing.
func (s *sight) Send(event any) error {
	e, err := s.replicator.NewEvent(event)
	if err != nil || s.viewer == nil {
		return err
	}
	if !s.viewer.Send(e) {
		return ErrEventRefused
	}
	return nil
}

// The methods below send an event to several sessions, as Session.Send does. The game's
// hooks and systems may call them, on the goroutine that calls Tick. A session for which
// Send would return ErrEventRefused misses the event
// (replication.Stats.ReliableEventsDropped). The error says that the schema has no such
// event.

// SendSeen sends event to every client that has the entity in view. If the entity has
// spawned since the last tick, event goes to the clients that receive its Enter in their
// next snapshot, and follows the Enter.
func (r *roster) SendSeen(entity world.Entity, event any) error {
	return r.eachViewer(event, func(v *replication.Viewer, e *replication.Event) { v.SendSeen(entity, e) })
}

// SendWithin sends event to every client that views the world from a point within radius
// metres of center. That point is the position of the controlled entity, or of the entity
// set by SetViewpoint.
func (r *roster) SendWithin(center world.Vec3, radius float32, event any) error {
	return r.eachViewer(event, func(v *replication.Viewer, e *replication.Event) {
		if v.Viewpoint().Sub(center).Len() <= radius {
			v.Send(e)
		}
	})
}

// Broadcast sends event to every client.
func (r *roster) Broadcast(event any) error {
	return r.eachViewer(event, func(v *replication.Viewer, e *replication.Event) { v.Send(e) })
}

// eachViewer encodes event once and calls f for the viewer of every session.
func (r *roster) eachViewer(event any, f func(*replication.Viewer, *replication.Event)) error {
	e, err := r.replicator.NewEvent(event)
	if err != nil {
		return err
	}
	for _, s := range r.sessions {
		if s.viewer != nil {
			f(s.viewer, e)
		}
	}
	return nil
}
