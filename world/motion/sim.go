package motion

import (
	"fmt"
	"math"
	"slices"

	"github.com/worldd/worldd/field"
)

// State is the exact state of a body. With its kind and the effects, it determines all
// later states until something other than motion disturbs the body.
type State struct {
	Position, Velocity Vec3
	Rest               uint32 // ticks at rest
	Awake              bool   // the next tick moves it
}

// Source is an effect over its whole life.
type Source struct {
	Program  *field.Program
	Params   []field.Vec4 // as many as the program declares; read-only
	Mode     Mode
	Layers   Layers
	Path     Path
	Leader   uint32 // body that the effect follows; see Following
	Born     uint64 // tick from which Path and the program's time count
	First    uint64 // first tick in which it acts: Born, or Born + 1
	Last     uint64 // last tick in which it acts; 0 for no limit
	PathBorn uint64 // tick from which Path counts if it was changed; 0: Born
}

// centerAt returns the effect's centre in a tick, or in its first tick if that is later.
// leader is the position, after the previous tick, of the body that the effect follows.
func (e *Source) centerAt(s *Stepper, tick uint64, leader Vec3) Vec3 {
	from := e.Born
	if e.PathBorn != 0 {
		from = e.PathBorn
	}
	at := e.Path.At(s, max(tick, e.First, from)-from)
	if e.Path.Form == Following {
		return leader.Add(at)
	}
	return at
}

// Sim moves free bodies and effects, tick by tick: what a client needs to compute bodies
// whose exact states it received. The caller numbers bodies, and effects have slots. Memory
// is proportional to the largest number and the highest slot. A Sim belongs to one
// goroutine.
type Sim struct {
	stepper Stepper
	tick    uint64
	bodies  Bodies
	number  []uint32 // by row
	rowOf   []int32  // by number; -1 for none
	awake   int      // rows below it are awake
	settled []uint32 // numbers of the bodies that fell asleep in the last tick
	rested  []int32  // scratch of settle
	sources []source // by slot
	acting  int      // sources that are live
	forces  Forces
	batch   Batch
}

// source is an effect of a Sim.
type source struct {
	Source
	Reach
	live bool
}

// NewSim returns an empty Sim after tick.
func NewSim(s Stepper, tick uint64) *Sim { return &Sim{stepper: s, tick: tick} }

// Reset removes all bodies and effects and sets the last tick. It keeps kinds and memory.
func (m *Sim) Reset(tick uint64) {
	m.tick, m.awake, m.acting = tick, 0, 0
	for _, plane := range m.bodies.planes() {
		*plane = (*plane)[:0]
	}
	m.bodies.Rest, m.bodies.Kind = m.bodies.Rest[:0], m.bodies.Kind[:0]
	for _, number := range m.number {
		m.rowOf[number] = -1
	}
	m.number, m.settled = m.number[:0], m.settled[:0]
	clear(m.sources)
	m.sources = m.sources[:0]
}

// SetKind sets the constants of a kind, and adds it if it is new.
func (m *Sim) SetKind(k KindID, constants Kind) {
	if n := int(k) + 1 - len(m.stepper.Kinds); n > 0 {
		m.stepper.Kinds = append(m.stepper.Kinds, make([]Kind, n)...)
	}
	m.stepper.Kinds[k] = constants
}

// Now returns the last tick.
func (m *Sim) Now() uint64 { return m.tick }

// Put adds a body, or replaces its state, after the last tick.
func (m *Sim) Put(number uint32, k KindID, s State) {
	row, ok := m.row(number)
	if !ok {
		row = m.add(number)
	}
	m.bodies.Kind[row] = k
	m.bodies.SetPosition(row, s.Position)
	m.bodies.SetVelocity(row, s.Velocity)
	m.bodies.Rest[row] = s.Rest
	switch {
	case s.Awake && row >= m.awake:
		m.swap(row, m.awake)
		m.awake++
	case !s.Awake && row < m.awake:
		m.awake--
		m.swap(row, m.awake)
	}
}

// State returns a body's state after the last tick; false if there is no such body.
func (m *Sim) State(number uint32) (State, bool) {
	row, ok := m.row(number)
	if !ok {
		return State{}, false
	}
	b := &m.bodies
	return State{Position: b.Position(row), Velocity: b.Velocity(row), Rest: b.Rest[row], Awake: row < m.awake}, true
}

// Awake reports whether there is a body of a number and the next tick moves it.
func (m *Sim) Awake(number uint32) bool {
	row, ok := m.row(number)
	return ok && row < m.awake
}

// Drop removes a body, if there is one of that number.
func (m *Sim) Drop(number uint32) {
	row, ok := m.row(number)
	if !ok {
		return
	}
	if row < m.awake {
		m.awake--
		m.swap(row, m.awake)
		row = m.awake
	}
	last := len(m.number) - 1
	m.swap(row, last)
	m.rowOf[number] = -1
	b := &m.bodies
	for _, plane := range b.planes() {
		*plane = (*plane)[:last]
	}
	b.Rest, b.Kind, m.number = b.Rest[:last], b.Kind[:last], m.number[:last]
}

