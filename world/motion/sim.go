package motion

import (
	"fmt"

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
	Program *field.Program
	Params  []field.Vec4 // as many as the program declares; read-only
	Mode    Mode
	Layers  Layers
	Path    Path
	Leader  uint32 // body that the effect follows; see Following
	Born    uint64 // tick that Path and the program's time count from
	First   uint64 // first tick in which it acts: Born, or Born + 1
	Last    uint64 // last tick in which it acts; 0 for no limit
}

// Sim moves free bodies and effects, tick by tick: what a client needs to compute bodies
// whose exact states it received. Bodies have numbers of the caller's, effects have slots;
// memory is proportional to the largest of each. A Sim belongs to one goroutine.
type Sim struct {
	stepper Stepper
	tick    uint64
	bodies  Bodies
	number  []uint32 // by row
	rowOf   []int32  // by number; -1 for none
	awake   int      // rows below it are awake
	sources []source // by slot
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

// Now returns the last tick.
func (m *Sim) Now() uint64 { return m.tick }

// Put adds a body, or corrects it, as of the last tick.
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

// SetEffect adds or replaces the effect on a slot, which acts from the next tick on if
// First allows. If wake is set, the bodies in the old and the new reach wake now. The
// error reports parameters that do not fit the program, or an invalid path.
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
	e.Reach.Layers = s.Layers
	e.Box, e.Boxed = s.Program.Box()
	e.Center = s.Path.At(&m.stepper, max(m.tick, s.First)-s.Born)
	if row, ok := m.row(s.Leader); ok && s.Path.Form == Following {
		e.Center = m.bodies.Position(row).Add(s.Path.Center)
	}
	if wake {
		m.wake(&e.Reach, &e.Reach)
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
	if wake {
		m.wake(&e.Reach, &e.Reach)
	}
}

// Tick moves everything by one tick, in the order of MOTION.md.
func (m *Sim) Tick() {
	m.tick++
	for i := range m.sources {
		e := &m.sources[i]
		switch row, ok := m.row(e.Leader); {
		case !e.live:
		case e.Path.Form != Following:
			m.move(e, e.Path.At(&m.stepper, max(m.tick, e.First)-e.Born))
		case ok:
			m.move(e, m.bodies.Position(row).Add(e.Path.Center))
		}
	}
	m.gatherForces()
	m.stepper.Step(&m.batch, &m.forces, &m.bodies, 0, m.awake)
	clear(m.bodies.Moved)
	clear(m.bodies.Stopped)
	for row := m.awake - 1; row >= 0; row-- {
		if m.stepper.Settle(&m.bodies, row) {
			m.awake--
			m.swap(row, m.awake)
		}
	}
	for i := range m.sources {
		if e := &m.sources[i]; e.live && e.Last == m.tick {
			m.EndEffect(uint32(i), true)
		}
	}
}

// gatherForces collects the effects that act in this tick, by slot.
func (m *Sim) gatherForces() {
	m.forces.Reset()
	for i := range m.sources {
		e := &m.sources[i]
		if !e.live || e.First > m.tick {
			continue
		}
		acting := Effect{
			Program: e.Program, Params: e.Params, Mode: e.Mode, Layers: e.Source.Layers,
			Center: e.Center, Time: m.stepper.Seconds(m.tick - e.Born),
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

// wake wakes the bodies in either reach.
func (m *Sim) wake(a, b *Reach) {
	for row, kind := range m.bodies.Kind {
		k, at := &m.stepper.Kinds[kind], m.bodies.Position(row)
		if !a.ActsOn(k, at) && !b.ActsOn(k, at) {
			continue
		}
		m.bodies.Rest[row] = 0
		if row >= m.awake {
			m.swap(row, m.awake) // with a row that was looked at
			m.awake++
		}
	}
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
