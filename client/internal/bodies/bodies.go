// Package bodies computes the motion of bodies that only effects, gravity and the ground move:
// the server sends no rows for that motion (SIMULATING.md of package wire). The Replica that keeps
// [Bodies] passes on each record, row and applied snapshot. All bodies are computed up to the
// newest snapshot's tick. P1 and P4 are invariants of package replication, C11 and C12 of
// package client.
package bodies

import (
	"fmt"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// Replica is the part of a client's replica that its Bodies read.
type Replica interface {
	// IndexOf returns the index of an entity in view.
	IndexOf(h bulk.Handle) (index uint32, inView bool)
	// WillBeInView reports whether h will be in view after the records checked so far.
	WillBeInView(h bulk.Handle) bool
	// Structure returns the number of structure records applied.
	Structure() uint32
	// AppendAudited appends the entities in view that the audit of a snapshot covers.
	AppendAudited(dst []Audited, seq uint32) []Audited
	// Diverged is called for the first failed audit after one that agreed.
	Diverged(tick uint32, entities []bulk.Handle)
}

// Audited is an entity that an audit covers.
type Audited struct {
	Index uint32
	Tick  uint32 // tick of the newest state received
}

// Bodies computes the bodies whose exact states the server sent, under their effects. All
// bodies are at the tick of the newest complete snapshot.
type Bodies struct {
	replica     Replica
	form        rowForm
	restTicks   uint32
	kinds       map[uint32]motion.Kind
	declared    uint32 // number of kinds in the schema; records add others
	maxKind     uint32 // highest kind number
	tracks      tracks
	effects     effects
	computation *computation
	snapshots   snapshots
	audits      audits
	ghosts      []*track // of entities that have left, but that effects still follow
	overrun     bool     // bodies are lost until a Resync
	budget      *work.Budget
	stats       Stats
}

// Stats counts the work of computing; see MotionStats of package client.
type Stats struct {
	Clean    int
	Owed     uint64
	Steps    uint64
	Rerun    uint64
	Audited  uint64
	Faults   uint64
	Behind   uint64
	Overruns uint64
}

// Config configures New.
type Config struct {
	Schema  *schema.Schema // schema of the server
	TickHz  int
	Replica Replica
	Budget  *work.Budget
	Stats   Stats // starting values of the counters
}

// Estimated times, in ns.
const (
	programTime  = 10_000 // of a Program, besides its code
	codeTime     = 200    // of a byte of code
	snapshotTime = 1000   // of a complete snapshot, besides its ticks
	tickTime     = 300    // of a tick, besides bodies and effects
	bodyTime     = 100    // of an awake body per tick
	reachTime    = 2      // of testing whether a body is in reach of an effect
	effectTime   = 30     // of an effect per tick
	actTime      = 300    // more if the effect moves bodies in the tick
	lookTime     = 5      // of reading any other item of a list

	instructionTime = 3 // of an instruction in the program of an effect that a record sets
)

// New returns the bodies of a session, or an error if the server's schema does not say how they
// move, or contradicts package motion.
func New(c Config) (*Bodies, error) {
	s, form := c.Schema, schema.NewWithBody()
	m, ok := s.Motion()
	changes, misfit := s.Compare(form)
	switch {
	case !ok || int(m.TickHz) != c.TickHz || m.TickHz > 1000:
		return nil, badMessage("the session simulates, but the schema does not say how bodies move at %d ticks a second", c.TickHz)
	case m.MaxSpeed != motion.MaxSpeed:
		return nil, badMessage("the highest speed of bodies is %v m/s, not %v", m.MaxSpeed, motion.MaxSpeed)
	case misfit != nil || len(changes) > 0:
		return nil, badMessage("the session simulates, but the schema lacks the component %q", schema.BodyComponent)
	}
	p := motion.Params{
		TickHz: int(m.TickHz), Gravity: m.Gravity, HalfExtent: motion.Vec3{X: m.HalfX, Y: m.Height, Z: m.HalfZ},
		RestSpeed: m.RestSpeed, RestTicks: m.RestTicks, Bounds: motion.Bounds(m.Bounds),
	}
	maxBack := wire.MaxBack(c.TickHz)
	b := &Bodies{
		replica: c.Replica, form: newRowForm(s, form), restTicks: m.RestTicks, kinds: map[uint32]motion.Kind{}, declared: uint32(len(s.Kinds())),
		tracks: newTracks(p, maxBack+1), effects: effects{maxBack: maxBack}, budget: c.Budget, stats: c.Stats,
	}
	b.computation = newComputation(p, &b.tracks, &b.effects, c.Budget, &b.stats)
	b.audits = audits{replica: c.Replica, tracks: &b.tracks, budget: c.Budget, stats: &b.stats}
	for i, k := range s.Kinds() {
		if k.Body != nil {
			b.addKind(uint32(i), *k.Body)
		}
	}
	return b, nil
}

func badMessage(format string, args ...any) error {
	return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf(format, args...)}
}

func (b *Bodies) addKind(number uint32, c schema.KindBody) {
	k := motion.Kind{
		InvMass: c.InvMass, Coupling: c.Coupling, Radius: c.Radius, Friction: c.Friction,
		Restitution: c.Restitution, Layers: motion.Layers(c.Layers),
	}
	b.kinds[number] = k
	b.maxKind = max(b.maxKind, number)
	b.computation.setKind(motion.KindID(number), k)
}

// Component returns the number of the component body in the server's schema.
func (b *Bodies) Component() int { return b.form.component }

// Offset returns the index in a row of the first value of the component body.
func (b *Bodies) Offset() int { return b.form.offset }

