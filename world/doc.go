// Package world is the authoritative simulation: entities with components, and
// bodies moved by gravity, by the ground and by fields of force, in fixed
// steps. It knows no clock and no socket, and no goroutine but those that
// Config.Workers asks for, which work only during Step. Time is a number of
// ticks, randomness a seed, and two worlds that are given the same calls hold
// the same bits on every machine.
//
// # Terms
//
//   - entity: a bulk.Handle from the world's pool; its index is the slot.
//   - component: a pointer-free Go type registered under a name, stored in a
//     column parallel to the slots, with a presence bit for each slot. A local
//     component may point to anything, and is no part of the state.
//   - query: an operation on presence bits, run over words of 64 slots.
//   - deferred: a change of structure that waits until its system returns.
//   - reserved: an entity whose spawn is deferred: live, with nothing yet.
//   - kind: a named way to spawn: a body or none, and default components.
//   - body: position, velocity and rest timer of an entity, one row in columns.
//   - awake: a body that is stepped. asleep: a body that costs nothing.
//   - effect: one field program placed in the world, a wind or an acceleration.
//   - layer: a bit that the game gives meaning to, for kinds to be in and for
//     effects and volumes to be about.
//   - volume: a sphere or a box that notices which bodies cross its surface.
//   - image: the whole world at one moment, to be saved and restored.
//   - recording: an image, and what happened to the world from outside since.
//   - run: the life of one server's world; a restored one is another (H5).
//   - doomed: destroyed by somebody, live until the end of the step.
//   - system: a function that runs in every step, before bodies move or after.
//   - quarantined: a body stopped because a number of its was not finite.
//
// # Rows
//
// Awake rows are a dense prefix, so that a step runs over plain slices and
// costs what is awake:
//
//	row      0 1 2 3 4 | 5 6 7 8 9 ...          slot -> row, row -> slot:
//	         [ awake  ] [ asleep ]              two arrays
//	flips      x   x       x     x               a bit for who is to change,
//	                                             the last word wins
//	flush    2 <-> 5, 4 <-> 8                   Exchange: one swap each
//
// The words of a step are bits, and the flush moves rows once: a body that
// changed its mind three times moves once, or not at all. Exchange, the default,
// pairs the misplaced rows of the two parts in ascending order; Stable keeps the
// order of rows, and moves the spans between those that change; InPlace moves
// nothing, and the awake rows are those of a bitset. Under each, the order of rows
// is a function of the sets, not of the order of the words that made them. The
// idea of deciding by bitsets and moving once a step is that of reactphysics3d's
// issue 199, and Stable is its method: mended, since body 0 is a body, those who
// change are saved before spans move over them, and both maps are rewritten.
//
// Rows that are next to each other are stepped together, and effects that are not
// near to any of them are left out. So that this is the rule, the awake rows are
// sorted by the cells that their bodies are in, along a Morton curve, and by slot
// within a cell, whenever enough was lost to pay for it (Exchange and Stable; see
// order). Then, too, the order of rows is a function of sets, and of places.
//
// # Queries
//
// A query combines the bits of components, word by word, and skips what is empty
// by the summaries of bulk.Bitset:
//
//	presence of a    1 1 0 1 1 0 ...
//	presence of b    1 0 0 1 1 1 ...
//	without c        0 0 0 1 0 0 ...
//	meets            1 0 0 0 1 0 ...    one mask for 64 slots
//
// Query.Words gives words and masks, to be used with the columns' Word and
// MutWord: the fast path. All1 to All3 give one entity after the other, to read,
// and Mut1 to Mut3 to write. They come in ascending order of slots, always.
// Values never move, so that anything may be spawned, changed and destroyed in
// the middle of a loop; what is to be kept out of the loop is deferred.
//
// # Handles of other worlds
//
// An entity's handle is refused by whoever is asked about it, unless its slot
// has a tenant of that very generation. Components, queries and kinds know their
// world, handles do not: two worlds whose generations start alike give out the
// same handles. Worlds whose handles might meet, such as the runs of one server
// (H5) or the zones of one process, are given ranges of generations that do not
// overlap, by Config.FirstGeneration: then each finds the other's handles Stale
// or Unissued.
//
// # One step
//
//	deferred changes -> systems Before -> sleep flush -> sort -> field forces -> integrate
//	  -> grid -> contacts -> rest -> volumes -> systems After -> expiry
//	  -> destroys -> (events readable)
//
// What a system or a Mover defers is carried out as it returns. Systems run in
// the order in which they were added, or as Follows and Precedes say.
//
// What happened is told by lists that are valid until the next step: Spawned,
// Destroyed, Slept, Woke, Entered, Left and Quarantined. Systems that run After
// see all but the destroyed of their own step.
//
// # Touching
//
// A body of a Solid kind is a sphere that other solid bodies cannot enter. Bodies
// that touch are moved through the tick once more, together, in small steps (see
// solve). They make up groups, by union-find, that sleep together: only when all
// have rested for RestTicks. They wake together, too: an impulse, a command, an
// effect, a moving neighbour or the loss of one wakes all sleepers that can be
// reached by touch. It is no physics engine: RATIONALE.md says where the line is,
// and SetMover puts an engine in its place.
//
// # Time travel
//
// TakeImage copies the state between two steps, Image.WriteTo writes it out
// beside them, Restore goes back to it. A Recorder writes every call that changes
// the world between steps, and hashes of each part of the state after each;
// Replay makes the calls again. Systems are not recorded, they run again: they
// may keep nothing of their own that they do not work out from the world, and
// must draw from World.Rand. Where one does not, DivergenceError names the tick
// and the part of the state.
//
// # Invariants
//
// CheckInvariants audits all of them; builds with -tags invariants or -race do
// so after every step.
//
//	W1   Every live entity whose kind has a body owns exactly one row, unless it is
//	     reserved; slot->row and row->slot are inverse; nothing else owns a row.
//	W2   Rows [0, awake) are awake, rows [awake, rows) asleep; in place, the rows
//	     of a bitset are awake, which are so many.
//	W3   Every word is about a row, and the summary of words knows of it.
//	W4   A row that the next flush will find asleep has no velocity and a zero
//	     rest timer.
//	W5   Positions are finite and inside the bounds, velocities finite and not
//	     above MaxSpeed.
//	W6   Every body is in the grid cell of its position exactly once, the slots
//	     of both runs of a cell ascend, and the grid holds nothing else.
//	W7   Presence, change, dirty, doomed and reserved bits belong to live slots,
//	     and change bits to those that have the component.
//	W8   An entity with a lifetime is in the wheel bucket of its last tick, once,
//	     and its last tick is still to come.
//	W9   An effect's centre and parameters are finite.
//	W10  The pools of entities and effects pass their own audits, and every array
//	     by slot is long enough.
//	W11  The outcome of a step does not depend on the order of rows: a body reads
//	     its own row, the effects, and the bodies that it touches, which are taken
//	     in the order of slots. (Tested, not audited.)
//	W12  The awake bits by slot are those of the rows that are awake.
//	W13  What a step notes down for itself (contacts, who moved) is empty again
//	     when it ends.
//	W14  A known volume is its slot's tenant's, and who is inside has a body.
package world
