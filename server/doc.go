// Package server hosts a world for clients over the network: sessions,
// commands and inputs on one side, the world's steps and each client's
// snapshots on the other.
//
// Terms. A session is one client's stay, from its Welcome to its end, over as many
// connections as it takes; a peer is the client's end of one connection. An input
// is what a client wants for one tick, unreliable and repeated; a
// command is what it asks for once, reliable and answered. The game is the
// code that decides what inputs and commands do.
//
//	QUIC ──► Conn's goroutines ──► Peer inbox (checked, bounded)
//	                                   │
//	   one goroutine: Core.Tick = Receive ─► Step ─► Send
//	                                                     │
//	QUIC ◄── Conn's sender ◄── stream queue, one-snapshot mailbox
//
// Core does no input or output and knows no clock: a simulation ticks it over
// links of its own. Server puts QUIC, time and metrics around it. STATE.md has
// the states of a session and who may rely on what. When there is no time for all
// snapshots, Server makes fewer, and keeps the ticks (turns.go, pace.go).
//
// limits.go lists every bound of what a client can cost. Config changes those of
// sessions (MaxSessions, MaxSessionsPerAddress) and of commands (CommandsPerSecond,
// CommandBurst); the others are constants.
// Package imagefile has where a Server saves its world, for Config.Image.
//
// A program that embeds a Server does well to set two things of its process, as worldd
// does and a library does not: QUIC_GO_DISABLE_GSO=true in the environment, before
// Listen, which saves 20 KB a session, and GOGC=50, since what lives long is many times
// what a second leaves behind (RATIONALE.md has the numbers).
//
// Invariants, cited in code and tests; H1 to H6 are those of handles across
// the network:
//
//	S1 One goroutine owns the world: nothing but Tick, and the game called by
//	   it, touches world, viewers or session state.
//	S2 The owner of the world never waits for a peer: a client that does not
//	   read costs its own session, and nobody else a tick.
//	S3 What arrives is checked and bounded before it is queued; the first fault
//	   ends the session with a code that says whose it was.
//	S4 A session whose connection broke goes on for who shows its secret within
//	   the time of grace, and for nobody else.
//	S5 A session controls what Join returned, or Control named since; its client is
//	   told of each change ahead of the next snapshot, or when it comes again.
//	S6 A panic in the game's own code ends the session that it ran for, and no
//	   other (panic.go). A panic that may have left the world half changed ends the
//	   process.
package server
