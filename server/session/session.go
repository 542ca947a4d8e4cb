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
	core      *Core
	state     state
	peer      *Peer // current connection; nil: away
	startTick uint64
	endTick   uint64      // tick at which the Admission expires
	kicked    *wire.Error // ends the session after the current hook or at the next tick
	endReason *wire.Error // reason why the session ended

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

// state is the state of a session, as STATE.md draws it.
type state uint8

const (
	stateJoining    state = iota // Hooks.Join runs
	stateActive                  // has a connection
	stateAway                    // its connection broke, and its client may reconnect
	stateHandedOver              // it continues in another room, as another Session
	stateEnded                   // ended; removed at the end of the tick
)

// isOver reports whether the session has ended or left this room.
func (s *Session) isOver() bool { return s.state >= stateHandedOver }

func newSession(c *Core, who identity) *Session {
	s := &Session{
		identity: who, sight: sight{replicator: c.replicator, world: c.world, stats: &c.stats, viewAge: c.viewAge},
		core: c, startTick: c.world.Tick(), inputs: newInputs(c.world.TickHz()),
		commands: rate.NewLimiter(rate.Limit(c.config.CommandsPerSecond), c.config.CommandBurst),
		resyncs:  resyncs{limiter: rate.NewLimiter(rate.Limit(resyncsPerMinute)/60, 1)},
	}
	c.schedule.moveToBack(s, s.startTick)
	return s
}

// Room returns the name of the room that the session is in (Config.Room).
func (s *Session) Room() string { return s.core.config.Room }

// Away reports whether the session has no connection and waits for its client.
func (s *Session) Away() bool { return s.peer == nil }

// Ending returns why the session ended, or nil if it has not.
func (s *Session) Ending() *wire.Error { return s.endReason }

// Kick ends the session, without grace, after the current hook returns or at the next
// tick. The client receives the reason, at most wire.MaxText bytes. The game decides
// whether the user may join later.
func (s *Session) Kick(reason string) {
	s.kicked = &wire.Error{Code: wire.Kicked, Detail: reason}
}

// Redirect ends the session as Kick does, and sends its client to the server at address
// ("host:port") with a connect token of at most wire.MaxToken bytes. An error reports a bad
// argument.
func (s *Session) Redirect(address string, token []byte) error {
	moved, err := wire.MovedTo(address, token)
	if err != nil {
		return err
	}
	s.kicked = moved
	return nil
}

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
	s.state, s.endReason = stateEnded, why
	s.core.stats.countClosed(why.Code)
	if s.peer != nil {
		s.peer.closeConn(why)
	}
	s.callGameLeave()
}

// callGameLeave calls Hooks.Leave and removes the viewer.
func (s *Session) callGameLeave() {
	s.state = stateEnded
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
