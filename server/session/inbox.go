package session

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/worldd/worldd/replication/wire"
)

// inbox holds the checked and bounded messages that arrived over a connection since the
// last tick.
type inbox struct {
	// readMu serialises readers of the stream, even while a token is checked. The tick
	// never locks it.
	readMu  sync.Mutex
	frames  wire.FrameReader
	greeted bool
	lists   listAllowance

	mu       sync.Mutex // guards the fields below; acquired after readMu
	hello    *wire.Hello
	moved    *wire.Error // redirection to the server that has the Hello's room; its token was not checked
	granted  Admission   // Admission of the Hello's token
	refusal  *wire.Error // why the token was refused
	pass     *Place      // held for the client, whose token was a pass
	commands []wire.Command
	inputs   []wire.Input
	resync   bool
	arrived  int // number of wire.Arrived messages
	dropped  uint64
	broken   bool     // the connection has ended
	left     bool     // the client ended the connection
	bye      wire.Bye // the client's reason
	closed   bool     // the server ended the connection: later messages are ignored
	fault    *wire.Error
}

// gate decides which Hellos get further than the inbox.
type gate struct {
	admit     Admit // nil: tokens are not checked
	versions  Versions
	elsewhere func(*wire.Hello) *wire.Error // RouterConfig.Elsewhere; nil: none
	redeem    func([]byte) (Admission, *Place, bool, error)
}

// queueMessage parses one message and queues it for the tick. It also checks a Hello's
// token, with mu released: verifying a signature is too slow for the tick.
func (in *inbox) queueMessage(ctx context.Context, kind byte, body []byte, g *gate) error {
	if !in.greeted && kind != wire.TypeHello && kind != wire.TypeListRooms {
		return &wire.Error{Code: wire.BadState, Detail: "the first message must be Hello"}
	}
	switch kind {
	case wire.TypeHello:
		if in.greeted {
			return &wire.Error{Code: wire.BadState, Detail: "a second Hello"}
		}
		hello, err := wire.Parse[wire.Hello](body)
		if err != nil {
			return err
		}
		in.greeted = true
		refusal, _ := g.versions.checkClient(&hello)
		if refusal == nil && g.redeem != nil && in.redeemPass(hello.Token, g.redeem) {
			in.hello = &hello
			return nil
		}
		if refusal == nil && g.elsewhere != nil {
			in.callUnlocked(func() { refusal = g.elsewhere(&hello) })
			in.moved = refusal
		}
		if refusal == nil && g.admit != nil { // a refusal spends no token
			in.checkToken(ctx, hello.Token, g.admit)
		}
		in.hello = &hello
	case wire.TypeCommand:
		command, err := wire.Parse[wire.Command](body)
		if err != nil {
			return err
		}
		if len(in.commands) == wire.MaxUnanswered {
			return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d commands in one tick", wire.MaxUnanswered)}
		}
		in.commands = append(in.commands, command)
	case wire.TypeResync:
		in.resync = true
		_, err := wire.Parse[wire.Resync](body)
		return err
	case wire.TypeArrived: // earlier messages were meant for an earlier room
		in.arrived++
		in.commands, in.resync = in.commands[:0], false
		_, err := wire.Parse[wire.Arrived](body)
		return err
	case wire.TypePad:
		_, err := wire.Parse[wire.Pad](body)
		return err
	case wire.TypeBye:
		in.left = true
		var err error
		in.bye, err = wire.Parse[wire.Bye](body)
		return err
	default:
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("message type %d is not a client's", kind)}
	}
	return nil
}

// checkToken calls admit and records its result. It releases mu during the call.
func (in *inbox) checkToken(ctx context.Context, token []byte, admit Admit) {
	var granted Admission
	var err error
	in.callUnlocked(func() { granted, err = admit(ctx, token) })
	in.granted = granted
	switch {
	case errors.Is(err, context.DeadlineExceeded): // not the token's fault: a retry may succeed
		in.refusal = &wire.Error{Code: wire.Internal, Detail: "the token was not checked in time"}
	case err != nil:
		in.refusal = refusalOf(err, wire.Unauthorized)
	}
}

