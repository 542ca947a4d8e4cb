package session

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// ErrGenerationsSeen is Session.Move's error for a room whose generations overlap with an
// earlier world of the session: a handle that the client still holds could name an entity
// of the room. End the session by Kick or Redirect instead.
var ErrGenerationsSeen = errors.New("server: the session has seen the room's generations in another world")

var (
	errSameRoom = errors.New("server: Move to the room where the session is")
	errOneWorld = errors.New("server: Move in a server of one world: want Config.Rooms, or RouterConfig.Move")
)

// visit is a world in which a session has been.
type visit struct {
	first, last uint32 // range of generations
	epoch       uint64
}

// overlaps reports whether a handle of one world could name an entity of the other.
func (v visit) overlaps(other visit) bool {
	return v != other && v.first <= other.last && other.first <= v.last
}

// travel tracks a session's moves between rooms.
type travel struct {
	next     *nextRoom // room to which the session moves at the end of the receive phase, or nil
	fence    uint32    // structure number of the Welcome to this room; 0: the session began here
	arrivals int       // Welcomes to other rooms that the client has not answered yet
	moves    uint64    // number of moves so far
	visited  []visit
}

// nextRoom is the room to which a session moves.
type nextRoom struct {
	name  string
	core  *Core  // nil: the room is not ready
	place *Place // held in core; nil: none, or its user has a seat there

	crossing *Crossing // to a room of another server; nil: it is here
}

// holdPlace holds a place in the room for a session of user, or returns why the room would refuse it.
func (n *nextRoom) holdPlace(user string) (why *wire.Error) {
	n.place, why = n.core.requests.holdForMove(n.core, user, n.place)
	return why
}

// giveUp gives up the place in the room.
func (n *nextRoom) giveUp() {
	n.place.Release()
	n.crossing.giveUp()
}

// setCore sets the room, once it is ready, or the room's next run: nil while it is not.
func (n *nextRoom) setCore(c *Core) { n.core, n.place = c, nil }

// traveller is a session between two rooms. It belongs to the Core whose requests hold it.
type traveller struct {
	identity
	passage
	peer     *Peer         // nil: away
	lasts    time.Duration // time until the session expires; 0: never
	silent   time.Duration // time since it is away
	commands float64       // tokens of the limiters
	resyncs  float64
	secrets  []secret // secrets that its client may hold
	schema   uint64   // schema hash of the newest Welcome
	numbers  replication.Numbers
	arrivals int
	moves    uint64
	visited  []visit
	kicked   *wire.Error
	place    *Place      // held for it in the next room, until it has entered or is refused; nil: none
	crossing *Crossing   // to another server; nil: it has none, or it is over
	origin   *Session    // in the room that it has left, whose viewer waits until it has entered the next
	to       string      // name of the next room
	refused  *wire.Error // it returns to the room of origin, since the other one has refused it; nil: it has not
}

// Move moves the session to another room, over the same connection if the room is in this process.
// Hooks.Leave is called here at the end of this or the next tick's receive phase. Then
// Hooks.Join is called in the other room, on its goroutine, with another *Session of the
// same ID. The new Session has the same Name, User, Value and expiry, and no new burst of
// commands. From then on every handle of this room is Stale to the client.
//
// If another server of the cluster has the room (RouterConfig.Cross), Leave follows when that server holds a place, and the client is
// sent there. It begins a session there with the same User, Value and expiry, and another ID. Until the other server knows
// that it comes, the session belongs to this room, and returns to it after any failure: Join, then MoveRefused. Sessions without a
// connection do not move to other servers.
//
// room is the name of a room, which RouterConfig.Move finds, or a query (wire.RoomQuery) like "match?mode=ranked": then
// RouterConfig.FindForMove chooses or makes the room, other than this one. If Move returns an error, nothing has changed: for example
// a *wire.Error with ServerFull. If the room refuses the session later, since it is full or draining,
// could not be made, or its Join returns an error, the session stays in this room, and
// Hooks.MoveRefused is called. A later Move replaces an earlier one; Kick and Redirect prevail.
func (s *Session) Move(room string) error {
	r := s.core.config.Router
	switch {
	case r == nil || r.config.Move == nil:
		return errOneWorld
	case len(room) > wire.MaxRoom && !wire.IsRoomQuery(room) || !utf8.ValidString(room):
		return fmt.Errorf("server: Move to room %.64q: want at most %d bytes of UTF-8", room, wire.MaxRoom)
	case s.isOver():
		return errors.New("server: Move of a session that has ended")
	}
	var place *Place
	if wire.IsRoomQuery(room) {
		if r.config.FindForMove == nil {
			return &wire.Error{Code: wire.NoRoom, Detail: "the server finds no rooms for queries"}
		}
		var err error
		if room, place, err = r.config.FindForMove(room, s); err != nil {
			return err
		}
	}
	target, err := s.findRoom(room)
	if errors.Is(err, ErrElsewhere) {
		return s.beginCrossing(room)
	}
	if err != nil {
		place.Release()
		return err
	}
	next := &nextRoom{name: room, core: target, place: place}
	if target != nil {
		if why := next.holdPlace(s.user); why != nil {
			place.Release()
			return why
		}
	}
	s.travel.goTo(next)
	return nil
}

