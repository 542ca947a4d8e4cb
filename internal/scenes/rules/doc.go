// Package rules runs a scene as a game: it answers the sessions of a server, and sends
// them events. `worldd serve`, the demo and the bots' tests share it.
//
//	session --input, poke, rename--> Game --> scenes.Scene
//	   ^                               |
//	   '----- named, scored, broken, flash (events), answers
//
// Package messages declares what clients see besides bodies:
//
//	name                 component of avatars: the player's name. First the session's,
//	                     cut to 24 bytes, or "player" if that has unprintable
//	                     characters
//	poke                 raw command: throws its target into the air, or breaks it if
//	                     emitters make its kind. Its optional argument, a msgpack
//	                     uint64, is the identity that the client expects
//	rename               typed command of the session's avatar, without a target;
//	                     answered with the new name. Its name has 1 to 24 bytes of
//	                     printable UTF-8, without spaces at its ends. One a second is
//	                     accepted
//	input                steering.Stick
//	describe             query: how avatars move and shoot
//	shoot                query: the nearest avatar along an aim, judged by the moment that
//	                     the client showed (Session.View), at most limits.view_age_s ago.
//	                     Ten a second are accepted
//	launch               typed command: makes up to two missiles for provisional handles,
//	                     named "*SERIAL IDENTITY" with the identity of the avatar that
//	                     launched them in hexadecimal. A missile with life 1 dies before
//	                     anybody sees it. Two launches a second are accepted
//	named                event for all who see an avatar: it has joined, or was renamed
//	broken               event for all who see an entity that a poke breaks. Its
//	                     Destroy follows, with the cause messages.CauseBroken
//	scored               event for the player: a poke was executed. Count is 1 for the
//	                     session's first event and grows by 1
//	flash                unreliable event for players within FlashRadius metres of a
//	                     poked body. Serial grows by 1 with each flash of the world
//
// Entities die with the cause messages.CauseLeft (avatars), messages.CauseBroken, or none.
//
// A Game belongs to the goroutine that owns the world. Without a server (Attach), as in
// tests of commands alone, it sends no events.
package rules
