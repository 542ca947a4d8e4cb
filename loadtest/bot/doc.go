// Package bot loads a server with headless clients that roam, and check with every answer that
// handles are never confused.
//
// Terms. A bot is one client with its own goroutine. Its oracle remembers what the server sent:
// every handle, with the entity's identity, a 64-bit number that the entity keeps from spawn to
// death. A probe calls Resolve; a poke is a command that names a handle. A confusion is an
// answer that contradicts the oracle's memory. A forged handle is invented by the bot.
//
//	server ══ QUIC ══► client.Client ──► told: enter, update, leave, destroy ──► oracle
//	   ▲                     ▲  └──────► answers: verdicts, results ───────────► (agrees?) ──► confusions
//	   └── inputs, pokes ────┴── probes ◄── live, hidden, dead, forged handles ◄─┘
//
// Bots give their avatars sealed names. A sealed name holds a checksum of the entity's identity
// and a revision, so every bot that sees the avatar can check the name. The server's game
// (internal/scenes/rules) numbers its events for the same purpose.
//
// A bot relies on the client library only for the order of callbacks: the oracle
// keeps its own state of every handle, and checks the replica against it.
//
// A bot coordinates its parts. Each part has its own fields, and all share one core: the
// client, the oracle and the unanswered commands. The account counts what arrived. The helm
// sets the input and measures when a change shows. The asker pokes and renames. The combat
// predicts, shoots and launches. The guest plays another game.
//
// Invariants, cited in code and tests. A violation is a confusion:
//
//	B1 A handle has one identity for ever, and an identity one handle.
//	B2 Destroyed is final: nothing is shown, updated, hidden or executed after it.
//	B3 Resolve agrees with the callbacks: shown is Live, left is Hidden, destroyed
//	   or replaced by a later tenant is Stale, and a handle never shown is neither
//	   Live nor Hidden.
//	B4 Live comes with the entity of that handle and identity.
//	B5 The answer to a command agrees with the structure records before it on the
//	   same ordered stream, and with the events and answers there that named its
//	   target.
//	B6 A lost connection changes none of this if the session resumes. In a new
//	   session of the same run, destroyed handles stay Stale and all others are
//	   Pending until they are shown again. In another run of the world every
//	   earlier handle is Stale and none returns (H5): the Welcome's run must be
//	   able to have issued every handle that is shown.
//	B7 An avatar's name is its own, and never an earlier one than before. A name that an
//	   event announced arrives within 10 s.
//	B8 A reliable event arrives once, in order, and while the entity that it is about is
//	   shown: after its Enter, and before its Leave and Destroy, also in a resumed
//	   session. None is missing, except that the server refuses some to clients that
//	   were away. A handle that came in one is known to the server from then on.
//	B9 An unreliable event arrives at most once, with the tick at which it happened, and
//	   only with a snapshot that is applied.
//	B10 The cause of a death that the bot could see is the game's, unless the death is
//	    the end of the world or the session that it was in.
//	B11 The answer to a rename is the game's.
//	B12 A provisional handle stands for the missile that its launch made, under its
//	    maker's identity and serial, from before the missile's Enter (H7); or it was
//	    rejected and is Stale.
//	B13 A shot is judged by the moment that the bot drew, unless that is older than the
//	    server allows: then it hits an avatar that was drawn in its way, and none that
//	    was drawn aside.
//	B14 The predicted state of the bot's avatar is the server's, unless that has not
//	    applied an input.
//
// B15 counts as a fault, not as a confusion: the bodies that a bot computes equal the server's,
// to the bit. The audits in snapshots check them.
//
// Bots of other games follow their Player. There a handle is its entity's identity, so B1 holds
// trivially. B7 to B14 are about the worlds of internal/scenes, and the rest holds for every
// game.
//
// Bots share nothing: each has its own random numbers, connection, memory and counters, which
// are added up at the end.
package bot
