package client

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

var (
	// ErrNotJoined is returned for a command while there is no connection, or
	// before the server's welcome over a new one.
	ErrNotJoined = errors.New("client: there is no connection now: send the command again when it is back")
	// ErrUnanswered is the result of a command whose connection broke before the
	// answer came: nobody on this side can know whether it was executed. It is not
	// sent again by itself, so it is executed at most once.
	ErrUnanswered = errors.New("client: the connection broke before the answer: it is unknown whether the command was executed")
	// ErrTooManyCommands is returned for a command while wire.MaxUnanswered of them
	// wait for their answers: the server would end the session for one more.
	ErrTooManyCommands = fmt.Errorf("client: %d commands wait for their answers: send fewer", wire.MaxUnanswered)
)

// Result is the server's answer to a command.
type Result struct {
	ID     uint32 // as Future.ID told it
	Target bulk.Handle
	// Err is nil if the command was executed, a *Rejection if it was not, and
	// ErrUnanswered if that is unknown.
	Err error
	// Verdict is the server's verdict on Target, or Live if there is none. It is Stale
	// if the server, which answers for this session, never showed Target and the client
	// knows from an earlier session of the same run that it is destroyed. It is Pending
	// if no answer came.
	Verdict wire.Verdict
}

// Rejection says why the server did not execute a command. Nothing was touched.
type Rejection struct {
	Code    wire.Code
	Command string       // its name; empty if it was not asked for in this session
	Verdict wire.Verdict // on Target, as in Result
	Target  bulk.Handle  // of the command
	Text    string       // for the player; empty unless the game says something
}

// Error names the command, the target, if there is one, the code and the text.
func (r *Rejection) Error() string {
	text := r.Text
	if text == "" {
		text = r.Code.Info().Text
	}
	if r.Target == 0 {
		return fmt.Sprintf("client: command %q: %v: %s", r.Command, r.Code, text)
	}
	return fmt.Sprintf("client: command %q on %v, which is %v: %v: %s", r.Command, r.Target, r.Verdict, r.Code, text)
}

// Unwrap is the code as a *wire.Error.
func (r *Rejection) Unwrap() error { return &wire.Error{Code: r.Code, Detail: r.Text} }

// Command asks the server to execute a command once. target may be zero for a
// command about no entity; args is one msgpack value, or nil. An error is the
// caller's, ErrNotJoined or ErrTooManyCommands, and nothing was sent: the server
// would end the session for it.
func (s *Session) Command(name string, target bulk.Handle, args []byte) (*Future, error) {
	if len(name) > wire.MaxName || len(args) > wire.MaxCommandArgs {
		return nil, fmt.Errorf("client: command with a name of %d and arguments of %d bytes, at most %d and %d",
			len(name), len(args), wire.MaxName, wire.MaxCommandArgs)
	}
	if name == "" {
		return nil, errors.New("client: command without a name")
	}
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("client: the name %q of a command is not UTF-8", name)
	}
	if len(args) > 0 {
		if err := wire.CheckMsgpack(args); err != nil {
			return nil, fmt.Errorf("client: arguments of command %q: want one msgpack value: %w", name, err)
		}
	}
	if !s.Joined() {
		return nil, ErrNotJoined
	}
	if len(s.unanswered) == wire.MaxUnanswered {
		return nil, ErrTooManyCommands
	}
	s.command++
	f := &Future{name: name, result: Result{ID: s.command, Target: target}, next: s.next}
	s.unanswered = append(s.unanswered, f)
	s.stats.Commands++
	s.send(wire.TypeCommand, wire.Command{ID: s.command, Name: name, Target: target, Args: args}.Append(nil))
	return f, nil
}

// answered hands on the answer to a command. One that answers nothing is told to
// the game all the same.
func (s *Session) answered(body []byte) error {
	m, err := wire.ParseResult(body)
	if err != nil {
		return err
	}
	var f *Future
	name := ""
	if i := slices.IndexFunc(s.unanswered, func(f *Future) bool { return f.result.ID == m.ID }); i >= 0 {
		f, name = s.unanswered[i], s.unanswered[i].name
		s.unanswered = slices.Delete(s.unanswered, i, i+1)
	}
	if m.Verdict == wire.Pending && s.replica.Resolve(m.Target) == wire.Stale {
		m.Verdict = wire.Stale
		if m.Code == wire.UnknownHandle {
			m.Code = wire.StaleHandle
		}
	}
	r := Result{ID: m.ID, Target: m.Target, Verdict: m.Verdict}
	if m.Code != wire.OK {
		s.stats.Rejected++
		r.Err = &Rejection{Code: m.Code, Command: name, Verdict: m.Verdict, Target: m.Target, Text: m.Text}
	}
	s.finish(f, r)
	return nil
}

// finish ends a command; f may be nil.
func (s *Session) finish(f *Future, r Result) {
	if f != nil {
		f.result, f.done = r, true
	}
	if tell := s.config.Result; tell != nil {
		tell(r)
	}
}
