// Package simtest simulates a network inside the process, under a seed.
//
// It serves tests: the same seed and the same calls give the same trace on every
// machine, so a failing seed is a complete bug report. It starts no goroutine, reads no
// clock and opens no socket.
//
// # Terms
//
//   - Time is an argument: an int64 in any unit (milliseconds, ticks) that
//     [Conditions] uses too. It must not decrease from one call to the next.
//   - A [Link] carries packets one way and, like a datagram socket, may lose,
//     duplicate, delay and reorder them. A connection is two links.
//   - A [Stream] carries all bytes one way, in order: the effect of the same
//     conditions on a reliable transport, where a loss is a delay.
//   - A cut is Loss = 1; a stall is a DelayMin of seconds. Conditions may change
//     while packets are in flight.
//
// # A packet's path
//
//	Send -> lost? ----------------------------------> Stats.Lost
//	     -> copied? -> the copy takes the same path, with its own random numbers
//	     -> due = now + delay, or the due time of the previous packet if that is later
//	     -> reordered? due += ReorderExtra, and the next may overtake
//	     -> Receive(now >= due)
//
// # Invariants
//
//   - L1: Sent + Duplicated = Delivered + Lost + Pending, at every moment.
//   - L2: without Reorder, packets arrive in the order in which they were sent.
//   - L3: a packet's random numbers depend only on the seed and its sequence
//     number. Changing the conditions for one packet does not affect others.
//   - L4: conditions apply to packets sent after they were set; packets in
//     flight keep their fate.
//   - L5: a stream delivers exactly the bytes that were sent, in order, once,
//     unless Loss stays 1.
//
// Links and streams are not safe for concurrent use.
package simtest
