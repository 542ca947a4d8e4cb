package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// SessionConfig configures NewSession. Its fields are those of Config that concern
// the protocol; Config documents them.
type SessionConfig struct {
	Schema      *schema.Schema // required
	Tables      *Tables
	Epoch       uint64
	Token       []byte
	Name        string
	MaxEntities int
	MaxBytes    int
	Observer    Observer
	Result      func(Result)
}

// validate finds what the server would otherwise end the session for, as a breach
// of the protocol.
func (c SessionConfig) validate() error {
	var errs []error
	errs = append(errs, c.checkLimits()...)
	if c.Schema == nil {
		errs = append(errs, errors.New("client: Schema is nil: pass the schema that the server uses"))
	} else if err := rowcodec.CheckRows(c.Schema); err != nil {
		errs = append(errs, fmt.Errorf("client: %w", err))
	}
	if len(c.Name) > wire.MaxName {
		errs = append(errs, fmt.Errorf("client: a name of %d bytes, at most %d: shorten it", len(c.Name), wire.MaxName))
	}
	if !utf8.ValidString(c.Name) {
		errs = append(errs, fmt.Errorf("client: the name %q is not UTF-8", c.Name))
	}
	if len(c.Token) > wire.MaxToken {
		errs = append(errs, fmt.Errorf("client: a token of %d bytes, at most %d", len(c.Token), wire.MaxToken))
	}
	return errors.Join(errs...)
}

// Session is the client's half of the protocol without its sockets and its
// clock: bytes and times go in, bytes come out. It belongs to one goroutine.
type Session struct {
	config  SessionConfig
	codec   *rowcodec.Codec
	frames  wire.FrameReader
	replica *Replica
	welcome *wire.Welcome
	greeted bool // the Welcome is of this connection
	entity  bulk.Handle
	taken   func() // tells a Client of each Welcome, before what follows it
	goodbye bool   // the server has said it
	err     error

	out         []byte // stream bytes not taken yet
	command     uint32
	unanswered  []*Future                   // in the order of their sending
	next        func(context.Context) error // of futures
	inputs      inputs
	input       []byte    // scratch
	acked       ackWindow // what the newest Input acknowledged
	faultsKnown uint64
	rtt         RTT
	clock       clock
	renderer    renderer
	stats       SessionStats
}

// RTT is what the session measured of the round trip of its datagrams: from an
// input sent to the snapshot that echoes it, less the time the server held it.
type RTT struct {
	Newest time.Duration
	Count  uint64
}

// stampUnit is the unit of the stamps that the server echoes.
const stampUnit = 100 * time.Microsecond

// NewSession begins a session. Its first bytes, the Hello, wait in TakeStream.
func NewSession(c SessionConfig) (*Session, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	s := &Session{config: c, codec: rowcodec.New(c.Schema, c.Tables)}
	s.send(wire.TypeHello, s.hello().Append(nil))
	return s, nil
}

func (s *Session) send(kind byte, body []byte) {
	s.out = wire.AppendFrame(s.out, kind, body)
}

// TakeStream returns the bytes to be written to the stream since the last
// call, and nil if there are none. They are the caller's.
func (s *Session) TakeStream() []byte {
	out := s.out
	s.out = nil
	return out
}

// ReceiveStream takes bytes of the stream. An error ends the session: a
// *wire.Error that says what the server refused, or what it did wrong.
func (s *Session) ReceiveStream(p []byte) error {
	if s.err != nil {
		return s.err
	}
	s.frames.Feed(p)
	for {
		kind, body, ok, err := s.frames.Next()
		if err == nil && ok {
			err = s.message(kind, body)
		}
		if err != nil {
			s.err = err
			return err
		}
		if !ok {
			s.checkFaults()
			return nil
		}
	}
}

// receive takes what came over both lanes. What a server shows last counts, though its
// goodbye comes with it, which is read first.
func (s *Session) receive(in arrivals) error {
	var ended error
	if len(in.stream) > 0 {
		ended = s.ReceiveStream(in.stream)
	}
	if ended != nil && !s.goodbye {
		return ended
	}
	for _, d := range in.datagrams {
		if _, err := s.ReceiveDatagram(d.bytes, d.at); err != nil {
			return cmp.Or(ended, err)
		}
	}
	return ended
}

