package session

import (
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Session is one client's stay in the world: from its Welcome, over as many
// connections as it takes, to its end. It belongs to the tick.
type Session struct {
	core  *Core
	id    uint64
	peer  *Peer  // how the client is reached; nil: away
	from  string // address of the newest connection
	over  bool   // goodbye said; waits to be reaped
	since uint64 // the tick in which it began
	ends  uint64 // the tick in which its Admission ends

	name     string
	user     string
	joined   bool // Join has returned
	entity   world.Entity
	told     world.Entity // what the client knows as the one that it controls
	viewer   *replication.Viewer
	silence  int      // ticks since the last datagram, or since it is away
	progress progress // of its acknowledgements
	inputs   inputs
	commands *rate.Limiter
	resyncs  *rate.Limiter
	kicked   *wire.Error
	ending   *wire.Error // why it is over

	waits bool   // its turn for a snapshot has come
	place uint64 // among all, in the order of turns.last
	shown uint64 // the tick of its newest snapshot, or in which it came

	secret   secret // of the newest Welcome
	former   secret // of the one before, until the client shows that it has the newest
	answered bool   // a datagram came: the client has a Welcome to come back with
}

func newSession(p *Peer) *Session {
	s := &Session{
		core: p.core, id: p.id, peer: p, from: p.address, since: p.core.world.Tick(),
		commands: rate.NewLimiter(rate.Limit(p.core.config.CommandsPerSecond), p.core.config.CommandBurst),
		resyncs:  rate.NewLimiter(rate.Limit(resyncsPerMinute)/60, 1),
	}
	p.core.turns.last(s, s.since)
	return s
}

// ID tells the sessions of one run apart.
func (s *Session) ID() uint64 { return s.id }

// Name is what the client calls itself. It is not verified.
func (s *Session) Name() string { return s.name }

// User is whose connect token the client has shown; empty if the server asks
// for none.
func (s *Session) User() string { return s.user }

// Entity is the entity that the session controls: what Game.Join returned, or
// Control made it since. It may be dead.
func (s *Session) Entity() world.Entity { return s.entity }

// Ending returns why the session is over, nil while it goes on.
func (s *Session) Ending() *wire.Error { return s.ending }

// Kick ends the session, without a time of grace, when the game's function that
// calls it has returned, or with the next tick. The client is told the reason, of
// at most wire.MaxText bytes. Whether the user may come again is up to the game.
func (s *Session) Kick(reason string) {
	s.kicked = &wire.Error{Code: wire.Kicked, Detail: reason}
}

// fail says goodbye and ends the session.
func (s *Session) fail(why *wire.Error) {
	if s.over {
		return
	}
	if s.peer != nil {
		s.sendMessage(wire.TypeGoodbye, wire.Goodbye{Code: why.Code, Text: why.Detail}.Append(nil))
	}
	s.end(why)
}

// end takes the session out of the game, and closes its connection if it has one.
func (s *Session) end(why *wire.Error) {
	if s.over {
		return // there was no room for the goodbye: ended as TooSlow
	}
	s.over, s.ending = true, why
	s.core.countClosed(why.Code)
	if s.peer != nil {
		s.peer.close(why)
	}
	s.turnOut()
}

// turnOut takes the session out of the game.
func (s *Session) turnOut() {
	s.over = true
	s.notify(HookLeave, s.core.config.Game.Leave)
	s.core.replicator.RemoveViewer(s.viewer)
	s.viewer = nil
}

func (s *Session) sendMessage(kind byte, body []byte) {
	if !s.over && s.peer != nil && !s.peer.sendMessage(kind, body) {
		s.tooSlow()
	}
}

func (s *Session) sendStream(b []byte) {
	if len(b) > 0 && !s.peer.conn.SendStream(b) {
		s.tooSlow()
	}
}

func (s *Session) tooSlow() {
	s.end(&wire.Error{Code: wire.TooSlow, Detail: "the stream is not read"})
}
