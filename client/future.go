package client

import (
	"context"
	"errors"
)

// Future is the answer to a command, which is there or still to come. It comes
// while its Client is updated, or its Session fed, and belongs to the same
// goroutine.
type Future struct {
	name   string // of the command
	result Result
	done   bool
	next   func(context.Context) error // takes in what comes; nil: others feed the session
}

// ID is the number of the command.
func (f *Future) ID() uint32 { return f.result.ID }

// Poll returns the answer, and false as long as there is none. It is for games,
// which ask once a frame.
func (f *Future) Poll() (Result, bool) { return f.result, f.done }

// Wait updates the client until the answer is there or ctx is done. The error is
// the Result's: a *Rejection, or ErrUnanswered; or that of ctx. It is for callers
// without frames of their own, and not for callbacks. A Session that is fed by
// hand has nothing to wait with: Poll there.
func (f *Future) Wait(ctx context.Context) (Result, error) {
	for !f.done {
		if f.next == nil {
			return f.result, errors.New("client: the answer cannot be waited for: feed the session and Poll")
		}
		if err := f.next(ctx); err != nil && !f.done {
			return f.result, err
		}
	}
	return f.result, f.result.Err
}
