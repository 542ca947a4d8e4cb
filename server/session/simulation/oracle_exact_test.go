package simulation

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
	"github.com/worldd/worldd/world/motion"
)

// The oracle of clean bodies keeps the exact state of each body after each tick. It checks
// each state that a client computes (P1), each exact row and each effect that the client is
// sent (P2, P5), and whether it simulates (P6).

// exactOracle is the part of a sim that concerns clean bodies.
type exactOracle struct {
	cleans    bool // the script simulates
	able      int  // clients that can simulate, by number modulo 8
	tossed    []world.KindID
	programs  map[string]*field.Program
	fans      []world.EffectID
	concealed map[world.EffectID]bool // effects; true: hidden from clients
	untold    uint32                  // newest tick with an effect that no client may know
}

func newExactOracle(s *script) exactOracle {
	return exactOracle{cleans: s.has("simulate"), programs: map[string]*field.Program{}}
}

// cleanCoverage counts what happened to clean bodies.
type cleanCoverage struct {
	computed  int // states compared, of clients that simulate
	unsent    int // computed states of awake bodies without a row of that tick
	audits    int
	owed      int // exact rows
	ordinary  int // rows of ordinary entities among exact ones
	fans      int
	concealed int // hidden effects
	taught    int
	mixed     int // snapshots of ordinary clients in scripts that simulate
	back      int // Enters with a state of an earlier tick
}

func (t *cleanCoverage) counts() map[string]*int {
	return map[string]*int{
		"states computed": &t.computed, "states computed in flight": &t.unsent, "audits": &t.audits,
		"exact rows": &t.owed, "ordinary rows among exact ones": &t.ordinary, "fans": &t.fans, "hidden fans": &t.concealed,
		"effects told": &t.taught, "snapshots of ordinary clients": &t.mixed, "enters with the state of their spawn": &t.back,
	}
}

func (t *cleanCoverage) add(o *cleanCoverage) {
	more := o.counts()
	for name, n := range t.counts() {
		*n += *more[name]
	}
}

func (t *cleanCoverage) requireAll(tb testing.TB) {
	for name, n := range t.counts() {
		require.NotZero(tb, *n, "%s: none", name)
	}
}

// exactLife is the history of a body.
type exactLife struct {
	states    []exactState // one for each change
	disturbed uint32       // newest tick in which a cause other than motion changed it
	changed   uint32       // newest tick in which a public value other than the body's changed
	paid      uint32       // newest tick in which any value other than the body's changed
}

type exactState struct {
	tick uint32
	motion.State
}

// at returns the state after a tick.
func (x *exactLife) at(tick uint32) (motion.State, bool) {
	i, found := slices.BinarySearchFunc(x.states, tick, func(s exactState, tick uint32) int { return cmp.Compare(s.tick, tick) })
	if !found {
		i--
	}
	if i < 0 {
		return motion.State{}, false
	}
	return x.states[i].State, true
}

// recordMotion records the exact state of l after a step, and its disturbances.
func (s *sim) recordMotion(l *life, tick uint32) {
	if !s.cleans {
		return
	}
	x, slot := &l.motion, l.handle.Index()
	now, ok := s.world.Slots().Exact(slot)
	if !ok {
		return
	}
	if spawned, at, ok := s.world.Slots().SpawnState(slot); ok && len(x.states) == 0 && at < uint64(tick) {
		x.states = append(x.states, exactState{uint32(at), spawned})
	}
	if n := len(x.states); n == 0 || x.states[n-1].State != now {
		x.states = append(x.states, exactState{tick, now})
	}
	x.disturbed = uint32(s.world.Slots().Disturbed(slot))
	if n := len(l.states); n > 1 && l.states[n-1].tick == tick {
		before, after := s.withoutBody(l.states[n-2].values), s.withoutBody(l.states[n-1].values)
		if !slices.Equal(before, after) {
			x.paid = tick
		}
		if !slices.Equal(s.seen(before, false), s.seen(after, false)) {
			x.changed = tick
		}
	}
}

// noteUntold records the effects after a step that no client may know. Effects that begin
// and end within one step are recorded when they are added.
func (s *sim) noteUntold() {
	if !s.cleans {
		return
	}
	for _, e := range s.world.AppendEffects(nil) {
		if e.Path.Form == motion.Following {
			s.untold = uint32(s.world.Tick()) + 1 // it may end within the next step
		}
	}
}

