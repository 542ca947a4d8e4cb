package server

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// state is where a session stands; STATE.md licenses the transitions.
type state uint8

const (
	stateOpen   state = iota // connected, no valid Hello yet
	stateActive              // joined: it has a viewer and an entity
	stateClosed              // goodbye said; waits to be reaped
)

// Session is one client's connection, from its first byte to its end. The
// exported methods that receive may be called from any goroutine; everything
// else belongs to the tick.
type Session struct {
	core *Core
	id   uint64
	conn Conn

	inbox inbox // shared with the connection's goroutines

	state    state
	name     string
	user     string
	entity   world.Entity
	viewer   *replication.Viewer
	update   replication.Update // of this tick, to be delivered
	age      int                // ticks since it was opened
	silence  int                // ticks since the last datagram
	progress progress           // of its acknowledgements
	inputs   inputs
	commands *rate.Limiter
	resyncs  *rate.Limiter
	out      []byte
	taken    []wire.Input // the inbox's other queue of inputs
}

// inbox is what arrived since the last tick, checked and bounded.
type inbox struct {
	mu      sync.Mutex
	frames  wire.FrameReader
	greeted bool
	hello   *wire.Hello
	user    string      // whose token the Hello has
	refusal *wire.Error // why the token is not taken
	asked   []wire.Command
	inputs  []wire.Input
	resync  bool
	dropped uint64
	gone    bool // the transport is gone, or the client said goodbye
	fault   *wire.Error
}

func newSession(c *Core, id uint64, conn Conn) *Session {
	return &Session{
		core: c, id: id, conn: conn,
		commands: rate.NewLimiter(commandsPerSecond, commandBurst),
		resyncs:  rate.NewLimiter(rate.Limit(resyncsPerMinute)/60, 1),
	}
}

// ID tells the sessions of one run apart.
func (s *Session) ID() uint64 { return s.id }

// Name is what the client calls itself. It is not verified.
func (s *Session) Name() string { return s.name }

// User is whose connect token the client has shown; empty if the server asks
// for none.
func (s *Session) User() string { return s.user }

// Entity is the entity that the session controls, as Game.Join returned it.
func (s *Session) Entity() world.Entity { return s.entity }

// ReceiveStream takes bytes of the reliable stream. After an error, which is
// the client's fault, nothing more is taken and the session ends with the next
// tick.
func (s *Session) ReceiveStream(p []byte) error {
	in := &s.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fault != nil {
		return in.fault
	}
	in.frames.Max = wire.MaxClientMessage
	in.frames.Feed(p)
	for {
		kind, body, ok, err := in.frames.Next()
		if err == nil && ok {
			err = in.take(kind, body, s.core.config.Admit)
		}
		if err != nil {
			return in.blame(err)
		}
		if !ok {
			return nil
		}
	}
}

// take queues one message for the tick. The token of a Hello is looked at here:
// a signature is too much work for the tick.
func (in *inbox) take(kind byte, body []byte, admit func([]byte) (string, error)) error {
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
		in.greeted, in.hello = true, &hello
		if admit != nil {
			if in.user, err = admit(hello.Token); err != nil {
				in.refusal = refusalOf(err, wire.Unauthorized)
			}
		}
	case wire.TypeCommand:
		command, err := wire.ParseCommand(body)
		if err != nil {
			return err
		}
		if len(in.asked) == maxQueuedCommands {
			return &wire.Error{Code: wire.TooFast, Detail: fmt.Sprintf("more than %d commands in one tick", maxQueuedCommands)}
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
		in.gone = true
		_, err := wire.ParseBye(body)
		return err
	default:
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("message type %d is not a client's", kind)}
	}
	return nil
}

// ReceiveDatagram takes a datagram and returns the client's stamp, to be
// echoed. It keeps d until the tick after the next.
func (s *Session) ReceiveDatagram(d []byte) (stamp uint32, err error) {
	in := &s.inbox
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fault != nil {
		return 0, in.fault
	}
	input := in.room()
	if err := input.Parse(d); err != nil {
		in.inputs = in.inputs[:len(in.inputs)-1]
		return 0, in.blame(err)
	}
	return input.Stamp, nil
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

// Gone tells the session that its connection has ended.
func (s *Session) Gone() {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	s.inbox.gone = true
}

// blame notes the first fault of the client's; the next tick ends the session.
func (in *inbox) blame(err error) error {
	fault := &wire.Error{Code: wire.BadMessage, Detail: err.Error()}
	errors.As(err, &fault)
	in.fault = fault
	return fault
}

func (s *Session) gone() bool {
	s.inbox.mu.Lock()
	defer s.inbox.mu.Unlock()
	return s.state == stateClosed || s.inbox.gone
}

// fail says goodbye and ends the session.
func (s *Session) fail(why *wire.Error) {
	if s.state == stateClosed {
		return
	}
	if s.state == stateOpen {
		s.refuse(why, "")
		return
	}
	s.sendMessage(wire.TypeGoodbye, wire.Goodbye{Code: why.Code, Text: why.Detail}.Append(nil))
	s.close(why)
}

// refuse ends a session that has not joined. want says what would be right.
func (s *Session) refuse(why *wire.Error, want string) {
	s.core.stats.Refused++
	s.sendMessage(wire.TypeRefused, wire.Refused{Code: why.Code, Text: why.Detail, Want: want}.Append(nil))
	s.close(why)
}

func (s *Session) close(why *wire.Error) {
	if s.state == stateClosed {
		return // there was no room for the goodbye: ended as TooSlow
	}
	s.core.countClosed(why.Code)
	s.conn.Close(why.Code, why.Detail)
	s.leave()
}

// end takes a session whose connection is gone out of the game.
func (s *Session) end() {
	if s.state != stateClosed {
		s.core.countClosed(wire.OK)
		s.conn.Close(wire.OK, "")
	}
	s.leave()
	s.core.stats.Ended++
}

func (s *Session) leave() {
	if s.state == stateActive {
		if f := s.core.config.Game.Leave; f != nil {
			f(s)
		}
		s.core.replicator.RemoveViewer(s.viewer)
		s.viewer = nil
	}
	s.state = stateClosed
}

func (s *Session) sendMessage(kind byte, body []byte) {
	s.out = wire.AppendFrame(s.out[:0], kind, body)
	s.sendStream(s.out)
}

func (s *Session) sendStream(p []byte) {
	if len(p) > 0 && !s.conn.SendStream(p) && s.state != stateClosed {
		s.close(&wire.Error{Code: wire.TooSlow, Detail: "the stream is not read"})
	}
}

func (c *Core) countClosed(code wire.Code) {
	if c.stats.Closed == nil {
		c.stats.Closed = map[wire.Code]uint64{}
	}
	c.stats.Closed[code]++
}
