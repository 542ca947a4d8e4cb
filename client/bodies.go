package client

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// stepBudget bounds the estimated time of the work that one snapshot causes: 250 bodies and
// their effects for more than a minute of missed ticks. A server that causes more has its
// bodies stand still until the next Resync.
const stepBudget = 50 * time.Millisecond

// bodies computes the bodies whose exact states the server sent, and what effects do to
// them. All bodies are at the tick of the newest complete snapshot.
type bodies struct {
	restTicks uint32
	keep      uint32 // ticks of states kept
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
	sweep    int              // index in numbered of the next track that may have slept for long
	waiting  []*track         // fresh ones
	ghosts   []*track         // of entities that have gone, but lead
	count    int              // of tracks

	snapshots [64]seenSnapshot // applied, by seq modulo 64
	overrun   bool             // bodies are lost: Resync
	diverged  bool             // the newest audit failed: Resync
	reported  bool             // and the observer knows

	form      *schema.Schema // of the body alone
	quantised schema.Body    // scratch
	values    [6]uint32      // scratch: of quantised

	redone  []*track // scratch
	audited []*track // scratch
	record  func(number uint32, s motion.State)
	rewrite func(number uint32, s motion.State)
	left    float64 // of the budget, in ns
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
	Overruns uint64 // times that computing took too long and waited for a Resync
}

// seenSnapshot holds the fields of an applied snapshot that concern bodies.
type seenSnapshot struct {
	seq, tick, structure       uint32
	complete, continued, audit bool
	sum                        uint32 // the audit
}

// newBodies returns the bodies of a session whose server has schema s and runs at tickHz, or
// an error if s does not say how they move, or otherwise than package motion.
func newBodies(s *schema.Schema, tickHz int) (*bodies, error) {
	m, ok := s.Motion()
	form := bodyForm()
	switch {
	case !ok || int(m.TickHz) != tickHz || m.TickHz > 1000:
		return nil, protocolError("the session simulates, but the schema does not say how bodies move at %d ticks a second", tickHz)
	case m.MaxSpeed != motion.MaxSpeed:
		return nil, protocolError("the highest speed of bodies is %v m/s, not %v", m.MaxSpeed, motion.MaxSpeed)
	case !strings.Contains(s.Text(), linesOf(form)):
		return nil, protocolError("the session simulates, but the schema lacks the component %q", schema.BodyComponent)
	}
	b := &bodies{form: form, restTicks: m.RestTicks, keep: keptTicks, kinds: map[uint32]motion.Kind{}}
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
	b.record = func(number uint32, s motion.State) {
		t := b.numbered[number]
		b.remember(t)
		t.record(b.now, s)
	}
	b.rewrite = func(number uint32, s motion.State) {
		if t := b.numbered[number]; t.late && uint64(t.at) < b.again.Now() {
			b.remember(t)
			t.record(uint32(b.again.Now()), s)
		}
	}
	return b, nil
}

// bodyForm returns a schema of the body alone.
func bodyForm() *schema.Schema {
	s := schema.New()
	if err := schema.Add[schema.Body](s, schema.BodyComponent); err != nil {
		panic(err)
	}
	return s
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
	return bytesOfTrack + int(b.keep)*bytesOfState + 2*bytesOfRow + 4*8
}

// extend applies an Extension record of a message of the given tick.
func (b *bodies) extend(r *Replica, record wire.Record, tick uint32) error {
	before := b.bytes()
	var err error
	switch wire.Extension(record.Number) {
	case wire.ExtendProgram:
		if err = b.effects.addProgram(record.Program(), tick); err == nil {
			b.slowest = max(b.slowest, b.effects.programs[record.Program().Number].NanosecondsPerPoint())
		}
	case wire.ExtendEffectAdded:
		e := record.EffectAdded()
		if err = r.checkLeader(&e.Path); err == nil {
			err = b.effects.add(&e, tick)
		}
	case wire.ExtendEffectChanged:
		e := record.EffectChanged()
		if err = r.checkLeader(&e.Path); err == nil {
			err = b.effects.change(&e, tick)
		}
	case wire.ExtendEffectEnded, wire.ExtendEffectLeft:
		e := record.EffectEnded()
		err = b.effects.end(&e, tick)
	case wire.ExtendKind:
		k := record.KindAdded()
		if _, ok := b.kinds[k.Kind]; ok || int(k.Kind) < r.codec.Schema().Kinds() {
			return protocolError("kind %d is added, which is known", k.Kind)
		}
		b.addKind(k.Kind, motion.Kind{
			InvMass: k.InvMass, Coupling: k.Coupling, Radius: k.Radius, Friction: k.Friction,
			Restitution: k.Restitution, Layers: motion.Layers(k.Layers),
		})
	}
	if err != nil {
		return err
	}
	return r.charge(b.bytes() - before)
}

