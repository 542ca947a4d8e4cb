package client

import (
	"slices"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// history is the states of an entity that the server may name as baselines: by
// tick, in no order. It keeps the newest wire.MaxStates of them, and forgets
// those before the oldest that the server named, since it never goes back; but
// one naming later than it could, for the sake of datagrams that were
// overtaken. Where the game shows what lies between states, those of the last
// span ticks stay too.
type history struct {
	ticks []uint32
	since []uint32 // from when on to show how each comes about, if that is after the one before
	words []uint32 // of all states, one after the other
	named uint32   // the oldest tick that was named by the newest row, and
	floor uint32   // by the one that named another before
}

// find returns the words of the state of a tick, or nil.
func (s *history) find(tick uint32, words int) []uint32 {
	if i := slices.Index(s.ticks, tick); i >= 0 {
		return s.words[i*words : (i+1)*words]
	}
	return nil
}

// touch reads some of what find and keep need.
func (s *history) touch() uint32 { return first(s.ticks) + first(s.since) }

// keep adds the state of a tick, which is shown to come about from since on.
func (s *history) keep(tick, since uint32, words []uint32, span uint32) {
	if tick < s.floor || slices.Contains(s.ticks, tick) {
		return
	}
	place := 0
	for i, t := range s.ticks {
		if t < s.ticks[place] {
			place = i
		}
	}
	switch {
	case len(s.ticks) > 0 && s.ticks[place] < s.floor && s.ticks[place]+span < tick:
	case len(s.ticks) < wire.MaxStates && !(fault.ForgetStates && len(s.ticks) == 1):
		place = len(s.ticks)
		s.ticks = append(s.ticks, 0)
		s.since = append(s.since, 0)
		s.words = append(s.words, words...)
	case tick < s.ticks[place]:
		return
	}
	s.ticks[place], s.since[place] = tick, since
	copy(s.words[place*len(words):], words)
}

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
	whole := uint32(max(moment, 0))
	for i, t := range s.ticks {
		if t <= whole {
			if before < 0 || t > s.ticks[before] {
				before = i
			}
		} else if after < 0 || t < s.ticks[after] {
			after = i
		}
	}
	return before, after
}

// preceding finds the newest state before that at place i, or -1.
func (s *history) preceding(i int) int {
	found := -1
	for j, t := range s.ticks {
		if t < s.ticks[i] && (found < 0 || t > s.ticks[found]) {
			found = j
		}
	}
	return found
}
