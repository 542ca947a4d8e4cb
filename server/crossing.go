package server

import (
	"context"
	"sync"
	"time"

	"github.com/worldd/worldd/server/session"
)

const (
	// departTimeout bounds RoomsConfig.Depart. It leaves the pass time to be filled.
	departTimeout = 5 * time.Second
	// abandonTimeout bounds the message that a place is not needed. Without it the place ends by itself.
	abandonTimeout = 2 * time.Second
)

// Traveller is a session that has left its room for a room of another node. It has no connection to any room.
type Traveller struct {
	// Session is its ID, which it has in no other room.
	Session uint64
	User    string
	// From and To are the names of the rooms.
	From, To string
	// Value is Session.Value after Hooks.Leave, of which Carry has made the bytes that To gets.
	Value any
}

// cross implements session.RouterConfig.Cross.
func (m *rooms) cross(room string, s *Session) (*session.Crossing, error) {
	if s.Value() != nil && m.config.Carry == nil {
		return nil, errNotCarried
	}
	if !m.process.Cluster.Reaches(room) {
		return nil, errOtherNode
	}
	x := &crossing{rooms: m}
	x.Crossing = session.NewCrossing(x.board, x.abandon)
	go x.hold(seatQuestion{Room: room, User: s.User(), By: byGame})
	return x.Crossing, nil
}

// crossing is a session on its way to another node.
type crossing struct {
	*session.Crossing
	rooms *rooms

	mu    sync.Mutex
	order *seatOrder // nil: no place is held
	over  bool       // the place is not needed
}

// hold asks for a place.
func (x *crossing) hold(q seatQuestion) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*session.HelloTimeout) // the room may be in the making
	defer cancel()
	order, err := x.rooms.holdElsewhere(ctx, q)
	x.mu.Lock()
	x.order = order
	over := x.over
	x.mu.Unlock()
	x.Held(err)
	if over {
		x.drop()
	}
}

// abandon gives the place up.
func (x *crossing) abandon() {
	x.mu.Lock()
	over := x.over
	x.over = true
	x.mu.Unlock()
	if !over {
		go x.drop()
	}
}

// drop tells the other node that the place is not needed.
func (x *crossing) drop() {
	x.mu.Lock()
	order := x.order
	x.order = nil
	x.mu.Unlock()
	if order == nil || x.rooms.passes.dropOrdered(order.question) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	defer cancel()
	q := order.question
	q.Ask, q.Value = askDrop, nil
	_, _, _ = x.rooms.ask(ctx, q) // otherwise the place ends by itself
}

// board carries the session's Value on the goroutine of its world. The game saves the player's data, and then the other node learns who comes.
func (x *crossing) board(b session.Boarding) {
	value, err := x.rooms.carry(b.Value)
	if err != nil {
		x.Boarded(nil, err)
		return
	}
	go func() {
		if err := x.rooms.depart(Traveller{b.ID, b.User, b.From, b.To, b.Value}); err != nil {
			x.Boarded(nil, err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), session.HelloTimeout)
		defer cancel()
		x.mu.Lock()
		order := x.order
		x.mu.Unlock()
		if order == nil {
			x.Boarded(nil, errUnknownPass)
			return
		}
		moved, err := x.rooms.fillElsewhere(ctx, order, value, b.Lasts)
		if err == nil {
			x.rooms.counters.crossed.Add(1)
		}
		x.Boarded(moved, err)
	}()
}

// depart calls RoomsConfig.Depart.
func (m *rooms) depart(t Traveller) error {
	if m.config.Depart == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), departTimeout)
	defer cancel()
	return m.callGame("Depart", errDepartFailed, func() error { return m.config.Depart(ctx, t) })
}
