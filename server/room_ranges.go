package server

import (
	"errors"

	"github.com/worldd/worldd/world"
)

// ranges hands out ranges of generations in blocks of world.RunGenerations: block k is
// k*RunGenerations+1 to (k+1)*RunGenerations-1, and the last one ends at lastGeneration. Rooms that exist at the same time have
// different blocks.
type ranges struct {
	blocks [1 << 32 / world.RunGenerations]struct {
		taken bool
		ended uint64 // order in which its newest room ended; 0: never taken
		// stored: a journal on the disk has a run in it, which continues when a client returns to its room.
		stored bool
	}
	ends uint64
}

// lastGeneration is bulk.MaxGeneration.
const lastGeneration = 1<<32 - 3

// errNoRange reports that no free range is above the generations of an image.
var errNoRange = errors.New("no free range of generations is above the image's: its world was restarted too often, or too many rooms exist; move the image away to begin a new world")

// takeBlock returns a free block not below least: one that was never taken, or otherwise the
// one whose room ended first, so that handles of ended rooms stay Stale for as long as
// possible. Blocks of stored rooms come last.
func (r *ranges) takeBlock(least int) (block int, err error) {
	block = -1
	for i := max(least, 0); i < len(r.blocks); i++ {
		if !r.blocks[i].taken && (block < 0 || r.isBetter(i, block)) {
			block = i
		}
	}
	if block < 0 {
		return 0, errNoRange
	}
	r.take(block)
	return block, nil
}

// isBetter reports whether a room should take block i in place of block k.
func (r *ranges) isBetter(i, k int) bool {
	a, b := &r.blocks[i], &r.blocks[k]
	if a.stored != b.stored {
		return b.stored
	}
	return a.ended < b.ended
}

func (r *ranges) take(block int) { r.blocks[block].taken, r.blocks[block].stored = true, false }

// keepForStored keeps a block for a stored room, as long as others are free.
func (r *ranges) keepForStored(block int) { r.blocks[block].stored = true }

// takeExactly takes a block if it is free, for a run that continues in it.
func (r *ranges) takeExactly(block int) bool {
	if r.blocks[block].taken {
		return false
	}
	r.take(block)
	return true
}

// releaseBlock frees a block.
func (r *ranges) releaseBlock(block int) {
	r.ends++
	r.blocks[block].taken, r.blocks[block].ended = false, r.ends
}

// generationsOf returns the range of a block.
func generationsOf(block int) Generations {
	first := uint32(block) * world.RunGenerations
	return Generations{first + 1, min(first+(world.RunGenerations-1), lastGeneration)}
}

// blockOf returns the block of a generation.
func blockOf(generation uint32) int { return int(generation / world.RunGenerations) }

// blockAbove returns the lowest block for a world restored from an image with newest generation
// newest.
func blockAbove(newest uint32) int {
	block := int(newest / world.RunGenerations)
	if newest%world.RunGenerations > world.RunGenerations/2 {
		block++ // the restored world begins RunGenerations above newest
	}
	return block + 1
}
