// Package rules runs a scene as a game: it answers the sessions of a server, and sends
// them events. `worldd serve`, the demo and the bots' tests share it.
//
//	session --input, poke, rename--> Game --> scenes.Scene
//	   ^                               |
//	   '----- named, scored, broken, flash (events), answers
//
// NewSchema declares what clients see besides bodies:
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
//	named                event for all who see an avatar: it has joined, or was renamed
//	broken               event for all who see an entity that a poke breaks. Its
//	                     Destroy follows, with the cause scenes.CauseBroken
//	scored               event for the player: a poke was executed. Count is 1 for the
//	                     session's first event and grows by 1
//	flash                unreliable event for players within FlashRadius metres of a
//	                     poked body. Serial grows by 1 with each flash of the world
//
// Entities die with the cause scenes.CauseLeft (avatars), scenes.CauseBroken, or none.
//
// A Game belongs to the goroutine that owns the world. Without a server (Attach), as in
// tests of commands alone, it sends no events.
package rules
