// Package session is the core of a server: the sessions of its clients, their inputs
// and commands, the world's steps, and the snapshots that each client is sent.
//
// Terms. A session is one client's stay, from its Welcome to its end, over as many
// connections as it takes. A peer is the client's end of one connection. An input is
// what a client wants for one tick, unreliable and repeated; a command is what it asks
// for once, reliable and answered. The game is the code that decides what inputs and
// commands do; the functions through which it is called are its hooks.
//
//	transport ──► Peer inbox (checked, bounded)
//	                   │
//	   one goroutine: Core.Tick = Receive ─► Step ─► Send
//	                                                   │
//	transport ◄── Conn (stream bytes, the newest snapshot)
//
// The package is pure: it has no sockets, timers or goroutines of its own, reads no
// clock, and takes its randomness from CoreConfig.Random. Time is the number of ticks.
// Package server runs a Core over QUIC in real time; the simulation of this package's
// tests runs it with its clients over seeded links in one goroutine. CoreConfig.Admit is
// the one function that may wait: it runs inside Peer.ReceiveStream, on the goroutine of
// the connection and under its context. Whoever provides connections bounds that time.
//
// STATE.md has the states of a connection and of a session, and who may rely on what.
// limits.go lists every bound of what a session can cost.
//
// Invariants, cited in code and tests; H1 to H6 are those of handles across the network
// (package replication):
//
//	S1 One goroutine owns the world: only Tick, and the game called by it, touches
//	   world, viewers or session state.
//	S2 The owner of the world never waits for a peer: a client that does not read
//	   costs its own session, and delays no tick.
//	S3 What arrives is checked and bounded before it is queued. The first fault ends
//	   the session with a code that says whose fault it was.
//	S4 A session whose connection broke can be resumed within the grace period, by a
//	   client that presents its secret and by no other.
//	S5 A session controls the entity that Join returned or that Control named since.
//	   Its client learns of each change ahead of the next snapshot, or when it resumes.
//	S6 A panic in the game's own code ends the session that it ran for, and no other
//	   (panic.go). A panic that may have left the world half changed ends the process.
package session
