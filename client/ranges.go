package client

import (
	"slices"

	"github.com/worldd/worldd/replication/wire"
)

// maxRanges bounds the ranges of generations that a session remembers.
const maxRanges = 64

// pastRanges has the ranges of generations of the worlds whose handles the game may hold. Worlds on all machines of a
// cluster have disjoint ranges while they exist, but later ones use the same again.
type pastRanges struct {
	epoch uint64 // of the newest world
	seen  []handleRange
}

// worldChange is the effect of a Welcome on the handles of earlier worlds.
type worldChange uint8

const (
	sameWorld   worldChange = iota // the run is the one before, or the first
	freshRange                     // no earlier handle can ever name an entity of this world: all are Stale
	reusedRange                    // earlier handles may name entities of this world, and the game must forget them
)

// enterWorld adds the range of the world of m. When the memory is full, the game must forget all handles, and so does the session: to
// forget the oldest range alone would let its handles name other entities.
func (p *pastRanges) enterWorld(m *wire.Welcome) worldChange {
	first := len(p.seen) == 0
	if !first && m.Epoch == p.epoch {
		return sameWorld
	}
	p.epoch = m.Epoch
	own := handleRange{floor: m.GenerationFloor, ceiling: m.GenerationCeiling}
	reused := len(p.seen) == maxRanges || slices.ContainsFunc(p.seen, func(r handleRange) bool {
		return r.floor <= own.ceiling && own.floor <= r.ceiling
	})
	if reused {
		p.seen = p.seen[:0]
	}
	p.seen = append(p.seen, own)
	switch {
	case first:
		return sameWorld
	case reused:
		return reusedRange
	}
	return freshRange
}
