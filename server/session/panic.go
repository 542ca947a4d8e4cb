package session

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/worldd/worldd/replication/wire"
)

// Hook identifies a function of the game that the server calls for one client, or for one call.
type Hook uint8

// The hooks: functions of Hooks, and Config.Admit.
const (
	HookJoin Hook = iota
	HookLeave
	HookAway
	HookBack
	HookSave
	HookRestore
	HookInput
	HookCommand
	HookCall   // a function of Core.Post
	HookSignal // a function of Hooks.Signals
	HookTold   // a function of Hooks.Told
	HookMoveRefused
	HookAdmit
	hooks
)

// String returns the hook's name in logs and metrics.
func (h Hook) String() string {
	return [hooks]string{"join", "leave", "away", "back", "save", "restore", "input", "command", "call", "signal", "told", "move_refused", "admit"}[h]
}

// HookPanic is a contained panic of the game.
type HookPanic struct {
	Hook    Hook
	Session uint64 // session id; 0 for HookAdmit, HookCall, HookSignal and HookTold
	Value   any    // the panic's argument
	Stack   []byte
}

// errHookPanicked ends the session whose hook panicked. The panic's value goes only to
// the server's log: the client must not see it.
var errHookPanicked = &wire.Error{Code: wire.Internal, Detail: "the game failed"}

// libraryPackages hold state that outlives a hook. A panic in their code may leave that
// state half changed.
var libraryPackages = []string{"bulk", "field", "internal/columns", "internal/invariants", "replication", "world"}

// faultRecord reports the faults of the game, and counts the panics that a Core contains.
type faultRecord struct {
	reportPanic  func(HookPanic) // may be nil, as the three below
	commandError func(s *Session, command string, err error)
	diverge      func(*Session)
	unread       func(l Letter, err error)

	counts  [hooks]uint64 // but not of HookAdmit
	session uint64        // session whose hook made a library panic; 0: none
	admits  atomic.Uint64 // panics of Admit, which runs on the connections' goroutines
}

// OnPanic sets a function to call for each contained panic of the game, on the goroutine
// that panicked. It must be set before the first Open.
func (r *faultRecord) OnPanic(f func(HookPanic)) { r.reportPanic = f }

// OnCommandError sets a function to call for each error of a command's function that is
// neither a *Rejection nor a *wire.Error. The client receives only CommandRefused for such
// errors. It must be set before the first Tick.
func (r *faultRecord) OnCommandError(f func(s *Session, command string, err error)) {
	r.commandError = f
}

// OnDiverge sets a function to call at a session's first prediction fault
// (Stats.PredictionFaults). It must be set before the first Tick.
func (r *faultRecord) OnDiverge(f func(*Session)) { r.diverge = f }

// OnUnread sets a function to call for each message of another room that the game cannot read. It must be set before the first Tick.
func (r *faultRecord) OnUnread(f func(l Letter, err error)) { r.unread = f }

// Panicking returns the id of the session whose hook caused the panic that ended Tick, or
// 0. Only the goroutine that called Tick may call it.
func (r *faultRecord) Panicking() uint64 { return r.session }

// noteDivergence reports a session's first prediction fault.
func (r *faultRecord) noteDivergence(s *Session) {
	if r.diverge != nil {
		r.diverge(s)
	}
}

// noteCommandError reports an error of a command's function.
func (r *faultRecord) noteCommandError(s *Session, command string, err error) {
	if r.commandError != nil {
		r.commandError(s, command, err)
	}
}

// noteUnread reports a message that the game cannot read.
func (r *faultRecord) noteUnread(l Letter, err error) {
	if r.unread != nil {
		r.unread(l, err)
	}
}

// notePanic counts and reports a panic in a hook of a session. A library's panic continues.
func (r *faultRecord) notePanic(hook Hook, session uint64, value any) {
	r.counts[hook]++
	r.session = session
	reportPanic(r.reportPanic, hook, session, value)
	r.session = 0
}

// noteAdmitPanic does the same for Admit. Any goroutine may call it.
func (r *faultRecord) noteAdmitPanic(value any) {
	r.admits.Add(1)
	reportPanic(r.reportPanic, HookAdmit, 0, value)
}

// countPanics returns the numbers of contained panics, by Hook.
func (r *faultRecord) countPanics() [hooks]uint64 {
	counts := r.counts
	counts[HookAdmit] = r.admits.Load()
	return counts
}

// containPanic is deferred around a hook's call. A panic in the game's own code ends the
// session after the hook, as Kick does. A panic in libraryPackages ends the process (S6).
func (s *Session) containPanic(hook Hook) {
	if s.core.config.PanicEnds {
		return
	}
	if value := recover(); value != nil {
		s.endNext(errHookPanicked)
		s.core.notePanic(hook, s.id, value)
	}
}

// reportPanic reports a recovered panic, or raises it again if it came from a library. Call
// it from the deferred function, while the panic's stack exists.
func reportPanic(report func(HookPanic), hook Hook, session uint64, value any) {
	if at := panicOrigin(); inLibrary(at) {
		panic(value)
	}
	if report != nil {
		report(HookPanic{hook, session, value, debug.Stack()})
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
		panicking = panicking || ofRuntime // skip the deferred functions above the panic
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

// callHook calls a function of the game, if the game defines it. A panic in it ends the session.
func (s *Session) callHook(hook Hook, f func(*Session)) {
	if f != nil {
		defer s.containPanic(hook)
		defer s.core.timer.end(hook, s.id, "", s.core.timer.begin())
		f(s)
	}
}

// containAdmit wraps admit. If admit panics, the wrapper calls note and refuses the client.
func containAdmit(admit Admit, note func(value any)) Admit {
	return func(ctx context.Context, token []byte) (admission Admission, err error) {
		defer func() {
			if value := recover(); value != nil {
				note(value)
				err = errHookPanicked
			}
		}()
		return admit(ctx, token)
	}
}
