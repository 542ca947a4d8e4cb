package bodies

import (
	"slices"

	"github.com/worldd/worldd/world/motion"
)

// tracks holds the computed bodies: their present states in sim, and their states of the last
// ticks.
type tracks struct {
	sim *motion.Sim // bodies computed up to now
	now uint32      // tick of sim; 0: none

	byIndex  []*track // by the entity's index in the replica; nil for ordinary entities
	count    int      // tracks in byIndex
	numbered []*track // by number, including the leaders among ghosts
	free     []uint32 // free numbers
	waiting  []*track // tracks to be computed from their given state; some are computed already

	// keep is the number of ticks whose states are kept: exact states may be MaxBack ticks old.
	// A moving body needs 76 bytes per tick: 5 kB at 60 ticks a second, 76 kB at 1,000.
	keep    uint32
	changes []motion.Changes // of the ticks up to logged, by tick modulo keep
	logged  uint32
	lists   [][]motion.State // spare lists of tracks
	listed  int              // number of tracks with a list
	sweep   int              // index in numbered of the next track to check for a long sleep
}

func newTracks(p motion.Params, keep uint32) tracks {
	return tracks{sim: motion.NewSim(motion.New(p), 0), keep: keep, changes: make([]motion.Changes, keep)}
}

// addIndex adds an ordinary entity, with the next index.
func (x *tracks) addIndex() { x.byIndex = append(x.byIndex, nil) }

// setTrack sets the track of an entity; nil makes it ordinary.
func (x *tracks) setTrack(index uint32, t *track) {
	if t == nil {
		x.count--
	} else {
		x.count++
	}
	x.byIndex[index] = t
}

// removeIndex removes an ordinary entity, whose index the last entity then takes.
func (x *tracks) removeIndex(index uint32) {
	last := len(x.byIndex) - 1
	x.byIndex[index] = x.byIndex[last]
	x.byIndex[last] = nil
	x.byIndex = x.byIndex[:last]
}

// bytesOfNew returns the memory of one more body. It includes a list of states, although a body
// that sleeps has none: bodies never use more lists than were counted.
func (x *tracks) bytesOfNew() int {
	return bytesOfTrack + int(x.keep)*(bytesOfState+bytesOfLog) + 2*bytesOfRow + 4*8
}

// stateLists returns how many bodies have a list of past states, and how many spare lists there
// are.
func (x *tracks) stateLists() (used, spare int) {
	for _, t := range x.numbered {
		if t != nil && t.states != nil {
			used++
		}
	}
	return used, len(x.lists)
}

func (x *tracks) trackAt(index uint32) *track {
	if int(index) >= len(x.byIndex) {
		return nil
	}
	return x.byIndex[index]
}

// newTrack returns a track with an unused number.
func (x *tracks) newTrack() *track {
	t := &track{number: uint32(len(x.numbered))}
	if n := len(x.free); n > 0 {
		t.number, x.free = x.free[n-1], x.free[:n-1]
		x.numbered[t.number] = t
	} else {
		x.numbered = append(x.numbered, t)
	}
	return t
}

// removeTrack removes a body.
func (x *tracks) removeTrack(t *track) {
	x.numbered[t.number] = nil
	x.free = append(x.free, t.number)
	x.returnList(t)
	x.sim.Drop(t.number)
	t.state = trackComputed
}

// beginTrack makes t the track of e, with s as its only state.
func (x *tracks) beginTrack(t *track, e Received, s motion.State) {
	t.handle, t.kind = e.Handle, motion.KindID(e.Kind)
	t.restartAt(e.Tick, s)
	t.leap = leap{}
	t.synced = x.now
	x.sim.Drop(t.number)
}

// giveState sets the received state and tick from which a track is computed.
func (x *tracks) giveState(t *track, e Received, s motion.State) {
	t.given, t.at = s, e.Tick
	t.noteTeleport(e.Teleport, e.Tick, s)
	if t.state == trackGiven {
		return
	}
	t.state = trackGiven
	if len(x.waiting) >= 2*x.count+minWaiting {
		x.dropComputed()
	}
	x.waiting = append(x.waiting, t)
}

// minWaiting is the least length of waiting at which computed tracks are removed.
const minWaiting = 64

// dropComputed removes the computed tracks from waiting.
func (x *tracks) dropComputed() {
	x.waiting = slices.DeleteFunc(x.waiting, func(t *track) bool { return !t.waits() })
}

// startFromGiven forgets a body's states after its given one.
func (x *tracks) startFromGiven(t *track) {
	x.syncTrack(t)
	if !t.holdsOnlyGiven() {
		x.takeList(t)
		t.recordState(t.at, t.given)
	}
}

