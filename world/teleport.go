package world

import "github.com/worldd/worldd/bulk"

// MarkTeleported tells clients that e is elsewhere from this tick on or, between steps, from
// the next: they do not interpolate e between the tick before and this one. It changes nothing
// in the world. SetPosition and movers do it for moves that are longer than MaxSpeed allows in
// a tick. Call it for shorter teleports, and for entities whose place is in a component. It
// returns false unless e is live.
func (w *World) MarkTeleported(e Entity) bool {
	if w.Status(e) != bulk.Live {
		return false
	}
	w.markTeleported(e.Index())
	return true
}

func (w *World) markTeleported(slot uint32) { w.teleported[w.disturbing&1].Set(slot) }

// markLeap marks the body in a slot as teleported if it cannot have moved so far in a tick.
func (w *World) markLeap(slot uint32, from, to Vec3) {
	if stride := strideAt(w.cfg.TickHz); squareOfMove(from, to) > stride*stride {
		w.markTeleported(slot)
	}
}

// strideAt returns the distance in metres above which a move in one tick is a teleport.
func strideAt(tickHz int) float64 { return 1.01 * MaxSpeed / float64(tickHz) }
