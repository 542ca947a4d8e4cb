package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// SessionConfig configures NewSession. Config documents its fields, which have the same names
// there; the remaining fields of Config concern a Client's connections.
type SessionConfig struct {
	Schema       *schema.Schema
	StrictSchema bool
	Version      string
	MinServer    string
	Tables       *Tables
	Epoch        uint64
	Token        []byte
	Name         string
	Room         string
	MaxEntities  int
	MaxBytes     int
	Simulate     bool
	PlainRows    bool
	Observer     Observer
	Events       *Events
	Result       func(Result)
}

// checkConfig finds the mistakes for which the server would end the session.
func (c SessionConfig) checkConfig() error {
	errs := c.checkLimits()
	if c.Schema != nil {
		if err := rowcodec.CheckRows(c.Schema); err != nil {
			errs = append(errs, fmt.Errorf("client: %w", err))
		}
		if err := c.Schema.Err(); err != nil {
			errs = append(errs, fmt.Errorf("client: %w", err))
		}
		errs = append(errs, c.Events.checkHandlers(c.Schema))
	}
	if len(c.Name) > wire.MaxName {
		errs = append(errs, fmt.Errorf("client: Name has %d bytes, at most %d: shorten it", len(c.Name), wire.MaxName))
	}
	if !utf8.ValidString(c.Name) {
		errs = append(errs, fmt.Errorf("client: Name %q is not UTF-8", c.Name))
	}
	if len(c.Room) > wire.MaxRoomQuery || !utf8.ValidString(c.Room) {
		errs = append(errs, fmt.Errorf("client: Room %q: want at most %d bytes of UTF-8", c.Room, wire.MaxRoomQuery))
	}
	for _, version := range []string{c.Version, c.MinServer} {
		if err := wire.CheckVersion(version); err != nil {
			errs = append(errs, fmt.Errorf("client: %w", err))
		}
	}
	if len(c.Token) > wire.MaxToken {
		errs = append(errs, fmt.Errorf("client: Token has %d bytes, at most %d", len(c.Token), wire.MaxToken))
	}
	return errors.Join(errs...)
}

// Session is the client's half of the protocol without socket and clock: bytes and times go in,
// bytes come out. It is for simulations and bots that move the bytes themselves; games use
// Client. It belongs to one goroutine.
type Session struct {
	config SessionConfig
	hooks  hooks

	stream
	provisionals
	greeting greeting

	welcome    *wire.Welcome
	replica    *Replica
	controlled bulk.Handle
	ranges     pastRanges
	prediction prediction // of Predict

	time     timing
	uplink   uplink
	commands commands
	resyncs  resyncs
	budget   work.Budget // of the work that the server causes the client
	typed    typedInput  // scratch
}

// hooks are the functions that a Client gives its Session.
type hooks struct {
	// welcomed is called for each Welcome before anything that follows it.
	welcomed func(welcomeKind, worldChange)
	// await sends what is queued, waits for something to arrive, and applies it.
	await func(context.Context) error
	// mayBegin reports that the next Hello may begin a session though config.Token is used.
	mayBegin bool
}

// stampUnit is the unit of the time stamps that the server echoes.
const stampUnit = 100 * time.Microsecond

// NewSession begins a session. TakeStream returns its Hello.
func NewSession(c SessionConfig) (*Session, error) {
	if err := c.checkConfig(); err != nil {
		return nil, err
	}
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	s := &Session{config: c, greeting: newGreeting(&c), commands: commands{report: c.Result}}
	s.typed.unserved = rowschema.NewUnservedMessage(s.greeting.declared.Input())
	return s, nil
}

// TakeStream returns the bytes to write to the stream, nil if there are none. The
// caller owns them.
func (s *Session) TakeStream() []byte {
	s.useConnection()
	return s.stream.takeOut()
}

// ReceiveStream applies bytes of the stream, in pieces of any size. An error ends the
// session: a *wire.Error says what the server refused or did wrong. Callbacks may call Lost and
// Reconnect, after which the rest of p is dropped. They must not receive.
func (s *Session) ReceiveStream(p []byte) error {
	err := s.receiveStream(p)
	if err == nil {
		s.prediction.syncWithServer()
	}
	return err
}

func (s *Session) receiveStream(p []byte) error {
	s.useConnection()
	err := s.stream.receive(p, func(kind byte, body []byte) error {
		return cmp.Or(s.receiveMessage(kind, body), s.budget.Check())
	})
	if err == nil && s.stream.isUsed() && s.replica != nil && s.resyncs.isDueForFaults(s.replica.stats.Faults) {
		s.stream.sendMessage(wire.Resync{})
	}
	return err
}

// receiveArrivals applies what has arrived up to now, and returns the number of datagrams to
// answer: all but duplicates. Datagrams that arrived with the server's Goodbye count, although
// the Goodbye is read first. The prediction is compared once, with the newest state, so that a
// server that sends many datagrams causes no more steps.
func (s *Session) receiveArrivals(in Arrivals, now time.Duration) (fresh int, err error) {
	s.budget.Pay(now)
	if len(in.Stream) > 0 {
		err = s.receiveStream(in.Stream)
	}
	for i := 0; i < len(in.Datagrams) && (err == nil || s.stream.state == dismissed); i++ {
		outcome, wrong := s.receiveDatagram(in.Datagrams[i].Bytes, in.Datagrams[i].At)
		if wrong != nil {
			err = cmp.Or(err, wrong)
			break
		}
		if outcome != Duplicate {
			fresh++
		}
	}
	s.prediction.syncWithServer()
	return fresh, err
}

