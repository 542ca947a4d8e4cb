package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// passTime is how long a pass is good after the node that has the room knows who holds it.
	passTime = 15 * time.Second
	// placeTime is how long the holder's place is kept, from the question for it on.
	placeTime = 2 * passTime
	// maxPasses bounds the passes of a node that nobody has used.
	maxPasses = 4096
	passBytes = 16
	// maxCarried bounds the bytes of RoomsConfig.Carry.
	maxCarried = 32 << 10
	// maxQuestion bounds the question of another node.
	maxQuestion = 64 << 10
)

// passPrefix begins the tokens that are passes.
const passPrefix = "worldd-pass:"

// Clients with FreshToken come back after these errors. Without tokens a client that is refused asks for the default room.
var (
	errPassSpent    = &wire.Error{Code: wire.Timeout, Detail: "the pass was used, is too old, or is of an earlier process: connect again"}
	errUnknownPass  = &wire.Error{Code: wire.Timeout, Detail: "no such pass"}
	errManyPasses   = &wire.Error{Code: wire.ServerFull, Detail: "too many clients are on their way here"}
	errBadQuestion  = &wire.Error{Code: wire.BadArguments, Detail: "not a question for a seat"}
	errNotThere     = &wire.Error{Code: wire.Draining, Detail: "the room is on its way to another node: connect again"}
	errCarryFailed  = &wire.Error{Code: wire.Internal, Detail: "RoomsConfig.Carry has failed"}
	errDepartFailed = &wire.Error{Code: wire.Internal, Detail: "RoomsConfig.Depart has failed"}
	errArriveFailed = &wire.Error{Code: wire.Internal, Detail: "RoomsConfig.Arrive has failed"}
)

var errNotCarried = errors.New("server: the session's Value cannot go to another node: set RoomsConfig.Carry and Arrive")

// seatQuestion is a request of another node: first "hold", then "fill" with the pass. Between the two, a session that moves leaves its room, so
// that it stays there if no place is free. For a client that gets no pass it is "show" alone.
type seatQuestion struct {
	Ask     string        `json:"ask"`
	Room    string        `json:"room"`
	User    string        `json:"user,omitempty"`
	By      origin        `json:"by,omitempty"`      // of hold and show
	Address string        `json:"address,omitempty"` // of hold and show: that a new room and a search count for
	Run     uint64        `json:"run,omitempty"`     // of show: epoch of the client's session; 0: it has none
	Pass    []byte        `json:"pass,omitempty"`    // of fill, and so are the next
	Value   []byte        `json:"value"`             // null: no Value
	Lasts   time.Duration `json:"lasts,omitempty"`   // Admission.Lasts
}

const (
	askHold = "hold"
	askFill = "fill"
	askDrop = "drop" // nobody comes
	askShow = "show" // may a client know of the room?
)

// parseQuestion parses the question of another node, whose program may be newer.
func parseQuestion(b []byte) (q seatQuestion, err error) {
	switch err = json.Unmarshal(b, &q); {
	case err != nil || len(b) > maxQuestion || q.By > byGame || q.Lasts < 0 || len(q.Value) > maxCarried,
		(q.Ask == askFill || q.Ask == askDrop) && len(q.Pass) != passBytes:
		return q, errBadQuestion
	}
	return q, nil
}

// passes are the passes that this node has issued (C7 of package cluster). Each admits one client, once, to the present run of one
// room. They end with the process.
type passes struct {
	rooms *rooms

	mu      sync.Mutex
	issued  map[[passBytes]byte]*pass
	ordered map[string][]*orderedPass // from other nodes, by user
}

type pass struct {
	room, user string
	place      *session.Place
	granted    Admission
	filled     bool // granted says who holds it
	until      time.Time
}

// answer answers a question of another node. The error is a *wire.Error.
func (p *passes) answer(ctx context.Context, question []byte) ([]byte, error) {
	q, err := parseQuestion(question)
	switch {
	case err != nil:
		return nil, err
	case q.Ask == askHold:
		return p.hold(ctx, q)
	case q.Ask == askFill:
		return nil, p.fill(q)
	case q.Ask == askDrop:
		p.drop(q)
		return nil, nil
	case q.Ask == askShow:
		return nil, p.rooms.show(ctx, q)
	}
	return nil, errBadQuestion
}

