// Package bulk stores many values of one type in memory that never moves, and
// names them by handles that are never reused.
//
// Rules of a game need two parts. A Handle names an entity, and is world.Entity. And, Or, AndNot and
// Bits iterate the BitsetViews that package world returns, one bit for each slot.
// Package world keeps entities in a Pool, whose PoolState its images hold. A program without a
// world may keep pools of its own.
//
// # Terms
//
// A slot is a place for one value, and a hole is a free slot. A block is 4,096
// slots, a region is the memory of consecutive slots. A word is 64 consecutive
// slots, and the uint64 with their live bits. A Handle is a slot's index and a
// generation, which distinguishes the slot's tenants. A slot that has used up
// its generations is retired and never used again.
//
// # Shape
//
//	Handle 17v3 = generation 3 << 32 | index 17
//
//	Pool (Memory = Blocks)  region 0                         region 1
//	regions     [* *]       generations 4,096 x uint32: odd = live
//	                        data        4,096 x T
//
// Growing has regions of 64 slots, allocated 1, 1, 2, 4... at a time. Reserved
// has one region of MaxSlots, mapped outside Go's heap. A shift and a mask find a
// slot in every mode, so the rest of the code is shared.
//
//	Live (a Bitset)
//	top      1 bit for 64 words ...  [1                                ]
//	                                  |
//	summary  1 bit for a word .....  [1 0 1 0 0 ... 64 bits            ]
//	                                  |   |
//	words    1 bit for a slot .....  [1101...] [0] [0001...] [0] [0] ...
//
// Add finds the lowest free slot by a trailing-zero count in the lowest open
// word. A second set records the open words and is consulted once per word. Low
// slots thus stay dense, few blocks are touched, and the next handle depends only
// on the set of live slots and their generations: two pools that agree on these
// issue equal handles from then on, as replay and rollback require. Options.Order
// offers two other policies, from Gray's article on bulk data (see Sources).
//
// # Holes
//
// Gray's article skips runs of holes by lengths stored in the holes. Here the summaries
// skip holes: a zero summary bit skips 64 slots, a zero top bit 4,096, a zero top word
// 262,144. Holes hold no bookkeeping, so T may be any type and loops may write to holes.
// Filling a hole inside a run updates nothing at the run's far end. One load reads 64
// flags, whereas a run length in the hole would cost a cache miss per run. The summaries
// waste at most one word per run. Inside a word, one trailing-zero count per live slot
// skips the holes.
//
// # Generations
//
// The first tenant of a slot has generation Options.FirstGeneration, which is
// odd. Remove adds one: an even generation means that the slot is free. The next
// Add adds one again. Equality with an odd number thus tests liveness:
//
//	issued   live      free      live      free             retired
//	0 --Add--> 1 --Rem.--> 2 --Add--> 3 --Rem.--> 4 ... LastGeneration --Rem.--> (0)
//
// AddAt moves a slot to any later odd generation, to mirror another pool. Skipped
// generations are Stale. State and SetState carry generations, and the order of
// the holes, between a pool and its image. Renew moves them to another range, above or below:
//
//	image      17v5 live   17v3 dead, but stored somewhere     range 1 ... 99
//	             |            |
//	renewed    17v201      17vGoneGeneration                   range 201 ... 299
//	             |            |
//	renewed    17v1        17vGoneGeneration                   range 1 ... 99 again: 17v3 will name another tenant
//
// # Invariants
//
// CheckInvariants audits them, and error messages cite them. Builds with the tag
// invariants (or the race detector) check the touched slot after each change.
//
//   - B1: a summary bit is set if and only if its word is not zero, at both
//     levels; bits beyond the end are zero, so no iterator yields padding.
//   - B2: a slot's live bit is set if and only if its generation is odd.
//   - B3: no slot at or above MaxSlots is ever live. A slot is retired when
//     LastGeneration is removed, keeps generation 0, and is never used again:
//     no handle is issued twice (H4).
//   - B4: with LowestFree, a word is open if and only if it has memory and a slot
//     that is neither live nor retired; none is open below the hint.
//   - B5: the counters agree with the bits, and slots at or above the
//     high-water mark are untouched.
//   - B6: a slot's generations start at FirstGeneration (H5), only grow, and
//     never exceed PoolState.Newest.
//   - B7: no block ever moves: a pointer from Add, AddAt or Get is valid while its
//     tenant lives.
//   - B8: no 64 bits passed as a handle make a method panic, or give access to another
//     slot's or tenant's memory.
//   - B9: with FreeList and FIFO, each hole is in the list or the queue exactly once.
//   - B10: only live slots have tags.
//   - B11: a handle that was not live in a PoolState is Stale for ever after Renew, in any range of generations: Renamed
//     gives it GoneGeneration, which no pool issues.
//
// H4 and H5 are promises to network peers that this package makes possible: a
// handle names one tenant for ever, even if the slot is reused or the process restarts.
//
// # Sources
//
// Odd generations as the liveness test: orlp/slotmap. Blocks of 4,096 and
// retirement on overflow: SergeyMakeev/SlotMap. Holed arrays with permanent
// places and weak handles: Niklas Gray, "Building a data-oriented entity system"
// and "Data structures, part 1: bulk data" (Our Machinery). Live bits beside
// the objects, a set per type, a cascade of summaries: Ben Carter, "Optimizing
// sparse data access with bitfields" (#AltDevBlogADay).
package bulk