// checkLeader checks that an effect follows an entity that will be Live.
func (r *Replica) checkLeader(p *wire.Path) error {
	if p.Form != wire.PathFollowing {
		return nil
	}
	if h := p.Leader; h.Index() < r.maxSlots && r.cells.peek(h.Index()) != nil {
		if c := r.planOf(h.Index()); c.live && c.generation == h.Generation() {
			return nil
		}
	}
	return protocolError("an effect follows %v, which is not in view", p.Leader)
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
	if t.fresh {
		b.waiting = slices.DeleteFunc(b.waiting, func(w *track) bool { return w == t })
	}
}

// leads reports whether an effect follows a body.
func (b *bodies) leads(t *track) bool {
	for _, slot := range b.effects.used {
		for i := range b.effects.slots[slot].versions {
			if v := &b.effects.slots[slot].versions[i]; !v.gone && v.source.Path.Form == motion.Following && v.leader == t.handle {
				return true
			}
		}
	}
	return false
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
		t = &track{handle: e.handle, number: uint32(len(b.numbered)), first: tick, last: tick}
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
		t.given = s
		t.begin(tick, s)
		b.sim.Drop(t.number)
	}
	if !entered { // keeps its earlier state until tick
		b.remember(t)
	}
	t.given, t.at, t.lost = s, tick, false
	if !t.fresh {
		t.fresh = true
		b.waiting = append(b.waiting, t)
	}
}

// of returns the track of an entity, nil for an ordinary one.
func (b *bodies) of(e *Entity) *track {
	if b == nil || int(e.index) >= len(b.tracks) {
		return nil
	}
	return b.tracks[e.index]
}

// applied notes an applied snapshot, and computes all bodies up to the tick of a complete one
// if that is the newest and all that are linked to it were applied.
func (b *bodies) applied(r *Replica, h *wire.StateHeader) {
	b.snapshots[h.Seq%64] = seenSnapshot{h.Seq, h.Tick, h.Structure, h.Complete, h.Continued, h.Audited, h.Audit}
	last := h.Seq
	for b.seen(last+1) != nil && b.seen(last+1).continued {
		last++
	}
	for seq := last; seq >= h.Seq; seq-- {
		if s := b.seen(seq); s.complete && s.tick > b.now && b.linked(seq) {
			b.complete(r, s)
			return
		}
	}
}

func (b *bodies) seen(seq uint32) *seenSnapshot {
	if s := &b.snapshots[seq%64]; s.seq == seq && seq != 0 {
		return s
	}
	return nil
}

// linked reports whether all snapshots that an applied one continues were applied.
func (b *bodies) linked(seq uint32) bool {
	tick := b.seen(seq).tick
	for s := b.seen(seq); s != nil && s.tick == tick; s = b.seen(seq) {
		if !s.continued {
			return true
		}
		seq--
	}
	return false
}

// complete computes all bodies up to the tick of a snapshot (P1), and checks its audit.
func (b *bodies) complete(r *Replica, s *seenSnapshot) {
	b.findLeaders(r)
	b.left = float64(stepBudget)
	if b.now == 0 {
		b.restart(s.tick)
	}
	if !b.catchUp() || !b.advance(s.tick) {
		b.giveUp(s.tick)
	}
	b.effects.settle()
	b.effects.prune(b.now - min(b.now, keptTicks))
	b.sweepStates()
	b.ghosts = slices.DeleteFunc(b.ghosts, func(t *track) bool {
		if b.leads(t) {
			return false
		}
		b.forget(t)
		return true
	})
	if s.audit && s.structure == r.applied {
		b.audit(r, s)
	}
}

// findLeaders finds the bodies that effects follow.
func (b *bodies) findLeaders(r *Replica) {
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if v.gone || v.source.Path.Form != motion.Following {
				continue
			}
			number := uint32(noNumber)
			for _, t := range b.ghosts {
				if t.handle == v.leader {
					number = t.number
				}
			}
			if e, verdict := r.Lookup(v.leader); verdict == wire.Live && b.tracks[e.index] != nil {
				number = b.tracks[e.index].number
			}
			if number != v.source.Leader {
				v.source.Leader = number
				if v.applied && b.now != 0 {
					b.sim.EndEffect(slot, false)
					b.install(b.sim, slot, b.now)
				}
			}
		}
	}
}

// restart empties sim at a tick.
func (b *bodies) restart(tick uint32) {
	b.now = tick
	b.sim.Reset(uint64(tick))
	for _, slot := range b.effects.used {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			versions[i].applied = versions[i].applied || versions[i].from <= tick
		}
		b.install(b.sim, slot, tick)
	}
}