// hold keeps a place in a room of this node, and returns the pass to it, which nobody can use yet.
func (p *passes) hold(ctx context.Context, q seatQuestion) ([]byte, error) {
	now, err := p.rooms.findAsked(ctx, q)
	switch {
	case isMoved(err):
		return nil, errNotThere
	case err != nil:
		return nil, forClients(err)
	}
	place, err := now.core.HoldPlaceFor(q.User, placeTime)
	if err != nil {
		return nil, err
	}
	var name [passBytes]byte
	_, _ = rand.Read(name[:]) // never fails
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLate(time.Now())
	if len(p.issued) >= maxPasses {
		place.Release()
		return nil, errManyPasses
	}
	p.issued[name] = &pass{room: q.Room, user: q.User, place: place, until: time.Now().Add(passTime)}
	return name[:], nil
}

// findAsked returns the room of a question, under the rules for clients and sessions that ask here.
func (m *rooms) findAsked(ctx context.Context, q seatQuestion) (*run, error) {
	if m.router.Cordoned() || m.refusesSessions() {
		return nil, &wire.Error{Code: wire.Draining}
	}
	if q.By != byGame {
		a := Admission{User: q.User}
		if q.By == byToken {
			a.Room = q.Room
		}
		return m.joinHere(ctx, q.Room, q.Address, a)
	}
	if m.countPlaces() >= m.maxSessions() {
		return nil, &wire.Error{Code: wire.ServerFull}
	}
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	r, err := m.findRoom(q.Room, byGame, "")
	if err != nil {
		return nil, err
	}
	return m.awaitOpen(ctx, r)
}

// fill says who holds a pass, which is good from now on.
func (p *passes) fill(q seatQuestion) error {
	value, err := p.rooms.arrive(q.Value)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	x := p.issued[[passBytes]byte(q.Pass)]
	if x == nil || x.filled || x.room != q.Room || x.user != q.User || !now.Before(x.until) {
		return errUnknownPass
	}
	x.granted = Admission{User: q.User, Room: q.Room, Value: value, Lasts: q.Lasts}
	x.filled, x.until = true, now.Add(passTime)
	p.rooms.counters.passesIssued.Add(1)
	return nil
}

// drop forgets a pass.
func (p *passes) drop(q seatQuestion) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := [passBytes]byte(q.Pass)
	if x := p.issued[name]; x != nil {
		x.place.Release()
		delete(p.issued, name)
	}
}

// redeem implements session.RouterConfig.Redeem. A pass is of no more use from now on.
func (p *passes) redeem(token []byte) (a Admission, place *session.Place, ok bool, err error) {
	name, ok := bytes.CutPrefix(token, []byte(passPrefix))
	if !ok || len(name) != passBytes {
		return Admission{}, nil, false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetLate(time.Now())
	x := p.issued[[passBytes]byte(name)]
	if x == nil || !x.filled {
		p.rooms.counters.passesRefused.Add(1)
		if p.rooms.process.Admit == nil { // anybody may join as if without a token
			return Admission{}, nil, false, nil
		}
		return Admission{}, nil, true, errPassSpent
	}
	delete(p.issued, [passBytes]byte(name))
	p.rooms.counters.passesUsed.Add(1)
	return x.granted, x.place, true, nil
}

// forgetLate forgets passes that nobody has used in time. Callers hold p.mu.
func (p *passes) forgetLate(now time.Time) {
	for name, x := range p.issued {
		if !now.Before(x.until) {
			x.place.Release()
			delete(p.issued, name)
		}
	}
}

// seatOrder is a place in a room of another node, for a client or a session of this one.
type seatOrder struct {
	question seatQuestion
	address  string // of the node, for clients
}

// holdElsewhere asks the node that has a room for a place. The error is for the client.
func (m *rooms) holdElsewhere(ctx context.Context, q seatQuestion) (*seatOrder, error) {
	q.Ask = askHold
	name, address, err := m.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	if len(name) != passBytes {
		return nil, &wire.Error{Code: wire.Internal, Detail: "the other node has answered with no pass: it may run another version"}
	}
	q.Ask, q.Pass, q.Address = askFill, name, ""
	return &seatOrder{q, address}, nil
}

// fillElsewhere says who takes the place, and returns the redirection there.
func (m *rooms) fillElsewhere(ctx context.Context, o *seatOrder, value []byte, lasts time.Duration) (*wire.Error, error) {
	q := o.question
	q.Value, q.Lasts = value, lasts
	if _, _, err := m.ask(ctx, q); err != nil {
		return nil, err
	}
	m.passes.noteOrdered(q)
	return movedToRoom(q.Room, o.address, append([]byte(passPrefix), q.Pass...))
}

func (m *rooms) ask(ctx context.Context, q seatQuestion) (answer []byte, address string, err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, "", err
	}
	return m.process.Cluster.Ask(ctx, q.Room, text)
}

