// Package bodies computes the motion of the bodies for which a server sends nothing while only
// effects, gravity and the ground move them: PROTOCOL.md, section 11.7. The Replica that keeps
// [Bodies] passes on each record and row, and each applied snapshot, up to whose tick all bodies
// are computed. P1, P4 and C11, C12 are invariants of PROTOCOL.md and of package client.
package bodies

import (
	"fmt"
	"slices"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// Replica is the part of a replica that its Bodies read.
type Replica interface {
	// IndexOf returns the index of an entity in view.
	IndexOf(h bulk.Handle) (index uint32, inView bool)
	// WillBeInView reports whether h will be in view after the records checked so far.
	WillBeInView(h bulk.Handle) bool
	// Structure returns the number of structure records applied.
	Structure() uint32
	// AppendAudited appends the entities in view that the audit of a snapshot covers.
	AppendAudited(dst []Audited, seq uint32) []Audited
	// Diverged is called for the first audit that fails after one that agreed.
	Diverged(tick uint32, entities []bulk.Handle)
}

// Audited is an entity that an audit covers.
type Audited struct {
	Index uint32
	Tick  uint32 // of the newest state received
}

// Bodies computes the bodies whose exact states the server sent, and what effects do to
// them. All bodies are at the tick of the newest complete snapshot.
type Bodies struct {
	replica   Replica
	restTicks uint32
	keep      uint32 // ticks of states kept
	maxBehind uint32 // ticks that bodies may be behind the newest complete snapshot
	kinds     map[uint32]motion.Kind
	declared  uint32 // kinds of the schema, which no record adds
	maxKind   uint32 // highest number of a kind
	part      int    // component body
	offset    int    // of its values in a row
	sim       *motion.Sim
	rerun     *motion.Sim // computes past ticks
	now       uint32      // tick of sim; 0: none
	effects   effects

	tracks   []*track         // by the entity's index in the replica; nil for ordinary entities
	numbered []*track         // by number
	free     []uint32         // numbers
	lists    [][]motion.State // spare ones of tracks
	listed   int              // tracks that have one
	changes  []motion.Changes // of the ticks up to logged, by tick modulo keep
	logged   uint32
	sweep    int      // index in numbered of the next track that may have slept for long
	waiting  []*track // to be computed from their given state; some already are
	ghosts   []*track // of entities that have gone, but lead
	count    int      // of tracks

	snapshots snapshots
	overrun   bool // bodies are lost: Resync
	diverged  bool // the newest audit failed: Resync
	reported  bool // the replica knows that the bodies diverged

	form      *schema.Schema // has the component body alone
	quantised schema.Body    // scratch
	values    [6]uint32      // scratch: of quantised

	redone   []*track  // scratch
	audited  []*track  // scratch
	covered  []Audited // scratch
	writeNew func(number uint32, s motion.State)
	budget   *work.Budget
	slowest  float64 // ns per point of the slowest program

	stats Stats
}

// Stats counts what was computed; see MotionStats of package client.
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
	Keep    time.Duration // for which states are kept at least
	Replica Replica
	Budget  *work.Budget
	Stats   Stats // to count on from
}

// Estimated times, in ns.
const (
	programTime  = 10_000 // of a Program, without its code
	codeTime     = 200    // of a byte of code
	snapshotTime = 1000   // of a complete snapshot, without its ticks
	tickTime     = 300    // of a tick, without bodies and effects
	bodyTime     = 100    // of an awake body in a tick
	reachTime    = 2      // of testing whether a body is in reach of an effect
	effectTime   = 30     // of an effect in a tick
	actTime      = 300    // more if the effect moves bodies in the tick
	lookTime     = 5      // of reading any other item of a list

	instructionTime = 3 // of an instruction in the program of an effect that is set
)

