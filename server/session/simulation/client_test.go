package simulation

import (
	"fmt"
	"hash/crc32"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// simClient is one client and everything that it received. It parses both ends of the
// server's stream, and computes independently which handles the client should know.
type simClient struct {
	sim      *sim
	number   int    // index in sim.clients
	epoch    uint64 // epoch of the handles in its Hello; 0: none
	conn     *conn
	session  *client.Session
	was      *session.Session // session on an earlier connection
	answered bool             // the server received a datagram: the session survives a lost connection
	backAt   int              // tick at which the client reconnects; 0: connected
	secrets  [][]byte         // secrets of earlier Welcomes, valid until the newest is confirmed
	spent    [][]byte         // invalid secrets

	lossy   bool  // the link lost datagrams at any time
	slowest int64 // longest delay to the client, in ms

	sent      streamParser  // the server's stream as written
	arrived   streamParser  // the server's stream as received
	written   []wire.Record // all records of the session, by number
	known     []knowledge
	fresh     []knowledge                  // knowledge of a new session whose Welcome has not arrived
	renewing  bool                         // fresh is in use
	forgot    bool                         // every verdict is Stale until the next Welcome
	datagrams map[uint32]*receivedDatagram // by sequence number
	newest    uint32                       // highest sequence number of datagrams
	intents   map[uint32]intent
	corrupt   int  // number of next datagrams whose fold will be broken
	mislead   int  // number of next datagrams whose structure number will be changed
	boasted   bool // the client acknowledged a record or datagram that was never sent: the server must end the session
	lied      bool // an Enter of a dead entity arrived: the client must end the session
	misled    bool // a structure number was wrong: a state may belong to another part of its entity's life, but to no other entity
	misleads  bool // misled, for the session whose Welcome has not arrived
	spoilt    uint64
	targets   client.Component[Target]
	names     client.Component[Identity]
	seats     client.Component[Seat]
	departed  departed
	sparks    map[uint32]bool   // unreliable events that arrived
	named     []*simProvisional // provisional handles sent, in order
	aimed     *simProvisional   // provisional handle of the next inputs; may be nil
	aims      int
	owed      owed
}

// departed sums the counters of a client's ended connections.
type departed struct{ faults, leaves uint64 }

// receivedDatagram is one state datagram as the client received it.
type receivedDatagram struct {
	tick      uint32
	structure uint32
	sum       uint32 // hash of its bytes
	arrived   bool
	spoilt    bool // the datagram is broken on purpose: the client must not apply it, or it must be harmless
	corrupt   bool // spoilt by a wrong fold
	acked     bool
}

// intent is an unanswered command.
type intent struct {
	target   bulk.Handle
	received bool   // the client had received the target
	unseen   bool   // no client ever received the target
	token    uint32 // token of the client's question; 0: none
	summons  *summons
}

// connect opens a connection for client i, which holds handles of epoch, or no handles if
// epoch is 0.
func (s *sim) connect(i int, epoch uint64) *simClient {
	c := &simClient{sim: s, number: i, epoch: epoch, datagrams: map[uint32]*receivedDatagram{}, intents: map[uint32]intent{}, owed: newOwed()}
	c.targets = must.Get(client.ComponentOf[Target](s.schema, "target"))
	c.names = must.Get(client.ComponentOf[Identity](s.schema, "identity"))
	if s.seat != nil {
		c.seats = must.Get(client.ComponentOf[Seat](s.schema, "seat"))
	}
	c.session = must.Get(client.NewSession(client.SessionConfig{
		Schema: s.schema, Epoch: epoch, Name: fmt.Sprint("sim", i), Simulate: s.simulates(i), PlainRows: s.hasPlainRows(i), Result: c.result, Events: c.clientEvents(),
		Observer: client.Observer{
			Enter:   func(e *client.Entity) { c.check(e); c.call("enter") },
			Update:  func(e *client.Entity) { c.check(e); c.call("update") },
			Destroy: c.destroyed, Leave: c.left, Diverge: c.diverged,
		},
	}))
	c.conn = s.newConn(c)
	c.noteLinks(s.links)
	return c
}

// hasPlainRows reports whether client i receives plain rows. Its session refuses any others.
func (s *sim) hasPlainRows(i int) bool { return s.plain>>(i%8)&1 == 1 }

// rejoin replaces the client by a new one that presents the epoch of its handles. Another
// run refuses the new client, which then starts without handles.
func (c *simClient) rejoin() {
	epoch := c.epoch
	if w, ok := c.session.Welcome(); ok {
		epoch = w.Epoch
	}
	c.replace(epoch)
}

func (c *simClient) replace(epoch uint64) {
	c.conn.cut, c.conn.orphan = true, true
	c.sim.left = append(c.sim.left, c.conn)
	next := c.sim.connect(c.number, epoch)
	next.departed = c.departed
	if r := c.session.Replica(); r != nil {
		next.departed.faults += r.Stats().Faults
		next.departed.leaves += r.Stats().Leaves
	}
	c.sim.clients[c.number] = next
}

// The server's view of the client; zero without a session.

func (c *simClient) entity() bulk.Handle {
	if p := c.liveSession(); p != nil {
		return p.Entity()
	}
	return 0
}

func (c *simClient) shown(yield func(bulk.Handle) bool) {
	if p := c.liveSession(); p != nil {
		p.InterestSet()(yield)
	}
}

func (c *simClient) serverVerdict(h bulk.Handle) wire.Verdict {
	if p := c.liveSession(); p != nil {
		return p.Resolve(h)
	}
	return wire.Pending
}

func (c *simClient) noteLinks(x simtest.Conditions) {
	c.lossy = c.lossy || x.Loss > 0
	c.slowest = max(c.slowest, x.DelayMin, x.DelayMax)
}

func (c *simClient) setLinks(x simtest.Conditions) {
	c.noteLinks(x)
	c.conn.SetConditions(x)
}

// noteSnapshot records a datagram, and corrupts it if the script says so.
func (c *simClient) noteSnapshot(d []byte) []byte {
	s := c.sim
	var rows bitio.Reader
	h := must.Get(wire.ParseStateHeader(d, &rows))
	rest := d[len(wire.AppendStateHeader(nil, h)):]
	if s.hasPlainRows(c.number) {
		s.coverage.plain++
	}
	if n := c.datagrams[h.Seq]; n != nil { // a copy
		if sum := crc32.ChecksumIEEE(d); sum != n.sum {
			s.fail("S3", "client %d is sent two snapshots %d", c.number, h.Seq)
		}
		s.coverage.copies++
		if n.corrupt {
			h.Fold ^= 0x40
		}
		h.Structure = n.structure
		return append(wire.AppendStateHeader(nil, h), rest...)
	}
	c.noteEvents(h)
	c.judgeOwed(h, rows)
	n := &receivedDatagram{tick: h.Tick, structure: h.Structure, sum: crc32.ChecksumIEEE(d)}
	switch {
	case c.corrupt > 0:
		c.corrupt--
		n.spoilt, n.corrupt, h.Fold = true, true, h.Fold^0x40
	case c.mislead > 0 && h.Structure > 3 && !c.answersIn(h.Structure-3, h.Structure):
		c.mislead--
		c.misled, c.misleads = true, c.renewing
		n.spoilt, h.Structure = true, h.Structure-3
		n.structure = h.Structure
	}
	c.datagrams[h.Seq], c.newest = n, h.Seq
	return append(wire.AppendStateHeader(nil, h), rest...)
}

// ended handles a connection that the server closed.
func (c *simClient) ended(err error) {
	s := c.sim
	switch code := wire.CodeOf(err); {
	case code == wire.BadMessage && c.conn.closed == code && c.boasted:
		s.coverage.boasts++
		c.rejoin()
	case code == wire.Kicked && c.conn.closed == code:
		s.coverage.kicks++
		c.rejoin()
	case (code == wire.ServerFull || code == wire.JoinRefused) && c.conn.closed == code:
		s.coverage.turnedAway++
		c.rejoin()
	case code == wire.Draining && c.conn.closed == code && s.restartAt != 0:
		s.coverage.drained++
		c.rejoin()
	case code == wire.Timeout && c.conn.closed == code: // the link was down for too long
		c.session.Lost(err)
		c.reconnect()
	case code == wire.TooSlow && c.conn.closed == code && c.conn.stalled():
		c.rejoin()
	case code == wire.BadMessage && c.lied:
		s.coverage.lies++
		c.conn.goneAt = s.tick
		c.rejoin()
	case code == wire.EpochMismatch && c.conn.closed == code:
		if c.epoch == s.epoch {
			s.fail("H5", "client %d has handles of this run and was refused", c.number)
		}
		s.coverage.refused++
		c.session.Lost(err)
		c.epoch, c.forgot, c.was = 0, true, nil
		c.reconnect()
	default:
		s.fail("S3", "client %d ended: %v", c.number, err)
	}
}

// datagram delivers a datagram. The newest datagram is always readable if it names exactly
// the applied structure: its baselines were acknowledged since the Enters of their rows
// (R3).
func (c *simClient) datagram(d []byte) {
	s := c.sim
	var r bitio.Reader
	h := must.Get(wire.ParseStateHeader(d, &r))
	n := c.datagrams[h.Seq]
	replica := c.session.Replica()
	due := c.session.Joined() && h.Seq > replica.Stats().Ack.Newest && h.Structure == replica.Stats().Ack.Structure && !n.spoilt && !c.misled
	if n.spoilt {
		c.spoilt++
	}
	s.recording.keep(c.conn, vectors.Step{Datagram: d})
	outcome, err := c.session.ReceiveDatagram(d, time.Duration(s.now())*time.Millisecond)
	switch {
	case err != nil && !n.spoilt:
		s.fail("H1", "snapshot %d is unreadable: %v", h.Seq, err)
	case due && outcome != client.Applied:
		s.fail("R3", "snapshot %d is the newest and its structure is applied, but the outcome is %d", h.Seq, outcome)
	}
	n.arrived = n.arrived || c.session.Joined()
}

// judgeAck checks that the client has applied all that it acknowledges (H6).
func (c *simClient) judgeAck(input []byte) {
	s := c.sim
	var in wire.Input
	err := in.Parse(input)
	s.must(err)
	if in.Ack.Structure != c.arrived.records {
		s.fail("H6", "client %d acknowledges %d structure records and has %d", c.number, in.Ack.Structure, c.arrived.records)
	}
	if !in.Ack.Seen {
		return
	}
	c.judgeAcked(in.Ack.Newest)
	for i := range uint32(64) {
		if in.Ack.Mask>>i&1 != 0 {
			c.judgeAcked(in.Ack.Newest - 1 - i)
		}
	}
}

func (c *simClient) judgeAcked(seq uint32) {
	n := c.datagrams[seq]
	switch {
	case n == nil || !n.arrived:
		c.sim.fail("H6", "client %d acknowledges snapshot %d, which has not arrived", c.number, seq)
	case n.acked:
		return
	case n.corrupt:
		c.sim.fail("H6", "client %d acknowledges snapshot %d, whose fold was wrong", c.number, seq)
	case n.structure > c.arrived.records:
		c.sim.fail("H6", "client %d acknowledges snapshot %d, whose structure %d has not arrived", c.number, seq, n.structure)
	}
	n.acked = true
}

// boast acknowledges snapshots or structure that were never sent.
func (c *simClient) boast(ahead uint32) {
	if !c.sent.joined || c.conn.closed != wire.OK || c.newest == 0 || c.conn.cut || c.conn.welcome == 0 || c.renewing {
		return
	}
	ack := wire.Ack{Seen: true, Newest: c.newest, Structure: c.sent.records}
	if ahead%2 == 0 {
		ack.Newest += ahead
	} else {
		ack.Structure += ahead
	}
	c.boasted = true
	c.sendAck(ack)
}

// revive sends the Enter of a dead handle after its Destroy, as the next record that the
// client expects.
func (c *simClient) revive(from int) {
	for i := range c.known {
		l := c.sim.order[nth(from+i, len(c.known))]
		if k := c.of(l); k.enter != nil && k.verdict == wire.Stale && !c.lied && c.conn.closed == wire.OK && !c.conn.cut && !c.renewing {
			body := wire.AppendStructureHeader(nil, c.sent.records+1, 1)
			body = wire.AppendRecord(body, *k.enter)
			c.conn.Down.Send(c.sim.now(), wire.AppendFrame(nil, wire.TypeStructure, body))
			c.lied, c.misled, c.arrived.lied = true, true, true
			return
		}
	}
}

// sendAck delivers a forged acknowledgement to the server.
func (c *simClient) sendAck(a wire.Ack) {
	in := wire.Input{Stamp: 1, Ack: a}
	d := in.Append(nil)
	_, err := c.conn.peer.ReceiveDatagram(d)
	c.noteAcked(c.conn, d)
	c.sim.must(err)
}

// rewind repeats an old acknowledgement, which must change nothing.
func (c *simClient) rewind(back uint32) {
	if r := c.session.Replica(); r != nil && c.conn.closed == wire.OK && !c.conn.cut && c.session.Joined() && !c.renewing && r.Stats().Ack.Newest > 0 {
		ack := r.Stats().Ack
		ack.Newest -= back % ack.Newest
		ack.Mask = 0
		ack.Structure -= back % (ack.Structure + 1)
		if c.datagrams[ack.Newest] != nil && c.datagrams[ack.Newest].acked {
			c.sendAck(ack)
		}
	}
}

// check compares an entity's new state with the server's state at the same tick.
func (c *simClient) check(e *client.Entity) {
	s, h := c.sim, e.Handle()
	l := s.lives[h]
	switch {
	case l == nil:
		s.fail("H1", "client %d has %v, which was never issued", c.number, h)
	case l.run != s.run:
		s.fail("H5", "client %d has %v, of an earlier run", c.number, h)
	case c.of(l).dead:
		s.fail("H3", "client %d has state of %v after its destroy", c.number, h)
	case l.diedTick != 0 && e.Tick() >= l.diedTick:
		s.fail("H1", "client %d has %v at tick %d; it died in %d", c.number, h, e.Tick(), l.diedTick)
	}
	if name, ok := c.names.Get(e); !ok || name.Value != l.identity {
		s.fail("H1", "client %d has another entity as %v", c.number, h)
	}
	asSpawned := s.cleans && c.enteredAs(e, e.AppendValues(nil))
	if owns := c.owns(h, e.Tick()); e.Owned() != owns && !c.misled && !asSpawned {
		s.fail("R7", "client %d received %v at tick %d as its owner: %v, want %v", c.number, h, e.Tick(), e.Owned(), owns)
	}
	if want, got := s.seen(l.at(e.Tick()), e.Owned()), e.AppendValues(nil); !slices.Equal(want, got) && !c.misled && !asSpawned {
		s.fail("H1", "client %d has %v at tick %d as %x, want %x", c.number, h, e.Tick(), got, want)
	}
	c.checkNames(e, l)
	c.of(l).received, c.of(l).seen = true, true
	if target, ok := c.targets.Get(e); ok {
		c.checkReference(e, target.Handle)
	}
	if s.seat != nil {
		if seat, ok := c.seats.Get(e); ok {
			c.checkReference(e, seat.On)
		}
	}
}

// checkReference checks that a handle in an entity's new state was live at the tick of the
// state.
func (c *simClient) checkReference(e *client.Entity, h bulk.Handle) {
	s := c.sim
	if h == 0 {
		return
	}
	if h.Generation() == bulk.GoneGeneration { // of an entity that was dead when its world was saved
		if c.session.Resolve(h) != wire.Stale {
			s.fail("H5", "client %d resolves %v, which names nothing for ever", c.number, h)
		}
		return
	}
	to := s.lives[h]
	if to == nil {
		s.fail("H1", "client %d received %v, which was never issued", c.number, h)
	}
	dead := to.run != s.run || to.diedTick != 0 && to.diedTick <= e.Tick()
	if dead && c.session.Resolve(h) != wire.Stale && !c.misled {
		s.fail("R4", "client %d received a reference to %v, which was dead, before its Destroy", c.number, h)
	}
	c.noteReceived(to)
}

func (c *simClient) left(h bulk.Handle, why wire.Reason) {
	byRule := why == wire.HiddenByRule && (len(c.sim.ruled) > 0 || c.sim.coverage.veiled > 0)
	if got := c.session.Resolve(h); why != wire.LeftInterest && !byRule || got != wire.Hidden {
		c.sim.fail("H3", "client %d received Leave of %v (%v), and its verdict is %v", c.number, h, why, got)
	}
	c.call("left")
}

func (c *simClient) destroyed(h bulk.Handle, cause uint8) {
	s := c.sim
	l := s.lives[h]
	switch {
	case l == nil:
		s.fail("H3", "client %d received Destroy of %v, which was never issued", c.number, h)
	case l.died == 0:
		s.fail("H3", "client %d received Destroy of %v, which is alive", c.number, h)
	case c.of(l).dead:
		s.fail("H3", "client %d received Destroy of %v twice", c.number, h)
	case c.session.Resolve(h) != wire.Stale:
		s.fail("H3", "client %d received Destroy of %v, and its verdict is %v", c.number, h, c.session.Resolve(h))
	}
	if cause != 0 && cause != l.cause {
		s.fail("R5", "client %d received Destroy of %v with cause %d, want %d", c.number, h, cause, l.cause)
	}
	c.of(l).dead = true
	c.call("destroyed")
}

// command sends a command that pokes h.
func (c *simClient) command(h bulk.Handle) {
	s := c.sim
	if !c.session.Joined() {
		return
	}
	believed, received := uint64(0), false
	if l := s.lives[h]; l != nil {
		received = c.of(l).received
		if c.of(l).seen {
			believed = l.identity
		}
	}
	args := must.Get(msgpack.Marshal(believed))
	asked := must.Get(c.session.DoRaw("poke", h, args))
	c.intents[asked.ID()] = intent{target: h, received: received}
}

// result checks the answer to a command against the history (H2).
func (c *simClient) result(r client.Result) {
	s := c.sim
	defer c.call("result")
	if r.Err == client.ErrUnanswered {
		c.unanswered(r)
		return
	}
	asked, ok := c.intents[r.ID]
	h := asked.target
	if !ok || h != r.Target {
		s.fail("H2", "result for %v, asked for %v", r.Target, h)
	}
	delete(c.intents, r.ID)
	if asked.unseen {
		c.judgeUnseen(wire.CodeOf(r.Err), r.Verdict, h)
		return
	}
	c.judgeResult(r)
	if asked.summons != nil {
		c.judgeSummoned(asked.summons)
	}
	l := s.lives[h]
	switch code := wire.CodeOf(r.Err); code {
	case wire.OK:
		if r.Verdict != wire.Live {
			s.fail("H2", "executed on %v, with verdict %v", h, r.Verdict)
		}
		c.judgeAnswer(asked, r)
		return
	case wire.StaleHandle:
		if r.Verdict != wire.Stale || l == nil && h.Valid() && h.Generation() >= c.arrived.floor || l != nil && l.died == 0 {
			s.fail("H2", "%v was rejected as stale, and is not", h)
		}
	case wire.HiddenHandle:
		if l == nil || r.Verdict != wire.Hidden {
			s.fail("H2", "%v was rejected as hidden, and is not", h)
		}
	case wire.UnknownHandle:
		if asked.received || r.Verdict != wire.Pending {
			s.fail("R2", "%v was sent, and was rejected as unknown", h)
		}
	case wire.RateLimited:
	default:
		if !asked.refusedByGame(code) {
			s.fail("H2", "%v was rejected: %v", h, r.Err)
		}
	}
	s.coverage.rejected++
}

// judgeResult compares the answer with what the client received before it on the same
// stream.
func (c *simClient) judgeResult(r client.Result) {
	if r.Target == 0 {
		return
	}
	s, own := c.sim, c.session.Resolve(r.Target)
	switch {
	case own == r.Verdict:
	case r.Verdict == wire.Hidden && own == wire.Pending: // known only by a reference
	default:
		s.fail("R8", "client %d received verdict %v on %v, and its own is %v", c.number, r.Verdict, r.Target, own)
	}
}
