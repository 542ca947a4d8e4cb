package session

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/worldd/worldd/replication/wire"
)

// A session that moves to a room of another server crosses. It stays here while that server is asked for a place. Then it leaves,
// and stands between the rooms until the other server knows who comes; in the end its client is sent there, or it returns:
//
//	Move ──► Cross: a place? ──► Leave ──► durable ──► Board: who comes ──► Goodbye (moved, with the pass), Join there
//	             └► MoveRefused                             └► Join here, MoveRefused
//
// The client learns of the pass last, after the room has forgotten the session in a frame that a crash does not undo. Nobody else has the
// pass, so a session that returns is in no other room, whatever the other server believes.

// ErrElsewhere is RouterConfig.Move's error for a room of another server.
var ErrElsewhere = errors.New("server: the room is on another server")

var (
	errNoCrossing = &wire.Error{Code: wire.NoRoom, Detail: "the room is on another server, and sessions do not move there"}
	errNoClient   = &wire.Error{Code: wire.Timeout, Detail: "the client has no connection, over which it could be sent to another server"}
)

// Crossing is the way of one session to a room of another server. Any goroutine calls its methods.
type Crossing struct {
	board   func(Boarding)
	abandon func()
	held    atomic.Pointer[crossed]
	boarded atomic.Pointer[crossed]
	asked   bool // for boarding. Only the goroutine that calls Tick uses it
}

// crossed is the answer to one of the two questions.
type crossed struct {
	moved *wire.Error
	why   error
}

// Boarding is a session that has left its room for another server.
type Boarding struct {
	ID       uint64
	User     string
	From, To string
	Value    any
	Lasts    time.Duration // as Admission.Lasts
}

// NewCrossing returns a Crossing. board tells the other server who comes, and calls Boarded. The goroutine that calls Tick calls board
// at most once, after Held(nil), so it must not wait. abandon gives up the place. Any goroutine may call it, at any time.
func NewCrossing(board func(Boarding), abandon func()) *Crossing {
	return &Crossing{board: board, abandon: abandon}
}

// Held answers whether the other server holds a place; why: it does not.
func (x *Crossing) Held(why error) { x.held.Store(&crossed{why: why}) }

// Boarded answers whether the session may go; moved is the redirection for its client.
func (x *Crossing) Boarded(moved *wire.Error, why error) { x.boarded.Store(&crossed{moved, why}) }

// giveUp gives up the place. A nil Crossing has none.
func (x *Crossing) giveUp() {
	if x != nil {
		x.abandon()
	}
}

// beginCrossing asks another server for a place.
func (s *Session) beginCrossing(room string) error {
	switch next, cross := s.travel.next, s.core.config.Router.config.Cross; {
	case cross == nil:
		return errNoCrossing
	case s.peer == nil:
		return errNoClient
	case next != nil && next.crossing != nil && next.name == room:
		return nil // the game asks again
	default:
		x, err := cross(room, s)
		if err != nil {
			return err
		}
		s.travel.goTo(&nextRoom{name: room, crossing: x})
		return nil
	}
}

// cross lets the session leave for another server once that holds a place.
func (s *Session) cross(next *nextRoom) {
	c, held := s.core, next.crossing.held.Load()
	switch {
	case s.peer == nil:
		s.stayAfterMove(next.name, errNoClient)
		return
	case held == nil:
		return
	case held.why != nil:
		s.stayAfterMove(next.name, held.why)
		return
	}
	t := s.leaveRoom()
	if t == nil {
		return
	}
	if !c.requests.addTraveller(t) {
		c.turnAway(t, c.requests.endReason())
	}
}

// mayCross reports whether a traveller that crosses needs a tick of the room that it has left. Once the other server is asked, its end waits
// for the answer: until then the game saves the player's data, which the user's next session loads.
func (t *traveller) mayCross() bool {
	if t.crossing.asked {
		return t.crossing.boarded.Load() != nil
	}
	return t.mayEnter()
}

// receiveCrossing takes a traveller that crosses one step further. It reports whether the crossing is over, and then why the session
// stays, or nil if it has ended here.
func (c *Core) receiveCrossing(t *traveller) (over bool, why *wire.Error) {
	x := t.crossing
	if !x.asked && t.kicked == nil {
		x.asked = true
		x.board(Boarding{t.id, t.user, c.config.Room, t.to, t.value, t.lasts})
		return false, nil
	}
	t.crossing = nil
	defer func() {
		if why != nil {
			x.giveUp()
		}
	}()
	answer := x.boarded.Load()
	switch {
	case t.kicked != nil:
		return true, t.kicked
	case c.roster.banned[t.user]:
		return true, &wire.Error{Code: wire.Banned}
	case t.hasLeft():
		return true, &wire.Error{Code: wire.OK}
	case t.peer.failureReason() != nil: // it resumes here
		return true, errNoClient
	case answer.why != nil:
		return true, refusalOf(answer.why, wire.Internal)
	}
	c.stats.MovedOut++
	c.passages.forgetDeparture(t.id, c.milestoneNow()) // the frame before which the Goodbye does not leave
	c.turnAway(t, answer.moved)
	return true, nil
}
