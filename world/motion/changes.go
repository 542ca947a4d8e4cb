package motion

// Changes holds the states that one tick may have changed: of bodies that were awake, fell
// asleep in it, or were set. The zero value is empty, at tick 0.
type Changes struct {
	tick   uint64
	states []State
	number []uint32 // of states
	rowOf  []int32  // by number; valid only if the row names the same number
	asleep []uint32 // numbers of the states that are not awake
}

// CopyChanges replaces c with the states that the last tick may have changed, as Changed
// reports them.
func (m *Sim) CopyChanges(c *Changes) {
	c.Reset(m.tick)
	c.number = append(resized(c.number, m.awake+len(m.settled))[:0], m.number[:m.awake]...)
	c.rowOf = append(resized(c.rowOf, len(m.rowOf))[:0], m.rowOf...)
	c.states = resized(c.states, m.awake+len(m.settled))[:m.awake]
	m.copyAwake(c.states)
	for _, number := range m.settled {
		if s, ok := m.State(number); ok {
			c.Set(number, s)
		}
	}
}

// copyAwake copies the states of as many rows, all of them awake.
func (m *Sim) copyAwake(states []State) {
	b, n := &m.bodies, len(states)
	x, y, z := b.Pos.X[:n], b.Pos.Y[:n], b.Pos.Z[:n]
	vx, vy, vz, rest := b.Vel.X[:n], b.Vel.Y[:n], b.Vel.Z[:n], b.Rest[:n]
	for row := range states {
		states[row] = State{Vec3{x[row], y[row], z[row]}, Vec3{vx[row], vy[row], vz[row]}, rest[row], true}
	}
}

// Reset empties c and sets its tick.
func (c *Changes) Reset(tick uint64) {
	c.tick, c.states, c.number, c.asleep = tick, c.states[:0], c.number[:0], c.asleep[:0]
}

// Set sets a body's state after the tick.
func (c *Changes) Set(number uint32, s State) {
	for uint64(len(c.rowOf)) <= uint64(number) {
		c.rowOf = append(c.rowOf, -1)
	}
	if row := c.row(number); row >= 0 {
		c.states[row] = s
	} else {
		c.rowOf[number] = int32(len(c.number))
		c.number, c.states = append(c.number, number), append(c.states, s)
	}
	if !s.Awake {
		c.asleep = append(c.asleep, number)
	}
}

// resized returns a list of n elements, which are s's if it has room. Lists grow by an eighth:
// a client keeps many.
func resized[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}

// Tick returns the tick.
func (c *Changes) Tick() uint64 { return c.tick }

// Asleep returns the numbers of the bodies that c contains as asleep. The slice is valid
// until the next change of c.
func (c *Changes) Asleep() []uint32 { return c.asleep }

// State returns a body's state after the tick; false if c has none.
func (c *Changes) State(number uint32) (State, bool) {
	if row := c.row(number); row >= 0 {
		return c.states[row], true
	}
	return State{}, false
}

// row returns the row of a number, or -1.
func (c *Changes) row(number uint32) int {
	if uint64(number) < uint64(len(c.rowOf)) {
		if row := c.rowOf[number]; uint64(row) < uint64(len(c.number)) && c.number[row] == number {
			return int(row)
		}
	}
	return -1
}
