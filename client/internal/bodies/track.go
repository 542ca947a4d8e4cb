package bodies

import (
	"unsafe"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/world/motion"
)

// track is the motion of an exact body: its states of the last ticks.
type track struct {
	// states holds the states of ticks first to last, by tick modulo its length, a power of
	// two; nil means that the body was base in all of them. After last nothing changed.
	states      []motion.State
	first, last uint32
	synced      uint32 // tick up to which these hold what bodies.changes does
	slept       uint32 // newest tick in which it fell asleep
	base        motion.State

	number uint32 // in motion.Sim
	kind   motion.KindID
	handle bulk.Handle
	at     uint32       // tick of given
	given  motion.State // newest that the server sent
	state  trackState
}

// trackState is how far a body has been computed.
type trackState uint8

const (
	trackComputed trackState = iota // up to now
	trackGiven                      // not yet from its given state
	trackLate                       // being computed from a given state of an earlier tick
	trackLost                       // not at all: the client was out of time
)

// waits reports whether the body is still to be computed from its given state.
func (t *track) waits() bool { return t.state == trackGiven || t.state == trackLate }

const (
	bytesOfTrack = int(unsafe.Sizeof(track{}))
	bytesOfState = int(unsafe.Sizeof(motion.State{}))
	bytesOfRow   = 48                 // of a body in a motion.Sim
	bytesOfLog   = bytesOfState + 3*4 // of a body in motion.Changes
)

// restartAt forgets all states but one.
func (t *track) restartAt(tick uint32, s motion.State) {
	t.first, t.last, t.base = tick, tick, s
	if t.states != nil {
		t.states[int(tick)%len(t.states)] = s
	}
}

// holdsOnlyGiven reports whether the state that the server sent is the first one known.
func (t *track) holdsOnlyGiven() bool { return t.states == nil && t.last == t.at && t.base == t.given }

// stateAfter returns the state after tick, or the earliest known one if tick precedes it.
func (t *track) stateAfter(tick uint32) motion.State {
	if t.states == nil {
		return t.base
	}
	return t.states[int(min(max(tick, t.first), t.last))%len(t.states)]
}

// recordState sets the state after a tick and forgets later ones. The track has a list.
func (t *track) recordState(tick uint32, s motion.State) {
	keep := uint32(len(t.states))
	if tick == t.last+1 {
		t.states[tick&(keep-1)], t.last = s, tick
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

// changesNow returns the current tick's changes, empty if it has just begun. Changes are copied
// into a body's own list only when its states are read: most never are, and writing every list
// in each tick would miss the cache.
func (b *Bodies) changesNow() *motion.Changes {
	c := &b.changes[b.now%b.keep]
	if c.Tick() == uint64(b.now) {
		return c
	}
	for _, number := range c.Asleep() {
		if t := b.numbered[number]; t != nil {
			b.syncTrack(t) // c has its state of all ticks since
		}
	}
	c.Reset(uint64(b.now))
	b.logged = b.now
	return c
}

// logChanges keeps what was computed for the tick now.
func (b *Bodies) logChanges() {
	c := b.changesNow()
	b.sim.CopyChanges(c)
	for _, number := range c.Asleep() {
		b.numbered[number].slept = b.now
	}
}

// syncTrack copies the changes of a body since its last sync into its own states.
func (b *Bodies) syncTrack(t *track) {
	if t.synced >= b.logged {
		return
	}
	next, oldest, newest := t.synced+1, b.logged-min(b.logged, b.keep-1), b.logged
	t.synced = b.logged
	if !b.sim.Awake(t.number) {
		newest = t.slept
	}
	for tick := max(next, oldest); tick <= newest; tick++ {
		c := &b.changes[tick%b.keep]
		s, ok := c.State(t.number)
		switch {
		case !ok || c.Tick() != uint64(tick): // asleep
		case tick == oldest && tick > next:
			t.restartAt(tick, s) // before, it was awake in ticks that are not kept
		default:
			b.takeList(t)
			t.recordState(tick, s)
		}
	}
}

// stateAfter returns the state of a body after a tick.
func (b *Bodies) stateAfter(t *track, tick uint32) motion.State {
	if tick == b.now && t.state == trackComputed {
		if s, ok := b.sim.State(t.number); ok {
			return s
		}
	}
	b.syncTrack(t)
	return t.stateAfter(tick)
}

// takeList gives a track a list of states.
func (b *Bodies) takeList(t *track) {
	if t.states != nil {
		return
	}
	if n := len(b.lists); n > 0 {
		t.states, b.lists = b.lists[n-1], b.lists[:n-1]
	} else {
		t.states = make([]motion.State, b.keep)
	}
	b.listed++
	t.states[t.last%b.keep] = t.base
}

// returnList takes the list of states from a track, which keeps only its last state.
func (b *Bodies) returnList(t *track) {
	if t.states == nil {
		return
	}
	t.base, t.first = t.states[t.last%b.keep], t.last
	if len(b.lists) < sparePerSweep+b.count/8 {
		b.lists = append(b.lists, t.states)
	}
	t.states = nil
	b.listed--
}

// sparePerSweep is the least number of tracks that a snapshot examines, and of spare lists kept.
const sparePerSweep = 16

// sweepStates takes the lists of bodies that have slept for as long as states are kept. It
// examines an eighth of the tracks.
func (b *Bodies) sweepStates() {
	if b.listed == 0 {
		return
	}
	for range min(sparePerSweep+len(b.numbered)/8, len(b.numbered)) {
		b.sweep++
		if b.sweep >= len(b.numbered) {
			b.sweep = 0
		}
		if t := b.numbered[b.sweep]; t != nil && t.state == trackComputed && t.states != nil && b.now-t.last >= b.keep {
			b.returnList(t)
		}
	}
}