// carry returns a session's Value as bytes for another node; nil: there is none.
func (m *rooms) carry(value any) (b []byte, err error) {
	if value == nil {
		return nil, nil
	}
	if m.config.Carry == nil {
		return nil, errNotCarried
	}
	err = m.callGame("Carry", errCarryFailed, func() (err error) {
		b, err = m.config.Carry(value)
		return err
	})
	if err == nil && len(b) > maxCarried {
		m.log.Error("RoomsConfig.Carry has returned too much", zap.Int("bytes", len(b)), zap.Int("most", maxCarried))
		return nil, errCarryFailed
	}
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// arrive returns the Value that another node has carried.
func (m *rooms) arrive(b []byte) (value any, err error) {
	if b == nil {
		return nil, nil
	}
	if m.config.Arrive == nil {
		m.log.Error("a client's Value cannot come from another node: set RoomsConfig.Arrive")
		return nil, errArriveFailed
	}
	err = m.callGame("Arrive", errArriveFailed, func() (err error) {
		value, err = m.config.Arrive(b)
		return err
	})
	return value, err
}

// callGame calls a function of the game. The error is for clients.
func (m *rooms) callGame(name string, otherwise *wire.Error, f func() error) (err error) {
	if !m.process.PanicEnds {
		defer func() {
			if value := recover(); value != nil {
				m.log.Error(name+" panicked", zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
				err = otherwise
			}
		}()
	}
	err = f()
	if e := (*wire.Error)(nil); err != nil && !errors.As(err, &e) {
		m.log.Error(name+" has failed", zap.Error(err))
		return otherwise
	}
	return err
}

// sendElsewhere returns the redirection of a client, whom Admit has admitted, to the node that has the room: with a pass, or, if there
// is none to be had, as moved says.
func (m *rooms) sendElsewhere(ctx context.Context, name, address string, a Admission, moved error) error {
	q := seatQuestion{Room: name, User: a.User, By: byClient, Address: address}
	if a.Room == name {
		q.By = byToken
	}
	passed := m.process.Admit != nil && m.process.Cluster.Reaches(name)
	if passed {
		value, err := m.carry(a.Value)
		if err == nil {
			moved, err = m.passElsewhere(ctx, q, value, a.Lasts)
		}
		passed = !errors.Is(err, errNotCarried)
		if passed && err != nil {
			return err
		}
	}
	if !passed {
		if hidden := m.hiddenFrom(ctx, q); hidden != nil {
			return hidden
		}
	}
	m.counters.redirected.Add(1)
	return moved
}

// passElsewhere returns the redirection of a client with a pass.
func (m *rooms) passElsewhere(ctx context.Context, q seatQuestion, value []byte, lasts time.Duration) (*wire.Error, error) {
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	order, err := m.holdElsewhere(ctx, q)
	if err != nil {
		return nil, err
	}
	return m.fillElsewhere(ctx, order, value, lasts)
}
