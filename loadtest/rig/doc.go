// Package rig runs a game, its server and its clients, in one goroutine: for ordinary Go tests,
// and for playing over a bad link without a network.
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
// The server is the one that [server.Listen] starts, without its sockets; clients are
// *[client.Client], and the code of a game cannot tell. Reconnecting, grace periods and
// backoff work as over QUIC. A server's code that holds a *server.Room to broadcast events
// should take what [Rig.Core] returns too, as an interface of the methods that it calls.
//
// Time is virtual and passes only in Step, RunFor, Dial and what else waits. The rig advances
// in steps of a millisecond; a link's queue has no limit and its bandwidth none.
//
// # Determinism
//
// Two rigs with the same seed that are used alike carry the same bytes at the same times:
// their [Rig.Digest] is equal. A game must do its part: no clock, no global randomness, no
// iteration over a map that changes the world or sends something.
//
// # Scripts
//
// [Search] makes random scripts of a game's actions, of joins, departures, broken connections
// and changing links, plays them, and shrinks the first that fails. Its error is text that
// [Replay] plays again: keep it as a test.
package rig
