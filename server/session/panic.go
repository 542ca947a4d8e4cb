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
	HookAdmit
	hooks
)

// String returns the hook's name in logs and metrics.
func (h Hook) String() string {
	return [hooks]string{"join", "leave", "away", "back", "save", "restore", "input", "command", "call", "signal", "admit"}[h]
}

// HookPanic is a contained panic of the game.
type HookPanic struct {
	Hook    Hook
	Session uint64 // session id; 0 for HookAdmit, HookCall and HookSignal
	Value   any    // the panic's argument
	Stack   []byte
}

// errHookPanicked ends the session whose hook panicked. The panic's value goes only to
// the server's log: the client must not see it.
var errHookPanicked = &wire.Error{Code: wire.Internal, Detail: "the game failed"}

// libraryPackages hold state that outlives a hook. A panic in their code may leave that
// state half changed.
var libraryPackages = []string{"bulk", "field", "internal/columns", "internal/invariants", "replication", "world"}

// panicRecord counts and reports the panics of the game that a Core contains.
type panicRecord struct {
	report  func(HookPanic) // set by OnPanic; may be nil
	counts  [hooks]uint64   // but not of HookAdmit
	session uint64          // session whose hook made a library panic; 0: none
	admits  atomic.Uint64   // panics of Admit, which runs on the connections' goroutines
}

func (r *panicRecord) setReport(f func(HookPanic)) { r.report = f }

// notePanic counts and reports a panic in a hook of a session. A library's panic continues.
func (r *panicRecord) notePanic(hook Hook, session uint64, value any) {
	r.counts[hook]++
	r.session = session
	reportPanic(r.report, hook, session, value)
	r.session = 0
}

// noteAdmitPanic does the same for Admit. Any goroutine may call it.
func (r *panicRecord) noteAdmitPanic(value any) {
	r.admits.Add(1)
	reportPanic(r.report, HookAdmit, 0, value)
}

// countPanics returns the numbers of contained panics, by Hook.
func (r *panicRecord) countPanics() [hooks]uint64 {
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
		s.core.panics.notePanic(hook, s.id, value)
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
