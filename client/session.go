package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/predict"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// SessionConfig configures NewSession. It has the fields of Config that concern the
// protocol; Config documents them.
type SessionConfig struct {
	Schema      *schema.Schema
	Tables      *Tables
	Epoch       uint64
	Token       []byte
	Name        string
	Room        string
	MaxEntities int
	MaxBytes    int
	Simulate    bool
	Observer    Observer
	Events      *Events
	Result      func(Result)
}

// validate finds what the server would end the session for as a protocol error.
func (c SessionConfig) validate() error {
	errs := c.checkLimits()
	if c.Schema != nil {
		if err := rowcodec.CheckRows(c.Schema); err != nil {
			errs = append(errs, fmt.Errorf("client: %w", err))
		}
		if err := c.Schema.Err(); err != nil {
			errs = append(errs, fmt.Errorf("client: %w", err))
		}
		errs = append(errs, c.Events.validate(c.Schema))
	}
	if len(c.Name) > wire.MaxName {
		errs = append(errs, fmt.Errorf("client: Name has %d bytes, at most %d: shorten it", len(c.Name), wire.MaxName))
	}
	if !utf8.ValidString(c.Name) {
		errs = append(errs, fmt.Errorf("client: Name %q is not UTF-8", c.Name))
	}
	if len(c.Room) > wire.MaxRoom || !utf8.ValidString(c.Room) {
		errs = append(errs, fmt.Errorf("client: Room %q: want at most %d bytes of UTF-8", c.Room, wire.MaxRoom))
	}
	if len(c.Token) > wire.MaxToken {
		errs = append(errs, fmt.Errorf("client: Token has %d bytes, at most %d", len(c.Token), wire.MaxToken))
	}
	return errors.Join(errs...)
}

// Session is the client's half of the protocol without socket and clock: bytes and
// times go in, bytes come out. It is for simulations and bots that move the bytes
// themselves; games use Client. It belongs to one goroutine.
type Session struct {
	config     SessionConfig
	layout     *layout        // of the newest Welcome; nil before the first
	declared   *schema.Schema // config.Schema, or an empty one
	named      uint64         // schema in this connection's Hello; 0 asks for the text
	outdated   bool           // the server refused the schema of layout
	able       bool           // this connection's Hello says that the client simulates
	resumes    bool           // this connection's Hello asks to resume
	room       string         // that the next Hello names
	entered    bool           // the newest Welcome moved the session to another room
	frames     wire.FrameReader
	replica    *Replica
	welcome    *wire.Welcome
	joined     bool // this connection has had its Welcome
	controlled bulk.Handle
	onWelcome  func() // called for each Welcome before anything that follows it
	goodbye    bool   // the server sent Goodbye
	err        error

	out         []byte    // stream bytes not taken yet
	command     uint32    // ID of the newest
	commands    uint32    // number in the session of the newest command that is not known to be lost
	unanswered  []*Future // in sending order
	wishes      wishes
	await       func(context.Context) error // passed to futures
	inputs      inputs
	budget      work.Budget   // of the work that the server causes
	inputAt     time.Duration // of the newest Input
	owes        bool          // a snapshot has arrived since
	owesSince   time.Duration // when the oldest of them arrived
	sleeps      bool          // the caller has waited for this update, and will for the next
	input       []byte        // scratch
	typed       typedInput    // scratch
	acked       ackWindow     // acknowledged by the newest Input
	faultsKnown uint64        // faults that a Resync was sent for
	resyncAt    time.Duration // before which no Resync for computed bodies is sent
	resyncs     int           // for computed bodies, none long after the one before
	ordinary    bool          // there were too many: Hello says that the client does not simulate
	freshToken  bool          // the next Hello may begin a session though config.Token is used
	rtt         RTT
	clock       clock
	renderer    renderer
	prediction  *predict.Core // of Predict
	busy        bool          // receive is under way, and syncs the prediction once
	stats       SessionStats
}

