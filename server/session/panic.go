package session

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Hook names a function of the game that the server calls for one client.
type Hook uint8

// The hooks: those of Game, and CoreConfig.Admit.
const (
	HookJoin Hook = iota
	HookLeave
	HookAway
	HookBack
	HookInput
	HookCommand
	HookAdmit
	hooks
)

// String returns the hook's name in logs and metrics.
func (h Hook) String() string {
	return [hooks]string{"join", "leave", "away", "back", "input", "command", "admit"}[h]
}

// HookPanic is a contained panic of the game.
type HookPanic struct {
	Hook    Hook
	Session uint64 // its id; 0 for HookAdmit
	Value   any    // what was passed to panic
	Stack   []byte
}

// errHookPanicked ends the session whose hook panicked. What the panic said stays
// in the server's log: it is no business of the client's.
var errHookPanicked = &wire.Error{Code: wire.Internal, Detail: "the game failed"}

// libraryPackages hold state that outlives a hook. Code of theirs that panics may
// have been halfway through changing it.
var libraryPackages = []string{"bulk", "field", "internal/invariants", "replication", "world"}

// contain is deferred around a call of a hook. A panic in the game's own code ends the
// session when the hook has returned, as Kick does; one in the code of libraryPackages
// ends the process (S6).
func (s *Session) contain(hook Hook) {
	if s.core.config.PanicEnds {
		return
	}
	if value := recover(); value != nil {
		s.kicked = errHookPanicked
		s.core.stats.Panics[hook]++
		s.core.notePanic(hook, s.id, value)
	}
}

// notePanic reports a recovered panic, or continues it if a library was at fault. It is
// called while the stack of the panic is still there.
func (c *Core) notePanic(hook Hook, session uint64, value any) {
	if at := panicOrigin(); inLibrary(at) {
		panic(value)
	}
	if c.panicked != nil {
		c.panicked(HookPanic{hook, session, value, debug.Stack()})
	}
}

// panicOrigin returns the name of the function that panicked.
func panicOrigin() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		ofRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicking && !ofRuntime {
			return frame.Function
		}
		panicking = panicking || ofRuntime // below the deferred functions
		if !more {
			return ""
		}
	}
}

func inLibrary(function string) bool {
	local, ok := strings.CutPrefix(function, "github.com/worldd/worldd/")
	if !ok {
		return false
	}
	for _, p := range libraryPackages {
		if rest, ok := strings.CutPrefix(local, p); ok && (rest[0] == '.' || rest[0] == '/') {
			return true
		}
	}
	return false
}

func (s *Session) callJoin(join func(*Session) (world.Entity, error)) (entity world.Entity, err error) {
	defer s.contain(HookJoin)
	err = errHookPanicked // unless join returns
	return join(s)
}

func (s *Session) callCommand(run Command, target world.Entity, args []byte) (err error) {
	defer s.contain(HookCommand)
	err = errHookPanicked // unless run returns
	return run(s, target, args)
}

func (s *Session) callInput(tick uint64, data []byte) {
	defer s.contain(HookInput)
	s.core.config.Game.Input(s, tick, data)
}

// notify calls Leave, Away or Back, if the game has it.
func (s *Session) notify(hook Hook, f func(*Session)) {
	if f != nil {
		defer s.contain(hook)
		f(s)
	}
}

// containAdmit returns an Admit that refuses the client if admit panics.
func (c *Core) containAdmit(admit Admit) Admit {
	return func(ctx context.Context, token []byte) (admission Admission, err error) {
		defer func() {
			if value := recover(); value != nil {
				c.admitPanics.Add(1)
				c.notePanic(HookAdmit, 0, value)
				err = errHookPanicked
			}
		}()
		return admit(ctx, token)
	}
}