func (s *Session) message(kind byte, body []byte) error {
	if kind != wire.TypeWelcome && kind != wire.TypeRefused && !s.greeted {
		return protocolError("message type %d before Welcome", kind)
	}
	switch kind {
	case wire.TypeWelcome:
		return s.welcomed(body)
	case wire.TypeRefused:
		m, err := wire.ParseRefused(body)
		if err != nil {
			return err
		}
		if m.Code == wire.SchemaMismatch {
			m.Text += "; client has " + s.config.Schema.Outline()
		}
		return &wire.Error{Code: m.Code, Detail: m.Text}
	case wire.TypeStructure:
		return s.replica.applyStructure(body)
	case wire.TypeResult:
		return s.answered(body)
	case wire.TypeControl:
		m, err := wire.ParseControl(body)
		if err != nil {
			return err
		}
		s.entity = m.Entity
		return nil
	case wire.TypePad:
		_, err := wire.ParsePad(body)
		return err
	case wire.TypeGoodbye:
		m, err := wire.ParseGoodbye(body)
		if err != nil {
			return err
		}
		s.goodbye = true
		return &wire.Error{Code: m.Code, Detail: m.Text}
	}
	return protocolError("message type %d is not a server's", kind)
}

func (s *Session) welcomed(body []byte) error {
	m, err := wire.ParseWelcome(body)
	switch {
	case err != nil:
		return err
	case s.greeted:
		return protocolError("a second Welcome")
	case m.Protocol != wire.Version:
		return &wire.Error{Code: wire.ProtocolVersion, Detail: fmt.Sprintf("server speaks version %d, client %d", m.Protocol, wire.Version)}
	case m.Schema != s.config.Schema.Hash():
		return &wire.Error{Code: wire.SchemaMismatch, Detail: fmt.Sprintf("server has schema %016x, client %016x", m.Schema, s.config.Schema.Hash())}
	case m.Tables != s.config.Tables.Version():
		return &wire.Error{Code: wire.TablesMismatch, Detail: fmt.Sprintf("server has tables %08x, client %08x", m.Tables, s.config.Tables.Version())}
	case s.welcome == nil && s.config.Epoch != 0 && m.Epoch != s.config.Epoch:
		return &wire.Error{Code: wire.EpochMismatch, Detail: fmt.Sprintf("server runs epoch %016x, client expects %016x", m.Epoch, s.config.Epoch)}
	case m.MaxSlots > wire.MaxSlots:
		return protocolError("world of %d slots, at most %d", m.MaxSlots, wire.MaxSlots)
	case m.TickHz == 0 || m.SnapshotHz == 0:
		return protocolError("tick rate %d Hz, snapshot rate %d Hz", m.TickHz, m.SnapshotHz)
	}
	return s.begin(&m)
}

// ReceiveDatagram takes a datagram that arrived at now, a time since any fixed
// moment. Bytes that are no State datagram are an error and change nothing.
func (s *Session) ReceiveDatagram(d []byte, now time.Duration) (Outcome, error) {
	if !s.greeted {
		return Unreadable, nil // overtook the Welcome; it will be sent again
	}
	h, outcome, err := s.replica.applyState(d)
	if err != nil {
		return outcome, err
	}
	if outcome != Duplicate { // which says nothing of the way
		s.measure(h, now)
	}
	s.checkFaults()
	return outcome, nil
}

// stampAt is the stamp of a time. It is never 0, which stands for none.
func stampAt(now time.Duration) uint32 { return uint32(now/stampUnit) | 1 }

// checkFaults asks for everything anew after a datagram whose fold was wrong.
func (s *Session) checkFaults() {
	if s.replica != nil && s.replica.stats.Faults > s.faultsKnown {
		s.faultsKnown = s.replica.stats.Faults
		s.send(wire.TypeResync, nil)
	}
}

// Bye tells the server that the client leaves, and why.
func (s *Session) Bye(why wire.Code) { s.send(wire.TypeBye, wire.Bye{Code: why}.Append(nil)) }

// Joined says whether the server's welcome has arrived over this connection.
func (s *Session) Joined() bool { return s.greeted && s.err == nil }

// Welcome returns the newest welcome of the server's, and false before the first
// has arrived.
func (s *Session) Welcome() (wire.Welcome, bool) {
	if s.welcome == nil {
		return wire.Welcome{}, false
	}
	return *s.welcome, true
}

// Replica is the client's copy of the world; nil before the Welcome. Each Welcome that
// begins a new session makes another.
func (s *Session) Replica() *Replica { return s.replica }

// Resolve says what became of h; Pending before the first Welcome. It goes on
// answering when the connection is lost.
func (s *Session) Resolve(h bulk.Handle) wire.Verdict {
	if s.replica == nil {
		return wire.Pending
	}
	return s.replica.Resolve(h)
}

// Controlled is the entity that this session steers; zero if none. It may be
// Pending: the assignment travels ahead of the entity. The server's game may give
// it another one at any time, say to a player who comes back to life.
func (s *Session) Controlled() bulk.Handle { return s.entity }

// RTT returns the newest measured round trip.
func (s *Session) RTT() RTT { return s.rtt }
