// Package bulk keeps many values of one type in memory that never moves, and
// names them by handles that never lie.
//
// # Terms
//
// A slot is a place in a pool, a hole is a free one. A block is one allocation
// of 4,096 slots. A word is 64 neighbouring slots, and the uint64 that says
// which of them are live. A Handle is a slot's index and its generation, which
// tells the slot's tenants apart. A slot is retired, and never used again, once
// its generations are used up.
//
// # Shape
//
//	Handle 17v3 = generation 3 << 32 | index 17
//
//	Pool                    block 0                          block 1
//	fullBlocks  [10...]     full        64 bits: a word each
//	            block 0     taken       64 words: not to be handed out
//	            is full     generations 4,096 x uint32: odd = live
//	                        data        4,096 x T
//
//	Live (a Bitset)
//	top      1 bit for 64 words ...  [1                                ]
//	                                  |
//	summary  1 bit for a word .....  [1 0 1 0 0 ... 64 bits            ]
//	                                  |   |
//	words    1 bit for a slot .....  [1101...] [0] [0001...] [0] [0] ...
//
// Add finds the lowest free slot by three trailing-zero counts: in fullBlocks,
// in the block's full bits, in the word. Low slots thus stay dense, few blocks
// are touched, and the next handle depends on the set of live slots and their
// generations alone: two pools that agree on these go on to give equal handles,
// whatever happened before. That is what replay and rollback need. Iteration
// skips by the summaries, 64 or 4,096 slots at a time.
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
// another pool; what it skips is Stale.
//
// # Invariants
//
// CheckInvariants audits them, messages cite them, and builds with the tag
// invariants (or the race detector) check the touched slot after each change.
//
//   - B1: a summary bit is set if and only if its word is not zero, at both
//     levels; bits beyond the end are zero, so no iterator yields padding.
//   - B2: a slot's live bit is set if and only if its generation is odd.
//   - B3: taken = live, or retired, or not below MaxSlots. A slot is retired
//     after MaxGeneration was removed, keeps generation 0, and stays taken, so
//     that no handle is ever given twice (H4).
//   - B4: a full bit is set if and only if its word (at the upper level: its
//     block) has no free slot.
//   - B5: the counters agree with the bits, and slots at or above the
//     high-water mark are untouched.
//   - B6: generations of a slot only grow, start at FirstGeneration (H5), and
//     none is ahead of MaxGenerationUsed.
//   - B7: no block ever moves: a pointer from Add, AddAt, Get or a Column is good
//     for as long as its tenant lives.
//   - B8: no 64 bits given as a handle make a method panic, or reach memory of
//     another slot or another tenant.
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
// and "Data structures, part 1: bulk data" (Our Machinery).
package bulk
