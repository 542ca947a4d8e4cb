package session

import (
	"fmt"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Hooks are the functions through which the server calls the game. Any field may be
// nil. All functions run on the goroutine that owns the world, between steps.
//
// A panic in one of them ends the session that it was called for, unless
// Config.PanicEnds is set:
//   - Nothing is undone: writes to the world and to the game's own state stay. Deferred
//     functions run, so unlock with defer.
//   - Leave follows as usual and finds that state. A panic in Leave ends nothing more.
//     After a panic in Join the client is refused and Leave is not called: an entity that
//     Join spawned stays until the game destroys it.
//   - A panic raised by package world, replication, field or bulk ends the process,
//     whatever called it: a change may be half done. So do a panic in a system or Mover,
//     which belongs to no session, and fatal errors of the runtime such as concurrent map
//     writes. The image is then the last one saved, at most ImageConfig.Every old.
//   - runtime.Goexit, which testing.T's FailNow calls, is no panic: it ends the
//     goroutine that calls Tick or Serve.
type Hooks struct {
	// Join admits a session and returns the entity that it controls and views the world
	// from, until Session.Control changes it. With no entity, or one without a body, the
	// viewpoint is the origin or its last position. An error refuses the session; the
	// client receives its text and code. The code decides whether the client retries by
	// itself: a *wire.Error has its own, world.ErrFull (from World.Spawn) becomes
	// ServerFull, which is retried, and any other error becomes JoinRefused, which is not.
	Join func(s *Session) (world.Entity, error)
	// Leave ends a session that Join admitted.
	Leave func(s *Session)
	// Away reports that a session's connection broke. Its client may reconnect within
	// Config.Grace; until then there are no inputs, and the game may stop or hide the
	// entity. Back or Leave follows.
	Away func(s *Session)
	// Back reports that the client of an away session has reconnected.
	Back func(s *Session)
	// Input receives a client's input, at most one per tick and in tick order. An early
	// input waits for its tick; a late one is applied at once, or dropped if a newer input
	// exists. It suits what a player holds down; one-time actions are commands. tick is
	// the world tick that the client meant. A tick may have no input: the game should
	// repeat the last one. Without a function inputs are dropped.
	Input Input
	// Commands are the actions that clients may request. Each command that the schema declares
	// has one.
	Commands []Command
}

// Rejection is a command's error whose text the client receives.
type Rejection struct {
	Code wire.Code // OK means CommandRefused
	Text string    // truncated to wire.MaxText bytes
}

// Error returns the code and the text.
func (r *Rejection) Error() string { return fmt.Sprintf("%v: %s", r.Code, r.Text) }