// findRoom returns the room to which the session moves, or nil if the room is not ready.
func (s *Session) findRoom(room string) (*Core, error) {
	target, err := s.core.config.Router.config.Move(room, s)
	switch {
	case err != nil || target == nil:
		return nil, err
	case target == s.core:
		return nil, errSameRoom
	case target.config.Router != s.core.config.Router:
		return nil, fmt.Errorf("server: Move to room %q of another Router", room)
	}
	if from, to := s.core.ownVisit, target.ownVisit; from.overlaps(to) || slices.ContainsFunc(s.travel.visited, func(v visit) bool { return v.overlaps(to) }) {
		return nil, ErrGenerationsSeen
	}
	return target, nil
}

// moveSessions hands over the sessions that move to another room.
func (c *Core) moveSessions() {
	for _, s := range c.sessions {
		if s.travel.next != nil && !s.isOver() {
			s.handOver()
		}
	}
	c.roster.removeHandedOver()
}

// handOver hands the session over, unless its room is not ready yet.
func (s *Session) handOver() {
	c := s.core
	if s.kicked != nil {
		s.endWithGoodbye(s.kicked)
		return
	}
	next := s.travel.next
	if next.crossing != nil {
		s.cross(next)
		return
	}
	if next.core == nil {
		core, err := s.findRoom(next.name)
		if errors.Is(err, ErrElsewhere) {
			err = s.beginCrossing(next.name)
			if err == nil {
				return
			}
		}
		switch {
		case errors.Is(err, errSameRoom):
			s.travel.goTo(nil)
			return
		case err != nil:
			s.stayAfterMove(next.name, err)
			return
		case core == nil:
			return
		}
		next.setCore(core)
	}
	if next.core.requests.hasClosed() {
		next.setCore(nil) // the next tick asks for the room again: another run may have replaced it
		return
	}
	if why := next.holdPlace(s.user); why != nil {
		s.stayAfterMove(next.name, why)
		return
	}
	t := s.leaveRoom()
	if t == nil {
		return
	}
	c.stats.MovedOut++
	if !c.config.Router.handOver(t, c, next.core) {
		c.refuseTraveller(t, &wire.Error{Code: wire.Draining, Detail: fmt.Sprintf("room %q has ended", next.name)})
	}
}

// leaveRoom calls Leave, and returns the session between the rooms; nil: it has ended.
func (s *Session) leaveRoom() *traveller {
	c := s.core
	t := s.packTraveller()
	if s.isOver() {
		return nil // the client does not read its stream
	}
	s.enterState(stateHandedOver)
	c.requests.holdTraveller(t)
	s.callHook(HookLeave, c.config.Hooks.Leave)
	c.requests.releaseTraveller(t)
	s.peer = nil
	t.SetValue(s.value)
	if s.kicked != nil { // Leave kicked it, or panicked
		t.place.Release()
		t.crossing.giveUp()
		c.turnAway(t, s.kicked)
		return nil
	}
	c.noteDeparture(t)
	return t
}

