// Package motion moves free bodies by one tick: effects, gravity, drag, ground, bounds
// and rest. A server's world and a client with the same numbers compute the same bits:
// MOTION.md defines them. Package world uses the functions over planes for every step, and
// a client uses Sim, which also wakes bodies and moves effects.
//
// MOTION.md promises the bits. The Go names that packages world and client show are promised
// (Vec3, Bounds, Layers, Mode, State); all others may change in any release.
//
// # Terms
//
//   - row: a body's index in Bodies, whose columns are planes of float32.
//   - free body: a body that only motion changes during a tick.
//   - kind: constants shared by many bodies.
//   - effect: a field program at a centre, a wind or an acceleration; its centre moves by
//     a path, which is a function of the tick.
//   - exact state: position, velocity, rest timer, and whether the body is awake.
//   - batch: the rows that are stepped together, and the memory for it.
//
// # One tick
//
//	Forces.Reset, Forces.Add for each effect
//	Stepper.Step for the awake rows:
//	  sum the effects at each position            Wind and Acceleration separately
//	  v += (wind - v) * Coupling                  drag, implicit
//	  v += acceleration * TickSeconds
//	  v.Y -= Fall                                 gravity
//	  |v| <= MaxSpeed, or zero and Stopped if not finite
//	  position += v * TickSeconds                 ground and friction, then bounds
//	Stepper.CountRest for each awake row: true if the body has rested for long enough
//	Stepper.FindStill of the rested rows: the bodies that may fall asleep
//
// A kinematic body (InvMass 0) skips forces, gravity and the ground.
//
// Sleep must change nothing: a body that has rested falls asleep if it is still. Forces leave
// it where it is, and none of them changes with time. The caller decides about bodies that
// touch: world waits for all of them. A sleeper wakes when an effect that acts on it begins,
// moves, changes or ends (Reach). A body that falls asleep gets zero velocity
// and a zero rest timer. Forces act only on awake rows.
//
// # Invariants
//
//   - M1: the result for a row depends only on that row, the effects and Params: not on
//     other rows, their order, or the split of a range into calls. All machines compute
//     the same bits: products are rounded before they are added.
//   - M2: effects are summed group by group, a group being a mode and layers, in
//     ascending order of (mode, layers), and within a group in the order of Add, which
//     is by slot. Another order gives other bits. An effect has no influence on a body
//     outside its boxes, whether or not it is added.
//   - M3: the planes of Bodies have equal lengths and do not overlap.
//   - M4: steps and ticks allocate nothing if the Batch has already run as much field code.
package motion