// redeemPass reports whether the token is a pass, and records what it grants.
func (in *inbox) redeemPass(token []byte, redeem func([]byte) (Admission, *Place, bool, error)) (ok bool) {
	var granted Admission
	var place *Place
	var err error
	in.callUnlocked(func() { granted, place, ok, err = redeem(token) })
	in.granted, in.pass = granted, place
	if err != nil {
		in.refusal = refusalOf(err, wire.Unauthorized)
	}
	return ok
}

// passPlace returns the place of a client whose token was a pass, or nil.
func (in *inbox) passPlace() *Place {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pass
}

func (in *inbox) releasePass() { in.passPlace().Release() }

// spendList reports whether the client may have another list of rooms.
func (in *inbox) spendList() bool { return in.lists.spend() }

// callUnlocked calls f with mu released: the tick must not wait for it.
func (in *inbox) callUnlocked(f func()) {
	in.mu.Unlock()
	defer in.mu.Lock()
	f()
}

// receiveDatagram queues an input and returns its stamp.
func (in *inbox) receiveDatagram(d []byte) (stamp uint32, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.fault != nil:
		return 0, in.fault
	case in.closed:
		return 0, nil
	}
	input := in.nextInput()
	if err := input.Parse(d); err != nil {
		in.inputs = in.inputs[:len(in.inputs)-1]
		return 0, in.setFault(err)
	}
	return input.Stamp, nil
}

// nextInput extends the queue by one input, or replaces the oldest input if the queue is
// full. It reuses the memory of inputs.
func (in *inbox) nextInput() *wire.Input {
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

// setFault records the client's fault; the next tick ends the session.
func (in *inbox) setFault(err error) error {
	fault := &wire.Error{Code: wire.BadMessage, Detail: err.Error()}
	errors.As(err, &fault)
	in.fault = fault
	return fault
}

// redirection returns why the client must go to another server, or nil.
func (in *inbox) redirection() *wire.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.moved
}

// dropInputs drops the queued inputs.
func (in *inbox) dropInputs() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.inputs = in.inputs[:0]
}

// fail records the client's first fault. Later faults are ignored.
func (in *inbox) fail(fault *wire.Error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fault == nil {
		in.fault = fault
	}
}

func (in *inbox) readFault() *wire.Error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.fault
}

// end records that the connection has ended, by the client if left.
func (in *inbox) end(left bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.left, in.broken = in.left || left, in.broken || !left
}

// close ignores later messages.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
}

// setHello replaces the Hello that the next tick handles.
func (in *inbox) setHello(h *wire.Hello) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.hello = h
}

// takeHello returns the Hello and the client's fault, if there are any. A Hello whose
// connection has ended is dropped: its client does not wait for the answer. full means that
// the tick takes no more Hellos: the Hello then stays for a later tick and held is true, or is dropped
// if the client has a fault.
func (in *inbox) takeHello(ended, full bool) (hello *wire.Hello, fault *wire.Error, held bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if ended || in.broken || in.left || full && in.fault != nil {
		in.hello = nil
	}
	if full && in.hello != nil {
		return nil, nil, true
	}
	hello, in.hello = in.hello, nil
	return hello, in.fault, false
}

// tickInbox holds the messages that one tick takes from an inbox.
type tickInbox struct {
	hello    *wire.Hello
	commands []wire.Command
	inputs   []wire.Input
	resync   bool
	arrived  int
	fault    *wire.Error
	dropped  uint64
}

// takeMessages empties the inbox. The next inputs use the memory of spare, the inputs of an
// earlier tick.
func (in *inbox) takeMessages(spare []wire.Input) tickInbox {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := tickInbox{in.hello, in.commands, in.inputs, in.resync, in.arrived, in.fault, in.dropped}
	in.hello, in.commands, in.inputs, in.resync, in.arrived, in.dropped = nil, nil, spare[:0], false, 0, 0
	in.lists.addTick()
	return l
}

// hasEnded reports whether the connection has ended, and whether the client ended it.
func (in *inbox) hasEnded() (ended, left bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.broken || in.left, in.left
}
