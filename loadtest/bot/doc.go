// Package bot has the types by which a game defines its bots: how they play, what they check and count.
// Load tests run them: package loadtest/command, and the commands demo and loadtest of package
// server/host, to which host.Definition.Bots passes a Player.
//
//	                  Player.New(Seat)
//	load test ── one for each bot and visit ──► Behavior: Schema, Events, Observer, ...
//	    ▲                                          │
//	    │                     Frame ──► Input, Act, Check
//	    └────────── Recorder: Count, Sample, Recall, Learn, Report
//
// A bot is one client with its own goroutine, which resolves handles of every kind and compares each
// answer with what the server has sent. A Confusion is an answer that contradicts it, and fails the
// run. Behaviors need no code for that. They may have more: identities of entities
// (Behavior.Identity), a command about any handle (Behavior.Poke), scenarios and metrics of the game.
//
// Bots share nothing: each has its own random numbers, connection, memory and counters, which
// are added up at the end.
package bot
