// Package motion moves free bodies by one tick: effects, gravity, drag, ground, bounds
// and rest. It consists of functions over planes, without entities, contacts or sleep, so
// that a server's world and a client with the same numbers compute the same bits. Package
// world uses it for every step.
//
// # Terms
//
//   - row: a body's index in Bodies, whose columns are planes of float32.
//   - free body: a body that only motion changes during a tick.
//   - kind: constants shared by many bodies.
//   - effect: a field program at a centre, a wind or an acceleration.
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
//	Stepper.CountRest for each awake row: true if the body may fall asleep
//
// A kinematic body (InvMass 0) skips forces, gravity and the ground.
//
// The caller decides when a body wakes, and when a body that has rested falls asleep:
// world waits for all bodies that touch. A body that falls asleep gets zero velocity and a
// zero rest timer. Forces act only on awake rows.
//
// # Invariants
//
//   - M1: the result for a row depends only on that row, the effects and Params: not on
//     other rows, their order, or the split of a range into calls. All machines compute
//     the same bits: products are rounded before they are added.
//   - M2: effects are summed group by group, a group being a mode and layers, in
//     ascending order of (mode, layers), and within a group in the order of Add, which
//     is by slot. Another order gives other bits. Effects whose boxes a body is not in
//     have no influence on it, whether or not they are added.
//   - M3: the planes of Bodies have equal lengths and do not overlap.
//   - M4: steps allocate nothing once a Batch has been used with as much field code.
package motion
