package world

import (
	"github.com/worldd/worldd/internal/invariants"
)

// Step advances the world by one tick, in the order shown in the package comment. Once
// warm, it allocates nothing itself. It panics if a system calls it.
func (w *World) Step() {
	if w.running {
		panic("world: Step was called by a system of the same step")
	}
	if w.recorder != nil {
		w.recorder.beforeStep()
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
	if invariants.Audits {
		invariants.Check(w.CheckInvariants())
	}
}
