package client

import (
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// history is the states of an entity: the current one, and those that the server
// may name as baselines, in no order. It keeps the newest wire.MaxStates of them, and
// forgets those before the oldest that the server named, since it never goes back;
// but one naming later than it could, for the sake of datagrams that were
// overtaken. Where the game shows what lies between states, those of the last
// span ticks stay too.
//
// The states are in one list, so that an entity is one piece of memory more: first
// the ticks of all, then from when on to show how each comes about, if that is after
// the one before, then their words.
type history struct {
	list   []uint32
	tick   uint32 // of the current state
	named  uint32 // the oldest tick that was named by the newest row, and
	floor  uint32 // by the one that named another before
	room   uint8  // for so many states, of which
	count  uint8  // there are so many, and
	newest uint8  // is the place of the current one
	owned  bool   // the client owns the entity: words that only owners are sent are true
}

// roomToMove is for how many states there is room when an entity has more than the
// one that it entered with. Most never do: they sleep.
const roomToMove = 4

// listOf makes the list of a single state, and returns its words to be filled in.
func listOf(words int) (list, state []uint32) {
	list = make([]uint32, 2+words)
	return list, list[2:]
}

// ticks are those of the states, by place.
func (s *history) ticks() []uint32 { return s.list[:s.count] }

// since is from when on to show how the state at place i comes about.
func (s *history) since(i int) uint32 { return s.list[int(s.room)+i] }

// words are those of the state at place i, of which each has so many.
func (s *history) words(i, words int) []uint32 {
	from := 2*int(s.room) + i*words
	return s.list[from : from+words : from+words]
}

// current is the words of the current state.
func (s *history) current() []uint32 {
	return s.words(int(s.newest), len(s.list)/int(s.room)-2)
}

// find returns the place of the state of a tick, or -1.
func (s *history) find(tick uint32) int { return slices.Index(s.ticks(), tick) }

// keep adds the state of a tick, which is shown to come about from since on. It
// returns its place, or -1 if it is known already or would be of no use; one that is
// newer than all others never is.
func (s *history) keep(tick, since uint32, words []uint32, span uint32) int {
	if tick < s.floor {
		return -1
	}
	ticks := s.ticks()
	place := 0
	for i, t := range ticks {
		if t == tick {
			return -1
		}
		if t < ticks[place] {
			place = i
		}
	}
	switch {
	case ticks[place] < s.floor && ticks[place]+span < tick:
	case len(ticks) < wire.MaxStates:
		if place = len(ticks); place == int(s.room) {
			s.grow(len(words))
		}
		s.count++
	case tick < ticks[place]:
		return -1
	}
	s.list[place], s.list[int(s.room)+place] = tick, since
	copy(s.words(place, len(words)), words)
	return place
}

// larger is for how many states there is room after grow.
func (s *history) larger() int { return min(max(2*int(s.room), roomToMove), wire.MaxStates) }

// growth is how many bytes more keep may take, for states of so many words.
func (s *history) growth(words int) int {
	if s.count < s.room {
		return 0
	}
	return (s.larger() - int(s.room)) * stateBytes(words)
}

// stateBytes is the memory of a state of so many words, and mostGrowth the most that
// keep may take.
func stateBytes(words int) int { return 4 * (2 + words) }
func mostGrowth(words int) int { return wire.MaxStates / 2 * stateBytes(words) }

// bytes is the memory of the states.
func (s *history) bytes() int { return 4 * len(s.list) }

// grow makes room for more states of so many words.
func (s *history) grow(words int) {
	from, to := int(s.room), s.larger()
	list := make([]uint32, to*(2+words))
	copy(list, s.list[:from])
	copy(list[to:], s.list[from:2*from])
	copy(list[2*to:], s.list[2*from:])
	s.list, s.room = list, uint8(to)
}

// show makes the state at a place the current one.
func (s *history) show(place int) { s.newest, s.tick = uint8(place), s.list[place] }

// name notes that the server took the state of a tick for the older of two.
func (s *history) name(tick uint32) {
	if tick > s.named {
		s.named, s.floor = tick, s.named
	}
}

// around finds the states next to a moment: the newest that is not after it, and
// the oldest that is. -1: there is none.
func (s *history) around(moment float64) (before, after int) {
	before, after = -1, -1
	ticks := s.ticks()
	whole := uint32(max(moment, 0))
	for i, t := range ticks {
		if t <= whole {
			if before < 0 || t > ticks[before] {
				before = i
			}
		} else if after < 0 || t < ticks[after] {
			after = i
		}
	}
	return before, after
}

// preceding finds the newest state before that at place i, or -1.
func (s *history) preceding(i int) int {
	found := -1
	ticks := s.ticks()
	for j, t := range ticks {
		if t < ticks[i] && (found < 0 || t > ticks[found]) {
			found = j
		}
	}
	return found
}
