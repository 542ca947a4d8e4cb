package server

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// callTimeout bounds Room.Do and Server.Signal, whatever their context allows.
const callTimeout = 5 * time.Second

var errSlowCall = &wire.Error{Code: wire.Timeout, Detail: fmt.Sprintf("the room has not answered within %v", callTimeout)}

// Do runs f between two ticks, on the goroutine that owns the world, and returns its error. f may do what Hooks
// may. Its changes are recorded and journaled as a command's: with JournalAlways, Do
// returns once they are durable. Any goroutine may call Do, except the room's own: Hooks and systems
// would wait for themselves.
//
// f runs at the beginning of a tick, at most 64 calls in each and while fewer than 256 calls wait for the disk, and
// only if ctx has not ended by then. Once begun, f runs to its end. Do returns at the latest when ctx ends or after
// 5 s. The error wraps ErrNotRun if f has not run and never will: ctx has ended, 256 calls wait, the room or its
// journal is stuck, or the room has ended or is being drained (errors.As finds a *wire.Error with Timeout,
// RateLimited, NoRoom, Draining or RoomClosed). It wraps ErrOutcomeUnknown if f has begun and has not returned, or
// the room failed before its effects were durable: repeat only what may happen twice. An error of f's own wraps
// neither, also if f returns what a Do in another room has returned. If f panics, the error has the code Internal,
// and what f has changed stays.
func (r *Room) Do(ctx context.Context, f func(*world.World) error) error {
	_, err := r.call(ctx, func(ctx context.Context, c *session.Core) *session.Call { return c.Post(ctx, f) })
	return err
}

// call posts a call to the room's world, and waits for the answer.
func (r *Room) call(ctx context.Context, post func(context.Context, *session.Core) *session.Call) ([]byte, error) {
	if r == nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, &wire.Error{Code: wire.NoRoom})
	}
	now := r.run.Load()
	if now == nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("room %q has no world: it is being made, or has ended", r.name)})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, errSlowCall)
	defer cancel()
	return post(ctx, now.core).Await()
}

// Signal sends a signal of a backend to a room: see OnSignal and Hooks.Signals. It returns the answer in JSON, and
// errors as Room.Do does; args that do not fit the signal's type are BadArguments, and a signal that the game does not
// define is UnknownCommand. room may be empty for the only world, or for the default room. Signal makes no
// room. Hooks and systems must not call it. Backends reach it by POST /signals/NAME on the admin port.
func (s *Server) Signal(ctx context.Context, room, name string, args []byte) (answer []byte, err error) {
	r, err := s.findRoom(room)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	return r.call(ctx, func(ctx context.Context, c *session.Core) *session.Call { return c.PostSignal(ctx, name, args) })
}

// findRoom returns an existing room. An empty name is the only world's, or the default room's.
func (s *Server) findRoom(name string) (*Room, error) {
	var r *Room
	if s.rooms != nil {
		name = cmp.Or(name, s.rooms.config.Default)
		r = s.rooms.existingRoom(name)
	} else if name == "" || name == s.room.name {
		r = s.room
	}
	if r == nil {
		return nil, noRoom(name)
	}
	return r, nil
}

// existingRoom returns the named room, or nil.
func (m *rooms) existingRoom(name string) *Room {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byName[name]
}
