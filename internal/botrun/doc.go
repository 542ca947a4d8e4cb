// Package botrun loads a server with headless clients that play as a game's bot.Player says, check with
// every answer that handles are never confused, and reports what they measured.
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
// A bot relies on the client library only for the order of callbacks: the oracle
// keeps its own state of every handle, and checks the replica against it.
//
// A bot (loadBot) coordinates parts, each with its own fields and all with one core: the client, the oracle
// and the unanswered pokes. Its account counts what the network brought, its actor plays by the
// bot.Behavior and measures when a change of its input shows, and its poker pokes.
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
//	   target. From then on the server knows the handles in these events and answers.
//	B6 A lost connection changes none of this if the session resumes. In a new
//	   session of the same run, destroyed handles stay Stale and all others are
//	   Pending until they are shown again. In another run of the world every
//	   earlier handle is Stale and none returns (H5): the Welcome's run must be
//	   able to have issued every handle that is shown.
//	B15 The bodies that a bot computes are the server's, to the bit. It is counted as a fault,
//	   not as a confusion: the audits in snapshots check them.
//
// Without bot.Behavior.Identity a handle is its entity's identity, which makes B1 hold by itself. B7 to
// B14 are about the worlds of internal/scenes, whose bots report them (internal/scenes/bots).
//
// Bots share nothing: each has its own random numbers, connection, memory and counters, which
// are added up at the end.
package botrun
