package client

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// ErrCallback ends a client after a callback has panicked or called runtime.Goexit during
// Update: arrived data may be half applied. The caller of Update has recovered from the panic.
// The error's text names the callback, like main.(*game).onEnter.
var ErrCallback = errors.New("client: the client has ended, dial again")

// callbackError returns ErrCallback with the name of the callback, empty if the panic began in
// this package.
func callbackError(callback string) error {
	return fmt.Errorf("%w: %s panicked during an earlier Update, which left the replica half updated",
		ErrCallback, cmp.Or(callback, "package client"))
}

// panickedCallback returns the name of the function that this package called and that panicked.
// Its caller must be deferred, and run while the panicking frames are still on the stack.
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

// isOwn reports whether a function belongs to this package or one below it.
func isOwn(function string) bool {
	const own = "github.com/worldd/worldd/client"
	return strings.HasPrefix(function, own+".") || strings.HasPrefix(function, own+"/internal/")
}
