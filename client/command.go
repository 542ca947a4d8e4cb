package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// MaxUnanswered is how many commands of a session may wait for their answers:
// as many as a server takes in one tick.
const MaxUnanswered = 256

// Result is the server's answer to a command.
type Result struct {
	ID     uint32 // as Future.ID told it
	Target bulk.Handle
	// Err is nil if the command was executed, a *Rejection if the server refused
	// it, and an *Unanswered if the session ended first.
	Err error
	// Verdict is what the server says of Target.
	Verdict wire.Verdict
}

// Rejection is the error of a command that the server refused: nothing was
// touched. It wraps a *wire.Error of the same code.
type Rejection struct {
	Code    wire.Code
	Target  bulk.Handle
	Verdict wire.Verdict // what the server says of Target
}

// Error names the reason.
func (r *Rejection) Error() string {
	if r.Target == 0 {
		return fmt.Sprintf("client: command rejected: %v", r.Code)
	}
	return fmt.Sprintf("client: command rejected: %v (%v is %v)", r.Code, r.Target, r.Verdict)
}

// Unwrap is the error by its code alone.
func (r *Rejection) Unwrap() error { return &wire.Error{Code: r.Code} }

// Unanswered is the error of a command whose session ended before its answer
// came. It was executed at most once, and nobody can know whether it was: look at
// the world.
type Unanswered struct {
	Cause error // why the session ended
}

// Error says why there is no answer.
func (u *Unanswered) Error() string {
	return fmt.Sprintf("client: the session ended before the command was answered: %v", u.Cause)
}

// Unwrap is the cause.
func (u *Unanswered) Unwrap() error { return u.Cause }

// errClosed is the cause of what ends with Close.
var errClosed = errors.New("the client was closed")

// Future is the answer to a command, which is there or still to come. It comes
// while its Client is updated, or its Session fed, and belongs to the same
// goroutine.
type Future struct {
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
// the Result's: a *Rejection, an *Unanswered; or that of ctx. It is for callers
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

func (f *Future) finish(r Result) {
	f.result, f.done = r, true
}

// Command asks the server to execute a command once. target may be zero for a
// command about no entity; args is one msgpack value, or nil. An error is the
// caller's, or says that the session is over or has MaxUnanswered commands
// waiting, and nothing was sent: the server would end the session for it.
func (s *Session) Command(name string, target bulk.Handle, args []byte) (*Future, error) {
	if len(name) > wire.MaxName || len(args) > wire.MaxCommandArgs {
		return nil, fmt.Errorf("client: command with a name of %d and arguments of %d bytes, at most %d and %d",
			len(name), len(args), wire.MaxName, wire.MaxCommandArgs)
	}
	if name == "" {
		return nil, errors.New("client: command without a name")
	}
	if len(args) > 0 {
		if err := wire.CheckMsgpack(args); err != nil {
			return nil, fmt.Errorf("client: arguments of command %q: want one msgpack value: %w", name, err)
		}
	}
	if s.err != nil {
		return nil, fmt.Errorf("client: command %q: the session is over: %w", name, s.err)
	}
	if len(s.unanswered) == MaxUnanswered {
		return nil, &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("command %q: %d wait for their answers already", name, MaxUnanswered)}
	}
	s.command++
	s.send(wire.TypeCommand, wire.Command{ID: s.command, Name: name, Target: target, Args: args}.Append(nil))
	f := &Future{result: Result{ID: s.command, Target: target}, next: s.next}
	s.unanswered = append(s.unanswered, f)
	s.stats.Commands++
	return f, nil
}

// answered takes a Result. Results come in the order of the commands; one that
// answers nothing is told to the game all the same.
func (s *Session) answered(body []byte) error {
	m, err := wire.ParseResult(body)
	if err != nil {
		return err
	}
	r := Result{ID: m.ID, Target: m.Target, Verdict: m.Verdict}
	if m.Code != wire.OK {
		r.Err = &Rejection{Code: m.Code, Target: m.Target, Verdict: m.Verdict}
	}
	if len(s.unanswered) > 0 && s.unanswered[0].result.ID == m.ID {
		if r.Err != nil {
			s.stats.Rejected++
		}
		s.unanswered[0].finish(r)
		s.unanswered[0] = nil
		s.unanswered = s.unanswered[1:]
	}
	if f := s.config.Result; f != nil {
		f(r)
	}
	return nil
}

// abandon ends all commands that are not answered and never will be (C5).
func (s *Session) abandon(cause error) {
	for _, f := range s.unanswered {
		s.stats.Unanswered++
		r := f.result
		r.Err = &Unanswered{Cause: cause}
		f.finish(r)
	}
	s.unanswered = nil
}

// End ends the session on this side: nothing is taken any more, and commands that
// are not answered end as Unanswered, because of cause. The replica stays to be
// asked. The first cause counts.
func (s *Session) End(cause error) {
	if s.err == nil {
		s.err = cause
	}
	s.abandon(s.err)
}
