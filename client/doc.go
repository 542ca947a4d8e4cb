// Package client is the SDK that games integrate: it connects to a server,
// keeps a replica of what the server shows it, and answers for every handle it
// was ever given.
//
// Terms. The replica is the client's copy of its interest set. A verdict is
// the answer to Resolve: Live, Hidden, Pending or Stale. An input is what the
// client wants for one tick, unreliable and repeated; a command is what it
// asks for once, reliable and answered. A moment is the server's time that a
// frame of the game shows.
//
//	QUIC stream ────► Session ──► Replica ──► Observer, Entity, Resolve
//	QUIC datagrams ─►    │  └───► clock ────► Render: the moment of a frame
//	inputs, commands ◄───┘ acknowledgements of what was applied
//
// Session and Replica do no input or output and read no clock: a game loop, a bot
// or a simulation feeds them bytes and times. Client puts QUIC below them.
//
// # Connect
//
// Both sides build the same [schema.Schema] from the same struct types, best in one
// package that both import. [Dial] takes it, the server's address, and either the
// certificate's Fingerprint, which the server prints, or nothing, for one that the
// system's authorities have signed. It returns when the server has said welcome;
// a refusal is a *[wire.Error] whose code tells what to do. [Component] is the
// typed view of a component: [ComponentOf] checks name and type once, at the
// start.
//
// # The game loop
//
// Once a frame, on the goroutine that draws:
//
//	c.SetInput(input)     // what the player holds down
//	err := c.Update()     // takes in what came, answers it, runs the callbacks
//	moment := c.Render()  // the moment that this frame shows
//	for e := range c.Replica().All() {
//		if b, ok := body.At(e, moment); ok {
//			draw(e.Handle(), b)
//		}
//	}
//
// None of it waits, and nothing happens behind the game's back: between two calls
// of Update the replica stands still. Nor does the server hear anything between them:
// of a game that loads for ten seconds without Update it takes the connection for
// lost, and when its time of grace is over, too, the session has ended. The example of
// Client is such a game.
// Callers without frames, bots and tools, sleep in [Client.Wait].
//
// # Between snapshots
//
// Snapshots come some dozens of times a second, unevenly, and not all of them. Frames show
// the world a little in the past, when the states before and after have arrived,
// and [Component.At] what lies between the two, as the schema's tags say what a
// field is: floats move evenly, angles and quaternions turn the shorter way, all
// else changes when its state is reached. How far in the past is measured: all but
// one in fifty snapshots are in time; when the link becomes worse that grows at
// once and when it becomes better it shrinks slowly. The moment never goes back.
// If nothing comes, fields with predict=linear go on for a quarter second.
// [Component.Jumping] tells At of teleports. [Component.Get] is the newest state,
// for the game's rules.
//
// The player's own entity is shown at the same moment as all others. A game that
// wants it earlier predicts it by itself.
//
// # Handles and verdicts
//
// A handle may come from anywhere: an event, a component, another player, a saved
// game. [Client.Resolve] always has an answer, and it never lies: Live, here it is;
// Hidden, out of sight; Pending, not here yet, or never issued; Stale, destroyed,
// which is final. Keep handles, not *[Entity]: those are valid until their Leave
// or Destroy. Handles outlive a connection, but not the run of the world that
// issued them: a Client that connects again by itself says in StateChange what
// became of them; who dials anew with handles in hand puts Welcome.Epoch of their
// run into Config.Epoch; the example of Dial shows how. The [Observer] is
// told of everything that comes, changes, goes out of sight and ends.
//
// # Inputs
//
// An input is for a tick of the server's: the one that the server will be at when
// it arrives. The client measures that, as it does the delay of frames, and the
// server lets inputs wait for their tick and applies at most one in each. Each is in
// three datagrams; where more than one in fifty is lost, inputs are made early
// enough for the copy in the next one to be in time. Say what is held down, not what
// was just pressed: an input may be lost or come too late, and a later one makes up
// for it. What must happen once is a command.
//
// # Commands
//
// [Client.Command] returns a [Future]. A game polls it once a frame; who has no
// frames waits. The error is a *[Rejection] if the server refused, with the code,
// its verdict on the target, and what the game says to the player; and
// [ErrUnanswered] if the connection broke first: then nobody can know whether it was
// executed. No command is ever sent twice.
//
// # A lost connection, and the end
//
// A connection that is lost is no error of [Client.Update], which goes on to make
// another: [Client.State] says Reconnecting meanwhile, and Config.State is told.
// The replica stands still and answers; a command is [ErrNotJoined]. Within the
// server's time of grace the session goes on as it was. After that it is another
// one: all entities leave first, and the clock and the moment of frames start
// again. Within one run of the world Stale is final across sessions; other handles are
// Pending until the new session shows them. If the server runs another world by now
// (StateChange.NewWorld), all handles are dead: the Observer sees every entity
// destroyed, then the new session joins, in the same handshake.
// An error of Update is the end: it goes on being returned, and
// Close is due. The replica of an ended client still answers.
//
// # Threads
//
// All methods of a Client, its Session, Replica, entities and futures belong to one
// goroutine, on which callbacks run. Callbacks must not call Update or
// [Future.Wait]. Three goroutines per connection move bytes between the network
// and Update, and know nothing of what these mean; none is left after Close.
//
// # What it costs
//
// Memory is one cell of 16 bytes for each slot of the server's that was ever
// heard of, and up to 32 states of each entity in view: [Replica.Bytes]. A hostile
// server reaches Config.MaxBytes with it, and what the allocator adds to it, a
// fifth at most; then the session ends with a *[LimitError]. Up to 1.3 MiB more wait
// for Update. Showing an entity costs some 250 ns and allocates nothing, as do
// inputs. [Client.Stats] tells what the link is like and what became of
// snapshots, inputs and commands.
//
// # Invariants
//
// They are cited in code and tests; H1 to H6 are those of handles across the
// network, PROTOCOL.md of replication/wire states them for any client:
//
//	C1 A datagram is applied whole or not at all, and acknowledged only if it
//	   was applied (H6).
//	C2 A row is applied only to the tenant that held its slot at the datagram's
//	   structure number, which the fold proves (H1).
//	C3 Within a session a cell's generation never goes back, and Stale is final, also
//	   across the sessions of one run.
//	C4 Within a session the moment that frames show never goes back.
//	C5 Every command that was sent ends once: answered, rejected or unanswered.
package client
