// Package simtest is a network inside the process, under a seed.
//
// It serves tests: the same seed and the same calls give the same trace, on
// every machine, so a failing seed is a complete bug report. Nothing in here
// starts a goroutine, reads a clock or opens a socket.
//
// # Terms
//
//   - Time is an argument: an int64 in any unit the caller likes (milliseconds,
//     ticks), used consistently with the delays in [Conditions]. It does not
//     go backwards from one call to the next.
//   - A [Link] carries packets one way and, like a datagram socket, may lose,
//     duplicate, delay and reorder them. A connection is two links.
//   - A [Stream] carries bytes one way, all of them, in order: what the same
//     conditions do to a reliable transport, where a loss is only a delay.
//   - A cut is Loss = 1; a stall is a DelayMin of seconds. Both are conditions,
//     and conditions may change while packets are under way.
//
// # One packet's way
//
//	Send -> lost? ----------------------------------> Stats.Lost
//	     -> copied? -> the copy goes the same way, with dice of its own
//	     -> due = now + delay, not before the packet ahead
//	     -> reordered? due += ReorderExtra, and the next may overtake
//	     -> Receive(now >= due)
//
// # Invariants
//
//   - L1: Sent + Duplicated = Delivered + Lost + Pending, at every moment.
//   - L2: without Reorder, packets arrive in the order in which they were sent.
//   - L3: a packet's dice depend on the seed and its number alone. Changing the
//     conditions of one packet changes no other packet's luck.
//   - L4: conditions bind what is sent after they were set; packets under way
//     keep the fate that they were given.
//   - L5: a stream delivers exactly the bytes that were sent, in order, once,
//     as long as Loss does not stay 1.
//
// Links and streams are not safe for concurrent use.
package simtest
