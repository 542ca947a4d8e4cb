// Package server hosts a world for clients over the network. Listen takes the addresses
// of a Config, and Serve runs the server:
//
//	clients  ◄─ QUIC ─► internal/quicserve ─► session.Core ◄─ Tick ─ loop (real time)
//	operator ◄─ HTTP ─► internal/admin     ─► Report, sessions
//	disk     ◄───────── imagefile          ◄─ saver
//
// Package session holds what has no sockets and no clock: sessions, commands, inputs,
// the functions of a game, and the invariants S1 to S6. What games use of it has the
// same name here (Game, Session, Command, CoreConfig). This package adds the tick loop,
// which sends fewer snapshots when there is no time for all and keeps the ticks
// (pace.go), and saves the world (image.go). Package imagefile is where it saves to, for
// Config.Image; package token issues and verifies connect tokens.
//
// Config bounds sessions (MaxSessions, MaxSessionsPerAddress) and commands
// (CommandsPerSecond, CommandBurst). The other limits are constants, in limits.go of
// session and of internal/quicserve.
//
// A program that embeds a Server should set two things of its process, as worldd does
// and a library does not: QUIC_GO_DISABLE_GSO=true in the environment before Listen,
// which saves 20 KB a session, and GOGC=50, since long-lived memory is many times what
// a second of work leaves behind (cmd/worldd/RATIONALE.md has the numbers).
package server