func (s *Session) receiveMessage(kind byte, body []byte) error {
	if kind != wire.TypeWelcome && kind != wire.TypeRefused && !s.stream.isJoined() {
		return protocolError("message type %d before Welcome", kind)
	}
	switch kind {
	case wire.TypeWelcome:
		return s.receiveWelcome(body)
	case wire.TypeRefused:
		m, err := wire.Parse[wire.Refused](body)
		if err != nil {
			return err
		}
		return &wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	case wire.TypeStructure:
		return s.replica.applyStructure(body)
	case wire.TypeResult:
		return s.receiveResult(body)
	case wire.TypeControl:
		m, err := wire.Parse[wire.Control](body)
		if err != nil {
			return err
		}
		s.controlled = m.Entity
		return nil
	case wire.TypePad:
		_, err := wire.Parse[wire.Pad](body)
		return err
	case wire.TypeGoodbye:
		m, err := wire.Parse[wire.Goodbye](body)
		if err != nil {
			return err
		}
		s.stream.enterState(dismissed)
		return &wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	}
	return protocolError("message type %d, which servers do not send", kind)
}

// ReceiveDatagram applies a datagram that arrived at now, a time since any fixed origin. Bytes
// that are no State datagram are an error and change nothing.
func (s *Session) ReceiveDatagram(d []byte, now time.Duration) (Outcome, error) {
	if !s.stream.isJoined() {
		return Unreadable, nil // overtook the Welcome; the server will send it again
	}
	s.budget.Pay(now)
	outcome, err := s.receiveDatagram(d, now)
	if err == nil {
		s.prediction.syncWithServer()
	}
	return outcome, err
}

func (s *Session) receiveDatagram(d []byte, now time.Duration) (Outcome, error) {
	if !s.stream.isJoined() {
		return Unreadable, nil
	}
	copies := s.replica.stats.Duplicates
	h, outcome, err := s.replica.applyState(d)
	switch {
	case !s.stream.isJoined(): // a callback has closed it
		return outcome, nil
	case err != nil || s.replica.stats.Duplicates != copies: // a copy is not answered, and says nothing about the link
		return outcome, err
	}
	if !(outcome == Held && s.time.clock.isDistant(h.Tick)) {
		s.uplink.learnFromEcho(now, s.time.measureTrip(h, now))
		s.time.measureSnapshot(h, now)
	}
	s.uplink.noteSnapshot(now)
	if s.resyncs.isDueForFaults(s.replica.stats.Faults) {
		s.stream.sendMessage(wire.Resync{})
	}
	mayGiveUp := len(s.config.Token) == 0 || s.hooks.mayBegin
	if b := s.replica.entities.bodies; b != nil && s.resyncs.isDueForBodies(b, now, mayGiveUp) {
		s.stream.sendMessage(wire.Resync{})
	}
	if second := uint32(s.time.clock.hz); s.replica.timeline.tick > second {
		s.replica.events.deliverRendered(s.replica.timeline.tick - second)
	}
	return outcome, s.budget.Check()
}

// stampAt returns now as a stamp. It is never 0, which means none.
func stampAt(now time.Duration) uint32 { return uint32(now/stampUnit) | 1 }

// Welcome returns the newest Welcome, and false before the first.
func (s *Session) Welcome() (wire.Welcome, bool) {
	if s.welcome == nil {
		return wire.Welcome{}, false
	}
	return *s.welcome, true
}

// Replica returns the client's copy of its interest set, nil before the first Welcome. Each
// Welcome that begins a new session or moves it to another room makes a new Replica.
func (s *Session) Replica() *Replica { return s.replica }

// Resolve returns the verdict on h, Pending before the first Welcome. It still answers when the
// connection is lost. See Provisional for the handles that Provisional returns.
func (s *Session) Resolve(h bulk.Handle) wire.Verdict {
	if s.replica == nil {
		return wire.Pending
	}
	return s.replica.Resolve(h)
}

// Controlled returns the entity that this session controls, zero if none. It may be Pending:
// the assignment arrives before the entity. The server's game may assign another entity at any
// time, for instance when a player respawns.
func (s *Session) Controlled() bulk.Handle { return s.controlled }

// stats returns the session's counters since NewSession.
func (s *Session) stats() Stats {
	n := Stats{
		Commands: s.commands.sent, Rejected: s.commands.rejected, Unanswered: s.commands.lost,
		Delay: s.time.renderer.delay.value, Lead: s.uplink.lead.value,
		RoundTrip: s.time.roundTrip, RoundTrips: s.time.roundTrips, Ordinary: s.resyncs.gaveUp(),
	}
	if s.replica != nil {
		n.Replica = s.replica.Stats()
	}
	return n
}
