package session

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Command is the game's function for a command, made by OnCommand, OnQuery or OnRawCommand.
// The function's target is live and in the client's interest set, or zero if the command
// names no entity (H2). Handles in its arguments are unchecked: Session.Resolve tells
// whether the client may know a handle. Session.IsProvisional tells whether a handle is
// provisional: the client's name for an entity that the command would create (see
// Session.Bind). An error rejects the command, a *wire.Error with its own code and any
// other error with CommandRefused. The client receives the code, and the text of a
// *Rejection.
type Command struct {
	name         string
	args, answer reflect.Type                                      // nil: raw arguments; no answer
	bind         func(args, answer *rowschema.Message) commandFunc // nil: raw arguments; no answer
}

// commandFunc runs a command with encoded arguments, and returns its encoded answer.
type commandFunc func(s *Session, target world.Entity, args []byte) (answer []byte, err error)

// Input is the game's function for inputs, made by OnInput or OnRawInput.
type Input struct {
	input reflect.Type // nil: raw
	bind  func(*rowschema.Message) inputFunc
}

// inputFunc runs an input. An error is the client's fault.
type inputFunc func(s *Session, tick uint64, data []byte) error

var errBadArguments = &wire.Error{Code: wire.BadArguments}

// OnCommand returns f as the function of a command. If the arguments are malformed, or hold a
// provisional handle that the command does not name, the answer is BadArguments and f is not
// called.
func OnCommand[Args any](d schema.DefinedCommand[Args], f func(s *Session, target world.Entity, args Args) error) Command {
	if f == nil {
		return Command{name: d.Name()}
	}
	return Command{name: d.Name(), args: reflect.TypeFor[Args](), bind: func(message, _ *rowschema.Message) commandFunc {
		return func(s *Session, target world.Entity, data []byte) ([]byte, error) {
			var args Args
			if err := s.provisionals.readArgs(message, data, &args); err != nil {
				return nil, err
			}
			return nil, f(s, target, args)
		}
	}}
}

// OnQuery is like OnCommand, with an answer that the client receives if the error is nil.
// Handles in the answer that were never issued become zero.
func OnQuery[Args, Answer any](d schema.DefinedQuery[Args, Answer], f func(s *Session, target world.Entity, args Args) (Answer, error)) Command {
	if f == nil {
		return Command{name: d.Name()}
	}
	return Command{name: d.Name(), args: reflect.TypeFor[Args](), answer: reflect.TypeFor[Answer](), bind: func(message, answering *rowschema.Message) commandFunc {
		return func(s *Session, target world.Entity, data []byte) ([]byte, error) {
			var args Args
			if err := s.provisionals.readArgs(message, data, &args); err != nil {
				return nil, err
			}
			answer, err := f(s, target, args)
			if err != nil {
				return nil, err
			}
			return s.encodeAnswer(answering, &answer)
		}
	}}
}

// OnRawCommand returns f as the function of a command whose arguments the schema does not
// declare. name has 1 to wire.MaxName bytes. args is one msgpack value, or empty; its
// contents are unchecked.
func OnRawCommand(name string, f func(s *Session, target world.Entity, args []byte) error) Command {
	if f == nil {
		return Command{name: name}
	}
	return Command{name: name, bind: func(_, _ *rowschema.Message) commandFunc {
		return func(s *Session, target world.Entity, args []byte) ([]byte, error) {
			if len(args) > 0 && wire.CheckMsgpack(args) != nil {
				return nil, errBadArguments
			}
			return nil, f(s, target, args)
		}
	}}
}

// OnInput returns f as the function for inputs: see Hooks.Input. A malformed input ends the
// session with BadMessage. Handles in the input are unchecked, as in a command's arguments.
// A provisional handle reaches f once, in the first applied input that names it, and is
// null in later inputs.
func OnInput[T any](_ schema.DefinedInput[T], f func(s *Session, tick uint64, input T)) Input {
	if f == nil {
		return Input{}
	}
	return Input{input: reflect.TypeFor[T](), bind: func(m *rowschema.Message) inputFunc {
		body, input := new(rowschema.Payload), new(T)
		return func(s *Session, tick uint64, data []byte) error {
			if err := m.Parse(data, body); err != nil {
				return err
			}
			s.provisionals.nameInInput(m, body)
			*input = *new(T) // fields that the schema leaves out are zero
			if err := m.Restore(body, input); err != nil {
				return err
			}
			f(s, tick, *input)
			return nil
		}
	}}
}

// OnRawInput returns f as the function for inputs of a schema that declares none. data is
// at most wire.MaxInputBytes, is not validated, and is only valid during the call.
func OnRawInput(f func(s *Session, tick uint64, data []byte)) Input {
	if f == nil {
		return Input{}
	}
	return Input{bind: func(*rowschema.Message) inputFunc {
		return func(s *Session, tick uint64, data []byte) error {
			f(s, tick, data)
			return nil
		}
	}}
}

