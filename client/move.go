package client

import (
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// moveToRoom handles another Welcome on the same connection: the session continues in another room.
// The replica starts over, and Arrived tells the server that later messages are for the new room.
func (s *Session) moveToRoom(m *wire.Welcome) error {
	was := s.welcome
	switch {
	case m.Protocol != wire.Version || m.Tables != was.Tables:
		return protocolError("a move to protocol %d and tables %08x", m.Protocol, m.Tables)
	case m.Session != was.Session || m.Resumed != 0 || m.Commands != 0:
		return protocolError("a move of session %d, resumed %d, after %d commands", m.Session, m.Resumed, m.Commands)
	case m.Epoch == was.Epoch:
		return protocolError("a move within the world of epoch %016x", m.Epoch)
	case m.Structure != s.replica.applied+1:
		return protocolError("a move with structure record %d, want %d", m.Structure, s.replica.applied+1)
	case (m.SchemaText == "") != (m.Schema == s.layout.hash):
		return protocolError("a move to schema %016x from %016x, with a schema text of %d bytes", m.Schema, s.layout.hash, len(m.SchemaText))
	}
	s.budget.Spend(roomTime + schemaTime*len(m.SchemaText))
	l := s.layout
	if m.SchemaText != "" {
		var err error
		if l, err = readLayout(m.SchemaText, m.Schema, s.config.Schema, s.config.Tables); err != nil {
			return err
		}
	}
	held := s.replica.held
	s.connection = moving
	s.forgetWorld()
	s.adoptWelcome(m, l)
	if err := s.renewForWelcome(m, l); err != nil {
		return err
	}
	s.commands.endAll()
	if s.connection == lost { // a callback closed the client
		return nil
	}
	s.sendMessage(wire.TypeArrived, nil)
	s.replica.held = slices.DeleteFunc(held, func(d heldDatagram) bool { return d.structure < m.Structure })
	s.finishWelcome(m, arrivedInRoom)
	return s.replica.releaseHeld()
}