// recordLate records the state after tick of a body that is being computed from an earlier given
// state.
func (x *tracks) recordLate(number uint32, tick uint64, s motion.State) {
	if t := x.numbered[number]; t.state == trackLate && uint64(t.at) < tick {
		x.takeList(t)
		t.recordState(uint32(tick), s)
	}
}

// placeWaiting puts the bodies whose given state is of the current tick into sim.
func (x *tracks) placeWaiting() {
	if len(x.waiting) == 0 {
		return
	}
	kept := x.waiting[:0]
	for _, t := range x.waiting {
		if !t.waits() {
			continue
		}
		if t.at != x.now {
			kept = append(kept, t)
			continue
		}
		t.state = trackComputed
		if !t.holdsOnlyGiven() {
			x.openChanges().Set(t.number, t.given)
			t.slept = x.now
		}
		x.sim.Put(t.number, t.kind, t.given)
	}
	clear(x.waiting[len(kept):])
	x.waiting = kept
}

// restartAt empties sim and sets its tick.
func (x *tracks) restartAt(tick uint32) {
	x.now = tick
	x.sim.Reset(uint64(tick))
}

// openChanges returns the changes of the current tick, and starts the record if the tick has
// just begun. Changes are copied into a body's own list only when its states are read: most are
// never read, and writing every list in each tick would miss the cache.
func (x *tracks) openChanges() *motion.Changes {
	c := &x.changes[x.now%x.keep]
	if c.Tick() == uint64(x.now) {
		return c
	}
	for _, number := range c.Asleep() {
		if t := x.numbered[number]; t != nil {
			x.syncTrack(t) // c has its states of all ticks since
		}
	}
	c.Reset(uint64(x.now))
	x.logged = x.now
	return c
}

// logTick makes the tick that sim has just computed the present one, and keeps its changes.
func (x *tracks) logTick() {
	x.now++
	c := x.openChanges()
	x.sim.CopyChanges(c)
	for _, number := range c.Asleep() {
		x.numbered[number].slept = x.now
	}
}

// syncTrack copies the changes of a body since its last sync into its own states.
func (x *tracks) syncTrack(t *track) {
	if t.synced >= x.logged {
		return
	}
	next, oldest, newest := t.synced+1, x.logged-min(x.logged, x.keep-1), x.logged
	t.synced = x.logged
	if !x.sim.Awake(t.number) {
		newest = t.slept
	}
	for n := uint64(max(next, oldest)); n <= uint64(newest); n++ {
		tick := uint32(n) // tick newest+1 could overflow
		c := &x.changes[tick%x.keep]
		s, ok := c.State(t.number)
		switch {
		case !ok || c.Tick() != uint64(tick): // asleep
		case tick == oldest && tick > next:
			t.restartAt(tick, s) // the body was awake in earlier ticks, which are not kept
		default:
			x.takeList(t)
			t.recordState(tick, s)
		}
	}
}

// stateAfter returns the state of a body after a tick.
func (x *tracks) stateAfter(t *track, tick uint32) motion.State {
	if tick == x.now && t.state == trackComputed {
		if s, ok := x.sim.State(t.number); ok {
			return s
		}
	}
	x.syncTrack(t)
	return t.stateAfter(tick)
}

// takeList gives a track a list of states.
func (x *tracks) takeList(t *track) {
	if t.states != nil {
		return
	}
	if n := len(x.lists); n > 0 {
		t.states, x.lists = x.lists[n-1], x.lists[:n-1]
	} else {
		t.states = make([]motion.State, x.keep)
	}
	x.listed++
	t.states[t.last%x.keep] = t.base
}

// returnList takes the list of states from a track, which keeps only the last state.
func (x *tracks) returnList(t *track) {
	if t.states == nil {
		return
	}
	t.base, t.first = t.states[t.last%x.keep], t.last
	if len(x.lists) < sparePerSweep+x.count/8 {
		x.lists = append(x.lists, t.states)
	}
	t.states = nil
	x.listed--
}

// sparePerSweep is the least number of tracks that a snapshot examines, and the least number of
// spare lists kept.
const sparePerSweep = 16

// sweepStates returns the lists of bodies that have slept for keep ticks. Each call examines an
// eighth of the tracks, and sparePerSweep more.
func (x *tracks) sweepStates() {
	if x.listed == 0 {
		return
	}
	for range min(sparePerSweep+len(x.numbered)/8, len(x.numbered)) {
		x.sweep++
		if x.sweep >= len(x.numbered) {
			x.sweep = 0
		}
		if t := x.numbered[x.sweep]; t != nil && t.state == trackComputed && t.states != nil && x.now-t.last >= x.keep {
			x.returnList(t)
		}
	}
}
