package bodies

import (
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// track is the motion of an exact body: its states of the last ticks.
type track struct {
	// states holds the states of ticks first to last, by tick modulo its length; nil means that
	// the body had state base in all of them. The state has not changed after last.
	states      []motion.State
	first, last uint32
	synced      uint32 // states include tracks.changes up to this tick
	slept       uint32 // newest tick in which the body fell asleep
	base        motion.State

	number uint32 // in motion.Sim
	kind   motion.KindID
	handle bulk.Handle
	at     uint32       // tick of given
	given  motion.State // newest state that the server sent
	state  trackState
	leap   leap
}

// leap is the newest teleport of a body.
type leap struct {
	tick   uint32 // of the teleport; 0: none
	landed uint32 // tick of landing, the first state received since
	state  motion.State
}

// noteTeleport notes the tick of a teleport, 0 for none, of which the server told with a state.
func (t *track) noteTeleport(teleport, tick uint32, s motion.State) {
	if l := &t.leap; teleport > l.tick || teleport != 0 && teleport == l.tick && tick < l.landed {
		*l = leap{teleport, tick, s}
	}
}

// stateAt returns the state to show at a moment from the tick before the leap until the body has
// landed, if the moment is there. from is the state after the moment's tick.
func (l *leap) stateAt(moment float64, from motion.State) (s motion.State, ok bool) {
	switch {
	case l.tick == 0 || moment < float64(l.tick-1) || moment >= float64(l.landed):
		return s, false
	case moment < float64(l.tick):
		return from, true
	}
	return l.state, true
}

// trackState tells how far a body is computed.
type trackState uint8

const (
	trackComputed trackState = iota // up to now
	trackGiven                      // not yet computed from its given state
	trackLate                       // being computed from a given state of an earlier tick
	trackLost                       // not computed: computing took too long
)

// waits reports whether the body must still be computed from its given state.
func (t *track) waits() bool { return t.state == trackGiven || t.state == trackLate }

const (
	bytesOfTrack = int(unsafe.Sizeof(track{}))
	bytesOfState = int(unsafe.Sizeof(motion.State{}))
	bytesOfRow   = 48                 // of a body in a motion.Sim
	bytesOfLog   = bytesOfState + 3*4 // of a body in motion.Changes
)

// restartAt replaces all states by one.
func (t *track) restartAt(tick uint32, s motion.State) {
	t.first, t.last, t.base = tick, tick, s
	if t.states != nil {
		t.states[tick%uint32(len(t.states))] = s
	}
}

// holdsOnlyGiven reports whether the state that the server sent is the first one known.
func (t *track) holdsOnlyGiven() bool { return t.states == nil && t.last == t.at && t.base == t.given }

// stateAfter returns the state after tick, or the earliest known one if tick precedes it.
func (t *track) stateAfter(tick uint32) motion.State {
	if t.states == nil {
		return t.base
	}
	return t.states[min(max(tick, t.first), t.last)%uint32(len(t.states))]
}

// recordState sets the state after a tick and forgets later ones. The track must have a list.
func (t *track) recordState(tick uint32, s motion.State) {
	keep := uint32(len(t.states))
	if tick == t.last+1 {
		t.states[tick%keep], t.last = s, tick
		if tick-t.first >= keep {
			t.first = tick - keep + 1
		}
		return
	}
	if tick <= t.first {
		t.restartAt(tick, s)
		return
	}
	t.last = min(t.last, tick-1)
	rested := t.states[t.last%keep]
	from := t.last + 1
	if tick-t.last > keep {
		from = tick - keep + 1
	}
	for i := from; i < tick; i++ {
		t.states[i%keep] = rested
	}
	t.states[tick%keep], t.last = s, tick
	if tick-t.first >= keep {
		t.first = tick - keep + 1
	}
}
