// Package client is the SDK that games integrate. It connects to a server, keeps a
// replica of the entities that the server shows it, and gives a verdict on any handle.
//
// Pages beside this file say more: SESSIONS.md (connecting, handles, commands, reconnects, rooms,
// memory), PREDICTION.md (inputs, drawing between snapshots, prediction), BODIES.md (computed bodies).
//
// # Terms
//
//	replica  the client's copy of its interest set
//	verdict  the answer of Resolve: Live, Hidden, Pending or Stale
//	input    what the player holds down at one tick: unreliable, repeated
//	command  a request to be executed once: reliable, answered
//	event    something that happened, as the schema declares it
//	moment   the server time that a render shows
//
//	QUIC stream ────► Session ──► Replica ──► Observer, Entity, Resolve
//	QUIC datagrams ─►    │  └───► clock ────► Render: the moment to show
//	inputs, commands ◄───┘ acknowledgements of what was applied
//
// Session and Replica do no I/O and read no clock: their caller passes them bytes and
// times. Client runs them over QUIC.
//
// # A game
//
// Server and client define what they exchange in a [schema.Schema], best in one package that
// both import. [Dial] takes the schema, the server's address and its certificate's Fingerprint,
// and returns after the server's Welcome. Then, once per render, on the goroutine that draws:
//
//	if _, err := client.SetInput(c, Throttles, input); err != nil { // what the player holds down
//		return err
//	}
//	if err := c.Update(); err != nil { // apply what arrived, run callbacks, answer
//		return err
//	}
//	moment := c.Render() // the moment to show
//	for e := range c.Replica().All() {
//		if b, ok := client.Body.At(e, moment); ok {
//			draw(e.Handle(), b)
//		}
//	}
//
// None of these calls blocks, and only Update changes the replica. The server hears from the
// client only through Update: a game that loads for ten seconds without calling it loses its
// connection. Bots and tools, which draw nothing, block in [Client.Wait]. The example of [Client]
// is a whole game.
//
//	a handle from anywhere             Client.Resolve gives the verdict, Client.Entity the entity
//	a newest state, for game rules     Component.Get
//	something to be done once          Do, Ask; Client.DoRaw
//	something that happened            OnEvent, OnEventRendered; Observer
//	the player's own entity, at once   Predict
//	a lost connection                  Update replaces it; Config.State, Client.State
//
// The methods of a Client, its Replica, entities and futures belong to one goroutine,
// on which the callbacks run. Callbacks must not call Update or [Future.Wait]. Three
// goroutines per connection move bytes between the network and Update; none is left
// after Close. Package loadtest/rig runs Clients and a server in one goroutine and in virtual
// time, for tests.
//
// # Invariants
//
// Code and tests cite these. H1 to H7, the rules of handles across the network, are in
// PROTOCOL.md of replication/wire.
//
//	C1 A datagram is applied whole or not at all, and acknowledged only if it
//	   was applied (H6).
//	C2 A row is applied only to the tenant that held its slot at the datagram's
//	   structure number, which the datagram's fold, a hash of the tenants' handles,
//	   proves (H1).
//	C3 Within a session the known generation of a slot never goes back, and Stale is final, also
//	   across the sessions of one run.
//	C4 Within a session the moment that Render returns never goes back.
//	C5 Every command that was sent ends once: answered, rejected or unanswered.
//	C6 The predicted state of a tick is Step of the previous tick's and the newest
//	   input up to the tick, as the server receives it.
//	C7 A confirmed state quantises to the server's, if that of its tick has arrived, the
//	   body of an exact entity has the server's bits, and a newer state never gives way to
//	   an older one.
//	C8 At most the ticks of MaxPredicted are newer than the confirmed one.
//	C9 Of one effect Once is true once, and once more after each Undo.
//	C10 The offset that At adds to a state never enters the state.
//	C11 After a complete snapshot, and all that it continues, each exact body has the
//	   server's bits of its tick.
//	C12 No later record changes the states of ticks that were computed.
package client
