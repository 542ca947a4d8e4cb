// Package stage holds the parts from which tests of servers and clients are made: a world of crates, a connection whose
// client the test plays, and a connection to a real client over simulated links. CONTRIBUTING.md shows
// when to write which test.
//
//	[Crates]  a world and its one kind; worlds with other kinds begin from it, too
//	[Hello]   the Hello of a client that has the server's schema and tables
//	[Welcome] what a server sends a client of its schema, as [Structure] and [Enter]: for tests of clients
//	[Conn]    a session.Conn that keeps what it receives; the test writes what its client sends
//	[Messages] the messages in a stream that a client has sent, and [FirstMessage] its first
//	[Linked]  a session.Conn over links with loss and delay, and the client.Session behind them
//
// schema.NewWithBody is the standard schema, and stage.Random the source of secrets:
//
//	w := stage.NewCrates(world.Config{Seed: 1})
//	core := must.Get(session.NewCore(session.Config{
//		Random: stage.Random(1),
//		WorldConfig: session.WorldConfig{World: w.World, Schema: schema.NewWithBody(), Hooks: hooks},
//	}))
//	conn := &stage.Conn{}
//	conn.Peer = core.Open(context.Background(), "", conn)
//	err := conn.Send(stage.Hello(core.Config().Schema))
//	core.Tick()
//	welcome := conn.Welcome()
//
// A whole server with clients in virtual time is package loadtest/rig.
//
// # Hooks of a connection
//
// The fields of a [Conn] are its hooks. Full refuses bytes of the stream, as a client does that does not
// read; Unsent delays the next snapshot; OnMessage and OnSnapshot see everything when it is sent, to count
// it, to answer at once, or to end the connection (Peer.Gone is of *session.Peer). [Conn.Next] returns the
// messages of the stream one by one, and the fields of [Received] sum up all of them, read or not.
//
// A [Linked] loses, delays and reorders by its simtest.Conditions; the zero value of those is a perfect
// link. Its clock is the field Now: the test advances it, once a tick or once a millisecond.
//
// # Imports
//
// The package imports world, client, bulk and the schema, and no server. Tests inside of package session use
// it, since it knows a Peer only as an interface. Tests inside of packages world and client cannot;
// their external tests (package client_test) can.
package stage
