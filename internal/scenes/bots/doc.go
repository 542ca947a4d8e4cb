// Package bots plays the worlds of scenes for load tests (package bot), and checks what these
// worlds promise besides handles: identities, names, events, causes of death, answers, shots,
// provisional handles and predictions.
//
// Bots give their avatars names that are sealed: each holds a checksum of the entity's identity and
// a revision, so every bot that sees one can check it. The game (package rules) numbers its events
// for the same purpose.
//
//	bot.Behavior ──► mind: pilot (where to) ── asker (pokes, renames) ── combat (scenario combat)
//	                   │                          hearing (names, events, deaths)
//	                   └──── Recall, Learn, Report, Count ───► bot.Seat: the oracle of handles
//
// Invariants, cited in code and tests; package bot has B1 to B6 and B15. A violation is a confusion:
//
//	B7 An avatar's name is its own, and never an earlier one than before. A name that an
//	   event announced arrives within 10 s.
//	B8 A reliable event arrives once, in order, and while the entity that it is about is
//	   shown: after its Enter, and before its Leave and Destroy, also in a resumed
//	   session. None is missing, except that the server refuses some to clients that
//	   were away.
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
package bots
