// Package bot loads a server with headless clients that roam, and that check
// with every answer they get that handles do not lie.
//
// Terms. A bot is one client with a goroutine of its own. Its oracle is its
// memory of what it was told: every handle it was shown, with the identity
// that came with it, a 64-bit number that an entity carries from spawn to end.
// A probe is a question to Resolve; a poke is a command that names a handle. A
// confusion is an answer that contradicts the memory. Forged is a handle that
// the bot made up.
//
//	server ══ QUIC ══► client.Client ──► told: enter, update, leave, destroy ──► oracle
//	   ▲                     ▲  └──────► answers: verdicts, results ───────────► (agrees?) ──► confusions
//	   └── inputs, pokes ────┴── probes ◄── live, hidden, dead, forged handles ◄─┘
//
// A bot trusts nothing of the client library but the order in which it is
// told things: the oracle keeps its own state of every handle, and the replica
// is one of the witnesses.
//
// Invariants, cited in code and tests. Each one broken is a confusion:
//
//	B1 A handle has one identity for ever, and an identity one handle.
//	B2 Destroyed is final: nothing is shown, updated, hidden or executed after.
//	B3 Resolve answers what was told: shown is Live, left is Hidden, destroyed
//	   or overtaken by a later tenant is Stale, and what was never shown is
//	   neither Live nor Hidden.
//	B4 Live comes with the entity: the one of that handle and identity.
//	B5 The answer to a command agrees with the structure that precedes it on the
//	   same ordered lane. Only Stale may be ahead, by what one snapshot tells.
//	B6 A connection that is lost changes nothing of this if the session resumes. In a
//	   new session of the same run, destroyed handles stay Stale and all others are
//	   Pending until they are shown again.
//	   In another run of the world no handle of before is anything but Stale, and
//	   none comes again (H5): what is shown, the Welcome's run can have issued.
//
// Bots share nothing: each has its own random numbers, connection, memory and
// counters, which are added up at the end.
package bot
