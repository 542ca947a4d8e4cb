package client

import (
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// bodies computes the bodies whose exact states the server sent, and what effects do to
// them. All bodies are at the tick of the newest complete snapshot.
type bodies struct {
	restTicks uint32
	keep      uint32 // ticks of states kept
	maxBehind uint32 // ticks that bodies may be behind the newest complete snapshot
	kinds     map[uint32]motion.Kind
	maxKind   uint32 // highest number of a kind
	part      int    // component body, -1 for none
	offset    int    // of its values in a row
	sim       *motion.Sim
	again     *motion.Sim // computes past ticks
	now       uint32      // tick of sim; 0: none
	effects   forces

	tracks   []*track         // by Entity.index; nil for ordinary entities
	numbered []*track         // by number
	free     []uint32         // numbers
	lists    [][]motion.State // spare ones of tracks
	listed   int              // tracks that have one
	changes  []motion.Changes // of the ticks up to logged, by tick modulo keep
	logged   uint32
	sweep    int      // index in numbered of the next track that may have slept for long
	waiting  []*track // fresh ones, and some that are not any more
	ghosts   []*track // of entities that have gone, but lead
	count    int      // of tracks

	snapshots [64]seenSnapshot // applied, by seq modulo 64
	overrun   bool             // bodies are lost: Resync
	diverged  bool             // the newest audit failed: Resync
	reported  bool             // and the observer knows

	quantised schema.Body // scratch
	values    [6]uint32   // scratch: of quantised

	redone  []*track // scratch
	audited []*track // scratch
	rewrite func(number uint32, s motion.State)
	budget  *budget
	slowest float64 // ns per point of the slowest program

	stats MotionStats
}

// MotionStats counts what a client with Config.Simulate computed.
type MotionStats struct {
	Clean    int    // bodies in view that are computed now
	Owed     uint64 // exact states received in rows
	Steps    uint64 // body-ticks computed, of bodies that were awake
	Rerun    uint64 // of these, past ticks: of bodies whose states were older than the others
	Audited  uint64 // audits that could be checked
	Faults   uint64 // of these, those that failed
	Behind   uint64 // snapshots for which there was no time to compute up to their tick
	Overruns uint64 // times that computing took too long and waited for a Resync
}

// newBodies returns the bodies of a session whose server has schema s and runs at tickHz, or
// an error if s does not say how they move, or otherwise than package motion.
func newBodies(s *schema.Schema, tickHz int, work *budget) (*bodies, error) {
	m, ok := s.Motion()
	switch {
	case !ok || int(m.TickHz) != tickHz || m.TickHz > 1000:
		return nil, protocolError("the session simulates, but the schema does not say how bodies move at %d ticks a second", tickHz)
	case m.MaxSpeed != motion.MaxSpeed:
		return nil, protocolError("the highest speed of bodies is %v m/s, not %v", m.MaxSpeed, motion.MaxSpeed)
	case !strings.Contains(s.Text(), linesOf(bodyForm)):
		return nil, protocolError("the session simulates, but the schema lacks the component %q", schema.BodyComponent)
	}
	b := &bodies{restTicks: m.RestTicks, keep: keptTicks, maxBehind: uint32(m.TickHz), kinds: map[uint32]motion.Kind{}, budget: work}
	for b.keep < 512 && time.Duration(b.keep)*time.Second < time.Duration(m.TickHz)*(maxDelay+maxDelay/2) {
		b.keep *= 2
	}
	p := motion.Params{
		TickHz: int(m.TickHz), Gravity: m.Gravity, HalfExtent: motion.Vec3{X: m.HalfX, Y: m.Height, Z: m.HalfZ},
		RestSpeed: m.RestSpeed, RestTicks: m.RestTicks, Bounds: motion.Bounds(m.Bounds),
	}
	b.sim, b.again = motion.NewSim(motion.New(p), 0), motion.NewSim(motion.New(p), 0)
	for i := range s.Kinds() {
		if k := s.EntityKind(i).Body; k != nil {
			b.addKind(uint32(i), motion.Kind{
				InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius, Friction: k.Friction,
				Restitution: k.Restitution, Layers: motion.Layers(k.Layers),
			})
		}
	}
	b.part, _ = s.ByName(schema.BodyComponent)
	b.offset = s.Component(b.part).Offset
	b.changes = make([]motion.Changes, b.keep)
	b.rewrite = func(number uint32, s motion.State) {
		if t := b.numbered[number]; t.late && uint64(t.at) < b.again.Now() {
			b.remember(t)
			t.record(uint32(b.again.Now()), s)
		}
	}
	return b, nil
}

// linesOf returns the lines of a schema text that declare components.
func linesOf(s *schema.Schema) string {
	_, lines, _ := strings.Cut(s.Text(), "\n")
	lines, _, _ = strings.Cut(lines, "input ")
	return lines
}

func (b *bodies) addKind(number uint32, k motion.Kind) {
	b.kinds[number] = k
	b.maxKind = max(b.maxKind, number)
	b.sim.SetKind(motion.KindID(number), k)
	b.again.SetKind(motion.KindID(number), k)
}

// bytes returns the memory of all bodies and effects.
func (b *bodies) bytes() int {
	if b == nil {
		return 0
	}
	return b.effects.bytes() + len(b.numbered)*b.bytesOfNew() + len(b.kinds)*64 + 2*int(b.maxKind)*24
}

// bytesOfNew returns the memory of one more body. Its states count from the beginning, though
// a body that sleeps has none: there are never more lists than there have been bodies.
func (b *bodies) bytesOfNew() int {
	return bytesOfTrack + int(b.keep)*(bytesOfState+bytesOfLog) + 2*bytesOfRow + 4*8
}

// entered makes room for an entity at the end of Replica.entities.
func (b *bodies) entered() { b.tracks = append(b.tracks, nil) }

// dropped removes the entity with an index, which the last one then has.
func (b *bodies) dropped(index uint32) {
	b.release(index)
	last := len(b.tracks) - 1
	b.tracks[index] = b.tracks[last]
	b.tracks[last] = nil
	b.tracks = b.tracks[:last]
}

// release makes an entity ordinary.
func (b *bodies) release(index uint32) {
	t := b.tracks[index]
	if t == nil {
		return
	}
	b.tracks[index] = nil
	b.count--
	if b.leads(t) {
		t.ghost = true
		b.ghosts = append(b.ghosts, t)
		b.effects.leaders[t.handle].ghost = t
		return
	}
	b.forget(t)
}

// forget removes a body.
func (b *bodies) forget(t *track) {
	b.numbered[t.number] = nil
	b.free = append(b.free, t.number)
	b.forgetStates(t)
	b.sim.Drop(t.number)
	t.fresh = false
}

// received applies an Enter or a row that became an entity's newest state.
func (b *bodies) received(e *Entity, tick uint32, form wire.Form, s *wire.BodyState, entered bool) {
	if form == wire.Ordinary {
		b.release(e.index)
		return
	}
	if !entered {
		b.stats.Owed++
	}
	b.give(e, tick, stateOf(s), entered)
}

// give sets the exact state of an entity after a tick. entered says that earlier ones are
// forgotten.
func (b *bodies) give(e *Entity, tick uint32, s motion.State, entered bool) {
	t := b.tracks[e.index]
	if t == nil {
		t = &track{handle: e.handle, number: uint32(len(b.numbered)), first: tick, last: tick, synced: b.now}
		if n := len(b.free); n > 0 {
			t.number, b.free = b.free[n-1], b.free[:n-1]
			b.numbered[t.number] = t
		} else {
			b.numbered = append(b.numbered, t)
		}
		b.tracks[e.index] = t
		b.count++
		entered = true
	}
	if entered {
		t.handle, t.kind = e.handle, motion.KindID(e.kind)
		t.begin(tick, s)
		t.synced = b.now
		b.sim.Drop(t.number)
	}
	t.given, t.at, t.lost = s, tick, false
	if !t.fresh {
		t.fresh = true
		if len(b.waiting) >= 2*b.count+minWaiting {
			b.dropComputed()
		}
		b.waiting = append(b.waiting, t)
	}
}

// minWaiting is how many tracks wait before those that need not are dropped.
const minWaiting = 64

// dropComputed drops the tracks from waiting that are not fresh any more.
func (b *bodies) dropComputed() {
	b.waiting = slices.DeleteFunc(b.waiting, func(t *track) bool { return !t.fresh })
}

// of returns the track of an entity, nil for an ordinary one.
func (b *bodies) of(e *Entity) *track {
	if b == nil || int(e.index) >= len(b.tracks) {
		return nil
	}
	return b.tracks[e.index]
}

func bodyOf(s motion.State) wire.BodyState {
	return wire.BodyState{
		Position: [3]float32{s.Position.X, s.Position.Y, s.Position.Z},
		Velocity: [3]float32{s.Velocity.X, s.Velocity.Y, s.Velocity.Z},
		Awake:    s.Awake, Rest: s.Rest,
	}
}

func stateOf(s *wire.BodyState) motion.State {
	return motion.State{Position: vec(s.Position), Velocity: vec(s.Velocity), Awake: s.Awake, Rest: s.Rest}
}

// grid returns what the body in the values of a row restores to.
func (b *bodies) grid(values []uint32) (g wire.Grid) {
	for i, q := range values[b.offset : b.offset+6] {
		if i < 3 {
			g[i] = float32(q)/256 - 1024
		} else {
			g[i] = float32(q)/32 - 128
		}
	}
	return g
}