// packTraveller returns the state that moves with the session. It first sends the rest of
// the room's structure.
func (s *Session) packTraveller() *traveller {
	c := s.core
	t := &traveller{
		identity: s.identity, peer: s.peer,
		schema: c.schemaHash, arrivals: s.travel.arrivals, moves: s.travel.moves, visited: c.visitedWith(s.travel.visited),
		origin: s, to: s.travel.next.name, place: s.travel.next.place, crossing: s.travel.next.crossing,
		secrets:  s.secrets.allSecrets(), // the Router reads former
		commands: s.commands.TokensAt(c.now), resyncs: s.resyncs.limiter.TokensAt(c.now),
	}
	t.lasts = s.timeLeft()
	if s.peer == nil {
		t.silent = durationOf(uint64(s.silentTicks), c.world.TickHz())
	} else {
		s.sendStructure()
	}
	if s.viewer != nil {
		t.numbers = s.viewer.Numbers()
	}
	return t
}

// visitedWith returns the worlds in which a session has been when it leaves this room.
func (c *Core) visitedWith(visited []visit) []visit {
	if slices.Contains(visited, c.ownVisit) {
		return visited
	}
	return append(slices.Clip(visited), c.ownVisit)
}

// timeLeft returns the time until the session expires, or 0 if it never does.
func (s *Session) timeLeft() time.Duration {
	if s.endTick == math.MaxUint64 {
		return 0
	}
	return durationOf(s.endTick-min(s.core.world.Tick(), s.endTick), s.core.world.TickHz())
}

// durationOf converts ticks to time, rounded up: ticksOf returns at least as many.
func durationOf(ticks uint64, tickHz int) time.Duration {
	hz := uint64(tickHz)
	return time.Duration(ticks/hz)*time.Second + (time.Duration(ticks%hz)*time.Second+time.Duration(hz)-1)/time.Duration(hz)
}

// receiveTravellers admits sessions from other rooms. They count against the limit of
// Hellos per tick.
func (c *Core) receiveTravellers() {
	arrived := c.requests.travellers(c.hellosLeft)
	c.hellosLeft -= len(arrived)
	for _, t := range arrived {
		if t.crossing != nil {
			over, why := c.receiveCrossing(t)
			if over {
				c.requests.releaseTraveller(t)
			}
			if why != nil {
				c.refuseTraveller(t, why)
			}
			continue
		}
		receive := c.receiveTraveller
		if t.refused != nil {
			receive = c.takeBack
		}
		place := t.place
		why := receive(t)
		c.requests.releaseTraveller(t)
		place.Release()
		if why != nil {
			c.refuseTraveller(t, why)
		}
	}
}

// receiveTraveller admits a session from another room, or returns the reason for refusing it.
func (c *Core) receiveTraveller(t *traveller) *wire.Error {
	switch {
	case c.knowsTraveller(t):
		return nil
	case t.kicked != nil:
		return t.kicked
	case !t.mayEnter(): // its former room has failed, and may restore it
		return errHookPanicked
	case c.Draining():
		return c.requests.endReason()
	}
	if t.hasLeft() {
		return &wire.Error{Code: wire.OK}
	}
	if why := c.roster.admitUser(t.user, t.address, c.requests.placesFor(t.user, t.place)); why != nil {
		return why
	}
	s := newSession(c, t.identity, c.world.Tick(), endTickOf(c.world, t.lasts))
	s.peer = t.peer
	s.travel = travel{fence: t.numbers.Structure + 1, moves: t.moves + 1, visited: t.visited} // the Welcome counts as a record
	limitTokens(s.commands, t.commands, c.now)
	limitTokens(s.resyncs.limiter, t.resyncs, c.now)
	s.silentTicks = ticksOf(t.silent, c.world.TickHz()) + 1 // the move takes one tick
	if why := s.callGameJoin(replication.Numbers{Structure: s.travel.fence, Seq: t.numbers.Seq}); why != nil {
		return why
	}
	if t.peer != nil {
		t.peer.enterRoom(c)
	}
	s.progress = progress{newest: t.numbers.Seq, structure: s.travel.fence}
	s.registerSession()
	c.requests.countEntered(s.user, t.place)
	c.noteArrival(t)
	t.endOrigin()
	c.stats.MovedIn++
	if t.peer != nil {
		s.rotateSecret(t.secrets...)
	} else { // the client receives no secret before it resumes
		s.secrets = t.keptSecrets()
		c.config.Router.recordPlacement(s)
	}
	if c.Draining() { // Join has drained the server
		s.endWithGoodbye(c.requests.endReason())
		return nil
	}
	if s.peer == nil {
		s.callHook(HookAway, c.config.Hooks.Away)
		return nil
	}
	s.travel.awaitArrivals(t.arrivals + 1)
	s.sendWelcome(t.schema, 0, s.travel.fence)
	return nil
}

