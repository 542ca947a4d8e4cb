package bodies

import (
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world/motion"
)

// computation moves the bodies of tracks under effects, all up to the same tick.
type computation struct {
	tracks    *tracks
	effects   *effects
	maxBehind uint32 // ticks that bodies may be behind the newest complete snapshot
	budget    *work.Budget
	slowest   float64 // ns per point of the slowest program
	stats     *Stats

	past      *motion.Sim // computes past ticks
	late      []*track    // bodies in past, or about to be
	writeLate func(number uint32, s motion.State)
}

// newComputation returns the computation of the bodies in x, which is still empty.
func newComputation(p motion.Params, x *tracks, f *effects, budget *work.Budget, stats *Stats) *computation {
	past := motion.NewSim(motion.New(p), 0)
	return &computation{
		tracks: x, effects: f, maxBehind: uint32(p.TickHz), budget: budget, stats: stats, past: past,
		writeLate: func(number uint32, s motion.State) { x.recordLate(number, past.Now(), s) },
	}
}

// setKind sets the constants of a kind of bodies.
func (c *computation) setKind(id motion.KindID, k motion.Kind) {
	c.tracks.sim.SetKind(id, k)
	c.past.SetKind(id, k)
}

// loadProgram applies a Program record of a message of the given tick.
func (c *computation) loadProgram(p wire.Program, tick uint32) error {
	c.budget.Spend(programTime + codeTime*len(p.Code) + lookTime*len(c.effects.used))
	if err := c.effects.addProgram(p, tick); err != nil {
		return err
	}
	c.slowest = max(c.slowest, c.effects.programs[p.Number].NanosecondsPerPoint())
	return nil
}

// computeUntil computes all bodies up to a tick, or until the budget is spent. It returns false
// if that leaves them too far behind, or a tick takes too long.
func (c *computation) computeUntil(tick uint32) (inTime bool) {
	if c.tracks.now == 0 {
		c.restartAt(tick)
	}
	return c.catchUpLate() && c.advanceTo(tick)
}

// restartAt empties sim and sets its tick.
func (c *computation) restartAt(tick uint32) {
	c.tracks.restartAt(tick)
	for _, slot := range c.effects.used {
		versions := c.effects.slots[slot].versions
		for i := range versions {
			versions[i].applied = versions[i].applied || versions[i].from <= tick
		}
		c.installEffect(c.tracks.sim, slot, tick)
	}
}

// advanceTo computes all bodies up to a tick, or until the budget is spent. It returns false if
// that leaves them too far behind, or a tick takes too long.
func (c *computation) advanceTo(tick uint32) bool {
	looked := c.effects.countDue()
	for c.tracks.now < tick {
		if c.budget.Spent() {
			return tick-c.tracks.now <= c.maxBehind
		}
		c.tracks.placeWaiting()
		if !c.applyVersions(c.tracks.sim, c.effects.due, c.tracks.now+1) {
			return false
		}
		if !c.stepSim(c.tracks.sim, looked) {
			return false
		}
		c.tracks.logTick()
	}
	c.tracks.placeWaiting()
	return true
}

// stepSim moves a sim by one tick. looked is the number of tracks and versions read for the
// tick. It returns false if the tick takes too long.
func (c *computation) stepSim(m *motion.Sim, looked int) bool {
	all, awake := m.Len()
	load := tickTime + bodyTime*awake + reachTime*all*m.Effects() + effectTime*m.Effects() + lookTime*(len(c.tracks.waiting)+looked)
	if awake > 0 {
		load += actTime * m.Effects()
	}
	c.budget.Spend(load)
	if load > int(work.MaxTick) {
		return false
	}
	slowest := max(c.slowest, 1)
	points, ok := m.TickWithin(int(float64(work.MaxTick) / slowest))
	c.budget.Spend(int(slowest * float64(points)))
	c.stats.Steps += uint64(awake)
	return ok
}

// reinstallEffect replaces the effect on a slot in the sim of all bodies by its version in
// force.
func (c *computation) reinstallEffect(slot uint32) {
	c.tracks.sim.EndEffect(slot, false)
	c.installEffect(c.tracks.sim, slot, c.tracks.now)
}

// installEffect puts the version in force after tick of the effect on a slot into a sim of that
// tick. It wakes no body.
func (c *computation) installEffect(m *motion.Sim, slot, tick uint32) {
	v := c.effects.slots[slot].versionAfter(tick)
	if v == nil {
		return
	}
	if !v.followsEntity() || v.source.Leader == noNumber {
		c.setEffect(m, slot, v, false)
		return
	}
	// The effect's centre is still the leader's position before the tick.
	leader := c.tracks.numbered[v.source.Leader]
	before, after := c.tracks.stateAfter(leader, tick-1), c.tracks.stateAfter(leader, tick)
	m.Put(leader.number, leader.kind, before)
	c.setEffect(m, slot, v, false)
	m.Put(leader.number, leader.kind, after)
}

// setEffect puts a version of the effect on a slot into a sim.
func (c *computation) setEffect(m *motion.Sim, slot uint32, v *version, wake bool) {
	c.budget.Spend(instructionTime * v.source.Program.Len())
	if err := m.SetEffect(slot, &v.source, wake); err != nil {
		panic("bodies: an effect that was checked: " + err.Error())
	}
}

// applyVersions applies the effect versions that begin at tick to a sim of the tick before. It
// returns false if that takes too long.
func (c *computation) applyVersions(m *motion.Sim, slots []uint32, tick uint32) bool {
	for _, slot := range slots {
		versions := c.effects.slots[slot].versions
		for i := range versions {
			v := &versions[i]
			if v.from != tick {
				continue
			}
			if all, _ := m.Len(); v.wakesOld || v.wakesNew {
				c.budget.Spend(2 * reachTime * all)
			}
			if c.budget.Overdrawn() {
				return false
			}
			m.EndEffect(slot, v.wakesOld)
			if !v.gone {
				c.setEffect(m, slot, v, v.wakesNew)
			}
			v.applied = true
		}
	}
	return true
}