// RTT is the newest round trip of a datagram: from sending an Input until the
// snapshot that echoes it arrives, minus the time that the server held it.
type RTT struct {
	Newest time.Duration
	Count  uint64 // round trips measured so far
}

// SessionStats counts what a session sent and received.
type SessionStats struct {
	Commands   uint64 // sent
	Rejected   uint64
	Unanswered uint64 // the connection broke first
	// Delay is how far Render aims behind the server's time: half a round trip, a
	// snapshot interval, and what the link adds.
	Delay time.Duration
	// Lead is how long before their tick inputs are made.
	Lead time.Duration
	// Ordinary is set once computed bodies have differed from the server's for too long: the
	// next session, or already this one, receives them as rows. See ErrDiverged.
	Ordinary bool
	Replica  ReplicaStats // snapshots by outcome
}

// stampUnit is the unit of the time stamps that the server echoes.
const stampUnit = 100 * time.Microsecond

// NewSession begins a session. TakeStream returns its Hello.
func NewSession(c SessionConfig) (*Session, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if c.Tables == nil {
		c.Tables = rowcodec.DefaultTables()
	}
	s := &Session{config: c, declared: c.Schema, room: c.Room}
	if s.declared == nil {
		s.declared = schema.New()
	}
	s.send(wire.TypeHello, s.hello().Append(nil))
	return s, nil
}

func (s *Session) send(kind byte, body []byte) {
	s.out = wire.AppendFrame(s.out, kind, body)
}

// TakeStream returns the bytes to write to the stream, nil if there are none. The
// caller owns them.
func (s *Session) TakeStream() []byte {
	out := s.out
	s.out = nil
	return out
}

// ReceiveStream applies bytes of the stream, in pieces of any size. An error ends the
// session: a *wire.Error says what the server refused or did wrong.
func (s *Session) ReceiveStream(p []byte) error {
	if s.err != nil {
		return s.err
	}
	s.frames.Feed(p)
	for {
		kind, body, ok, err := s.frames.Next()
		if err == nil && ok {
			err = cmp.Or(s.message(kind, body), s.budget.Check())
		}
		if err != nil {
			s.err = err
			return err
		}
		if !ok {
			s.checkFaults()
			s.syncPrediction()
			return nil
		}
	}
}

// receive applies at now what arrived until then, and returns how many datagrams are to be
// answered. The server's last datagrams count even if its Goodbye, which is read first, arrived
// with them. The prediction is compared once, with the newest state: a server that sends many
// causes no more steps.
func (s *Session) receive(in Arrivals, now time.Duration) (fresh int, err error) {
	s.budget.Pay(now)
	fresh, err = s.receiveAll(in)
	s.syncPrediction()
	return fresh, err
}

func (s *Session) receiveAll(in Arrivals) (fresh int, err error) {
	s.busy = true
	defer func() { s.busy = false }() // a callback may panic
	if len(in.Stream) > 0 {
		err = s.ReceiveStream(in.Stream)
	}
	for i := 0; i < len(in.Datagrams) && (err == nil || s.goodbye); i++ {
		outcome, wrong := s.ReceiveDatagram(in.Datagrams[i].Bytes, in.Datagrams[i].At)
		if wrong != nil {
			err = cmp.Or(err, wrong)
			break
		}
		if outcome != Duplicate {
			fresh++
		}
	}
	return fresh, err
}