// validateHooks reports functions that do not fit the schema's declarations, commands with
// a nil function, and names that no client can send. declared may be nil.
func (g Hooks) validateHooks(declared *schema.Schema) error {
	var errs []error
	if (g.SaveSession == nil) != (g.RestoreSession == nil) {
		errs = append(errs, errors.New("server: one of Hooks.SaveSession and RestoreSession is set: sessions survive a crash only with both"))
	}
	errs = append(errs, signalFuncs(g.Signals).validate(), toldFuncs(g.Told).validate())
	for i, f := range g.Commands {
		if f.bind == nil {
			errs = append(errs, fmt.Errorf("server: the function of command %q is nil", f.name))
		}
		if f.name == "" || len(f.name) > wire.MaxName || !utf8.ValidString(f.name) {
			errs = append(errs, fmt.Errorf("server: a command named %q: want 1 to %d bytes of UTF-8, or no client can request it", f.name, wire.MaxName))
		}
		if g.commandIndex(f.name) < i {
			errs = append(errs, fmt.Errorf("server: command %q has two functions in Hooks.Commands", f.name))
		}
	}
	if declared == nil {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs, declared.Err(), g.checkCommands(declared), g.checkInput(declared))...)
}

// commandIndex returns the index in Commands of the command with that name, or -1.
func (g Hooks) commandIndex(name string) int {
	return slices.IndexFunc(g.Commands, func(f Command) bool { return f.name == name })
}

// checkCommands compares the functions of commands with their declarations.
func (g Hooks) checkCommands(declared *schema.Schema) error {
	var errs []error
	for _, f := range g.Commands {
		if _, ok := declared.CommandByName(f.name); !ok && f.args != nil {
			errs = append(errs, fmt.Errorf("server: command %q takes %v, and the schema does not declare it: pass the schema that it was defined in", f.name, f.args))
		}
	}
	for _, c := range declared.Commands() {
		at := g.commandIndex(c.Name)
		if at < 0 {
			errs = append(errs, fmt.Errorf("server: the schema declares command %q, and Hooks.Commands has no function for it", c.Name))
			continue
		}
		f := g.Commands[at]
		switch want := (Command{args: typeOf(c.Args), answer: typeOf(c.Answer)}); {
		case f.bind == nil: // reported above
		case c.Args != nil && want.args == nil || c.Answer != nil && want.answer == nil:
			errs = append(errs, fmt.Errorf("server: the schema declares command %q without Go types: bind it", c.Name))
		case f.args != want.args || f.answer != want.answer:
			errs = append(errs, fmt.Errorf("server: the schema declares command %q with %v, and its function has %v", c.Name, want, f))
		}
	}
	return errors.Join(errs...)
}

// Name returns the command's name.
func (c Command) Name() string { return c.name }

// String describes the types of the arguments and the answer.
func (c Command) String() string {
	switch {
	case c.args == nil:
		return "raw arguments"
	case c.answer == nil:
		return fmt.Sprintf("arguments %v and no answer", c.args)
	default:
		return fmt.Sprintf("arguments %v and answer %v", c.args, c.answer)
	}
}

// checkInput compares the function for inputs with their declaration.
func (g Hooks) checkInput(declared *schema.Schema) error {
	m := declared.Input()
	switch {
	case m == nil && g.Input.input != nil:
		return fmt.Errorf("server: Hooks.Input takes %v, and the schema declares no input: add schema.DefineInput", g.Input.input)
	case m == nil:
		return nil
	case g.Input.bind == nil:
		return fmt.Errorf("server: the schema declares inputs of type %v, and Hooks.Input has no function", m.Type)
	case g.Input.input == nil:
		return fmt.Errorf("server: the schema declares inputs of type %v, and Hooks.Input takes raw ones: use OnInput", m.Type)
	case g.Input.input != m.Type:
		return fmt.Errorf("server: the schema declares inputs of type %v, and Hooks.Input takes %v", m.Type, g.Input.input)
	}
	return nil
}

// typeOf returns the Go type of m, or nil.
func typeOf(m *schema.Message) reflect.Type {
	if m == nil {
		return nil
	}
	return m.Type
}

// bindHooks returns the game's functions, bound to their declarations.
func (g Hooks) bindHooks(declared *schema.Schema) (map[string]commandFunc, inputFunc) {
	commands := make(map[string]commandFunc, len(g.Commands))
	for _, f := range g.Commands {
		var c schema.Command
		if i, ok := declared.CommandByName(f.name); ok {
			c = declared.Commands()[i]
		}
		commands[f.name] = f.bind(rowschema.NewMessage(c.Args), rowschema.NewMessage(c.Answer))
	}
	if g.Input.bind == nil {
		return commands, nil
	}
	return commands, g.Input.bind(rowschema.NewMessage(declared.Input()))
}
