// Package client is the SDK that games integrate: it connects to a server,
// keeps a replica of what the server shows it, and answers for every handle it
// was ever given.
//
// Terms. The replica is the client's copy of its interest set. A verdict is
// the answer to Resolve: Live, Hidden, Pending or Stale. An input is what the
// client wants for one tick, unreliable and repeated; a command is what it
// asks for once, reliable and answered.
//
//	QUIC stream ────► Session ──► Replica ──► Observer, Entity, Resolve
//	QUIC datagrams ─►    │
//	inputs, commands ◄───┘ acknowledgements of what was applied
//
// Handles outlive a connection, but not the run of the world that issued them. A
// Client whose connection is lost makes another, and goes on with its session if
// the server still has it; StateChange says what became of handles. Who dials anew
// with handles in hand puts Welcome.Epoch of their run into SessionConfig.Epoch;
// the example of Dial shows how.
//
// Session and Replica do no input or output: a game loop, a bot or a
// simulation feeds them bytes and times. Client puts QUIC below them.
//
// Invariants, cited in code and tests; H1 to H6 are those of handles across
// the network, PROTOCOL.md of replication/wire states them for any client:
//
//	C1 A datagram is applied whole or not at all, and acknowledged only if it
//	   was applied (H6).
//	C2 A row is applied only to the tenant that held its slot at the datagram's
//	   structure number, which the fold proves (H1).
//	C3 A cell's generation never goes back; Stale is final.
package client