func (s *Session) message(kind byte, body []byte) error {
	if kind != wire.TypeWelcome && kind != wire.TypeRefused && !s.joined {
		return protocolError("message type %d before Welcome", kind)
	}
	switch kind {
	case wire.TypeWelcome:
		return s.receiveWelcome(body)
	case wire.TypeRefused:
		m, err := wire.ParseRefused(body)
		if err != nil {
			return err
		}
		if m.Code == wire.SchemaMismatch && s.named != 0 {
			s.outdated = true
		}
		return &wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	case wire.TypeStructure:
		return s.replica.applyStructure(body)
	case wire.TypeResult:
		return s.receiveResult(body)
	case wire.TypeControl:
		m, err := wire.ParseControl(body)
		if err != nil {
			return err
		}
		s.controlled = m.Entity
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
		return &wire.Error{Code: m.Code, Detail: m.Text, Address: m.Address, Token: m.Token}
	}
	return protocolError("message type %d, which servers do not send", kind)
}

func (s *Session) receiveWelcome(body []byte) error {
	m, err := wire.ParseWelcome(body)
	switch {
	case err != nil:
		return err
	case m.MaxSlots > wire.MaxSlots:
		return protocolError("world of %d slots, at most %d", m.MaxSlots, wire.MaxSlots)
	case m.Simulate != 0 && !s.able:
		return protocolError("simulate %d, which the client did not ask for", m.Simulate)
	case s.joined:
		return s.move(&m)
	case m.Protocol != wire.Version:
		return &wire.Error{Code: wire.ProtocolVersion, Detail: fmt.Sprintf("server speaks version %d, client %d", m.Protocol, wire.Version)}
	case m.Tables != s.config.Tables.Version():
		return &wire.Error{Code: wire.TablesMismatch, Detail: fmt.Sprintf("server has tables %08x, client %08x", m.Tables, s.config.Tables.Version())}
	case s.welcome == nil && s.config.Epoch != 0 && m.Epoch != s.config.Epoch:
		return &wire.Error{Code: wire.EpochMismatch, Detail: fmt.Sprintf("server runs epoch %016x, client expects %016x", m.Epoch, s.config.Epoch)}
	}
	l, err := s.layoutOf(&m)
	if err != nil {
		return err
	}
	return s.join(&m, l)
}

// layoutOf returns the layout of the schema that a Welcome names, and that it brings if
// this connection's Hello asked for it.
func (s *Session) layoutOf(m *wire.Welcome) (*layout, error) {
	switch asked := s.named == 0; {
	case asked && m.SchemaText == "":
		return nil, protocolError("no schema text, which Hello asked for")
	case !asked && m.SchemaText != "":
		return nil, protocolError("a schema text of %d bytes, which Hello did not ask for", len(m.SchemaText))
	case !asked && m.Schema != s.named:
		return nil, protocolError("schema %016x, Hello said %016x", m.Schema, s.named)
	case !asked:
		return s.layout, nil
	}
	l, err := readLayout(m.SchemaText, m.Schema, s.config.Schema, s.config.Tables)
	if err == nil && s.layout != nil && s.layout.hash == l.hash {
		l = s.layout // the replica's, if the session resumes
	}
	return l, err
}

// served returns the server's schema, or before the first Welcome the caller's.
func (s *Session) served() *schema.Schema {
	if s.layout != nil {
		return s.layout.schema
	}
	return s.declared
}

// asksAgain reports whether the server refused the schema that it had sent itself before:
// it has another one since, and the next Hello asks for it.
func (s *Session) asksAgain(why error) bool {
	return wire.CodeOf(why) == wire.SchemaMismatch && s.named != 0 && s.outdated
}

// ReceiveDatagram applies a datagram that arrived at now, a time since any fixed
// origin. Bytes that are no State datagram are an error and change nothing.
func (s *Session) ReceiveDatagram(d []byte, now time.Duration) (Outcome, error) {
	if !s.joined {
		return Unreadable, nil // overtook the Welcome; the server will send it again
	}
	if !s.busy {
		s.budget.Pay(now)
	}
	copies := s.replica.stats.Duplicates
	h, outcome, err := s.replica.applyState(d)
	if err != nil || s.replica.stats.Duplicates != copies { // a copy says nothing about the link, and is not answered
		return outcome, err
	}
	if !(outcome == Held && s.clock.distant(h.Tick)) {
		s.measure(h, now)
	}
	if !s.owes {
		s.owes, s.owesSince = true, now
	}
	if second := uint32(s.clock.hz); s.replica.tick > second {
		s.replica.deliverRendered(s.replica.tick - second)
	}
	s.checkFaults()
	s.checkBodies(now)
	s.syncPrediction()
	return outcome, s.budget.Check()
}

