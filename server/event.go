package server

import (
	"iter"

	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// ErrEventRefused is Session.Send's error for a client that has too much to receive.
var ErrEventRefused = session.ErrEventRefused

// SendSeen, SendWithin and Broadcast send an event to several clients; for one, see
// Session.Send. Only hooks of the Game and systems of the world may call them: they run on
// the goroutine that owns the world. Sessions that would refuse the event miss it. The error
// says that the schema has no event of that type.

// SendSeen sends event to every client that has the entity in view. If the entity has
// spawned since the last tick, these are the clients that receive its Enter in their next
// snapshot, and event follows the Enter.
func (s *Server) SendSeen(entity world.Entity, event any) error {
	return s.core.SendSeen(entity, event)
}

// SendWithin sends event to every client that views the world from a point within radius
// metres of center: the position of its controlled entity, or of the one of
// Session.SetViewpoint.
func (s *Server) SendWithin(center world.Vec3, radius float32, event any) error {
	return s.core.SendWithin(center, radius, event)
}

// Sessions returns the sessions that have joined and not ended, those that are away included,
// in the order of their ids. As for SendSeen, only the goroutine that owns the world may call it.
func (s *Server) Sessions() iter.Seq[*Session] { return s.core.Sessions() }

// Broadcast sends event to every client.
func (s *Server) Broadcast(event any) error { return s.core.Broadcast(event) }
