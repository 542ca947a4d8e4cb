// Package world is the authoritative simulation: entities with components, and
// bodies moved by gravity, the ground and force fields in fixed steps. It uses no
// clock and no socket, and no goroutines except the Config.Workers, which run
// only during Step. Time is a tick count, randomness a seed: two worlds that receive
// the same calls hold the same bits on every machine.
//
// # Terms
//
//   - entity: a bulk.Handle from the world's pool; its index is the slot.
//   - component: a Go type registered under a name, without pointers except strings and
//     []byte. A column parallel to the slots stores its values, with one presence bit per
//     slot. A local component may hold pointers and is not part of the state.
//   - word: 64 neighbouring slots (or rows), and the bits of a set for them.
//   - query: an operation on presence bits, one word at a time.
//   - deferred: a structural change that is applied when its system returns.
//   - reserved: an entity whose spawn is deferred: live, but still empty.
//   - kind: a named way to spawn: an optional body and default components.
//   - body: position, velocity and rest timer of an entity; one row in columns.
//   - awake: a body that is stepped.
//   - asleep: a body that is not stepped and costs nothing. A body falls asleep when it
//     has rested and steps would leave it where it is (motion/MOTION.md), or by Sleep.
//   - effect: one field program in the world, a wind or an acceleration.
//   - layer: a bit with a meaning defined by the game. Kinds are in layers; effects
//     and volumes select layers.
//   - volume: a sphere or box that reports the bodies crossing its surface.
//   - image: the whole world between two steps, for saving and restoring.
//   - recording: an image and every external call since.
//   - journal: the external calls since an image, for the return of the same run after a crash.
//   - segment: the part of a journal between two images: a head and a frame for each step.
//   - run: the lifetime of one server's world; a restored world is a new run, in any free range of generations (H5).
//   - doomed: destroyed, but live until the end of the step.
//   - system: a function that runs in every step, before or after bodies move.
//   - timer: a function that a Before system calls in later steps, for single entities.
//   - quarantined: a body that was stopped because one of its numbers was not finite.
//
// # Rows
//
// Awake rows are a dense prefix: a step runs over plain slices, and its cost is
// proportional to the awake bodies.
//
//	row      0 1 2 3 4 | 5 6 7 8 9 ...          slot -> row, row -> slot:
//	         [ awake  ] [ asleep ]              two arrays
//	flips      x   x       x     x               one bit per row that changes;
//	                                             the last request wins
//	flush    2 <-> 5, 4 <-> 8                   Exchange: one swap each
//
// Sleep and wake requests set bits, and the flush moves rows once per step. A body
// that changes state three times moves once, or not at all. Exchange, the default,
// swaps the misplaced rows of both parts in ascending order. Stable keeps the order
// of rows and moves the spans between changing rows. InPlace moves nothing and keeps
// the awake rows in a bitset. In each mode the resulting order depends on the sets,
// not on the order of requests. Deciding by bitsets and moving once per step follows
// reactphysics3d's issue 199. Stable is its method with three corrections: body 0 is
// a valid body, changing rows are saved before spans overwrite them, and both maps
// are rewritten.
//
// Neighbouring rows are stepped together, and effects far from all of them are
// culled. To keep neighbours close in space, awake rows are sorted along a Morton
// curve over their grid cells, and by slot within a cell, whenever poor culling has
// cost as much as a sort (Exchange and Stable). A sorted order depends
// only on the set of awake bodies and their positions.
//
// # Queries
//
// A query combines presence bits word by word, and skips empty words using the
// summaries of bulk.Bitset:
//
//	presence of a    1 1 0 1 1 0 ...
//	presence of b    1 0 0 1 1 1 ...
//	without c        0 0 0 1 0 0 ...
//	matches          1 0 0 0 1 0 ...    one mask for 64 slots
//
// Query.Words yields words and masks, for use with the columns' Word and MutWord:
// the fast path. Query.All yields single entities, for use with Component.Get and Mut;
// Component.All yields the entities of one component with its values. The order is
// ascending by slot. Values never move, so a loop may spawn, change and destroy anything; changes that
// the loop must not see are deferred.
//
// # Handles of other worlds
//
// A handle is rejected unless its slot has a live entity of the same generation.
// Components, queries and kinds know their world; handles do not: two worlds whose
// generations start alike issue the same handles. Worlds whose handles might mix,
// such as the runs of one server (H5) or the zones of one process, need disjoint
// ranges of generations (Config.FirstGeneration): each then reports the other's
// handles as Stale or Unissued.
//
// # One step
//
//	deferred changes -> systems Before -> paths of effects -> sleep flush -> sort
//	  -> field forces -> integrate -> grid -> contacts -> rest -> volumes
//	  -> systems After -> expiry -> destroys -> (events readable)
//
// Deferred changes are applied when their system or the mover returns. Systems run in the
// order in which they were added, unless AddSystem says which other systems one follows.
//
// Spawned, Destroyed, Slept, Woke, Entered, Left and Quarantined list the events of
// a step until the next one. Systems that run After see all lists of their own step
// except Destroyed.
//
// # Touching
//
// A body of a Solid kind is a sphere that other solid bodies cannot enter. Touching
// bodies are moved through the tick a second time, together and in small steps (contact_solve.go).
// They form groups, by union-find. A group falls asleep together, after all of
// it has rested for RestSeconds, and wakes together: an impulse, a command, an effect, a
// moving neighbour or the removal of a body wakes all sleepers reachable by touch.
// This is not a physics engine: RATIONALE.md draws the line, and SetMover plugs one in.
//
// # Clean bodies
//
// A body that only motion has moved since a tick is a function of its exact state then and
// of the effects (motion/MOTION.md): clients compute it. SlotView.Disturbed is the last tick
// in which anything else changed its position, velocity, awake state or rest timer:
//
//	C1  a spawn, deferred or not
//	C2  SetPosition, SetVelocity, Impulse
//	C3  Wake and Sleep
//	C4  a contact: every body in the list of contacts that is awake or wakes, even if no
//	    contact moves it (a kinematic body)
//	C5  a wake by touch: every sleeper that is reachable by touch from a body that C1 to
//	    C4 or an effect wakes, or from a body that is removed
//	C6  SetMover: every awake body, in each step
//	C7  a system that passes a number that is not finite, which stops the body
//	C8  Restore and RestoreRun: all bodies
//	C9  an effect that clients cannot follow. A Hidden effect, or an effect of a single
//	    tick, disturbs the bodies that it moves or wakes. Four changes of an effect disturb
//	    the bodies that they wake: a change by an After system or a mover, its end with its
//	    leader, a second change between two motions, and its removal before it first acted
//
// Motion disturbs no body: effects, their paths and expiry, gravity, ground, bounds, a
// velocity that effects made infinite, falling asleep alone, and a move to another row.
//
// # Time travel
//
// TakeImage copies the state between two steps. Image.WriteTo writes the image while the
// world continues, and Restore returns to the image. A Recorder writes every call that
// changes the world between steps, and hashes of each part of the state; Replay
// repeats the calls. A replay runs the systems again: they must derive all state from
// the world and draw from World.Rand. If a system does not, DivergenceError
// names the tick and the part of the state.
//
// # Journal
//
// A Journal encodes the same calls as a Recorder. The caller stores its segments beside the images, durably,
// and after a crash repeats them in a world that has been restored from an image:
//
//	image 0            image 1                  crash
//	|                  |                        |
//	[head|frame|frame] [head|frame|frame|frame| torn
//	 segment 0          segment 1
//
//	image 1 and segment 1, or image 0 and both segments: the same state
//
// A frame has the calls before one step, notes of the caller, and hashes of the clock and of a window of up to 1,024
// slots that moves with each tick. Segments form a chain by their sums, also across processes (JournalConfig.Chain).
// Each sector of the file ends with a mark, and so does each frame: a last frame that was not written completely is
// torn, and one with a changed bit is damaged, whatever its contents.
//
//	J2  Each step has one frame. A world that has been restored from an image and has repeated the frames since then has
//	    the state of the run that wrote them, and continues as it would have: same hashes, same handles.
//	    A world that differs is found within as many ticks as it has windows (DivergenceError).
//	J3  JournalReader yields the frames before the first byte that is torn, missing, repeated, reordered or
//	    changed. The error names the byte, and whether the end is torn. Nothing behind it is applied.
//
// # Invariants
//
// CheckInvariants audits all of them; builds with -tags invariants or -race do
// so after every step.
//
//	W1   Every live entity whose kind has a body owns exactly one row, unless it is
//	     reserved; slot->row and row->slot are inverse; no other row exists.
//	W2   Rows [0, awake) are awake, rows [awake, rows) asleep. In place, the awake
//	     rows are the members of a bitset, and awake is their number.
//	W3   Every flip bit belongs to an existing row, and the summary covers it.
//	W4   A row that will be asleep after the next flush has no velocity and a zero
//	     rest timer.
//	W5   Positions are finite and inside the bounds; velocities are finite and at
//	     most MaxSpeed.
//	W6   The grid lists every body exactly once, in the cell of its position, and
//	     nothing else. Both runs of a cell ascend by slot.
//	W7   Presence, change, dirty, doomed and reserved bits belong to live slots,
//	     and change bits to slots that have the component.
//	W8   The timing wheel holds each entity with a lifetime once, in the bucket of the
//	     entity's last tick, which is in the future.
//	W9   An effect's centre and parameters are finite.
//	W10  The pools of entities and effects pass their own audits, and every array
//	     indexed by slot is long enough.
//	W11  The outcome of a step does not depend on the order of rows: a body reads
//	     its own row, the effects, and the bodies that it touches in the order of
//	     slots. (Tested, not audited.)
//	W12  The set of awake slots agrees with the awake rows.
//	W13  The working memory of a step (contacts, moved rows) is empty when it ends.
//	W14  A known volume belongs to its slot's current entity, and its members have
//	     bodies.
//	W15  The history lists every body that has moved further since a known tick than
//	     the history's bound for that tick (reachSince).
package world
