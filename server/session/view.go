package session

import "github.com/worldd/worldd/replication/wire"

// View returns the moment of the world that the client showed when it made the command or
// input being executed, in world ticks and a fraction of one, below 1. Lag compensation
// judges the player's aim by it. ok is false outside the functions of commands and inputs,
// and if the client named no moment.
//
// The client can choose the moment only within bounds: it is not newer than the newest
// snapshot that the client acknowledged, and not older than Config.MaxViewAge before the
// newest tick. A moment outside them moves to the nearer bound; the bound on its age
// prevails.
func (s *Session) View() (tick uint64, fraction float32, ok bool) {
	if s.view == 0 || s.viewer == nil || s.viewer.AckedTick() == 0 {
		return 0, 0, false
	}
	c := s.core
	newest := uint64(c.replicator.Tick()) * viewTick
	oldest := newest - min(newest, uint64(c.viewAge)*viewTick)
	view := max(min(s.view, uint64(s.viewer.AckedTick())*viewTick), oldest)
	return c.replicator.Config().TickBase + view/viewTick, float32(view%viewTick) / viewTick, true
}

// viewTick is one tick in the unit of view moments.
const viewTick = 256

// viewOf returns the view moment that in claims in 1/256 ticks, or 0. An input names one
// before its own tick, so the sum does not underflow.
func viewOf(in *wire.TickInput) uint64 {
	if in.Back == 0 {
		return 0
	}
	return uint64(in.Tick-in.Back)*viewTick + uint64(in.Fraction)
}

func (s *Session) forgetView() { s.view = 0 }