// New returns the bodies of a session, or an error if the server's schema does not say how they
// move, or otherwise than package motion.
func New(c Config) (*Bodies, error) {
	s, form := c.Schema, schema.NewWithBody()
	m, ok := s.Motion()
	switch {
	case !ok || int(m.TickHz) != c.TickHz || m.TickHz > 1000:
		return nil, badMessage("the session simulates, but the schema does not say how bodies move at %d ticks a second", c.TickHz)
	case m.MaxSpeed != motion.MaxSpeed:
		return nil, badMessage("the highest speed of bodies is %v m/s, not %v", m.MaxSpeed, motion.MaxSpeed)
	case s.Compare(form) != nil:
		return nil, badMessage("the session simulates, but the schema lacks the component %q", schema.BodyComponent)
	}
	b := &Bodies{
		replica: c.Replica, restTicks: m.RestTicks, keep: keptTicks, maxBehind: uint32(m.TickHz),
		kinds: map[uint32]motion.Kind{}, declared: uint32(s.Kinds()), form: form, budget: c.Budget, stats: c.Stats,
	}
	for b.keep < 512 && time.Duration(b.keep)*time.Second < time.Duration(m.TickHz)*c.Keep {
		b.keep *= 2
	}
	p := motion.Params{
		TickHz: int(m.TickHz), Gravity: m.Gravity, HalfExtent: motion.Vec3{X: m.HalfX, Y: m.Height, Z: m.HalfZ},
		RestSpeed: m.RestSpeed, RestTicks: m.RestTicks, Bounds: motion.Bounds(m.Bounds),
	}
	b.sim, b.rerun = motion.NewSim(motion.New(p), 0), motion.NewSim(motion.New(p), 0)
	for i := range s.Kinds() {
		if k := s.EntityKind(i).Body; k != nil {
			b.addKind(uint32(i), *k)
		}
	}
	b.part, _ = s.ByName(schema.BodyComponent)
	b.offset = s.Component(b.part).Offset
	b.changes = make([]motion.Changes, b.keep)
	b.writeNew = func(number uint32, s motion.State) {
		if t := b.numbered[number]; t.state == trackLate && uint64(t.at) < b.rerun.Now() {
			b.takeList(t)
			t.recordState(uint32(b.rerun.Now()), s)
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
	b.sim.SetKind(motion.KindID(number), k)
	b.rerun.SetKind(motion.KindID(number), k)
}

// Component returns the number of the component body in the server's schema.
func (b *Bodies) Component() int { return b.part }

// Offset returns the index in a row of the first value of the component body.
func (b *Bodies) Offset() int { return b.offset }

// Now returns the tick that bodies are computed up to, 0 before the first complete snapshot.
func (b *Bodies) Now() uint32 { return b.now }

// Waiting returns how many bodies wait for a snapshot, computed ones included that have not
// been dropped yet, for tests.
func (b *Bodies) Waiting() int { return len(b.waiting) }

// StateLists returns how many bodies have lists of their past states, and how many lists are
// spare, for tests.
func (b *Bodies) StateLists() (used, spare int) {
	for _, t := range b.numbered {
		if t != nil && t.states != nil {
			used++
		}
	}
	return used, len(b.lists)
}

// Stats returns what was computed.
func (b *Bodies) Stats() Stats {
	n := b.stats
	n.Clean = b.count
	return n
}

// Bytes returns the memory of all bodies and effects.
func (b *Bodies) Bytes() int {
	return b.effects.bytes() + len(b.numbered)*b.BytesOfNew() + len(b.kinds)*64 + 2*int(b.maxKind)*24
}

// BytesOfNew returns the memory of one more body. Its states count from the beginning, though
// a body that sleeps has none: there are never more lists than there have been bodies.
func (b *Bodies) BytesOfNew() int {
	return bytesOfTrack + int(b.keep)*(bytesOfState+bytesOfLog) + 2*bytesOfRow + 4*8
}

// NeedResync reports whether the server should send all states again: computed bodies differ from
// the server's, or could not be computed in time.
func (b *Bodies) NeedResync() bool { return b.overrun || b.diverged }

// NoteResync notes that the server was asked for all states.
func (b *Bodies) NoteResync() { b.overrun, b.diverged = false, false }

// AddEntity makes room for an ordinary entity with the next index.
func (b *Bodies) AddEntity() { b.tracks = append(b.tracks, nil) }

// RemoveEntity removes the entity with an index, which the last one then has.
func (b *Bodies) RemoveEntity(index uint32) {
	b.makeOrdinary(index)
	last := len(b.tracks) - 1
	b.tracks[index] = b.tracks[last]
	b.tracks[last] = nil
	b.tracks = b.tracks[:last]
}

// makeOrdinary stops computing an entity.
func (b *Bodies) makeOrdinary(index uint32) {
	t := b.tracks[index]
	if t == nil {
		return
	}
	b.tracks[index] = nil
	b.count--
	if b.isLeader(t) {
		b.ghosts = append(b.ghosts, t)
		b.effects.leaders[t.handle].ghost = t
		return
	}
	b.removeTrack(t)
}

// removeTrack removes a body.
func (b *Bodies) removeTrack(t *track) {
	b.numbered[t.number] = nil
	b.free = append(b.free, t.number)
	b.returnList(t)
	b.sim.Drop(t.number)
	t.state = trackComputed
}

// Received is a newest state of an entity, from an Enter or a row.
type Received struct {
	Handle bulk.Handle
	Kind   uint32
	Index  uint32
	Tick   uint32
	Form   wire.Form
	Body   *wire.BodyState // unless Form is wire.Ordinary
	Enter  bool            // earlier states are forgotten
}

// Receive applies a state that was received.
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

// giveExactState sets the state from which a body is computed next.
func (b *Bodies) giveExactState(e Received, s motion.State) {
	t := b.tracks[e.Index]
	enters := e.Enter || t == nil
	if t == nil {
		t = b.newTrack()
		b.tracks[e.Index] = t
		b.count++
	}
	if enters {
		t.handle, t.kind = e.Handle, motion.KindID(e.Kind)
		t.restartAt(e.Tick, s)
		t.synced = b.now
		b.sim.Drop(t.number)
	}
	t.given, t.at = s, e.Tick
	if t.state != trackGiven {
		t.state = trackGiven
		if len(b.waiting) >= 2*b.count+minWaiting {
			b.dropComputed()
		}
		b.waiting = append(b.waiting, t)
	}
}

// newTrack returns a track with a number of its own.
func (b *Bodies) newTrack() *track {
	t := &track{number: uint32(len(b.numbered))}
	if n := len(b.free); n > 0 {
		t.number, b.free = b.free[n-1], b.free[:n-1]
		b.numbered[t.number] = t
	} else {
		b.numbered = append(b.numbered, t)
	}
	return t
}

// minWaiting is the least length of waiting at which computed tracks are dropped from it.
const minWaiting = 64

// dropComputed drops the computed tracks from waiting.
func (b *Bodies) dropComputed() {
	b.waiting = slices.DeleteFunc(b.waiting, func(t *track) bool { return !t.waits() })
}
