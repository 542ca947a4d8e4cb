package client

import (
	"fmt"
	"runtime"
	"strings"
)

// CallbackPanic ends a client whose callback has panicked, or ended its goroutine, during Update: what
// had arrived may be half applied. The caller of Update has recovered from the panic.
type CallbackPanic struct {
	// Callback is the name of the function, like main.(*game).onEnter. It is empty if the panic
	// began in this package.
	Callback string
}

// Error names the callback.
func (e *CallbackPanic) Error() string {
	callback := e.Callback
	if callback == "" {
		callback = "package client"
	}
	return fmt.Sprintf("client: %s panicked during an earlier Update, which left the replica half updated: the client has ended, dial again", callback)
}

// panickedCallback returns the name of the function that this package called and that has panicked.
// The caller must be deferred, and still on the panic's stack.
func panickedCallback() (name string) {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for panicking := false; ; {
		frame, more := frames.Next()
		switch ofRuntime := strings.HasPrefix(frame.Function, "runtime."); {
		case ofRuntime:
			panicking = true
		case panicking && isOwn(frame.Function):
			return name
		case panicking:
			name = frame.Function
		}
		if !more {
			return ""
		}
	}
}

// isOwn reports whether a function is of this package, or of one below it.
func isOwn(function string) bool {
	const own = "github.com/worldd/worldd/client"
	return strings.HasPrefix(function, own+".") || strings.HasPrefix(function, own+"/internal/")
}
