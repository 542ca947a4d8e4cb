// Package bulk keeps many values of one type in memory that never moves, and
// names them by handles that never lie.
//
// # Terms
//
// A slot is a place in a pool, a hole is a free one. A block is 4,096 slots, a
// region is memory of neighbouring slots. A word is 64 neighbouring slots, and the uint64 that says
// which of them are live. A Handle is a slot's index and its generation, which
// tells the slot's tenants apart. A slot is retired, and never used again, once
// its generations are used up.
//
// # Shape
//
//	Handle 17v3 = generation 3 << 32 | index 17
//
//	Pool (Memory = Blocks)  region 0                         region 1
//	regions     [* *]       generations 4,096 x uint32: odd = live
//	                        data        4,096 x T
//
// Growing has regions of 64 slots, allocated 1, 1, 2, 4... at a time; Reserved
// has one, of MaxSlots, which is mapped outside Go's heap. A shift and a mask
// find a slot in all of them, so everything else is written once.
//
//	Live (a Bitset)
//	top      1 bit for 64 words ...  [1                                ]
//	                                  |
//	summary  1 bit for a word .....  [1 0 1 0 0 ... 64 bits            ]
//	                                  |   |
//	words    1 bit for a slot .....  [1101...] [0] [0001...] [0] [0] ...
//
// Add finds the lowest free slot by a trailing-zero count in the lowest open
// word; a second set, of words, knows which are open, and is asked once a word.
// Low slots thus stay dense, few blocks are touched, and the next handle depends
// on the set of live slots and their generations alone: two pools that agree on
// these go on to give equal handles, whatever happened before. That is what
// replay and rollback need. Options.Order has the other two ways of the article
// below, for those who want them.
//
// # Holes
//
// The article skips runs of holes by lengths that are kept in the holes. Here
// the summaries are that skip: a zero summary bit jumps 64 slots, a zero top
// bit 4,096, a zero top word 262,144. A jump needs no memory in the holes, so T
// may be anything and loops may write to holes; it needs no upkeep at the far
// end of a run when a hole in its middle is filled; and it reads 64 flags a
// load, while a run length is a load from the hole itself: a cache miss a run.
// It costs at most one wasted word a run: with runs shorter than 64 slots the
// bits of a word do the skipping, one trailing-zero count a live slot.
//
// # Generations
//
// The first tenant of a slot has generation Options.FirstGeneration, which is
// odd. Remove adds one, which makes it even: nobody is there. The next Add adds
// one again. So equality with an odd number is the whole test of life:
//
//	issued   live      free      live      free             retired
//	0 --Add--> 1 --Rem.--> 2 --Add--> 3 --Rem.--> 4 ... MaxGeneration --Rem.--> (0)
//
// AddAt moves a slot ahead to any later odd generation, for those who mirror
// another pool; what it skips is Stale. State and SetState carry all of it, and
// the order of the holes, from a pool to its image and back.
//
// # Invariants
//
// CheckInvariants audits them, messages cite them, and builds with the tag
// invariants (or the race detector) check the touched slot after each change.
//
//   - B1: a summary bit is set if and only if its word is not zero, at both
//     levels; bits beyond the end are zero, so no iterator yields padding.
//   - B2: a slot's live bit is set if and only if its generation is odd.
//   - B3: no slot at or above MaxSlots is ever live. A slot is retired after
//     MaxGeneration was removed, keeps generation 0, and is never handed out
//     again, so that no handle is ever given twice (H4).
//   - B4: with LowestFree, a word is open if and only if it has memory and a slot
//     that is neither live nor retired; none is open below the hint.
//   - B5: the counters agree with the bits, and slots at or above the
//     high-water mark are untouched.
//   - B6: generations of a slot only grow, start at FirstGeneration (H5), and
//     none is ahead of MaxGenerationUsed.
//   - B7: no block ever moves: a pointer from Add, AddAt, Get or a Column is good
//     for as long as its tenant lives.
//   - B8: no 64 bits given as a handle make a method panic, or reach memory of
//     another slot or another tenant.
//   - B9: with FreeList and FIFO, each hole is in the list or the queue, once.
//   - B10: a tag is on live slots only.
//   - B11: rows of a Table and slots point at each other.
//
// H4 and H5 are promises to peers across the network, which this package
// supplies the means for: a handle names one tenant for ever, also after the
// slot is reused and after the process restarts.
//
// # Sources
//
// Odd generations as the test of life: orlp/slotmap. Blocks of 4,096 and
// retirement on overflow: SergeyMakeev/SlotMap. Holed arrays with permanent
// places, weak handles: Niklas Gray, "Building a data-oriented entity system"
// and "Data structures, part 1: bulk data" (Our Machinery). Bits of life beside
// the objects, a set a type, a cascade of summaries: Ben Carter, "Optimizing
// sparse data access with bitfields" (#AltDevBlogADay).
package bulk
