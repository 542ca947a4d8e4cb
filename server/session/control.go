package session

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Control makes h the session's entity, for example after a respawn: the session controls
// and owns h, and views the world from h unless SetViewpoint names another entity. If h is
// zero, was never issued, or has no body, the viewpoint stays where it was. The previous
// entity stays in the world; the session still owns it only if Own was called for it. The
// client learns of the change before the next snapshot; inputs that are already on the way
// were meant for the previous entity. Control does nothing until Join has returned: the
// result of Join counts.
func (s *Session) Control(h world.Entity) {
	if s.viewer != nil && s.state != stateJoining {
		s.setEntity(h)
		s.viewer.SetFocus(s.entity)
	}
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