// withoutBody returns a copy of values in which the body is cleared.
func (s *sim) withoutBody(values []uint32) []uint32 {
	values = slices.Clone(values)
	n, _ := s.schema.ByName(schema.BodyComponent)
	spec := s.schema.Components()[n]
	clear(values[spec.Offset : spec.Offset+spec.Values])
	return values
}

// computed returns the values that the newest row of e must have if the server's row has
// values: the body of an exact entity comes from its exact state.
func (c *simClient) computed(e *client.Entity, values []uint32) []uint32 {
	if _, _, exact := e.Exact(); !exact {
		return values
	}
	s := c.sim
	n, _ := s.schema.ByName(schema.BodyComponent)
	spec := s.schema.Components()[n]
	copy(values[spec.Offset:spec.Offset+spec.Values], e.AppendValues(nil)[spec.Offset:])
	return values
}

// judgeBodies compares what a client has computed with the server's history (P1), and
// requires that its audits agreed (P4).
func (c *simClient) judgeBodies() {
	s, r := c.sim, c.session.Replica()
	if r == nil || !s.cleans || !c.session.Joined() || c.misled {
		return
	}
	able := s.simulates(c.number)
	for e := range r.All() {
		got, tick, ok := e.Exact()
		if !ok {
			continue
		}
		if !able {
			s.fail("P6", "client %d does not simulate, and %v is exact", c.number, e.Handle())
		}
		want, known := s.lives[e.Handle()].motion.at(tick)
		if !known || got != want {
			s.fail("P1", "client %d has %v in tick %d as %+v, want %+v; its newest row is of tick %d, it was disturbed in %d", c.number, e.Handle(), tick, got, want, e.Tick(), s.lives[e.Handle()].motion.disturbed)
		}
		s.coverage.computed++
		if got.Awake && tick > e.Tick() {
			s.coverage.unsent++
		}
	}
	if stats := r.Stats().Motion; stats.Faults+stats.Overruns > 0 {
		s.fail("P4", "client %d: %+v", c.number, stats)
	}
}

// diverged is called when an audit fails.
func (c *simClient) diverged(tick uint32, of []bulk.Handle) {
	if !c.misled {
		c.sim.fail("P4", "client %d: the audit of tick %d of %v failed", c.number, tick, of)
	}
}

// judgeSimulate checks that a session simulates if and only if its client can.
func (c *simClient) judgeSimulate(w wire.Welcome) {
	if want := c.sim.cleans && c.sim.simulates(c.number); (w.Simulate == 1) != want {
		c.sim.fail("P6", "client %d is welcomed with simulate %d", c.number, w.Simulate)
	}
}

// judgeExtension checks the records of effects that a client is sent.
func (c *simClient) judgeExtension(r wire.Record) {
	s := c.sim
	if !s.simulates(c.number) {
		s.fail("P6", "client %d is sent an extension", c.number)
	}
	if wire.Extension(r.Number) != wire.ExtendEffectAdded {
		return
	}
	e := r.EffectAdded()
	if hidden, known := s.concealed[e.Effect]; hidden || !known {
		s.fail("P5", "client %d is sent the effect %v, which is hidden: %v", c.number, e.Effect, hidden)
	}
	if leader := e.Path.Leader; leader != 0 && c.serverVerdict(leader) != wire.Live {
		s.fail("P5", "client %d is sent an effect that follows %v, which it does not see", c.number, leader)
	}
	s.coverage.taught++
}

// owed holds the states that a session has acknowledged, as its viewer knows them.
type owed struct {
	known   map[bulk.Handle]ackedBody
	pending map[uint32][]sentBody        // rows of snapshots, by seq
	spawned map[bulk.Handle][]spawnedRow // rows of Enters with the state of the spawn
}

// ackedBody is the newest state of an entity that was acknowledged or came with its Enter.
type ackedBody struct {
	tick  uint32
	exact bool
}

type sentBody struct {
	handle bulk.Handle
	ackedBody
}

// lossWindow: a snapshot counts as lost when one this much newer is acknowledged.
const lossWindow = 3

func newOwed() owed {
	return owed{map[bulk.Handle]ackedBody{}, map[uint32][]sentBody{}, map[bulk.Handle][]spawnedRow{}}
}

