package session

import (
	"fmt"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Hooks are the functions through which the server calls the game. Any field may be
// nil. All functions run on the goroutine that owns the world, between steps.
//
// A panic in a hook ends the session for which the hook was called, unless Config.PanicEnds
// is set:
//   - Nothing is undone: writes to the world and to the game's own state stay. Deferred
//     functions run, so unlock with defer.
//   - Leave follows as usual and finds that state. A panic in Leave ends nothing more.
//     After a panic in Join the client is refused and Leave is not called: an entity that
//     Join spawned stays until the game destroys it.
//   - A panic raised by package world, replication, field or bulk ends the process,
//     also if a hook called the package: a change may be half done. So do a panic in a system or Mover,
//     which belongs to no session, and fatal errors of the runtime such as concurrent map
//     writes. The image is then the last one saved, at most ImageConfig.Every old.
//   - runtime.Goexit, which testing.T's FailNow calls, is not a panic: it ends the
//     goroutine that calls Tick or Serve.
type Hooks struct {
	// Join admits a session and returns the entity that the session controls and from which
	// it views the world, until Session.Control changes it. Without an entity that has a
	// body, the viewpoint stays where it was, initially at the origin. An error refuses the
	// session; the client receives its text and code. The code decides whether the client
	// retries: a *wire.Error has its own code, world.ErrFull (from World.Spawn) becomes
	// ServerFull (the client retries), and any other error becomes JoinRefused (it does
	// not).
	Join func(s *Session) (world.Entity, error)
	// Leave ends a session that Join admitted.
	Leave func(s *Session)
	// Away reports that a session's connection broke. Its client may reconnect within
	// Config.Grace. Until then the session has no inputs, and the game may stop or hide the
	// entity. Back or Leave follows.
	Away func(s *Session)
	// Back reports that the client of an away session has reconnected.
	Back func(s *Session)
	// MoveRefused reports that a Move has failed after it returned nil: the session stays in this room. If only the other
	// room's Join refused it, Leave has been called before, and then Join here again.
	MoveRefused func(s *Session, room string, why error)
	// SaveSession appends to b what RestoreSession needs to continue the session after a crash or a restart: the
	// game's own state of it, such as Session.Value, in at most 64 KiB. It is called after each tick
	// that a journal records, and after the Leave of a session that moves to another room; it must only read. The identity of the session, its
	// entity, viewpoint and owned entities are saved without it. Both hooks are set, or neither: then
	// a crash ends the sessions, and their entities stay until the game destroys them. With the hooks,
	// a server that ends does not call Leave. If the next start cannot continue the run, as after some
	// upgrades, Leave is never called: do not keep a player's data until Leave.
	SaveSession func(s *Session, b []byte) []byte
	// RestoreSession is called instead of Join for a session that continues after a crash, in the
	// world as it was after the last durable tick. Entity, viewpoint and owned entities are set; filters
	// are not. A session that was between two rooms has no entity here, and takes its Value to the next room. saved was returned by SaveSession for that tick. Away follows, unless it was called
	// before the crash; then Back or Leave. After an error the session ends with Leave.
	RestoreSession func(s *Session, saved []byte) error
	// Input receives a client's input, at most one per tick and in tick order. An early
	// input waits for its tick; a late one is applied at once, or dropped if a newer input
	// exists. Inputs suit held keys and sticks; one-time actions are commands. tick is the
	// world tick that the client meant. In a tick without an input, the game should repeat
	// the last one. If Input is not set, inputs are dropped.
	Input Input
	// Commands are the functions of the commands that clients may request. Each command
	// that the schema declares needs one.
	Commands []Command
	// Signals are the functions of the signals that backends may send to the room (server.Server.Signal). Clients
	// cannot send them, and the schema does not declare them.
	Signals []Signal
	// Told are the functions for the messages of other rooms (server.Room.Tell, Announce). Clients cannot send them, and the schema
	// does not declare them. They run at the beginning of a tick, as commands do, at most 256 in each.
	Told []Told
}

// Rejection is an error of a command that sends its text to the client.
type Rejection struct {
	Code wire.Code // OK means CommandRefused
	Text string    // truncated to wire.MaxText bytes
}

// Error returns the code and the text.
func (r *Rejection) Error() string { return fmt.Sprintf("%v: %s", r.Code, r.Text) }