// stampAt returns now as a stamp, never 0, which means none.
func stampAt(now time.Duration) uint32 { return uint32(now/stampUnit) | 1 }

// checkFaults requests a full resync after a datagram whose fold was wrong.
func (s *Session) checkFaults() {
	if s.replica != nil && s.replica.stats.Faults > s.faultsKnown {
		s.faultsKnown = s.replica.stats.Faults
		s.send(wire.TypeResync, nil)
	}
}

const (
	// resyncEvery bounds how often computed bodies cause a Resync.
	resyncEvery = time.Second
	// A session becomes ordinary after maxResyncs of them, each at most resyncsWithin after
	// the one before. Fewer mend what was wrong once. A server may audit each entity only
	// every ten seconds or so.
	maxResyncs    = 10
	resyncsWithin = 30 * time.Second
)

// checkBodies requests a full resync if computed bodies differ from the server's, or could
// not be computed in time.
func (s *Session) checkBodies(now time.Duration) {
	b := s.replica.bodies
	if b == nil || now < s.resyncAt || !b.TakeResync() {
		return
	}
	if now-s.resyncAt > resyncsWithin-resyncEvery {
		s.resyncs = 0
	}
	s.resyncs++
	if s.resyncs == maxResyncs && (len(s.config.Token) == 0 || s.freshToken) {
		s.ordinary = true
	}
	s.resyncAt = now + resyncEvery
	s.send(wire.TypeResync, nil)
}

// simulates reports whether the next session computes bodies if the server allows it.
func (s *Session) simulates() bool { return s.config.Simulate && !s.ordinary }

// divergent reports whether the session computes bodies, but should not any more.
func (s *Session) divergent() bool {
	return s.ordinary && s.welcome != nil && s.welcome.Simulate == 1
}

// Bye queues a Bye, which tells the server that the client leaves, and why.
func (s *Session) Bye(why wire.Code) { s.send(wire.TypeBye, wire.Bye{Code: why}.Append(nil)) }

// Joined reports whether this connection has received its Welcome.
func (s *Session) Joined() bool { return s.joined && s.err == nil }

// Welcome returns the newest Welcome, and false before the first.
func (s *Session) Welcome() (wire.Welcome, bool) {
	if s.welcome == nil {
		return wire.Welcome{}, false
	}
	return *s.welcome, true
}

// Replica returns the client's copy of its interest set, nil before the first Welcome.
// Each Welcome that begins a new session, or moves it to another room, makes a new Replica.
func (s *Session) Replica() *Replica { return s.replica }

// Resolve returns the verdict on h; Pending before the first Welcome. It still answers
// when the connection is lost. See Provisional for handles that it returned.
func (s *Session) Resolve(h bulk.Handle) wire.Verdict {
	if s.replica == nil {
		return wire.Pending
	}
	return s.replica.Resolve(h)
}

// Controlled returns the entity that this session controls, zero if none. It may be
// Pending: the assignment arrives before the entity. The server's game may assign
// another at any time, for instance when a player respawns.
func (s *Session) Controlled() bulk.Handle { return s.controlled }

// RTT returns the newest measured round trip.
func (s *Session) RTT() RTT { return s.rtt }

// Stats returns what the session counted since NewSession.
func (s *Session) Stats() SessionStats {
	n := s.stats
	n.Delay, n.Lead, n.Ordinary = s.renderer.delay.value, s.inputs.lead.value, s.ordinary
	if s.replica != nil {
		n.Replica = s.replica.Stats()
	}
	return n
}
