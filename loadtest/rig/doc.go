// Package rig runs a game, its server and its clients, in one goroutine. It is for ordinary Go
// tests, and for playing over a bad link without a network.
//
//	r, err := rig.New(1, rig.Config{Server: game.Config(), Link: rig.Link{Delay: 40 * time.Millisecond, Loss: 0.05}})
//	ada, err := r.Join("ada")
//	_, err = client.Do(ada, OpenCommand, door, Open{})
//	err = r.RunFor(time.Second)
//
// # Terms
//
//	rig     a server core, its clients, and their links
//	link    the conditions between one client and the server
//	frame   what a client does once per picture: update, read, draw
//	script  a list of actions with their ticks, which fails or does not
//
//	[Rig.Step] ─► server tick ◄── link ──► client.Client ◄─ frame, at the client's rate
//
// # Real and simulated parts
//
// The server is the one that [server.Listen] starts, without its sockets. Clients are
// *[client.Client]. A game's code cannot tell the difference. Reconnecting, grace periods and
// backoff work as over QUIC. Code that holds a *server.Room to broadcast events should use an
// interface of the methods that it calls, so that it takes the result of [Rig.Core] too.
//
// Time is virtual and passes only in Step, RunFor, Dial and other calls that wait. The rig
// advances in steps of a millisecond. A link's queue and bandwidth have no limit.
//
// # Determinism
//
// Two rigs with the same seed and the same calls carry the same bytes at the same times: their
// [Rig.Digest] is equal. The game must be deterministic too: no clock, no global randomness, no
// iteration over a map that changes the world or sends something.
//
// # Scripts
//
// [Search] makes random scripts of a game's actions, of joins, departures, broken connections
// and changing links. It plays them, and shrinks the first that fails. Its error is text that
// [Replay] plays again: keep it as a test.
package rig
