package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// ReserveSeats keeps a place in the room for each of users (Admission.User) for a time of at most session.MaxSeatTime, counted in the
// room's ticks. No other client, and no session that moves, gets these places; they count against MaxSessions. A seat ends
// when a session of its user begins in the room, or when the time is over; a client that Join refuses keeps it.
// All users get a seat, or none does: the error then has the code ServerFull. A user who has a seat keeps it for the new time, and 0
// gives the seats up.
//
// Only Hooks, systems and functions of Do may call it. Seats of Config.Rooms survive a
// crash as the room's world does: see RoomImages. A nil Room reserves nothing.
func (r *Room) ReserveSeats(users []string, lasts time.Duration) error {
	if r == nil {
		return nil
	}
	return r.run.Load().core.ReserveSeats(users, lasts)
}

// Seats returns the number of reserved seats whose users have not come yet. A room in which sessions wait for them should not
// end. A replay knows no seats: a system may End the room or Move sessions for want of them, but must not change the world. Only
// Hooks, systems and functions of Do may call it. A nil Room has none.
func (r *Room) Seats() int {
	if r == nil {
		return 0
	}
	return r.run.Load().core.Seats()
}

// ReserveSeats makes the room if there is none, and reserves seats in it, or gives them up: see Room.ReserveSeats. Issue a token of
// the user for this room (token.Claims.Room) next. With JournalAlways the
// seats are durable when ReserveSeats returns. Its errors are as in Room.Do; after any, it may be repeated. room may be empty for the only world, or
// for the default room. Hooks and systems must not call it. Backends reach it by POST /seats on the admin port.
func (s *Server) ReserveSeats(ctx context.Context, room string, users []string, lasts time.Duration) error {
	if err := session.CheckSeats(users, lasts); err != nil { // before a room is made for them
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	var r *Room
	var err error
	if s.rooms != nil {
		room = cmp.Or(room, s.rooms.config.Default)
	}
	switch {
	case s.rooms == nil:
		r, err = s.findRoom(room)
	case lasts == 0 && s.rooms.existingRoom(room) == nil && !s.rooms.isStored(room):
		return nil // no room, so no seats
	default:
		r, err = s.rooms.openForGame(ctx, room)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	_, err = r.call(ctx, func(ctx context.Context, c *session.Core) *session.Call {
		return c.Post(ctx, func(*world.World) error { return c.ReserveSeats(users, lasts) })
	})
	return err
}

// openForGame makes a room if there is none, and waits until it is open.
func (m *rooms) openForGame(ctx context.Context, name string) (*Room, error) {
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	r, err := m.findRoom(name, byGame, "")
	if err == nil {
		_, err = m.awaitOpen(ctx, r)
	}
	return r, err
}

// hasSeat reports whether user has a seat in a room, so that the limit of sessions in all rooms, which counts seats, admits it.
func (m *rooms) hasSeat(room, user string) bool {
	r := m.existingRoom(room)
	if r == nil || user == "" {
		return false
	}
	now := r.run.Load()
	return now != nil && now.core.HasSeat(user)
}

// visibilityOf returns the visibility of a room, or of a new room of that name.
func (m *rooms) visibilityOf(name string) Visibility {
	if r := m.existingRoom(name); r != nil {
		return r.Listing().Visibility
	}
	kindName, _, _ := strings.Cut(name, "/")
	if k := m.kinds[kindName]; k != nil {
		return k.Visibility
	}
	return Unlisted
}

// countPlaces returns the number of sessions in all rooms, and of places that are kept for others.
func (m *rooms) countPlaces() (n int) {
	for _, r := range m.sortedRooms() {
		if run := r.run.Load(); run != nil {
			_, kept, _ := run.core.Places()
			n += int(run.loop.sessions.Load()) + kept
		}
	}
	return n
}