// noteEntered records an Enter that the server writes: its state counts as acknowledged.
func (c *simClient) noteEntered(r wire.Record) {
	s := c.sim
	if !s.cleans || !s.simulates(c.number) {
		return
	}
	if back := r.Exact.Back; back > 0 {
		s.coverage.back++
		tick := uint32(s.world.Tick()) - back
		c.owed.spawned[r.Handle] = append(c.owed.spawned[r.Handle], spawnedRow{s.spawnedValues(r.Handle, tick), uint32(s.world.Tick())})
	}
	c.owed.known[r.Handle] = ackedBody{uint32(s.world.Tick()), r.Exact.Form != wire.Ordinary}
}

// spawnedValues returns the values of an entity with the body's state after the tick of its
// spawn, before the first frame that has the entity. The other values are the present ones.
func (s *sim) spawnedValues(h bulk.Handle, tick uint32) state {
	values := slices.Clone(s.quantised(h))
	body, _ := s.lives[h].motion.at(tick)
	p, v := body.Position, body.Velocity
	n, _ := s.schema.ByName(schema.BodyComponent)
	spec := s.schema.Components()[n]
	s.rows.Component(n).Quantise(&schema.Body{Position: p.Array(), Velocity: v.Array()}, values[spec.Offset:spec.Offset+spec.Values])
	return state{tick, values}
}

// spawnedRow is the row of an Enter with the state of an earlier tick.
type spawnedRow struct {
	state
	message uint32 // tick of the Enter
}

// enteredAs reports whether e has the state of an earlier tick that its Enter gave.
func (c *simClient) enteredAs(e *client.Entity, values []uint32) bool {
	return slices.ContainsFunc(c.owed.spawned[e.Handle()], func(was spawnedRow) bool {
		return was.tick == e.Tick() && e.Owned() == c.owns(e.Handle(), was.message) && slices.Equal(c.sim.seen(was.values, e.Owned()), values)
	})
}

// judgeOwed checks that each exact row of a datagram is owed: the last acknowledged state
// is older than the last disturbance, or than the last change of another value (P2).
func (c *simClient) judgeOwed(h wire.StateHeader, r bitio.Reader) {
	s := c.sim
	if !s.cleans {
		return
	}
	if !s.simulates(c.number) {
		s.coverage.mixed++
		return
	}
	delete(c.owed.pending, h.Seq-64)
	c.owed.pending[h.Seq] = nil
	if h.Rows == 0 {
		return
	}
	coding, slot := wire.ReadRowCoding(&r, h.Tick), uint32(0)
	for range h.Rows {
		skip, b := wire.ReadRowHeader(&r, coding, h.Tick)
		exact := wire.Exact{}
		if h.Exact {
			exact = wire.ReadExact(&r, h.Tick, b, wire.MaxBack(s.world.TickHz()))
		}
		slot += skip
		handle := s.world.Slots().Handle(slot)
		slot++
		row := ackedBody{h.Tick - exact.Back, exact.Form != wire.Ordinary}
		c.owed.pending[h.Seq] = append(c.owed.pending[h.Seq], sentBody{handle, row})
		if !row.exact {
			s.coverage.ordinary++
			continue
		}
		s.coverage.owed++
		l := s.lives[handle]
		since := max(l.motion.disturbed, l.motion.changed, s.untold)
		if c.owns(handle, h.Tick) {
			since = max(since, l.motion.paid)
		}
		if had := c.owed.known[handle]; had.exact && had.tick >= since {
			s.fail("P2", "client %d is sent a row of %v in tick %d, has acknowledged that of %d, and nothing has touched it since %d", c.number, handle, h.Tick, had.tick, since)
		}
	}
}

// noteAcked records the acknowledgement in a datagram, as the viewer does.
func (c *simClient) noteAcked(n *conn, d []byte) {
	if !c.sim.cleans || n.peer.Session() == nil || n.peer.Session() != c.newestSession() {
		return
	}
	var in wire.Input
	err := in.Parse(d)
	if err != nil || !in.Ack.Seen {
		return
	}
	for seq, rows := range c.owed.pending {
		back := in.Ack.Newest - seq
		switch {
		case seq > in.Ack.Newest:
		case back == 0 || back <= 64 && in.Ack.Mask>>(back-1)&1 == 1:
			for _, row := range rows {
				if c.owed.known[row.handle].tick < row.tick {
					c.owed.known[row.handle] = row.ackedBody
				}
			}
			delete(c.owed.pending, seq)
		case back >= lossWindow:
			delete(c.owed.pending, seq)
		}
	}
}
