package session

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// What a session is shown is up to the game from Join on, Leave included; at any
// other time these do nothing.

// Control makes h what the session controls, sees the world from and owns, in place
// of what it was: for a player who comes back to life, or takes a seat. Zero, or a
// handle that was never issued, is nothing, and sees from where the one before was, as
// does what has no body. That one stays in the world, the session's own only if Own
// made it so. Before Join has returned this does nothing: what it returns counts. The
// client is told ahead of the next snapshot; inputs that are on the way still come, and
// were meant for the one before.
func (s *Session) Control(h world.Entity) {
	if s.viewer != nil && s.joined {
		s.entity = s.core.issued(h)
		s.viewer.SetFocus(s.entity)
	}
}

// issued returns h, or nothing if nobody ever had it: a client that is sent such a
// handle could not be told of the death of who may have it one day (H3).
func (c *Core) issued(h world.Entity) world.Entity {
	if c.world.Status(h) == bulk.Unissued {
		return 0
	}
	return h
}

// tellControl tells the client what it controls. One that is away is told when it
// comes again.
func (s *Session) tellControl() {
	if s.over || s.peer == nil {
		return
	}
	s.told = s.entity
	s.viewer.Teach(s.entity)
	s.sendMessage(wire.TypeControl, wire.Control{Entity: s.entity}.Append(nil))
}

// Own makes the session an owner of h: its client is shown h at any distance and
// through any filter, replication.Config.Private included. Unless h is live nothing
// happens. What Join returned is the session's own already.
func (s *Session) Own(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Own(h)
	}
}

// Disown is the reverse of Own.
func (s *Session) Disown(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Disown(h)
	}
}

// SetFilter replaces the rule of what the session's client may see, from the next
// snapshot on.
func (s *Session) SetFilter(f replication.Filter) {
	if s.viewer != nil {
		s.viewer.SetFilter(f)
	}
}

// Teach notes that the session's client is about to be sent h by a way of the game's
// own, say in a line of chat. From then on the client's verdict on h is what one on a
// handle in a component is: Pending until h comes into view, and Stale when it is no
// more, whether the client ever sees it or not (H3). Without it the client never hears
// of the death of who is never in its view.
func (s *Session) Teach(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Teach(h)
	}
}

// Traffic counts what was made for the session's client. It is zero before Join.
func (s *Session) Traffic() replication.ViewerStats {
	if s.viewer == nil {
		return replication.ViewerStats{}
	}
	return s.viewer.Stats()
}

// Resolve returns the session's verdict on h: what its client knows, not what the world
// knows. A handle that the client was never sent is Pending, live or not; for the world's
// own answer use [world.World.Status].
func (s *Session) Resolve(h bulk.Handle) wire.Verdict {
	if s.viewer == nil {
		return wire.Pending
	}
	return s.viewer.Resolve(h)
}

// InterestSet returns the handles in the view of the session's client, in no
// particular order. It is empty before Join.
func (s *Session) InterestSet() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		if s.viewer != nil {
			s.viewer.InterestSet()(yield)
		}
	}
}
