package client

import (
	"slices"
	"unsafe"

	"github.com/worldd/worldd/replication/wire"
)

// history holds the states of an entity, unordered: the current one and possible baselines of
// later rows. It keeps the newest states, at most wire.MaxStates. States older than floor may
// be overwritten, since the server's baselines never go back; floor lags one naming behind
// because datagrams overtake each other. If the game interpolates, states of the last span
// ticks stay.
//
// All states share one list, so that an entity needs only one more allocation: first the ticks
// of all states, then the ticks from which they are blended in (see timeline.blendFrom), then
// their values.
type history struct {
	first  *uint32 // of the list; with size it takes 12 bytes, a slice 24
	size   uint32  // of the list
	tick   uint32  // of the current state
	named  uint32  // the highest tick named as the older baseline
	floor  uint32  // named before its latest increase
	room   uint8   // capacity in states
	count  uint8   // states in use
	newest uint8   // index of the current state
	owned  bool    // the client owns the entity: owner-only values are valid
	leapt  uint32  // a bit for each state whose row told of a teleport, by index
}

// roomToMove is the capacity after the first growth. Most entities sleep and never grow.
const roomToMove = 4

// newList makes the list of a single state. state is its values, which the caller fills in.
func newList(values int) (list, state []uint32) {
	list = make([]uint32, 2+values)
	return list, list[2:]
}

// list returns the list of all states. unsafe.Slice would check for overflow, which takes 2 %
// of the time of applying a row.
func (s *history) list() []uint32 { return (*[maxList]uint32)(unsafe.Pointer(s.first))[:s.size:s.size] }

// maxList is more than wire.MaxStates rows of the largest schema take.
const maxList = 1 << 24

func (s *history) setList(list []uint32) {
	s.first, s.size = unsafe.SliceData(list), uint32(len(list))
}

// ticks returns the ticks of the states, by index.
func (s *history) ticks() []uint32 { return s.list()[:s.count] }

// teleportOf returns the tick of the teleport of which the row of state i told: At shows an
// earlier state until then, and state i from then on. It returns 0 if there was none.
func (s *history) teleportOf(i int) uint32 {
	if s.leapt>>i&1 == 0 {
		return 0
	}
	return s.list()[int(s.room)+i]
}

// blendFrom returns the tick from which At blends state i in, or the tick of its teleport.
func (s *history) blendFrom(i int) uint32 { return s.list()[int(s.room)+i] }

// valuesOf returns the values of state i; each state has n.
func (s *history) valuesOf(i, n int) []uint32 {
	from := 2*int(s.room) + i*n
	return s.list()[from : from+n : from+n]
}

// currentValues returns the values of the current state.
func (s *history) currentValues() []uint32 {
	return s.valuesOf(int(s.newest), int(s.size)/int(s.room)-2)
}

// findTick returns the index of the state of tick, or -1.
func (s *history) findTick(tick uint32) int { return slices.Index(s.ticks(), tick) }

// addState stores the state of a tick, which At blends in from blendFrom on, or shows from
// the tick of a teleport on unless that is 0. It returns the state's index. It returns -1 if the state is known or too old to be useful; a state newer than all
// others is never refused.
func (s *history) addState(tick, blendFrom, teleport uint32, values []uint32, span uint32) int {
	if tick < s.floor {
		return -1
	}
	ticks := s.ticks()
	i := 0 // the oldest
	for j, t := range ticks {
		if t == tick {
			return -1
		}
		if t < ticks[i] {
			i = j
		}
	}
	switch {
	case ticks[i] < s.floor && ticks[i]+span < tick:
	case len(ticks) < wire.MaxStates:
		i = len(ticks)
		if i == int(s.room) {
			s.growRoom(len(values))
		}
		s.count++
	case tick < ticks[i]:
		return -1
	}
	s.leapt &^= 1 << i
	if teleport != 0 {
		blendFrom = teleport
		s.leapt |= 1 << i
	}
	list := s.list()
	list[i], list[int(s.room)+i] = tick, blendFrom
	copy(s.valuesOf(i, len(values)), values)
	return i
}

// grownRoom returns the capacity after growRoom, in states.
func (s *history) grownRoom() int { return min(max(2*int(s.room), roomToMove), wire.MaxStates) }

// nextGrowth returns how many bytes the next addState allocates at most.
func (s *history) nextGrowth(values int) int {
	if s.count < s.room {
		return 0
	}
	return (s.grownRoom() - int(s.room)) * stateBytes(values)
}

// stateBytes returns the memory of one state, and maxGrowth the largest growth of any
// history.
func stateBytes(values int) int { return 4 * (2 + values) }
func maxGrowth(values int) int  { return wire.MaxStates / 2 * stateBytes(values) }

func (s *history) bytes() int { return 4 * int(s.size) }

func (s *history) growRoom(values int) {
	from, to := int(s.room), s.grownRoom()
	old, list := s.list(), make([]uint32, to*(2+values))
	copy(list, old[:from])
	copy(list[to:], old[from:2*from])
	copy(list[2*to:], old[2*from:])
	s.setList(list)
	s.room = uint8(to)
}

func (s *history) setCurrent(i int) { s.newest, s.tick = uint8(i), s.list()[i] }

// noteBaseline notes that the server named the state of tick as the older of two
// baselines.
func (s *history) noteBaseline(tick uint32) {
	if tick > s.named {
		s.named, s.floor = tick, s.named
	}
}

// statesAround returns the states next to a moment: the newest not after it, and the oldest
// after it, each -1 if there is none.
func (s *history) statesAround(moment float64) (before, after int) {
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

// stateBefore returns the newest state before state i, or -1.
func (s *history) stateBefore(i int) int {
	found := -1
	ticks := s.ticks()
	for j, t := range ticks {
		if t < ticks[i] && (found < 0 || t > ticks[found]) {
			found = j
		}
	}
	return found
}