// Now returns the tick up to which bodies are computed, 0 before the first complete snapshot.
func (b *Bodies) Now() uint32 { return b.tracks.now }

// Waiting returns how many bodies wait for a snapshot, for tests. The count includes computed
// bodies that are not dropped from the list yet.
func (b *Bodies) Waiting() int { return len(b.tracks.waiting) }

// StateLists returns how many bodies have a list of past states, and how many spare lists there
// are, for tests.
func (b *Bodies) StateLists() (used, spare int) { return b.tracks.stateLists() }

// Stats returns the counters.
func (b *Bodies) Stats() Stats {
	n := b.stats
	n.Clean = b.tracks.count
	return n
}

// Bytes returns the memory of all bodies and effects.
func (b *Bodies) Bytes() int {
	return b.effects.bytes() + len(b.tracks.numbered)*b.BytesOfNew() + len(b.kinds)*64 + 2*int(b.maxKind)*24
}

// BytesOfNew returns the memory of one more body.
func (b *Bodies) BytesOfNew() int { return b.tracks.bytesOfNew() }

// NeedResync reports whether the server should send all states again: computed bodies differ
// from the server's, or computing took too long.
func (b *Bodies) NeedResync() bool { return b.overrun || b.audits.diverged }

// NoteResync notes that the client has asked the server for all states.
func (b *Bodies) NoteResync() {
	b.overrun = false
	b.audits.noteResync()
}

// AddEntity makes room for an ordinary entity with the next index.
func (b *Bodies) AddEntity() { b.tracks.addIndex() }

// RemoveEntity removes the entity with an index, which the last entity then takes.
func (b *Bodies) RemoveEntity(index uint32) {
	b.makeOrdinary(index)
	b.tracks.removeIndex(index)
}

// makeOrdinary stops computing an entity.
func (b *Bodies) makeOrdinary(index uint32) {
	t := b.tracks.trackAt(index)
	if t == nil {
		return
	}
	b.tracks.setTrack(index, nil)
	leader := b.effects.leaders[t.handle]
	if leader == nil {
		b.tracks.removeTrack(t)
		return
	}
	leader.ghost = t
	b.ghosts = append(b.ghosts, t)
}

// Received is the newest state of an entity, from an Enter or a row.
type Received struct {
	Handle bulk.Handle
	Kind   uint32
	Index  uint32
	Tick   uint32
	Form   wire.Form
	Body   *wire.BodyState // unless Form is wire.Ordinary
	Enter  bool            // earlier states are forgotten
	// Teleport is the tick of the entity's teleport of which the server told with the state; 0: none.
	Teleport uint32
}

// Receive applies a received state.
func (b *Bodies) Receive(e Received) {
	if e.Form == wire.Ordinary {
		b.makeOrdinary(e.Index)
		return
	}
	if !e.Enter {
		b.stats.Owed++
	}
	b.giveExactState(e, stateOf(e.Body))
}

// giveExactState sets the state from which a body is computed.
func (b *Bodies) giveExactState(e Received, s motion.State) {
	t := b.tracks.trackAt(e.Index)
	enters := e.Enter || t == nil
	if t == nil {
		t = b.tracks.newTrack()
		b.tracks.setTrack(e.Index, t)
	}
	if enters {
		b.tracks.beginTrack(t, e, s)
	}
	b.tracks.giveState(t, e, s)
}

// ApplySnapshot notes an applied snapshot. If it completes the newest complete snapshot, with
// all that are linked to it, all bodies are computed up to that tick.
func (b *Bodies) ApplySnapshot(h *wire.StateHeader) {
	b.snapshots.addSnapshot(h)
	if s := b.snapshots.newestComplete(h.Seq, b.tracks.now); s != nil {
		b.completeSnapshot(s)
	}
}

// completeSnapshot computes all bodies up to the tick of a snapshot (P1), and checks its audit.
// If the budget is spent, the bodies stay at the tick that they have reached, and a later
// snapshot continues from there. Bodies more than a second behind stand still until the server
// sends their states again.
func (b *Bodies) completeSnapshot(s *snapshot) {
	if b.budget.Spent() {
		b.stats.Behind++
		return
	}
	b.budget.Spend(snapshotTime + lookTime*(len(b.tracks.numbered)+len(b.tracks.waiting)+2*b.effects.versions))
	b.findLeaders()
	inTime := b.computation.computeUntil(s.tick)
	switch {
	case !inTime:
		b.giveUpAt(s.tick)
	case b.tracks.now < s.tick:
		b.stats.Behind++
	}
	b.effects.dropSettled()
	b.effects.forgetBefore(b.tracks.now - min(b.tracks.now, b.effects.maxBack+1))
	b.tracks.sweepStates()
	b.ghosts = slices.DeleteFunc(b.ghosts, func(t *track) bool {
		if b.effects.leaders[t.handle] != nil {
			return false
		}
		b.tracks.removeTrack(t)
		return true
	})
	if s.audit && s.structure == b.replica.Structure() && b.tracks.now == s.tick && !b.budget.Spent() {
		b.audits.checkAudit(s)
	}
}

// giveUpAt empties sim and sets its tick: all bodies stand still until the server sends their
// states again.
func (b *Bodies) giveUpAt(tick uint32) {
	b.stats.Overruns++
	b.overrun = true
	b.budget.Spend(lookTime * int(b.tracks.keep) * len(b.tracks.numbered))
	for _, t := range b.tracks.numbered {
		if t != nil {
			b.tracks.syncTrack(t)
		}
	}
	b.computation.restartAt(tick)
	for _, t := range b.tracks.numbered {
		if t != nil && (!t.waits() || t.at <= tick) {
			t.state = trackLost
		}
	}
	b.tracks.dropComputed()
}
