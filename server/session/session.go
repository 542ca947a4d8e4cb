package session

import (
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Session is one client's stay in the world, from its Welcome to its end, over one or
// more connections. Only hooks and systems of the world, which Tick
// calls, may use it.
type Session struct {
	identity
	sight
	life
	core *Core
	peer *Peer // current connection; nil: away

	announced   world.Entity // controlled entity that was last sent to the client
	silentTicks int          // ticks since the last datagram, or since the connection broke
	progress    progress

	inputs   inputs
	commands *rate.Limiter
	handled  uint32 // commands executed or rejected so far; wraps
	resyncs  resyncs

	travel  travel
	turn    turn
	secrets secrets
	noted   noted
}

// identity holds the fields that a session keeps in every room.
type identity struct {
	id        uint64
	address   string // address of the newest connection
	name      string
	user      string
	value     any
	abilities wire.Abilities
}

// setAddress records the address of a new connection.
func (i *identity) setAddress(address string) { i.address = address }

// ID returns the session's id, unique within a run.
func (i *identity) ID() uint64 { return i.id }

// Name returns the client's own name for itself. It is not verified.
func (i *identity) Name() string { return i.name }

// User returns the user of the connect token, or "" if the server requires no tokens.
func (i *identity) User() string { return i.user }

// Value returns the game's own data for the session: Admission.Value, unless SetValue has
// replaced it.
func (i *identity) Value() any { return i.value }

// SetValue replaces the game's own data for the session. Images and recordings do not
// contain it: keep the state of rules that a replay must repeat in components.
func (i *identity) SetValue(v any) { i.value = v }

// newSession returns a session that has not joined, from startTick to endTick unless something ends it before.
func newSession(c *Core, who identity, startTick, endTick uint64) *Session {
	s := &Session{
		identity: who, sight: sight{replicator: c.replicator, world: c.world, stats: &c.stats, viewAge: c.viewAge},
		life: life{startTick: startTick, endTick: endTick},
		core: c, inputs: newInputs(c.world.TickHz()),
		commands: rate.NewLimiter(rate.Limit(c.config.CommandsPerSecond), c.config.CommandBurst),
		resyncs:  resyncs{limiter: rate.NewLimiter(rate.Limit(resyncsPerMinute)/60, 1)},
	}
	c.schedule.moveToBack(s, c.world.Tick())
	return s
}

// Room returns the name of the room that the session is in (Config.Room).
func (s *Session) Room() string { return s.core.config.Room }

// Connection returns the ID of the session's connection in the log, or 0 while its client is away.
func (s *Session) Connection() uint64 {
	if s.peer == nil {
		return 0
	}
	return s.peer.id
}

// Network returns the address of the newest connection, as limits for each address count it.
func (s *Session) Network() string { return s.address }

// Away reports whether the session has no connection and waits for its client.
func (s *Session) Away() bool { return s.peer == nil }

// endWithGoodbye sends Goodbye and ends the session.
func (s *Session) endWithGoodbye(why *wire.Error) {
	if s.isOver() {
		return
	}
	if s.peer != nil {
		s.sendMessage(wire.Goodbye{Code: why.Code, Text: why.Detail, Address: why.Address, Token: why.Token})
	}
	s.endSilently(why)
}

// endSilently ends the session without a message and closes its connection, if any.
func (s *Session) endSilently(why *wire.Error) {
	if s.isOver() {
		return // sending Goodbye ended it as TooSlow
	}
	s.endBecause(why)
	s.core.stats.countClosed(why.Code)
	s.core.redirections.add(s.id, s.secrets, why, s.core.milestoneNow())
	if s.peer != nil {
		s.peer.closeConn(why)
	}
	s.callGameLeave()
}

// callGameLeave calls Hooks.Leave and removes the viewer.
func (s *Session) callGameLeave() {
	s.enterState(stateEnded)
	s.core.outputGate.beginFrame(s.core.world.Tick() + 1) // which has what Leave does, even if a slow client ends in Send
	s.callHook(HookLeave, s.core.config.Hooks.Leave)
	s.closeViewer()
	s.core.config.Router.forgetSession(s)
}

func (s *Session) sendMessage(m wire.Message) {
	if !s.isOver() && s.peer != nil && !s.peer.sendMessage(m) {
		s.endTooSlow()
	}
}

func (s *Session) sendStream(b []byte) {
	if len(b) > 0 && !s.peer.conn.SendStream(b) {
		s.endTooSlow()
	}
}

func (s *Session) endTooSlow() {
	s.endSilently(&wire.Error{Code: wire.TooSlow, Detail: "the stream is not read"})
}
