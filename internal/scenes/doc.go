// Package scenes reads world files and builds worlds from them. Tests, benchmarks, the demo
// and the bots share the embedded worlds "storm" and "calm".
//
//	storm.yaml --Parse--> File --Build--> Scene{World, Join, Steer, Poke, Leave}
//	    |                  ^
//	    +- mistakes: FileError{line, column, what was expected}
//
// WORLDS.md is the reference of world files, for operators.
//
// # Input
//
// A client's input is a steering.Stick. Package rules has the commands and events.
//
// # Invariants
//
//	S1  A file determines the world: the same state hash after the same steps and
//	    calls, on every machine. All randomness comes from world.Rand.
//	S2  Every live entity of a scene carries IdentityOf(handle, seed) from its spawn
//	    on.
//	S3  Everything that may live at once fits: spawns, emitters at their maximum and
//	    max_players together do not exceed max_entities.
//	S4  Rejecting a file takes bounded time, memory and stack; see limits.go. No part
//	    of an invalid file is built.
//	S5  A mistake is reported at its line and column, also inside an effect's text.
package scenes