// SetEffect adds or replaces the effect on a slot. The effect acts from the next tick on,
// or from its First if that is later. If its Last has passed, the slot is empty afterwards.
// If wake is set, the bodies in the old and the new reach wake now. The error reports
// parameters that do not fit the program, or an invalid path.
func (m *Sim) SetEffect(slot uint32, s *Source, wake bool) error {
	if len(s.Params) != len(s.Program.Params()) {
		return fmt.Errorf("motion: %d parameters for a program with %d", len(s.Params), len(s.Program.Params()))
	}
	if err := s.Path.Check(); err != nil {
		return fmt.Errorf("motion: %w", err)
	}
	for uint32(len(m.sources)) <= slot {
		m.sources = append(m.sources, source{})
	}
	m.EndEffect(slot, wake)
	e := &m.sources[slot]
	e.Source, e.live = *s, true
	m.acting++
	e.Reach.Layers = s.Layers
	e.Reach.Set(s.Program, s.Params)
	e.Center = s.Path.Center
	if leader, ok := m.leader(s); ok {
		e.Center = s.centerAt(&m.stepper, m.tick, leader)
	}
	if wake {
		m.wake(&e.Reach, &e.Reach)
	}
	if s.Last != 0 && s.Last <= m.tick {
		m.EndEffect(slot, false)
	}
	return nil
}

// EndEffect removes the effect on a slot, if there is one. If wake is set, the bodies in
// its reach wake now.
func (m *Sim) EndEffect(slot uint32, wake bool) {
	if int(slot) >= len(m.sources) || !m.sources[slot].live {
		return
	}
	e := &m.sources[slot]
	e.live = false
	m.acting--
	if wake {
		m.wake(&e.Reach, &e.Reach)
	}
}

// Tick moves everything by one tick, in the order of MOTION.md.
func (m *Sim) Tick() { m.TickWithin(math.MaxInt) }

// TickWithin is Tick with a limit: after culling by boxes, effects may be evaluated at no
// more than most points. points is an upper bound of the number of points. If the limit
// does not suffice, ok is false and the tick is unfinished: only Reset may follow.
func (m *Sim) TickWithin(most int) (points int, ok bool) {
	m.tick++
	for i := range m.sources {
		e := &m.sources[i]
		if !e.live {
			continue
		}
		if leader, ok := m.leader(&e.Source); ok {
			m.move(e, e.Source.centerAt(&m.stepper, m.tick, leader))
		}
	}
	if points, ok = m.step(most); !ok {
		return points, false
	}
	more, ok := m.settle(most - points)
	points += more
	if !ok {
		return points, false
	}
	for i := range m.sources {
		if e := &m.sources[i]; e.live && e.Last == m.tick {
			m.EndEffect(uint32(i), true)
		}
	}
	return points, true
}

// step moves the bodies that are awake, within the limit of TickWithin.
func (m *Sim) step(most int) (points int, ok bool) {
	if m.awake == 0 {
		return 0, true
	}
	m.gatherForces()
	points = m.bound(m.awake)
	if points > most {
		points = m.forces.blockWork(&m.bodies, m.awake)
	}
	if points > most {
		return points, false
	}
	m.stepper.Step(&m.batch, &m.forces, &m.bodies, 0, m.awake)
	clear(m.bodies.Moved)
	clear(m.bodies.Stopped)
	return points, true
}

// bound returns a bound of the points at which effects are evaluated for some bodies.
func (m *Sim) bound(bodies int) int {
	return (bodies + field.BlockPoints - 1) / field.BlockPoints * field.BlockPoints * m.acting
}

// settle puts the bodies to sleep that have rested and are still, within the limit of
// TickWithin.
func (m *Sim) settle(most int) (points int, ok bool) {
	m.settled, m.rested = m.settled[:0], m.rested[:0]
	b := &m.bodies
	for row := range m.awake {
		if v := b.Velocity(row); b.Rest[row] == 0 && v.Dot(v) > m.stepper.moveSquare {
			continue // most bodies: they move
		}
		if m.stepper.CountRest(b, row) {
			m.rested = append(m.rested, int32(row))
		}
	}
	points = m.bound(len(m.rested))
	if points > most {
		points = m.batch.workAt(&m.forces, b, m.rested)
	}
	if points > most {
		return points, false
	}
	m.rested = m.stepper.FindStill(&m.batch, &m.forces, b, m.rested)
	for _, row := range slices.Backward(m.rested) {
		b.FallAsleep(int(row))
		m.settled = append(m.settled, m.number[row])
		m.awake--
		m.swap(int(row), m.awake)
	}
	return points, true
}

