package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

var (
	// ErrNotJoined is the error of Do while there is no connection, or its Welcome has not
	// arrived. Send the command again when Client.State is Joined.
	ErrNotJoined = errors.New("client: not connected: send the command again after reconnecting")
	// ErrUnanswered is the result of a command whose connection broke before the
	// answer arrived: it is unknown whether the server executed it. The client does
	// not send it again, so it is executed at most once.
	ErrUnanswered = errors.New("client: the connection broke before the answer: it is unknown whether the command was executed")
	// ErrTooManyCommands is the error of Do while wire.MaxUnanswered commands await answers:
	// the server would end the session for one more. Poll earlier Futures before sending.
	ErrTooManyCommands = fmt.Errorf("client: %d commands await answers: send fewer", wire.MaxUnanswered)
)

// A LackError is the error of Do, Ask and DoRaw for a declared command that the server does not have: its game
// is of another version.
type LackError struct {
	Command string
	Older   string // which side is older, in a sentence; empty if the versions do not tell
}

// Error names the command, and the side that is older.
func (e *LackError) Error() string {
	text := fmt.Sprintf("client: the server lacks command %q", e.Command)
	if e.Older != "" {
		text += ": " + e.Older
	}
	return text
}

// lackError returns the error of a command that the server lacks.
func (s *Session) lackError(command string) error {
	welcome, _ := s.Welcome()
	return &LackError{command, olderSide(welcome.Version, s.config.Version)}
}

// Result is the answer to a command.
type Result struct {
	ID     uint32 // Future.ID
	Target bulk.Handle
	// Err is nil if the command was executed, a *Rejection if it was not, and
	// ErrUnanswered if that is unknown.
	Err error
	// Answer has the type that the schema declares for the command's answer. It is nil if
	// the schema declares none, or Err is not nil.
	Answer any
	// Verdict is the server's verdict on Target, or Live if the command had no target. It is
	// Stale if an earlier session of the same run saw Target destroyed and this session never
	// received it. It is Pending if no answer arrived.
	Verdict wire.Verdict
}

// Rejection is the error of a command that the server did not execute. It had no
// effect.
type Rejection struct {
	Code    wire.Code
	Command string       // its name; empty if this session sent no such command
	Verdict wire.Verdict // Result.Verdict, on Target
	Target  bulk.Handle  // of the command
	Text    string       // from the game, for the player; may be empty
}

// Error names the command, its target if it has one, the code and the text, made printable.
func (r *Rejection) Error() string {
	text := printable.Text(r.Text)
	if text == "" {
		text = r.Code.Info().Text
	}
	if r.Target == 0 {
		return fmt.Sprintf("client: command %q: %v: %s", r.Command, r.Code, text)
	}
	return fmt.Sprintf("client: command %q on %v (%v): %v: %s", r.Command, r.Target, r.Verdict, r.Code, text)
}

// Unwrap returns the code and the text as a *wire.Error.
func (r *Rejection) Unwrap() error { return &wire.Error{Code: r.Code, Detail: r.Text} }

// DoRaw asks the server to execute a raw command once: a command whose arguments the schema
// does not declare. See [Do] for others. target is zero for a command without one; args is one
// msgpack value, or nil. provisional lists the provisional handles that the command asks for
// (see Provisional); the bytes of args may contain them. On an error nothing was sent. The
// error is ErrNotJoined, ErrTooManyCommands, a *LackError for a command that Config.Schema declares,
// or a mistake of the caller for which the server would end the session.
func (s *Session) DoRaw(name string, target bulk.Handle, args []byte, provisional ...bulk.Handle) (*Future, error) {
	if len(name) > wire.MaxName || len(args) > wire.MaxCommandArgs {
		return nil, fmt.Errorf("client: command name has %d bytes and arguments have %d, at most %d and %d",
			len(name), len(args), wire.MaxName, wire.MaxCommandArgs)
	}
	if name == "" {
		return nil, errors.New("client: command without a name")
	}
	if !utf8.ValidString(name) {
		return nil, fmt.Errorf("client: command name %q is not UTF-8", name)
	}
	if len(args) > 0 {
		if err := wire.CheckMsgpack(args); err != nil {
			return nil, fmt.Errorf("client: arguments of command %q: want one msgpack value: %w", name, err)
		}
	}
	served := s.greeting.serverSchema()
	i, ok := served.CommandByName(name)
	_, declared := s.greeting.declared.CommandByName(name)
	switch {
	case ok && served.Commands()[i].Args != nil:
		return nil, fmt.Errorf("client: the schema declares the arguments of command %q: use client.Do", name)
	case !ok && declared:
		return nil, s.lackError(name)
	}
	indexes, err := s.provisionals.indexesOf(provisional)
	if err != nil {
		return nil, err
	}
	return s.sendCommand(wire.Command{Name: name, Target: target, Args: args}, indexes, nil)
}

// sendCommand sends a checked command with the provisional handles of the given indexes. answer
// is the type of its answer; nil: none.
func (s *Session) sendCommand(m wire.Command, provisional []uint32, answer reflect.Type) (*Future, error) {
	if !s.Joined() {
		return nil, ErrNotJoined
	}
	if len(s.commands.unanswered) == wire.MaxUnanswered {
		return nil, ErrTooManyCommands
	}
	if err := setProvisional(&m, provisional); err != nil {
		return nil, err
	}
	if wire.IsProvisional(m.Target) {
		entity := s.Real(m.Target)
		if entity == 0 {
			return nil, fmt.Errorf("client: target %v of command %q is %v: command the entity after the answer", m.Target, m.Name, s.Resolve(m.Target))
		}
		m.Target = entity
	}
	m.View = s.time.commandView()
	f := s.commands.addCommand(&m, answer, s.hooks.await)
	s.provisionals.noteCommand(&m, s.commands.number)
	s.stream.sendMessage(m)
	return f, nil
}

