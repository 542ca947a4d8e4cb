package client

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// Endpoint is a *Client or a *Session.
type Endpoint interface{ ownSession() *Session }

func (s *Session) ownSession() *Session { return s }
func (c *Client) ownSession() *Session  { return c.session }

// Do asks the server to execute a command once; a Client sends it with the next Update. target
// is zero for a command without one. On an error nothing was sent: the error is ErrNotJoined,
// ErrTooManyCommands, a *LackError, or says what the schema lacks. The server may declare args in
// another form (Config.Schema): fields that it lacks are not sent, and values saturate. A
// provisional handle in such a field is rejected when the Result arrives.
func Do[Args any](to Endpoint, _ schema.DefinedCommand[Args], target bulk.Handle, args Args) (*Future, error) {
	return to.ownSession().doTyped(target, args, nil)
}

// Ask is Do for a command with an answer.
func Ask[Args, Answer any](to Endpoint, _ schema.DefinedQuery[Args, Answer], target bulk.Handle, args Args) (*Query[Answer], error) {
	f, err := to.ownSession().doTyped(target, args, reflect.TypeFor[Answer]())
	if err != nil {
		return nil, err
	}
	return &Query[Answer]{f}, nil
}

// DoValue is Do for programs that handle commands of any game: the schema declares the command
// with the type of args, a struct or a pointer to one.
func (s *Session) DoValue(target bulk.Handle, args any) (*Future, error) {
	return s.doTyped(target, args, nil)
}

// SetInput sets what the player holds down from now on, and sends it; see Session.SetRawInput.
// Of several inputs in one tick the first is sent at once, and the last with the next tick's
// input.
func SetInput[Input any](c *Client, _ schema.DefinedInput[Input], input Input) (tick uint32, err error) {
	held, ok := c.session.typed.held.(*Input)
	if !ok {
		held = new(Input)
		c.session.typed.held = held
	}
	*held = input
	return c.SetInputValue(held)
}

// Query is a Future with an answer of type Answer.
type Query[Answer any] struct{ future *Future }

// ID returns the number of the command.
func (q *Query[Answer]) ID() uint32 { return q.future.ID() }

// Poll returns the answer and the result, and false while there is none. The answer is zero
// unless Result.Err is nil.
func (q *Query[Answer]) Poll() (Answer, Result, bool) {
	answer, _ := q.future.result.Answer.(Answer)
	return answer, q.future.result, q.future.done
}

// Wait returns the answer and Result.Err; see Future.Wait.
func (q *Query[Answer]) Wait(ctx context.Context) (Answer, error) {
	r, err := q.future.Wait(ctx)
	answer, _ := r.Answer.(Answer)
	return answer, err
}

// doTyped sends a command whose answer must have the type answer, unless that is nil.
func (s *Session) doTyped(target bulk.Handle, args any, answer reflect.Type) (*Future, error) {
	t := reflect.TypeOf(args)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	i, ok := s.greeting.declared.CommandOf(t)
	if !ok {
		return nil, fmt.Errorf("client: the schema declares no command with arguments %v: add it with schema.DefineCommand", t)
	}
	command, declared := s.greeting.declared.Commands()[i], reflect.Type(nil)
	if command.Answer != nil {
		declared = command.Answer.Type
	}
	if answer != nil && declared != answer {
		return nil, fmt.Errorf("client: the schema declares command %q without answer %v: add it with schema.DefineQuery", command.Name, answer)
	}
	n, ok := s.greeting.serverSchema().CommandByName(command.Name)
	if !ok {
		return nil, s.lackError(command.Name)
	}
	var body rowschema.Payload
	message := s.greeting.serverMessages().Args[n]
	if err := message.Quantise(args, &body); err != nil {
		return nil, err
	}
	provisional, err := s.provisionals.forCommand(message, &body)
	if err != nil {
		return nil, err
	}
	return s.sendCommand(wire.Command{Name: command.Name, Target: target, Args: message.Append(nil, &body)}, provisional, declared)
}

// readAnswer returns the struct that b, the answer to f, holds; nil if the caller declares no
// answer, and zeros if the server declares none. The answer must match the server's schema.
func (f *Future) readAnswer(b []byte, served *rowschema.Messages) (any, error) {
	m := served.AnswerTo(f.name)
	if m == nil {
		if len(b) > 0 {
			return nil, protocolError("an answer of %d bytes to command %q, which has none", len(b), f.name)
		}
		if f.answer == nil {
			return nil, nil
		}
		return reflect.Zero(f.answer).Interface(), nil
	}
	var body rowschema.Payload
	if err := m.Parse(b, &body); err != nil {
		return nil, err
	}
	if f.answer == nil {
		return nil, nil
	}
	answer := reflect.New(f.answer)
	if err := m.Restore(&body, answer.Interface()); err != nil {
		return nil, err
	}
	return answer.Elem().Interface(), nil
}

// SetInputValue is SetRawInput with an input of the type that the schema declares by
// schema.DefineInput, a struct or a pointer to one. A pointer saves an allocation; the input is
// copied. If the server's schema has no input, nothing is sent, tick is 0, and the provisional
// handles in the input are rejected.
func (s *Session) SetInputValue(input any, now time.Duration) (tick uint32, err error) {
	if s.greeting.declared.Input() == nil {
		return 0, fmt.Errorf("client: the schema declares no input, got %T: add schema.DefineInput, or use SetRawInput", input)
	}
	m := s.greeting.serverMessages().Input
	served := m != nil
	if !served {
		m = s.typed.unserved
	}
	if err := m.Quantise(input, &s.typed.body); err != nil {
		return 0, err
	}
	if s.typed.provisional, err = s.provisionals.forInput(m, &s.typed.body, s.typed.provisional); err != nil {
		return 0, err
	}
	if !served {
		s.provisionals.rejectEach(s.typed.provisional)
		return 0, nil
	}
	s.typed.bytes = m.Append(s.typed.bytes[:0], &s.typed.body)
	tick = s.uplink.addInput(&s.time, s.typed.bytes, now, s.replica.appliedInput())
	s.provisionals.noteInput(s.typed.provisional, tick)
	s.prediction.addInput(tick, m, &s.typed.body)
	return tick, nil
}

// SetInputValue is SetInput for programs that handle inputs of any game; see
// Session.SetInputValue.
func (c *Client) SetInputValue(input any) (tick uint32, err error) {
	now := c.now()
	tick, err = c.session.SetInputValue(input, now)
	c.sendInput(0, now)
	return tick, err
}

// typedInput holds buffers for encoding inputs.
type typedInput struct {
	held        any                // a pointer to the newest input of SetInput
	unserved    *rowschema.Message // the input, for servers without one; nil: the caller declares none
	body        rowschema.Payload
	bytes       []byte
	provisional []uint32
}

var (
	errTypedInput      = errors.New("client: the schema declares the type of inputs: use client.SetInput")
	errUndeclaredInput = errors.New("client: the server declares the type of inputs, and Config.Schema declares none: add schema.DefineInput, and use client.SetInput")
)
