// Package client is the SDK that games integrate. It connects to a server, keeps a
// replica of the entities that the server shows it, and gives a verdict on any handle.
// Pages beside this file describe prediction (PREDICTION.md), computed bodies (BODIES.md),
// reconnects and rooms (SESSIONS.md).
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
// # Connecting
//
// Server and client define what they exchange in a [schema.Schema], best in one package that
// both import. [Dial] takes the schema, the server's address and the Fingerprint of its
// certificate, which the server prints; without a Fingerprint, one of the system's authorities
// must have signed the certificate. Dial returns after the server's Welcome. A refusal is a
// *[wire.Error] whose code says what to do.
//
// The server sends its own schema, and the client finds its declarations in it by name. A
// server may have more components, or another order. If it lacks a declared component or
// kind, or one has other fields, Dial returns a [schema.BindError] that shows both lines. A
// client that declares nothing works with every server: [Replica.Schema] has all that the
// server declares, and [Entity.Format] shows any entity.
//
// # The game loop
//
// Once per render, on the goroutine that draws:
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
// None of these calls block, and the replica changes only inside Update. The server hears from the
// client only through Update: a game that loads for ten seconds without calling it loses its
// connection, and after the server's grace period its session. Bots and tools, which draw
// nothing, block in [Client.Wait]. The example of [Client] is a whole game.
//
// # Between snapshots
//
// Snapshots arrive at uneven intervals, and some are lost. Render therefore returns a moment
// slightly in the past, and [Component.At] interpolates between the states around it, as the
// schema's tags direct: floats linearly, angles and quaternions along the shorter arc. Other
// fields change when their state is reached; strings and []byte change when they arrive.
// [Component.Jumping] reports changes that are teleports, and [Component.Get] returns the
// newest state, for game rules.
//
// The delay is measured: all but one in fifty snapshots of the last four seconds arrive in
// time. It grows at once when the link worsens and shrinks within seconds when it improves;
// the moment never goes back. If snapshots stop, fields with predict=linear are extrapolated
// for a quarter second.
//
// # Prediction and computed bodies
//
// [Predict] shows the player's own entity at the present: it runs the function that moves a
// player, which server and client share, for each input at once, and corrects the result by
// the server's states (PREDICTION.md). Without it the player's entity is drawn at the same
// moment as all others.
//
// With Config.Simulate the client computes the bodies that only effects, gravity and the
// ground move, to the bit; the server sends nothing for them (BODIES.md).
//
// # Events
//
// The server sends events besides states: a hit, a line of chat, a sound. The schema
// declares their types, and [OnEvent] and [OnEventRendered] set the game's functions for
// them, before Dial.
//
// # Handles and verdicts
//
// A handle may come from anywhere: an event, a component, another player, a saved
// game. [Client.Resolve] returns a verdict on any of them: Live ([Client.Entity] has it),
// Hidden (out of view), Pending (not here yet, or never issued) or Stale (destroyed,
// which is final). Keep handles, not *[Entity], which are valid until their Leave or
// Destroy.
//
// A provisional handle is the client's own name for an entity that it asks for in a command
// or input, for example a missile that it draws at once (Client.Provisional). Its verdict is
// Provisional until the server answers, and then its entity's, or Stale if it was rejected:
// it never stands for another entity (H7).
//
// Handles outlive a connection but not the run of the world that issued them (SESSIONS.md).
// The [Observer] is called for everything that enters, changes, leaves view and dies.
//
// # Inputs
//
// [SetInput] sends an input of the schema's type, [Client.SetRawInput] bytes without
// one. An input is made for the tick at which the server will receive it: the client measures
// how long that takes, and the server keeps an early input until its tick and applies at most
// one per tick. Each input is sent in three datagrams. Send what is held down, not what was
// just pressed: the next input makes up for a lost one. Anything that must happen exactly
// once is a command.
//
// # Commands
//
// The type of its arguments names a command that the schema declares: [Do] sends
// one, and [Ask] one with an answer. [Client.DoRaw] sends raw ones by name. Each returns
// a [Future], or Ask a [Query]. Games poll it once per render; other callers wait. Its
// error is a *[Rejection] if the server refused, with the code, the verdict on the target
// and the game's text for the player, or [ErrUnanswered] if the connection broke first:
// then it is unknown whether the command was executed. No command is sent twice.
//
// # Reconnecting and rooms
//
// A lost connection is no error of [Client.Update], which keeps trying to replace it:
// [Client.State] is Reconnecting meanwhile, and [ErrNotJoined] ends commands. A new session, a
// restarted server or a move to another room is reported as a StateChange, after all entities
// left or were destroyed (SESSIONS.md). Config.Room names the room to join, and
// [Client.Welcome] has the server's choice. An error of Update is final: the replica still
// answers, and the client should be closed.
//
// # Goroutines and cost
//
// The methods of a Client, its Replica, entities and futures belong to one goroutine,
// on which the callbacks run. Callbacks must not call Update or [Future.Wait]. Three
// goroutines per connection move bytes between the network and Update; none is left
// after Close. Package loadtest/rig runs Clients and a server in one goroutine and in virtual
// time, for tests.
//
// Memory is 16 bytes for each server slot that the client has heard of, and up to 32 states
// and the strings of each entity in view: [Replica.Bytes]. A server can drive it to
// Config.MaxBytes plus a fifth for the allocator; then the session ends with a *[LimitError].
// Up to 1.3 MiB more wait for Update, and a schema may take 16 MiB. Reading an entity with At
// takes about 250 ns; neither it nor setting an input allocates. [Client.Stats] describes the
// link and counts snapshots, inputs and commands.
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