// receiveResult delivers the answer to a command. Config.Result also receives answers to
// commands that were never sent.
func (s *Session) receiveResult(body []byte) error {
	m, err := wire.Parse[wire.Result](body)
	if err != nil {
		return err
	}
	if m.Verdict == wire.Pending && s.replica.Resolve(m.Target) == wire.Stale {
		m.Verdict = wire.Stale
		if m.Code == wire.UnknownHandle {
			m.Code = wire.StaleHandle
		}
	}
	f, err := s.commands.takeAnswered(&m, s.greeting.serverMessages())
	if err != nil {
		return err
	}
	if f != nil {
		s.provisionals.rejectUnanswered(f.provisional, f.count)
	}
	s.commands.finishCommand(f, resultOf(&m, f))
	return nil
}

// commands holds the unanswered commands of a session.
type commands struct {
	newest     uint32    // ID of the newest
	number     uint32    // number in the session of the newest command, without lost ones
	unanswered []*Future // in sending order
	report     func(Result)
	sent       uint64 // all since NewSession; also rejected and lost
	rejected   uint64
	lost       uint64 // without an answer
}

// countFrom continues the numbers of the session's commands after the last that the server has.
func (c *commands) countFrom(received uint32) { c.number = received }

// addCommand adds a command that is being sent, and gives it an ID.
func (c *commands) addCommand(m *wire.Command, answer reflect.Type, await func(context.Context) error) *Future {
	c.newest++
	c.number++
	c.sent++
	m.ID = c.newest
	f := &Future{
		name: m.Name, answer: answer, provisional: m.FirstProvisional, count: m.Provisionals,
		result: Result{ID: m.ID, Target: m.Target}, await: await,
	}
	c.unanswered = append(c.unanswered, f)
	return f
}

// takeAnswered removes and returns the command that a Result answers, with its answer; nil if
// there is none. After an error the command ends unanswered, with the connection.
func (c *commands) takeAnswered(m *wire.Result, served *rowschema.Messages) (f *Future, err error) {
	i := slices.IndexFunc(c.unanswered, func(f *Future) bool { return f.result.ID == m.ID })
	if i < 0 {
		return nil, nil
	}
	f = c.unanswered[i]
	if m.Code == wire.OK {
		if f.result.Answer, err = f.readAnswer(m.Answer, served); err != nil {
			return nil, err
		}
	}
	c.unanswered = slices.Delete(c.unanswered, i, i+1)
	return f, nil
}

// resultOf makes a Result of the message m, the answer to command f; f may be nil.
func resultOf(m *wire.Result, f *Future) Result {
	r, name := Result{ID: m.ID, Target: m.Target, Verdict: m.Verdict}, ""
	if f != nil {
		r.Answer, name = f.result.Answer, f.name
	}
	if m.Code != wire.OK {
		r.Err = &Rejection{Code: m.Code, Command: name, Verdict: m.Verdict, Target: m.Target, Text: m.Text}
	}
	return r
}

// finishCommand delivers the result of a command; f may be nil.
func (c *commands) finishCommand(f *Future, r Result) {
	if _, rejected := errors.AsType[*Rejection](r.Err); rejected {
		c.rejected++
	}
	if f != nil {
		f.result, f.done = r, true
	}
	if c.report != nil {
		c.report(r)
	}
}

// endAll ends the commands without an answer (C5). All Futures end before the first report: a
// panic of the caller's function must not leave one waiting.
func (c *commands) endAll() {
	ended := c.unanswered
	c.unanswered = nil
	for _, f := range ended {
		c.lost++
		f.result, f.done = Result{ID: f.result.ID, Target: f.result.Target, Err: ErrUnanswered}, true
	}
	for _, f := range ended {
		c.finishCommand(f, f.result)
	}
}

// Future is the pending answer to a command. The answer arrives in Client.Update, or when the
// Session receives stream bytes. A Future belongs to the goroutine of its Client or Session.
type Future struct {
	name        string       // of the command
	answer      reflect.Type // nil: the caller declares no answer
	provisional uint32       // index of its first provisional handle
	count       uint8        // of its provisional handles
	result      Result
	done        bool
	await       func(context.Context) error // nil: the caller feeds the session
}

// ID returns the number of the command.
func (f *Future) ID() uint32 { return f.result.ID }

// Poll returns the answer, and false while there is none. Games call it once per
// render.
func (f *Future) Poll() (Result, bool) { return f.result, f.done }

// Wait updates the client until the answer arrives or ctx is done. The error is
// Result.Err or ctx's. It is for callers that draw nothing, and must not be called by
// callbacks. A Session fed by hand cannot wait: use Poll.
func (f *Future) Wait(ctx context.Context) (Result, error) {
	for !f.done {
		if f.await == nil {
			return f.result, errors.New("client: cannot wait for an answer without a Client: feed the session and Poll")
		}
		if err := f.await(ctx); err != nil && !f.done {
			return f.result, err
		}
	}
	return f.result, f.result.Err
}
