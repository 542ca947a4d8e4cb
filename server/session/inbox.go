package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/worldd/worldd/replication/wire"
)

// inbox is what arrived over a connection since the last tick, checked and
// bounded.
type inbox struct {
	// reading is held by whoever hands over bytes of the stream, and while a token
	// is looked at. The tick never takes it.
	reading sync.Mutex
	frames  wire.FrameReader
	greeted bool

	mu      sync.Mutex // guards the rest; it is taken after reading
	hello   *wire.Hello
	granted Admission   // by the Hello's token
	refusal *wire.Error // why the token is not taken
	asked   []wire.Command
	inputs  []wire.Input
	resync  bool
	dropped uint64
	broken  bool     // the connection has ended
	left    bool     // because the client wanted it to
	bye     wire.Bye // what it said why
	closed  bool     // we have ended it: nothing more is taken
	fault   *wire.Error
}

// take queues one message for the tick. The token of a Hello is looked at here:
// a signature is too much work for the tick. Meanwhile mu is free, so that the tick
// does not wait for it either.
func (in *inbox) take(ctx context.Context, kind byte, body []byte, admit Admit) error {
	if !in.greeted && kind != wire.TypeHello {
		return &wire.Error{Code: wire.BadState, Detail: "the first message must be Hello"}
	}
	switch kind {
	case wire.TypeHello:
		if in.greeted {
			return &wire.Error{Code: wire.BadState, Detail: "a second Hello"}
		}
		hello, err := wire.ParseHello(body)
		if err != nil {
			return err
		}
		in.greeted = true
		if admit != nil {
			in.identify(ctx, hello.Token, admit)
		}
		in.hello = &hello
	case wire.TypeCommand:
		command, err := wire.ParseCommand(body)
		if err != nil {
			return err
		}
		if len(in.asked) == wire.MaxUnanswered {
			return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d commands in one tick", wire.MaxUnanswered)}
		}
		in.asked = append(in.asked, command)
	case wire.TypeResync:
		in.resync = true
		_, err := wire.ParseResync(body)
		return err
	case wire.TypePad:
		_, err := wire.ParsePad(body)
		return err
	case wire.TypeBye:
		in.left = true
		var err error
		in.bye, err = wire.ParseBye(body)
		return err
	default:
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("message type %d is not a client's", kind)}
	}
	return nil
}

// identify asks whose token it is, with mu given back until there is an answer.
func (in *inbox) identify(ctx context.Context, token []byte, admit Admit) {
	var granted Admission
	var err error
	func() {
		in.mu.Unlock()
		defer in.mu.Lock()
		granted, err = admit(ctx, token)
	}()
	in.granted = granted
	switch {
	case errors.Is(err, context.DeadlineExceeded): // no fault of the token: the same one may do later
		in.refusal = &wire.Error{Code: wire.Internal, Detail: "nobody said in time whose the token is"}
	case err != nil:
		in.refusal = refusalOf(err, wire.Unauthorized)
	}
}

// room makes a place for an input at the end of the queue, in place of the
// oldest if it is full. Places are used again, so that nothing is allocated.
func (in *inbox) room() *wire.Input {
	switch n := len(in.inputs); {
	case n == maxQueuedInputs:
		oldest := in.inputs[0]
		copy(in.inputs, in.inputs[1:])
		in.inputs[n-1] = oldest
		in.dropped++
	case n < cap(in.inputs):
		in.inputs = in.inputs[:n+1]
	default:
		in.inputs = append(in.inputs, wire.Input{})
	}
	return &in.inputs[len(in.inputs)-1]
}

// blame notes the first fault of the client's; the next tick ends the session.
func (in *inbox) blame(err error) error {
	fault := &wire.Error{Code: wire.BadMessage, Detail: err.Error()}
	errors.As(err, &fault)
	in.fault = fault
	return fault
}

// letter is what one tick takes out of an inbox.
type letter struct {
	hello    *wire.Hello
	commands []wire.Command
	inputs   []wire.Input
	resync   bool
	fault    *wire.Error
	dropped  uint64
}

// open empties the inbox. spare are inputs of an earlier letter, whose memory the
// next ones take.
func (in *inbox) open(spare []wire.Input) letter {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := letter{in.hello, in.asked, in.inputs, in.resync, in.fault, in.dropped}
	in.hello, in.asked, in.inputs, in.resync, in.dropped = nil, nil, spare[:0], false, 0
	return l
}

// ended says whether nothing more will come, and whether the client wanted that.
func (in *inbox) ended() (ended, left bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.broken || in.left, in.left
}
