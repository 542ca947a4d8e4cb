package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Game is what the server asks of the game it hosts. Every field may be left
// empty. All functions are called on the goroutine that owns the world,
// between steps.
//
// A panic in one of these functions ends the session that it was called for, unless
// CoreConfig.PanicEnds is set:
//   - Nothing is undone. What the function had written to the world, and to the game's
//     own state, stays. Deferred functions run: unlock with defer.
//   - Leave follows as usual, and finds that state. A panic in Leave itself ends
//     nothing more. After one in Join the client is refused, and Leave is not called:
//     an entity that Join had spawned stays until the game destroys it.
//   - A panic that code of packages world, replication, field or bulk raises, whoever
//     called it, ends the process: that code may have been halfway through a change.
//     So do a panic in a system or Mover, which belongs to no session, and the
//     runtime's fatal errors, such as concurrent map writes. The image is then the
//     last one that was saved, at most ImageConfig.Every old.
//   - runtime.Goexit, which testing.T's FailNow calls, is no panic: it ends the
//     goroutine that calls Tick or Serve.
type Game struct {
	// Join admits a session and returns the entity that it controls and sees
	// the world from, until Session.Control says another; who controls nothing, or what
	// has no body, sees from the origin, or from where he was. An error refuses the
	// session, and the client receives its text. Its code says whether the client
	// tries again by itself: that of a *wire.Error, ServerFull for world.ErrFull, as
	// World.Spawn returns it, which is tried again, and JoinRefused for any other
	// error, which is not.
	Join func(s *Session) (world.Entity, error)
	// Leave ends a session that Join admitted.
	Leave func(s *Session)
	// Away tells that a session's connection broke, and that its client may come
	// again within CoreConfig.Grace. There are no inputs until then; its entity is
	// the game's to stop or to hide. Either Back follows, or Leave.
	Away func(s *Session)
	// Back tells that the client of a session that was away is there again.
	Back func(s *Session)
	// Input is one client's input for one tick: at most one in each tick of the
	// world, in order. It waits for its tick; one that comes after it is given
	// at once or, if a newer one is there, never, so that it is best what the
	// player holds down, and a command what he asks for once. tick is the one of the
	// world's that it was meant for. There may be none for a tick: a game goes on
	// with the one before. data is at most wire.MaxInputBytes, of the client's
	// making: check it. It is valid during the call only.
	Input func(s *Session, tick uint64, data []byte)
	// Commands are what clients may ask for once, by name: of 1 to wire.MaxName bytes.
	Commands map[string]Command
}

// validate finds commands that nobody could ask for, and those that the first
// client which asks would end the server with.
func (g Game) validate() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(g.Commands)) {
		if g.Commands[name] == nil {
			errs = append(errs, fmt.Errorf("server: the function of command %q is nil", name))
		}
		if name == "" || len(name) > wire.MaxName || !utf8.ValidString(name) {
			errs = append(errs, fmt.Errorf("server: a command named %q: want 1 to %d bytes of UTF-8, or no client can ask for it", name, wire.MaxName))
		}
	}
	return errors.Join(errs...)
}

// Command executes a client's command. target is live and in the client's
// interest set, or zero if the command names no entity (H2). args is msgpack
// of the client's making. An error rejects the command: a *wire.Error with its
// own code, BadArguments for instance, any other as CommandRefused. The client
// is told the code, and no text but that of a *Rejection.
type Command func(s *Session, target world.Entity, args []byte) error

// Rejection is an error of a Command whose text is for the client to read.
type Rejection struct {
	Code wire.Code // OK stands for CommandRefused
	Text string    // at most wire.MaxText bytes; the rest is cut
}

// Error is the text, with the code.
func (r *Rejection) Error() string { return fmt.Sprintf("%v: %s", r.Code, r.Text) }
