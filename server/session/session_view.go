package session

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// The game may call these methods from Join to Leave, inclusive. At any other time they do
// nothing.

// Control makes h the session's entity, for example after a respawn: the session controls
// and owns h, and views the world from h unless SetViewpoint names another entity. If h is
// zero, was never issued, or has no body, the viewpoint stays where it was. The previous
// entity stays in the world; the session still owns it only if Own was called for it. The
// client learns of the change before the next snapshot; inputs that are already on the way
// were meant for the previous entity. Control does nothing until Join has returned: the
// result of Join counts.
func (s *Session) Control(h world.Entity) {
	if s.viewer != nil && s.state != stateJoining {
		s.entity = s.core.issuedOrZero(h)
		s.viewer.SetFocus(s.entity)
	}
}

// issuedOrZero returns h, or 0 if h was never issued: the entity that gets this handle
// later would die without its client learning of it (H3).
func (c *Core) issuedOrZero(h world.Entity) world.Entity {
	if c.world.Status(h) == bulk.Unissued {
		return 0
	}
	return h
}

// sendControl sends the controlled entity to the client. A session that is away sends it
// after resuming.
func (s *Session) sendControl() {
	if s.state != stateActive {
		return
	}
	s.announced = s.entity
	s.viewer.NoteSent(s.entity)
	s.sendMessage(wire.Control{Entity: s.entity})
}

// SetViewpoint makes the client view the world from h instead of the controlled entity, for
// spectators and cameras. Inputs do not steer h, and its owner-only fields stay hidden. If
// h dies or has no body, the viewpoint stays where it was. 0 restores the controlled
// entity.
func (s *Session) SetViewpoint(h world.Entity) {
	if s.viewer != nil {
		s.viewer.SetViewpoint(s.core.issuedOrZero(h))
	}
}

// Own makes the session an owner of h: its client receives h at any distance and regardless
// of filters, including Config.Replication.Private. It does nothing unless h is
// live. The session already owns the entity that Join returned.
func (s *Session) Own(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Own(h)
	}
}

// Disown reverts Own.
func (s *Session) Disown(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Disown(h)
	}
}

// SetFilter replaces the filter on what the client may see, from the next snapshot on.
func (s *Session) SetFilter(f replication.Filter) {
	if s.viewer != nil {
		s.viewer.SetFilter(f)
	}
}

// NoteSent records that the game is about to send h to the client by its own means, for
// example in a chat message. The client's verdict on h is then the same as for a handle in
// a component: Pending until h enters its view, and Stale after h is destroyed, whether or
// not the client ever saw it (H3). Without NoteSent the client does not learn of the death
// of an entity that it never saw.
func (s *Session) NoteSent(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.NoteSent(h)
	}
}

// Traffic returns the replication counters of the client. They are zero before Join.
func (s *Session) Traffic() replication.ViewerStats {
	if s.viewer == nil {
		return replication.ViewerStats{}
	}
	return s.viewer.Stats()
}

// Resolve returns the session's verdict on h, which depends on what its client was sent: a
// handle that the client never received is Pending, live or not. For the state of h in the
// world use [world.World.Status].
func (s *Session) Resolve(h bulk.Handle) wire.Verdict {
	if s.viewer == nil {
		return wire.Pending
	}
	return s.viewer.Resolve(h)
}

// InterestSet returns the handles in the client's interest set, in no particular order. It
// is empty before Join.
func (s *Session) InterestSet() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		if s.viewer != nil {
			s.viewer.InterestSet()(yield)
		}
	}
}
