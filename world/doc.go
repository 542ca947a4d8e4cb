// Package world is the authoritative simulation: entities with components, and
// bodies moved by gravity, by the ground and by fields of force, in fixed
// steps. It knows no clock, no socket and no goroutine. Time is a number of
// ticks, randomness a seed, and two worlds that are given the same calls hold
// the same bits on every machine.
//
// # Terms
//
//   - entity: a bulk.Handle from the world's pool; its index is the slot.
//   - component: a pointer-free Go type registered under a name, stored in a
//     column parallel to the slots, with a presence bit for each slot.
//   - kind: a named way to spawn: a body or none, and default components.
//   - body: position, velocity and rest timer of an entity, one row in columns.
//   - awake: a body that is stepped. asleep: a body that costs nothing.
//   - effect: one field program placed in the world, a wind or an acceleration.
//   - image: the whole world at one moment, to be saved and restored.
//   - run: the life of one server's world; a restored one is another (H5).
//   - doomed: destroyed by somebody, live until the end of the step.
//
// # Rows
//
// Awake rows are a dense prefix, so that a step runs over plain slices and
// costs what is awake:
//
//	row      0 1 2 3 4 | 5 6 7 8 9 ...          slot -> row, row -> slot:
//	         [ awake  ] [ asleep ]              two arrays
//	goSleep    x   x                            bits set during a step,
//	goWake                x     x               the last word wins
//	flush    2 <-> 5, 4 <-> 8                   one exchange each, ascending
//
// The flush pairs the misplaced rows of the two parts in ascending order. Its
// result depends on the two sets, not on the order of the words that made them,
// and a body that changed its mind three times moves once, or not at all. The
// idea of deciding by bitsets and moving once a step is that of reactphysics3d's
// issue 199; exchange replaces its span moves, which cost O(bodies).
//
// # One step
//
//	systems Before -> sleep flush -> field forces -> integrate -> grid
//	  -> systems After -> expiry -> deferred destroys -> (events readable)
//
// # Invariants
//
// CheckInvariants audits all of them; builds with -tags invariants or -race do
// so after every step.
//
//	W1   Every live entity whose kind has a body owns exactly one row; slot->row
//	     and row->slot are inverse; nothing else owns a row.
//	W2   Rows [0, awake) are awake, rows [awake, rows) asleep.
//	W3   goSleep holds awake rows only, goWake asleep rows only.
//	W4   A row that the next flush will find asleep has no velocity and a zero
//	     rest timer.
//	W5   Positions are finite and inside the bounds, velocities finite and not
//	     above MaxSpeed.
//	W6   Every body is in the grid cell of its position exactly once, the slots
//	     of a cell ascend, and the grid holds nothing else.
//	W7   Presence, dirty and doomed bits belong to live slots.
//	W8   An entity with a lifetime is in the wheel bucket of its last tick, once,
//	     and its last tick is still to come.
//	W9   An effect's centre and parameters are finite, its scratch fits.
//	W10  The pools of entities and effects pass their own audits, and every array
//	     by slot is long enough.
//	W11  The outcome of a step does not depend on the order of rows: a body reads
//	     its own row and the effects, nothing else. (Tested, not audited.)
package world
