package world

import (
	"github.com/worldd/worldd/internal/invariants"
)

// Step advances the world by one tick, in the order shown in the package comment. Once
// warm, it allocates nothing itself. It panics if a system calls it, or if a StepClaim is
// held.
func (w *World) Step() {
	if w.claim != nil {
		panic("world: Step was called, but " + w.claim.owner + " steps this world")
	}
	w.step()
}

// StepClaim is the right to step a world.
type StepClaim struct {
	world *World
	owner string
}

// ClaimStep makes World.Step panic until Release, because the caller must process every
// step: only the claim steps the world. A later claim ends an earlier one. owner names the
// caller in the panic.
func (w *World) ClaimStep(owner string) *StepClaim {
	w.claim = &StepClaim{w, owner}
	return w.claim
}

// Step steps the world for the claim's owner.
func (c *StepClaim) Step() {
	if c.world.claim != c {
		panic("world: the claim of " + c.owner + " to step this world has ended")
	}
	c.world.step()
}

// Release ends the claim.
func (c *StepClaim) Release() {
	if c.world.claim == c {
		c.world.claim = nil
	}
}

func (w *World) step() {
	if w.running {
		panic("world: Step was called by a system of the same step")
	}
	if w.journal != nil {
		w.journal.checkCommitted()
	}
	if len(w.encoders) > 0 {
		w.ApplyDeferred()
	}
	for _, c := range w.encoders {
		c.encodeWrites()
	}
	w.running = true
	w.effects.forgetEnded(w.tick)
	w.effects.acted = w.effects.acted[:0]
	w.events.begin()
	w.volumes.begin()
	for _, c := range w.components {
		c.changed().begin()
	}
	w.ApplyDeferred()
	w.markSpawned()
	w.tick++
	w.runSystems(Before)
	w.advancePaths()
	w.flushSleep()
	w.sortRows()
	w.recordAwake()
	w.move()
	w.syncMoved()
	w.resolveContacts()
	w.requestSleepOfRested()
	w.quarantineStopped()
	w.measureMoves()
	w.updateVolumes()
	if w.trace != nil {
		w.trace("")
	}
	w.runSystems(After)
	w.expireEntities()
	w.expireEffects()
	w.measureDisplaced()
	w.leaveDoomed()
	w.destroyDoomed()
	w.endOrphans()
	w.events.end()
	w.history.advance()
	for _, c := range w.components {
		c.changed().end()
	}
	w.running, w.moved = false, false
	w.disturbNext()
	w.markTouched()
	if w.recorder != nil {
		w.recorder.afterStep()
	}
	if w.journal != nil {
		w.journal.seal()
	}
	if invariants.Audits {
		invariants.Check(w.CheckInvariants())
	}
}
