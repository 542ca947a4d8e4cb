package main

import (
	"slices"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

// Match has a prize for the first who strikes. Then all return to the lobby, and the room ends.
type Match struct{ *Place }

// NewMatch makes a match.
func NewMatch(o host.Options) (*host.Instance, error) {
	m := &Match{newPlace(o)}
	schema.DefineCommand[Strike](m.schema, StrikeCommand.Name())
	return m.instance(server.Hooks{
		Join:     func(s *server.Session) (world.Entity, error) { return m.enter(Guest{Won: hasWon(s)}) },
		Commands: []server.Command{server.OnCommand(StrikeCommand, m.strike)},
	}), m.world.AddSystem(world.After, "return", m.sendBack)
}

func (m *Match) strike(s *server.Session, _ world.Entity, _ Strike) error {
	if m.isOver() {
		return &server.Rejection{Text: "too late"}
	}
	m.guests.Mut(s.Entity()).Won = true
	s.SetValue(true)
	return nil
}

func (m *Match) isOver() bool {
	for _, g := range m.guests.All() {
		if g.Won {
			return true
		}
	}
	return false
}

// sendBack changes nothing in the world.
func (m *Match) sendBack(w *world.World) {
	there := slices.Collect(m.room.Sessions())
	for _, s := range there {
		if m.isOver() || len(there) == 1 && w.Tick() > patience { // nobody to play with
			_ = s.Move("lobby")
		}
	}
	if len(there) == 0 && w.Tick() > patience {
		_ = m.room.End("the match is over")
	}
}
