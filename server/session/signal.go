package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// MaxSignalBytes bounds the arguments and the answer of a signal.
const MaxSignalBytes = 64 << 10

// Signal is the game's function for a signal, made by OnSignal.
type Signal struct {
	name  string
	parse func(args []byte) (signalRun, error) // nil: no function
}

// signalRun runs a signal with parsed arguments, and returns its answer in JSON.
type signalRun = func(*world.World) (answer []byte, err error)

// OnSignal returns f as the function of a signal, which backends send to a room with arguments in JSON: see
// Hooks.Signals. If the arguments are not one JSON value of type Args without unknown fields, the error has the
// code BadArguments, and f is not called. Empty arguments are a zero Args. The answer is sent in JSON if
// the error is nil; struct{} is one without content.
func OnSignal[Args, Answer any](name string, f func(w *world.World, args Args) (Answer, error)) Signal {
	if f == nil {
		return Signal{name: name}
	}
	return Signal{name: name, parse: func(data []byte) (signalRun, error) {
		var args Args
		if err := parseArgs(data, &args); err != nil {
			return nil, &wire.Error{Code: wire.BadArguments, Detail: err.Error()}
		}
		return func(w *world.World) ([]byte, error) {
			answer, err := f(w, args)
			if err != nil {
				return nil, err
			}
			return encodeSignalAnswer(answer)
		}, nil
	}}
}

// parseArgs parses one JSON value into args, a pointer.
func parseArgs(data []byte, args any) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > MaxSignalBytes {
		return fmt.Errorf("%d bytes: want at most %d", len(data), MaxSignalBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(args); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func encodeSignalAnswer(answer any) ([]byte, error) {
	b, err := json.Marshal(answer)
	if err == nil && len(b) > MaxSignalBytes {
		err = fmt.Errorf("%d bytes: want at most %d", len(b), MaxSignalBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("server: the signal has run, but its answer cannot be sent: %w", err)
	}
	return b, nil
}

// signalFuncs are the functions of the signals.
type signalFuncs []Signal

// parse returns the function of a signal with its arguments.
func (f signalFuncs) parse(name string, args []byte) (signalRun, error) {
	i := slices.IndexFunc(f, func(s Signal) bool { return s.name == name })
	if i < 0 {
		return nil, &wire.Error{Code: wire.UnknownCommand, Detail: fmt.Sprintf("the game has no signal %.80q", name)}
	}
	return f[i].parse(args)
}

// validate reports signals with a nil function, and names that are invalid or used twice.
func (f signalFuncs) validate() error {
	var errs []error
	for i, s := range f {
		if s.parse == nil {
			errs = append(errs, fmt.Errorf("server: the function of signal %q is nil", s.name))
		}
		if s.name == "" || len(s.name) > wire.MaxName || !utf8.ValidString(s.name) {
			errs = append(errs, fmt.Errorf("server: a signal named %q: want 1 to %d bytes of UTF-8", s.name, wire.MaxName))
		}
		if slices.IndexFunc(f, func(other Signal) bool { return other.name == s.name }) < i {
			errs = append(errs, fmt.Errorf("server: signal %q has two functions in Hooks.Signals", s.name))
		}
	}
	return errors.Join(errs...)
}
