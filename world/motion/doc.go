// Package motion moves free bodies by one tick: effects, gravity, drag, ground,
// bounds and rest. It is a function of planes, without entities, contacts or sleep,
// so that a server's world and a client that knows the same numbers compute the same
// bits. Package world uses it for every step.
//
// # Terms
//
//   - row: a body's index in Bodies, whose columns are planes of float32.
//   - free body: a body that nothing but motion changes during a tick.
//   - kind: the constants that many bodies share.
//   - effect: a field program at a centre, a wind or an acceleration.
//   - batch: the rows that are stepped together, and the memory for it.
//
// # One tick
//
//	Forces.Reset, Forces.Add for each effect
//	Stepper.Step for the awake rows:
//	  sum the effects at each position            Wind and Acceleration apart
//	  v += (wind - v) * Coupling                  drag, implicit
//	  v += acceleration * TickSeconds
//	  v.Y -= Fall                                 gravity
//	  |v| <= MaxSpeed, or zero and Stopped if not finite
//	  position += v * TickSeconds                 ground and friction, then bounds
//	Stepper.CountRest for each awake row: true if the body may fall asleep
//
// A kinematic body (InvMass 0) skips forces, gravity and the ground.
//
// What wakes a body, and whether a body that has rested falls asleep, is the
// caller's decision: world waits for all bodies of a heap. A body that falls asleep
// gets zero velocity and a zero rest timer. Forces act on awake rows alone.
//
// # Invariants
//
//   - M1: a row's outcome depends on that row, the effects and Params alone: not on
//     other rows, their order, or the split of a range into calls. It is the same
//     bits on every machine: products are rounded before they are added.
//   - M2: effects add up group by group, a group being a mode and layers, in the
//     order of the groups' first effects; within a group, in the order of Add.
//     Another order gives other bits.
//   - M3: the planes of Bodies are equally long, and do not overlap.
//   - M4: steps allocate nothing once a Batch has been used with as much field code.
package motion
