package session

import (
	"iter"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// sight is the client's part of the world, and the names that the client has for entities. The game may
// call the exported methods from Join to Leave, inclusive. At any other time they do nothing.
type sight struct {
	replicator   *replication.Replicator
	world        *world.World
	stats        *Stats              // of the Core
	viewer       *replication.Viewer // exists from Join to Leave
	entity       world.Entity        // controlled
	viewpoint    world.Entity        // of SetViewpoint; 0: the controlled entity
	viewAge      int                 // greatest age of a view moment, in ticks
	view         view                // view moment of the command or input being executed
	provisionals provisionals        // of the command or input being executed
}

// Entity returns the controlled entity: Hooks.Join's result, or the latest argument of
// Control. The entity may be dead.
func (s *sight) Entity() world.Entity { return s.entity }

// setEntity makes h the controlled entity.
func (s *sight) setEntity(h world.Entity) { s.entity = s.issuedOrZero(h) }

// openViewer makes the viewer of a client with abilities, whose numbers continue from numbers.
func (s *sight) openViewer(numbers replication.Numbers, abilities wire.Abilities) {
	s.viewer = s.replicator.AddViewer(0)
	s.viewer.Continue(numbers)
	if abilities.Has(wire.PlainRows) {
		s.viewer.SendPlainRows()
	}
	if abilities.Has(wire.Simulates) {
		s.viewer.Simulate() // if any kind is exact (P6)
	}
}

func (s *sight) closeViewer() {
	s.replicator.RemoveViewer(s.viewer)
	s.viewer = nil
}

// issuedOrZero returns h, or 0 if h was never issued: the entity that gets this handle
// later would die without its client learning of it (H3).
func (s *sight) issuedOrZero(h world.Entity) world.Entity {
	if s.world.Status(h) == bulk.Unissued {
		return 0
	}
	return h
}

// SetViewpoint makes the client view the world from h instead of the controlled entity, for
// spectators and cameras. Inputs do not steer h, and its owner-only fields stay hidden. If
// h dies or has no body, the viewpoint stays where it was. 0 restores the controlled
// entity.
func (s *sight) SetViewpoint(h world.Entity) {
	if s.viewer != nil {
		s.viewpoint = s.issuedOrZero(h)
		s.viewer.SetViewpoint(s.viewpoint)
	}
}

// Own makes the session an owner of h: its client receives h at any distance and regardless
// of filters, including Config.Replication.Private. It does nothing unless h is
// live. The session already owns the entity that Join returned.
func (s *sight) Own(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Own(h)
	}
}

// Disown reverts Own.
func (s *sight) Disown(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.Disown(h)
	}
}

// SetFilter replaces the filter on what the client may see, from the next snapshot on.
func (s *sight) SetFilter(f replication.Filter) {
	if s.viewer != nil {
		s.viewer.SetFilter(f)
	}
}

// NoteSent records that the game is about to send h to the client by its own means, for
// example in a chat message. The client's verdict on h is then the same as for a handle in
// a component: Pending until h enters its view, and Stale after h is destroyed, whether or
// not the client ever saw it (H3). Without NoteSent the client does not learn of the death
// of an entity that it never saw.
func (s *sight) NoteSent(h bulk.Handle) {
	if s.viewer != nil {
		s.viewer.NoteSent(h)
	}
}

// Traffic returns the replication counters of the client. They are zero before Join.
func (s *sight) Traffic() replication.ViewerStats {
	if s.viewer == nil {
		return replication.ViewerStats{}
	}
	return s.viewer.Stats()
}

// Resolve returns the session's verdict on h, which depends on what its client was sent: a
// handle that the client never received is Pending, live or not. For the state of h in the
// world use [world.World.Status].
func (s *sight) Resolve(h bulk.Handle) wire.Verdict {
	if s.viewer == nil {
		return wire.Pending
	}
	return s.viewer.Resolve(h)
}

// InterestSet returns the handles in the client's interest set, in no particular order. It
// is empty before Join.
func (s *sight) InterestSet() iter.Seq[bulk.Handle] {
	return func(yield func(bulk.Handle) bool) {
		if s.viewer != nil {
			s.viewer.InterestSet()(yield)
		}
	}
}

// encodeAnswer returns the encoded answer, and calls NoteSent for its handles (H3).
func (s *sight) encodeAnswer(m *rowschema.Message, answer any) ([]byte, error) {
	var body rowschema.Payload
	if err := m.Quantise(answer, &body); err != nil {
		return nil, err
	}
	m.KeepReferences(&body, func(h bulk.Handle) bool { return s.world.Status(h) != bulk.Unissued })
	m.References(&body, s.NoteSent)
	return m.Append(nil, &body), nil
}
