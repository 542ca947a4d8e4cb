package client

import (
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// track is the motion of an exact body: its states of the last ticks.
type track struct {
	handle bulk.Handle
	number uint32 // in motion.Sim
	kind   motion.KindID
	given  motion.State // newest that the server sent, as of at
	at     uint32
	fresh  bool // the body has not been computed from given yet
	ghost  bool // the entity has gone, but an effect still follows it in ticks to compute
	lost   bool // the body is not computed: the client was out of time
	late   bool // the body is being computed from at to now

	// states holds the states of ticks first to last, by tick modulo its length; nil means
	// that the body was given and last in all of them. After last nothing changed.
	states      []motion.State
	first, last uint32
}

const (
	bytesOfTrack = int(unsafe.Sizeof(track{}))
	bytesOfState = int(unsafe.Sizeof(motion.State{}))
	bytesOfRow   = 48 // of a body in a motion.Sim
)

// begin forgets all states but one.
func (t *track) begin(tick uint32, s motion.State) {
	t.first, t.last = tick, tick
	if t.states != nil {
		t.states[int(tick)%len(t.states)] = s
	}
}

// state returns the state after a tick; before the first one known, that.
func (t *track) state(tick uint32) motion.State {
	if t.states == nil {
		return t.given
	}
	return t.states[int(min(max(tick, t.first), t.last))%len(t.states)]
}

// record sets the state after a tick and forgets later ones. keep is how many ticks are
// remembered.
func (t *track) record(tick uint32, s motion.State, keep uint32) {
	if t.states == nil {
		t.states = make([]motion.State, keep)
		t.states[t.last%keep] = t.given
	}
	if tick <= t.first {
		t.begin(tick, s)
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
