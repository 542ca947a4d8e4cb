// Package schema defines the components of rows and the messages of a game, and how their fields
// are quantised. PROTOCOL.md, beside package wire, is the normative text.
//
// Terms. A component is a named struct type; struct tags define how its fields are
// quantised (see Schema). A row is the quantised state of one entity: a mask of its
// components and the uint32 values of all components. Package internal/rowschema reads and
// writes what a schema defines.
//
// A game defines what crosses the wire once, as variables of a package that its server and its
// clients import:
//
//	var (
//		Protocol = schema.NewWithBody() // positions and velocities
//		Healths  = schema.Define[Health](Protocol, "health")
//		Sticks   = schema.DefineInput[Stick](Protocol)
//		Buying   = schema.DefineQuery[Buy, Bought](Protocol, "buy")
//		Hits     = schema.DefineEvent[Hit](Protocol, "hit")
//		Crates   = schema.DefineKind(Protocol, "crate")
//	)
//
//	              server                                        client
//	Protocol      server.Config                                 client.Config
//	Healths       health, err := server.Register(w, Healths)    client.Of(Healths).Get(entity)
//	Sticks        server.OnInput(Sticks, steer)                 client.SetInput(c, Sticks, Stick{...})
//	Buying        server.OnQuery(Buying, buy)                   client.Ask(c, Buying, target, Buy{...})
//	Hits          Session.Send(Hit{...})                        client.OnEvent(&events, Hits, hit)
//	Crates        world.Kind{Name: Crates.Name()}               entity.Is(Crates)
//
// Mistakes in definitions are in Schema.Err: servers and clients report them before they start.
// A client finds its definitions and their fields in the server's text by name, and adapts to what the
// server lacks or has in another form (Bind). server.Config and client.Config reject a schema whose rows could exceed
// wire.MaxRowBytes.
//
// Strings and []byte are text fields (TextField). They are not part of rows; an Enter holds
// them as texts.
//
// Messages have the same tags as components: events that a server sends, commands with typed
// arguments and answers, and the input of a tick. A server adds the kinds of its world and the
// constants of its motion.
//
// The same functions define a schema that is made at run time: check Err when it is complete.
//
// Text contains the whole schema, and Parse reads it: a client without the types can show
// the entities and events of a parsed schema. Bind adds the types that a program has, by
// name.
//
// TypeScript writes types and accessors of a schema for clients in browsers.
//
// Invariant, cited in tests:
//
//	Q1 Quantising a restored value gives the number it was restored from, and every
//	   number is the same on every machine.
package schema
