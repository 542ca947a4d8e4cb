// Package client is the SDK that games integrate. It connects to a server, keeps a
// replica of the entities that the server shows it, and gives a verdict on any handle.
//
// # Terms
//
//	replica  the client's copy of its interest set
//	verdict  the answer of Lookup: Live, Hidden, Pending or Stale
//	input    what the player holds down at one tick: unreliable, repeated
//	command  a request to be executed once: reliable, answered
//	event    something that happened, as the schema declares it
//	moment   the server time that a render shows
//
//	QUIC stream ────► Session ──► Replica ──► Observer, Entity, Lookup
//	QUIC datagrams ─►    │  └───► clock ────► Render: the moment to show
//	inputs, commands ◄───┘ acknowledgements of what was applied
//
// Session and Replica do no I/O and read no clock: their caller passes them bytes and
// times. Client runs them over QUIC.
//
// # Connecting
//
// Both sides define what they exchange in a [schema.Schema] of struct types, best in one package
// that both import, as the doc of package schema shows. [Dial] takes the schema, the server's address and the
// Fingerprint of its certificate, which the server prints; without a Fingerprint the
// certificate must be signed by one of the system's authorities. Dial returns after
// the server's Welcome. A refusal is a *[wire.Error] whose code says what to do.
//
// The server sends its own schema, and the client finds its declarations there by name: a
// server with more components, or in another order, is no error. One that lacks a
// declared component or kind, or has other fields in it, is: [schema.BindError] shows both lines.
// [Replica.Schema] has all that the server has, [Entity.KindName] and [Entity.Format] show
// any entity by name, and a client that declares nothing works with every server.
//
// # The game loop
//
// Once per render, on the goroutine that draws:
//
//	if _, err := c.SetInputValue(&input); err != nil { // what the player holds down
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
// [Body] reads where entities are, "client.Of(Healths)" another component that is defined, and
// [Entity.Is] tells kinds. None of these block, and the replica changes only inside Update. The server hears
// from the client only through Update: a game that loads for ten seconds without
// calling it loses its connection, and after the server's grace period its session.
// The example of [Client] is a whole game. Bots and tools, which draw nothing, block
// in [Client.Wait].
//
// # Between snapshots
//
// Snapshots arrive some dozens of times a second, at uneven intervals, and some are
// lost. Render therefore returns a moment slightly in the past, and [Component.At]
// interpolates between the states before and after it, as the schema's tags direct:
// floats linearly, angles and quaternions along the shorter arc. All other fields
// change when their state is reached; strings and []byte change as soon as they arrive.
// The delay is measured so that all but one in fifty snapshots of the last four seconds arrive
// in time. It grows at once when the link worsens, shrinks within seconds when it improves, and
// the moment never goes back. If snapshots stop, fields
// with predict=linear are extrapolated for a quarter second. [Component.Jumping] tells
// At which changes are teleports. [Component.Get] returns the newest state, for game
// rules.
//
// The player's own entity is shown at the same moment as all others, unless it is predicted.
//
// # Rooms
//
// A server may have several rooms, of which Config.Room names the one to join, and may move the
// session from one to another over the same connection. StateChange.Moved reports it, after all
// entities of the old room were destroyed. Handles of one room are Stale in every other, and
// never name another entity there. A client that reconnects comes back to the room where it was.
//
// # Computed bodies
//
// With Config.Simulate the client computes the bodies that only effects, gravity and the
// ground move, as MOTION.md of world/motion says: the server sends nothing for them. All
// such bodies are computed together, up to the tick of each snapshot that lacks nothing.
//
// [Component.Get], [Component.At] and [Entity.Format] then show computed motion. At is exact
// at every tick of the last half second and linear in between; [Entity.Exact] gives the newest
// state to the bit, and its tick. [Observer].Update, [Entity.Tick] and [Entity.AppendValues]
// are about what the server sent: an entity may move for a minute without an Update. Read what
// is drawn in each render, and use Update for what changes seldom.
//
// Snapshots carry a hash of some bodies in turn. If it differs from what was computed,
// Observer.Diverge is called and the server sends everything again, at most once a second.
// If that does not help for ten times in a row, a Client begins a new session that receives
// rows: StateChange.Err is [ErrDiverged], and SessionStats.Ordinary is set.
// [ReplicaStats].Motion counts.
//
// # Time
//
// The client bounds the work that a server causes: 50 ms, by estimate, in an Update, and a
// quarter of the time that passes. Once it is spent, computed bodies stay at the tick that they
// have reached and go on with a later snapshot. If they are more than a second behind, or one
// tick alone would take 25 ms, they stand still until the server sends their states again
// (MotionStats.Behind, MotionStats.Overruns). Programs, structure records and moves cannot wait:
// a server that causes half a second more of them than it may ends the session with the code
// too-much. A prediction is compared with the server's newest state once in an Update.
//
// # Prediction
//
// A player should not wait a round trip to see the effect of an input. [Predict] takes the
// function that moves a player by one tick, which server and client share, and runs it for
// every input at once:
//
//	own, err := client.Predict(c, func(tick uint32, r *Runner, in Stick) { r.Step(in) },
//		client.PredictConfig{})
//
// Per render, [Prediction.At] then returns the state to draw of the controlled entity, and
// [Prediction.State] the newest one. The state is a component, or a struct of components:
// what Step reads and writes must be in it. The server's game must do the same with each
// player: keep the newest input that its Input function received, at first the zero one, and
// call Step with it once in every tick, whether an input came or not.
//
//	inputs by tick   ──► Step ──► states, confirmed to newest ──► blend ──► At
//	server's state   ──► differs by more than a step? correct, and Step again
//
// An input counts from its tick until the next one. With each newer state of the server the
// client quantises its own of that tick. If they are equal, nothing changes, and no
// precision is lost: a computed body is taken over to the bit. Ranged floats and
// angles that are one step off count as equal, since rows do not have the rest, and move across
// the edge of the step, nearer to the server's. Otherwise the client tries which
// inputs up to [Replica.AppliedInput] the server may have missed or applied late. If some give
// the server's state, they are the reason; otherwise the fields that differ are taken over. The later ticks are predicted again from
// there. A snapshot without a row of the entity says that it has not changed, unless an
// earlier snapshot was lost. Of a computed body it says that the entity moved as computed:
// a Step that moves it like package motion, in the same effects, is never corrected unless
// something disturbs the body.
//
// The error of a misprediction is added to what At returns, and halves every 80 ms; vectors
// and numbers that are off by more than PredictConfig.Snap, in their units, are corrected at
// once. A Step that looks at other entities sees them as of the view, a round trip behind, and
// is corrected more often, unless it takes them along: a ball that the player pushes, or the
// vehicle that he steers. They are in an [Along] of PredictConfig.Along, and Step changes them
// by the rules of the server's game:
//
//	var balls client.Along[Ball]
//	own, err := client.Predict(c, func(tick uint32, r *Runner, in Stick) {
//		r.Step(in)
//		for _, ball := range balls.All() {
//			r.Kick(ball)
//			ball.Roll()
//		}
//	}, client.PredictConfig{Along: []client.Companions{&balls}})
//
//	balls.Take(nearest) // per render; balls.At returns the state to draw
//
// The server's states of all of them count as of the same tick, and if one differs, all are
// predicted again. A ball without a row has not changed, or there was no room for its row: in a
// crowd that fills snapshots, what is taken along may be corrected back and forth. If two
// players take the same ball along, each sees his own kicks at once and the other's half a
// round trip after the server made them. Until then their pictures differ. The server decides
// the order of kicks, and corrects both. Take along only entities that this player is likely to
// touch, and leave the rest in the past.
//
// Other players are shown in the past, where nothing has to be guessed: their inputs are not
// sent, and there is no delay of one's own inputs to choose.
//
// Step starts sounds and the like if [Prediction.Once] is true, since a tick may be predicted
// many times. A panic in Step turns the prediction off: [Prediction.Err] is a *[StepError],
// At returns false, and the session continues. The prediction pauses while the connection is
// lost or the entity is out of view, and starts over with another entity or session.
// At most [MaxPredicted] is predicted; then it stands still until the server confirms some.
//
// # Events
//
// The server sends events besides states: a hit, a line of chat, a sound. The schema
// declares their types, and [OnEvent] and [OnEventRendered] give the game's functions,
// before Dial:
//
//	var events client.Events
//	client.OnEvent(&events, KillEvent, func(tick uint32, e Kill) { score(e.By) })
//	client.OnEventRendered(&events, FlashEvent, func(tick uint32, e Flash) { glow(e.At) })
//
// # Handles and verdicts
//
// A handle may come from anywhere: an event, a component, another player, a saved
// game. [Client.Lookup] returns a verdict on any of them: Live (with the entity),
// Hidden (out of view), Pending (not here yet, or never issued) or Stale (destroyed,
// which is final). Keep handles, not *[Entity], which are valid until their Leave or
// Destroy.
//
// A provisional handle is the client's own name for an entity that it asks for in a command
// or input, for example a missile that it draws at once (Client.Provisional). Its verdict is
// Provisional until the server answers, and then its entity's, or Stale if it was rejected:
// it never stands for another entity (H7).
//
// Handles outlive a connection but not the run of the world that issued them. After a
// reconnect, StateChange says what became of them. A caller that dials with handles
// of an earlier client sets Config.Epoch to that client's Welcome().Epoch; the example
// of [Dial] shows it. The [Observer] is called for everything that enters, changes,
// leaves view and dies.
//
// # Inputs
//
// The schema declares the type of inputs; [Client.SetInputValue] sends one. Without a
// declaration inputs are bytes, and [Client.SetInput] sends them.
//
// An input is made for the tick at which the server will receive it. The client measures
// how long that takes; the server keeps early inputs until their tick and applies at most
// one per tick. Each input is sent in three datagrams; on links that lose more than one in
// fifty, inputs are made early enough for the second copy to arrive in time. Send what is held
// down, not what was just pressed: a lost or late input is made up for by the next. Anything that
// must happen exactly once is a command.
//
// SetInputValue may also be called between two renders, as soon as a key goes down. At 60
// renders a second the effect is seen 15 ms earlier, with no more than one datagram per tick.
//
// # Commands
//
// The type of its arguments names a command that the schema declares: [Client.Do] sends
// one, and [Ask] one with an answer. [Client.Command] sends raw ones by name. Each returns
// a [Future], or Ask a [Query]. Games poll it once per render; other callers wait. Its
// error is a *[Rejection] if the server refused, with the code, the verdict on the target
// and the game's text for the player, or [ErrUnanswered] if the connection broke first:
// then it is unknown whether the command was executed. No command is sent twice.
//
// # Reconnecting
//
// A lost connection is no error of [Client.Update], which keeps trying to replace it;
// meanwhile [Client.State] is Reconnecting, the replica stands still and answers, and
// commands return [ErrNotJoined]. Within the server's grace period the session
// resumes as it was. After that a new session begins: all entities leave first, and
// the clock starts again. Stale is final across the sessions of one run of the world;
// other handles are Pending until the new session shows them. If the server runs
// another world (StateChange.NewWorld), all handles are dead: the Observer sees every
// entity destroyed, then the new session joins in the same handshake.
//
// An error of Update is final: each later call returns it, and the client should be
// closed. Its replica still answers.
//
// # Rooms
//
// A server may host several worlds, its rooms. Config.Room names the one to join; the server's
// choice is in [Client.Welcome]. The server may move the session to another room over the same
// connection, inside Update: StateChange.Moved is set, the Observer sees every entity destroyed,
// commands without an answer end with [ErrUnanswered], and all handles of the old room are Stale.
// Both rooms must have what Config.Schema declares.
//
// # Testing a game
//
// Package loadtest/rig runs Clients and a server in one goroutine, in virtual time and over
// links with delay and loss. Dial, Update and all else work there as over QUIC.
//
// # Goroutines
//
// The methods of a Client, its Replica, entities and futures belong to one goroutine,
// on which the callbacks run. Callbacks must not call Update or [Future.Wait]. Three
// goroutines per connection move bytes between the network and Update; none is left
// after Close.
//
// # Cost
//
// Memory is a cell of 16 bytes for each server slot that the client has heard of, and
// up to 32 states and the strings of each entity in view: [Replica.Bytes]. A hostile server can drive
// it to Config.MaxBytes plus a fifth for the allocator; then the session ends with a
// *[LimitError]. Up to 1.3 MiB more wait for Update, and a schema may take 16 MiB. Reading
// an entity with At takes about 250 ns; neither it nor setting an input allocates.
// [Client.Stats] describes the link
// and counts snapshots, inputs and commands.
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