// Changed calls f with the state of each body that the last tick may have changed: awake
// bodies, and bodies that fell asleep in that tick.
func (m *Sim) Changed(f func(number uint32, s State)) {
	b := &m.bodies
	for row := range m.awake {
		f(m.number[row], State{Position: b.Position(row), Velocity: b.Velocity(row), Rest: b.Rest[row], Awake: true})
	}
	for _, number := range m.settled {
		if s, ok := m.State(number); ok {
			f(number, s)
		}
	}
}

// Len returns the number of bodies, and how many of them are awake.
func (m *Sim) Len() (bodies, awake int) { return len(m.number), m.awake }

// Effects returns the number of effects.
func (m *Sim) Effects() int { return m.acting }

// leader returns the position to which an effect's centre is relative. It returns false if
// the effect follows a body that is missing: the effect then stays where it is.
func (m *Sim) leader(e *Source) (Vec3, bool) {
	if e.Path.Form != Following {
		return Vec3{}, true
	}
	row, ok := m.row(e.Leader)
	if !ok {
		return Vec3{}, false
	}
	return m.bodies.Position(row), true
}

// gatherForces fills forces with the effects that act in this tick, by slot.
func (m *Sim) gatherForces() {
	m.forces.Reset()
	for i := range m.sources {
		e := &m.sources[i]
		if !e.live || e.First > m.tick {
			continue
		}
		acting := Effect{
			Program: e.Program, Params: e.Params, Mode: e.Mode, Reach: e.Reach,
			Time: m.stepper.Seconds(m.tick - e.Born),
		}
		if err := m.forces.Add(&acting); err != nil {
			panic("motion: an effect that SetEffect accepted: " + err.Error())
		}
	}
}

// move moves an effect and wakes the bodies in its old and new reach.
func (m *Sim) move(e *source, to Vec3) {
	if e.Center == to {
		return
	}
	old := e.Reach
	e.Center = to
	m.wake(&old, &e.Reach)
}

// wake wakes the bodies in either reach, and resets the timers of those that are awake.
func (m *Sim) wake(a, b *Reach) {
	for row, rest := range m.bodies.Rest[:m.awake] {
		if rest != 0 && m.inEither(a, b, row) {
			m.bodies.Rest[row] = 0
		}
	}
	from, low, to, high := m.reachX(a, b)
	asleep := m.awake
	for i, x := range m.bodies.Pos.X[asleep:] {
		if x-from < low || x-to > high {
			continue // most bodies, at the cost of one column
		}
		if row := asleep + i; m.inEither(a, b, row) {
			m.bodies.Rest[row] = 0
			m.swap(row, m.awake) // with a row that was examined
			m.awake++
		}
	}
}

// inEither reports whether either reach acts on a row.
func (m *Sim) inEither(a, b *Reach, row int) bool {
	at := m.bodies.Position(row)
	inA, inB := a.Contains(at), b.Contains(at)
	if !inA && !inB {
		return false
	}
	k := &m.stepper.Kinds[m.bodies.Kind[row]]
	return inA && k.Feels(a.Layers) || inB && k.Feels(b.Layers)
}

// reachX returns bounds of the bodies that may be in either reach: a body with x-from < low
// or x-to > high is in neither, since Contains makes the same tests and rounding is
// monotonic.
func (m *Sim) reachX(a, b *Reach) (from, low, to, high float32) {
	if !a.Boxed || !b.Boxed {
		return 0, float32(math.Inf(-1)), 0, float32(math.Inf(1))
	}
	return min(a.Center.X, b.Center.X), min(a.Box.Min[0], b.Box.Min[0]), max(a.Center.X, b.Center.X), max(a.Box.Max[0], b.Box.Max[0])
}

func (m *Sim) row(number uint32) (int, bool) {
	if uint64(number) >= uint64(len(m.rowOf)) {
		return 0, false
	}
	return int(m.rowOf[number]), m.rowOf[number] >= 0
}

// add appends a sleeping row.
func (m *Sim) add(number uint32) int {
	b, row := &m.bodies, len(m.number)
	for uint64(len(m.rowOf)) <= uint64(number) {
		m.rowOf = append(m.rowOf, -1)
	}
	m.rowOf[number] = int32(row)
	m.number = append(m.number, number)
	for _, plane := range b.planes() {
		*plane = append(*plane, 0)
	}
	b.Rest, b.Kind = append(b.Rest, 0), append(b.Kind, 0)
	if row>>6 >= len(b.Moved) {
		b.Moved, b.Stopped = append(b.Moved, 0), append(b.Stopped, 0)
	}
	return row
}

// swap exchanges two rows.
func (m *Sim) swap(i, j int) {
	b := &m.bodies
	for _, plane := range b.planes() {
		(*plane)[i], (*plane)[j] = (*plane)[j], (*plane)[i]
	}
	b.Rest[i], b.Rest[j] = b.Rest[j], b.Rest[i]
	b.Kind[i], b.Kind[j] = b.Kind[j], b.Kind[i]
	m.number[i], m.number[j] = m.number[j], m.number[i]
	m.rowOf[m.number[i]], m.rowOf[m.number[j]] = int32(i), int32(j)
}
