package session

import (
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// View returns the world time that the client displayed when it made the command or input
// being executed. Lag compensation judges the player's aim at that moment:
//
//	at, _ := s.View()
//	hits := w.AppendRayAt(nil, at, from, to, 0)
//
// If the client named no moment, or if no command or input is being executed, named is
// false and at is the present moment.
//
// The client can choose the moment only within bounds: it is not newer than the newest
// snapshot that the client acknowledged, and not older than Config.MaxViewAge or the
// world's history (world.Config.HistoryTicks). A moment outside these bounds moves to the
// nearer bound. If the bounds contradict each other, the bound on age prevails. Stats.Views
// counts each outcome. Whether a hit in the past counts is the game's decision: it may
// bound the age further, or spare a target that has reached cover since.
func (s *sight) View() (at world.Moment, named bool) {
	if s.view.claimed == 0 || s.viewer == nil || s.viewer.AckedTick() == 0 {
		return world.Moment{Tick: s.world.Tick()}, false
	}
	base, newest := s.replicator.Config().TickBase, uint64(s.replicator.Tick())
	oldest := max(newest-min(newest, uint64(s.viewAge)), s.world.OldestTick()-min(base, s.world.OldestTick())) * viewTick
	view, outcome := s.view.claimed, ViewDrawn
	if acked := uint64(s.viewer.AckedTick()) * viewTick; view > acked {
		view, outcome = acked, ViewUnseen
	}
	if view < oldest {
		view, outcome = oldest, ViewCapped
	}
	if s.view.countOnce() {
		s.stats.Views[outcome]++
	}
	return world.Moment{Tick: base + view/viewTick, Fraction: float32(view%viewTick) / viewTick}, true
}

// ViewOutcome says how View bounded a moment.
type ViewOutcome int

// The outcomes of Session.View, once for each command and input.
const (
	ViewDrawn  ViewOutcome = iota // the moment that the client named
	ViewUnseen                    // newer than the snapshot that the client acknowledged
	ViewCapped                    // older than the bound on its age
	viewOutcomes
)

// view is the view moment of the command or input being executed.
type view struct {
	claimed uint64 // in 1/256 ticks; 0: none
	counted bool
}

// viewTick is one tick in the unit of view moments.
const viewTick = 256

// viewOf returns the view moment that in claims. It precedes the input's own tick, so the
// difference does not underflow.
func viewOf(in *wire.TickInput) view {
	if in.Back == 0 {
		return view{}
	}
	return view{claimed: uint64(in.Tick-in.Back)*viewTick + uint64(in.Fraction)}
}

// countOnce reports whether this is its first call for the present view moment.
func (v *view) countOnce() bool {
	was := v.counted
	v.counted = true
	return !was
}

// setView sets the view moment of the command or input that begins, or none when it ends.
func (s *sight) setView(v view) { s.view = v }
