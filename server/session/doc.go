// Package session is the core of a server: client sessions, their inputs and commands,
// the world's steps, and each client's snapshots.
//
// Games use the types that package server names (Session, Hooks, Command, Admission,
// Stats): these are stable API. All other names serve worldd's own packages, and may change
// in any release.
//
// Terms. A session is one client's stay, from its Welcome to its end, over one or more
// connections. A peer is the client at the other end of one connection. An input is a
// client's intent for one tick, unreliable and repeated; a command is a one-time request,
// reliable and answered. The game is the code that implements inputs and commands; hooks
// are its functions that this package calls. The schema declares the types of inputs,
// commands and answers; without a declaration they are raw bytes. A view moment is the
// world time that a client displayed when it made an input or command (Session.View).
//
//	transport ──► Peer inbox (checked, bounded)
//	                   │
//	   one goroutine: Core.Tick = Receive ─► Step ─► Send
//	                                                   │
//	transport ◄── Conn (stream bytes, one snapshot)
//
// The package is pure: it has no sockets, timers or goroutines, reads no clock, and takes
// its randomness from Config.Random. Time is counted in ticks. Package server runs a Core
// over QUIC in real time; package simulation runs it with its clients over seeded links in
// one goroutine. Only Config.Admit may wait: it runs inside Peer.ReceiveStream, on the
// connection's goroutine. The connection's context bounds that time.
//
// A Router assigns connections to rooms: several Cores in one process, each ticked by its
// own goroutine. A connection belongs to no room until its Hello. Session.Move hands a
// session over to another Core, which sends a Welcome on the same connection and makes
// another *Session of the same ID. Commands and inputs that the client sent before it
// received that Welcome were meant for the old room, and are dropped.
//
// Core, Session and Peer coordinate parts that own their fields (parts_test.go). A Core has the
// requests and calls of other goroutines, the roster of sessions and connections, the schedule of
// snapshots, the gate of held output, and the record of the game's faults. A Session has its identity, life, sight
// (with the provisional handles and the view moment), inputs, progress, secrets and travel. A Peer has
// its inbox.
//
// STATE.md specifies the states of connections and sessions, and their guarantees.
// limits.go lists every bound on a session's cost.
//
// Invariants, cited in code and tests. H1 to H7 are the invariants of handles across the
// network, P1 to P6 of the bodies that clients compute (package replication):
//
//	S1 One goroutine owns the world: only Tick, and the game called by it, touches
//	   world, viewers or session state.
//	S2 The world's goroutine never waits for a peer: a client that does not read
//	   loses its own session, and delays no tick.
//	S3 Messages are checked and bounded before they are queued. The first fault ends
//	   the session with a code that says whose fault it was.
//	S4 A session whose connection broke can be resumed within the grace period, only by
//	   a client that presents its secret.
//	S5 A session controls the entity that Join returned or the entity that Control named
//	   last. The client learns of each change before the next snapshot, or when it
//	   resumes.
//	S6 A panic in the game's own code ends only the session that the code ran for (panic.go).
//	   A panic that may have left the world half changed ends the process.
//	S7 A session is in one room at a time. A message that a client sent to one room has no
//	   effect in another. Two rooms that a session has been in never issue the same handle.
//	S8 A snapshot leaves before the next one is encoded, unless its connection ends.
//	   A Result follows the structure that its verdict rests on.
//	S9 Only Core.Step steps the world: World.Step in a hook panics.
//	S10 With Config.HoldOutput, what a frame sends leaves after Core.Release of that frame, in the
//	   order of sending. What is sent after the step by hooks that may change the world belongs to
//	   the next frame.
package session