// keptSecrets returns the secrets of a session whose client is away.
func (t *traveller) keptSecrets() secrets {
	if t.crashed {
		return restoredSecrets(t.secrets)
	}
	last := len(t.secrets) - 1
	return secrets{newest: t.secrets[last], former: t.secrets[:last]}
}

// limitTokens leaves a new limiter with at most the given tokens.
func limitTokens(l *rate.Limiter, tokens float64, now time.Time) {
	if tokens < float64(l.Burst()) {
		// Empty the limiter at a past time: since then it has refilled to these tokens.
		l.AllowN(now.Add(-time.Duration(tokens/float64(l.Limit())*float64(time.Second))), l.Burst())
	}
}

// turnAway ends a session that cannot enter the room.
func (c *Core) turnAway(t *traveller, why *wire.Error) {
	t.end()
	t.endOrigin()
	c.stats.countClosed(why.Code)
	c.redirections.add(t.id, t.keptSecrets(), why, c.milestoneNow())
	c.config.Router.forgetTraveller(t, c)
	if t.peer != nil {
		t.peer.sendMessage(wire.Goodbye{Code: why.Code, Text: why.Detail, Address: why.Address, Token: why.Token})
		t.peer.closeConn(why)
	}
}

// goTo sets the room to which the session moves, instead of an earlier one.
func (t *travel) goTo(next *nextRoom) {
	if t.next != nil {
		t.next.giveUp()
	}
	t.next = next
}

// raiseFence makes a client that has not received a later Welcome begin with one.
func (t *travel) raiseFence(structure uint32) { t.fence = structure }

// returnFrom counts the way to a room and back.
func (t *travel) returnFrom(moves uint64) { t.moves = moves + 2 }

// awaitArrivals expects n Arrived messages over the session's connection.
func (t *travel) awaitArrivals(n int) { t.arrivals = n }

// countArrivals counts the Arrived messages of a tick. Until the last one arrives, Commands
// and Resync are meant for an earlier room, and are dropped.
func (t *travel) countArrivals(l *tickInbox) {
	t.arrivals -= l.arrived
	switch {
	case t.arrivals < 0:
		t.arrivals = 0
		if l.fault == nil {
			l.fault = &wire.Error{Code: wire.BadState, Detail: "Arrived without a move"}
		}
		l.commands, l.resync = nil, false
	case t.arrivals > 0:
		l.commands, l.resync = nil, false
	}
}

// forwardPeer forwards a connection to the room of the session that its Hello resumes, if
// the session has moved since the Router placed the connection.
func (c *Core) forwardPeer(p *Peer, h *wire.Hello) bool {
	r := c.config.Router
	if r == nil {
		return false
	}
	core := r.roomOf(h)
	if core == nil || core == c {
		return false
	}
	p.inbox.setHello(h)
	if !core.addResuming(p) {
		p.inbox.setHello(nil)
		return false
	}
	c.roster.removeForwarded(p)
	return true
}

// addResuming adds a connection whose Hello resumes a session of c. It returns false if c has closed.
func (c *Core) addResuming(p *Peer) bool {
	before := p.resumes
	p.resumes = true // before c's goroutine reads it
	if !c.requests.addPeer(c, p) {
		p.resumes = before
		return false
	}
	return true
}
