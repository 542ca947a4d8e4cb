// Package server hosts a world for clients over the network. Listen binds the addresses
// of a Config, and Serve runs the server:
//
//	clients  ◄─ QUIC ─► internal/quicserve ─► session.Core ◄─ Tick ─ loop (real time)
//	operator ◄─ HTTP ─► internal/admin     ─► Report, sessions
//	disk     ◄───────── imagefile          ◄─ saver
//
// Package session has no sockets and no clock. It holds sessions, commands, inputs, the hooks
// of a game, and the invariants. The types that games use have the same names here (Hooks,
// Session, Command); package session documents their fields and methods. This package adds the tick loop (loop.go), which reduces snapshots
// before it delays ticks (pace.go), and saves the world (image.go). Package imagefile stores
// the images for Config.Image; package token issues and verifies connect tokens.
//
// Components, commands, events and inputs are defined once, as the doc of replication/schema shows:
// Register, OnCommand, OnQuery and OnInput take the definitions.
//
// With Config.Rooms a server hosts many worlds on one port, each in a Room. A client joins the
// room that its Hello or its token names, or the default one. RoomKind.New makes the world of a
// room when the first client joins. Session.Move moves a session to another room over the same
// connection: Hooks.Leave is called in the old room, Hooks.Join in the new one. Rooms share no
// state, so Session.Value must hold what a player takes along. A room ends when it is idle or
// drained. A room has a Listing, by which clients and sessions that name a query instead of a room find it (wire.RoomQuery).
// Room.ReserveSeats keeps places for users. The example of RoomsConfig has a lobby and matches.
//
//	Hello ─► session.Router ─► rooms.joinRoom ─► the room, made if need be (room_join.go, rooms.go, room_build.go)
//	a goroutine per room (room_host.go): New, image ─► loop ─► idle, drained, closed: last image
//	                                       ▲ panic: sessions end with Internal │
//	                                       └───────── newest image ◄───────────┘
//
// Invariants of rooms, cited in tests:
//
//	R1 No room waits for another. A room that is stuck in a step keeps its name, its file and
//	   its generations until the step returns, and admits no sessions meanwhile.
//	R2 Rooms that exist together have disjoint ranges of generations (room_ranges.go), and each
//	   its own image.
//	R3 A room is made once for all clients that join it at the same time. Both the number of
//	   rooms and the rate at which clients create them are bounded, as are the images of a kind.
//	   No address takes all rooms, and an idle one ends for a newcomer (room_fairness.go).
//	R4 A panic in a room ends only the sessions in it. The room is restored from its newest
//	   image, or begins again if it has none yet, at most three times in ten minutes without a
//	   pause. A room that is not saved, or is draining, ends. With PanicEnds a panic ends the
//	   process. So do panics on goroutines of Replication.Workers and of the world's Workers.
//	R5 The name of a drained room stays closed to clients, tokens and the game, until the operator
//	   opens it or 24 h have passed (room_cordon.go).
//	R6 A room that the game has ended for good (Room.End) leaves no files, and no crash brings it back once
//	   its clients know, if the journal is of JournalAlways (room_end.go).
//	R7 Seats (room_seats.go) and sessions together never exceed the limit of a room when one is added. A seat admits its
//	   user once, and nobody else. Places that are held for clients and sessions on their way count as seats do.
//	R8 Clients and sessions that seek a room at the same time neither overfill a room nor make one while another has
//	   space for them (directory.go). No answer depends on a private room, except for those that it admits. That holds for a room of
//	   another node too (room_hidden.go), while that node answers.
//	R9 In a cluster (Config.Cluster, cluster.go) a room is taken before its image is opened, issues the generations of its
//	   grant's block alone, and is released after its last save. It steps, sends and saves only while RoomGrant.MayRun: before a
//	   tick, before its snapshots and before an image is written this is asked again. A lost room ends unsaved.
//
// Invariants of messages between rooms (Room.Tell, Room.Announce; letters.go, and letter.go of session), cited in tests:
//
//	M1 A message is delivered to a room at most once. Nothing that may have arrived is sent again, and a message that comes twice is dropped.
//	M2 The messages of one room to another arrive in the order of sending, also if a node or a run of the room changes in between: a
//	   message that comes after a newer one is dropped.
//	M3 With JournalAlways a message leaves once the frame of its tick is durable. A run that a crash has taken back has told nothing of the ticks that it
//	   makes again. What was not sent at the crash is lost.
//	M4 No tick waits for another room, a node or a disk. What waits is bounded in number and bytes, and what is dropped is counted. A
//	   message makes no room, and keeps none open.
//
// Invariants of crash loops, of worlds and rooms (crash_loop.go, crash_note.go, crash_restore.go):
//
//	L1 Only panics count, with the same text at the same tick of the same executable and the same image. A process that
//	   is killed counts nothing, whenever that is. An older image is restored only if the world panics so also from an
//	   earlier state; if it panics otherwise, the next start ends.
//	L2 Until the world is beyond the tick of a panic that counts, no save changes the images (for two intervals at most).
//	L3 The fourth panic in a row is the last, if not one before (L1): Restore ends with ErrCrashLoop, and changes nothing.
//
// Other goroutines reach a room by Room.Do, and backends by signals (Hooks.Signals, Server.Signal). Both run
// at the beginning of a tick and are journaled as commands are. Answers of databases return the same way:
// the example of Room.Do. No tick waits for them. A system of the world, with World.Tick as
// its clock, does periodic work.
//
// Hooks and the world's systems send the defined events: Session.Send to one client,
// Room.SendSeen, SendWithin and Broadcast to several. A game whose hooks need the Room keeps it
// in a variable, which it sets between Listen and Serve.
//
// Config bounds sessions (MaxSessions, MaxSessionsPerAddress) and commands
// (CommandsPerSecond, CommandBurst). The other limits are constants in limits.go of
// session and internal/quicserve.
//
// A program that embeds a Server should configure its process as worldd does.
// QUIC_GO_DISABLE_GSO=true in the environment before Listen saves 20 KB a session, and GOGC=50
// suits a mostly long-lived heap (numbers in cmd/worldd/RATIONALE.md).
package server
