package client

import "github.com/worldd/worldd/replication/wire"

// useConnection queues the Hello of a connection that was not used yet. Reconnect leaves it to
// the first use: a callback may call Reconnect in the middle of a message, and Hello tells all of
// what was applied.
//
// The Hello joins, or resumes the previous session. A resuming Hello has epoch 0, which joins any
// world: if the server can only begin a new session, that needs no second handshake. If the server has no such room,
// the next Hello has the session's epoch: the room may have run before a crash. A session
// whose computed bodies kept differing is not resumed.
func (s *Session) useConnection() {
	if s.stream.state != opened {
		return
	}
	s.stream.enterState(connecting)
	h := s.greeting.nextHello(&s.config)
	if s.config.Simulate && !s.resyncs.gaveUp() {
		h.Abilities |= wire.Simulates
	}
	if w := s.welcome; w != nil {
		h.Epoch = 0
		if len(w.Secret) > 0 && !s.resyncs.endsSession(w) {
			h.Session, h.Secret, h.Structure = w.Session, w.Secret, s.replica.applied
			if s.greeting.asks == byRun {
				h.Epoch = w.Epoch
			}
		}
	}
	s.greeting.noteSent(h)
	s.stream.sendMessage(h)
}

// Lost tells the session that its connection ended, and why. The replica stays unchanged, and
// Resolve still answers. After wire.EpochMismatch the world is gone and every handle is Stale.
// After wire.NoRoom, for the second time, and wire.RoomClosed the next Hello names the room of the config. Commands
// without an answer end in ErrUnanswered (C5). Nothing is sent or received before Reconnect.
func (s *Session) Lost(why error) {
	if s.stream.isJoined() { // before Welcome the session has sent no inputs
		s.prediction.pause()
	}
	s.stream.enterState(lost)
	s.commands.endAll()
	s.greeting.noteLost(why, s.config.Room)
	if wire.CodeOf(why) == wire.EpochMismatch {
		s.forgetWorld()
	}
}

// forgetServer makes the next Hello begin a new session in the room of a redirection, or else in the one of the config. Another server
// may know neither session nor room, and must not learn the secret.
func (s *Session) forgetServer(to *wire.Error) {
	s.greeting.nameRoom(to, s.config.Room)
	if s.welcome != nil {
		w := *s.welcome
		w.Secret = nil
		s.welcome = &w
	}
}

// Reconnect begins again on another connection, after Lost: TakeStream returns a new Hello.
// Welcome.Resumed says whether the session resumes or a new one begins, perhaps of the same number. In a
// new session of the same run Stale handles stay Stale, and all others are Pending until the session shows them.
// If the Welcome has another epoch, all entities are destroyed first, as after
// wire.EpochMismatch.
func (s *Session) Reconnect() {
	s.stream.restart()
}
