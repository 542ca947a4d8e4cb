package predict

import "github.com/worldd/worldd/internal/invariants"

// MaxOnce bounds the effects of a tick.
const MaxOnce = 8

// reportedEffects remembers the effects that Once has reported, for the ticks of the rings.
type reportedEffects struct {
	ticks  []uint32 // by slot: tick whose effects the slot holds
	count  []uint8
	asked  []uint8 // bit i: the newest call of step asked for entry i
	keys   [][MaxOnce]uint64
	undone []effect
}

// resizeSlots makes new slots, all empty.
func (e *reportedEffects) resizeSlots(slots int) {
	e.ticks, e.count = make([]uint32, slots), make([]uint8, slots)
	e.asked, e.keys = make([]uint8, slots), make([][MaxOnce]uint64, slots)
}

// forgetAll forgets the effects of all ticks, but not those to undo: another world or entity has
// effects of its own in the same ticks.
func (e *reportedEffects) forgetAll() { clear(e.ticks) }

func (e *reportedEffects) slotOf(tick uint32) int {
	return ringSlot + int(tick%uint32(len(e.ticks)-ringSlot))
}

type effect struct {
	tick uint32
	key  uint64
}

// beginTick prepares for a call of the step function for tick.
func (e *reportedEffects) beginTick(tick uint32) {
	slot := e.slotOf(tick)
	if e.ticks[slot] != tick {
		e.ticks[slot], e.count[slot] = tick, 0
	}
	e.asked[slot] = 0
}

// askFor reports whether key is new at tick.
func (e *reportedEffects) askFor(tick uint32, key uint64) bool {
	slot := e.slotOf(tick)
	n := int(e.count[slot])
	for i := range n {
		if e.keys[slot][i] == key {
			e.asked[slot] |= 1 << i
			return false
		}
	}
	if n == MaxOnce {
		return false
	}
	e.keys[slot][n] = key
	e.asked[slot] |= 1 << n
	e.count[slot]++
	return true
}

// endTick drops the effects of tick that its step did not ask for again.
func (e *reportedEffects) endTick(tick uint32) {
	slot := e.slotOf(tick)
	if invariants.Enabled {
		invariants.Checkf(e.ticks[slot] == tick, "C9: effects of tick %d are in the slot of %d", e.ticks[slot], tick)
	}
	kept := 0
	for i := range int(e.count[slot]) {
		if e.asked[slot]>>i&1 == 0 {
			e.undone = append(e.undone, effect{tick, e.keys[slot][i]})
			continue
		}
		e.keys[slot][kept] = e.keys[slot][i]
		kept++
	}
	e.count[slot] = uint8(kept)
}

// dropTick drops all effects of a tick.
func (e *reportedEffects) dropTick(tick uint32) {
	e.beginTick(tick)
	e.endTick(tick)
}

// popUndone removes and returns the oldest effect to undo.
func (e *reportedEffects) popUndone() (u effect, ok bool) {
	if len(e.undone) == 0 {
		return u, false
	}
	u = e.undone[0]
	e.undone = append(e.undone[:0], e.undone[1:]...)
	return u, true
}

// undoUnapplied drops the effects of ticks not after tick that are not predicted again, if the
// server has not applied their inputs.
func (p *Core) undoUnapplied(tick uint32) {
	for t := max(p.confirmed, p.session.AppliedInput()); t < min(p.newest, tick); t++ {
		p.effects.dropTick(t + 1)
	}
}

// Once reports whether to start an effect that the step function asks for; see Prediction.Once of
// package client.
func (p *Core) Once(tick uint32, key uint64) bool {
	return p.stepping != 0 && p.stepping == tick && !p.guess.trying && p.effects.askFor(tick, key)
}

// deliverUndone calls the game's Undo for the dropped effects.
func (p *Core) deliverUndone() {
	for {
		u, ok := p.effects.popUndone()
		if !ok {
			return
		}
		p.stats.Undone++
		if p.config.Undo != nil {
			p.config.Undo(u.tick, u.key)
		}
	}
}