// giveUp empties sim at a tick: all bodies stand still until the server sends their states
// again.
func (b *bodies) giveUp(tick uint32) {
	b.stats.Overruns++
	b.overrun = true
	b.restart(tick)
	for _, t := range b.numbered {
		if t != nil && (!t.fresh || t.at <= tick) {
			t.lost, t.fresh, t.late = true, false, false
		}
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(t *track) bool { return !t.fresh })
}

// install puts the effect on a slot, as it is after a tick, into a sim of that tick. It wakes
// nothing.
func (b *bodies) install(m *motion.Sim, slot, tick uint32) {
	v := b.effects.slots[slot].after(tick)
	if v == nil {
		return
	}
	if v.source.Path.Form != motion.Following || v.source.Leader == noNumber {
		b.set(m, slot, v, false)
		return
	}
	// The centre is still where the leader was before the tick.
	leader := b.numbered[v.source.Leader]
	m.Put(leader.number, leader.kind, leader.state(tick-1))
	b.set(m, slot, v, false)
	m.Put(leader.number, leader.kind, leader.state(tick))
}

func (b *bodies) set(m *motion.Sim, slot uint32, v *version, wake bool) {
	if err := m.SetEffect(slot, &v.source, wake); err != nil {
		panic("client: an effect that was checked: " + err.Error())
	}
}

// apply applies the versions of effects from a tick on to a sim of the tick before.
func (b *bodies) apply(m *motion.Sim, slots []uint32, tick uint32) {
	for _, slot := range slots {
		versions := b.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if v.from != tick {
				continue
			}
			m.EndEffect(slot, v.wakesOld)
			if !v.gone {
				b.set(m, slot, v, v.wakesNew)
			}
			v.applied = true
		}
	}
}

// advance computes all bodies up to a tick. It returns false if that takes too long.
func (b *bodies) advance(tick uint32) bool {
	for b.now < tick {
		b.put()
		b.apply(b.sim, b.effects.due, b.now+1)
		b.now++
		if !b.tick(b.sim) {
			return false
		}
		b.sim.Changed(b.record)
	}
	b.put()
	return true
}

// put gives sim the states of its tick.
func (b *bodies) put() {
	if len(b.waiting) == 0 {
		return
	}
	kept := b.waiting[:0]
	for _, t := range b.waiting {
		if t.at != b.now {
			kept = append(kept, t)
			continue
		}
		t.fresh = false
		if t.states != nil {
			t.record(t.at, t.given)
		}
		b.sim.Put(t.number, t.kind, t.given)
	}
	clear(b.waiting[len(kept):])
	b.waiting = kept
}

// Estimated times for the budget, in ns.
const (
	tickTime  = 300
	bodyTime  = 40 // of a body that is awake
	reachTime = 2  // to find whether a body is in reach of an effect that moves
)

// tick moves a sim by one tick, within the budget.
func (b *bodies) tick(m *motion.Sim) bool {
	all, awake := m.Len()
	b.left -= tickTime + bodyTime*float64(awake) + reachTime*float64(all)*float64(m.Effects())
	if b.left < 0 {
		return false
	}
	slowest := max(b.slowest, 1)
	points, ok := m.TickWithin(int(b.left / slowest))
	b.left -= slowest * float64(points)
	b.stats.Steps += uint64(awake)
	return ok
}

// audit compares the audit of a complete snapshot with the bodies computed (P4).
func (b *bodies) audit(r *Replica, s *seenSnapshot) {
	b.audited = b.audited[:0]
	for _, e := range r.entities {
		if !wire.Audited(e.handle, s.seq) {
			continue
		}
		t := b.tracks[e.index]
		if e.states.tick > s.tick || t != nil && t.lost {
			return // what the entity was at the tick is not known
		}
		if t != nil {
			b.audited = append(b.audited, t)
		}
	}
	slices.SortFunc(b.audited, func(x, y *track) int { return cmp.Compare(x.handle.Index(), y.handle.Index()) })
	sum := uint32(0)
	for _, t := range b.audited {
		state := bodyOf(t.state(s.tick))
		sum = wire.Audit(sum, t.handle, &state)
	}
	b.stats.Audited++
	if sum == s.sum {
		b.diverged, b.reported = false, false
		return
	}
	b.stats.Faults++
	b.diverged = true
	if f := r.observer.Diverge; f != nil && !b.reported {
		b.reported = true
		f(s.tick, handlesOf(b.audited))
	}
}

func handlesOf(tracks []*track) (handles []bulk.Handle) {
	for _, t := range tracks {
		handles = append(handles, t.handle)
	}
	return handles
}

// needsResync reports once that the server should send all states again.
func (b *bodies) needsResync() bool {
	need := b.overrun || b.diverged
	b.overrun, b.diverged = false, false
	return need
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
