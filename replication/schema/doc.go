// Package schema describes the components of rows and how their fields are quantised,
// and encodes full rows. PROTOCOL.md, beside package wire, is the normative text.
//
// Terms. A component is a named struct type; struct tags define how its fields are
// quantised (see Schema). A row is the quantised state of one entity: a mask of its
// components and the uint32 values of all components. A full row, as in an Enter record,
// is encoded without reference to another. Package rowcodec encodes rows relative to
// their past; it reads a schema through Fields.
//
//	struct ──Quantise──► values ──AppendFull──► bits ──ReadFull──► values ──Restore──► struct
//	                     values, values ──Blend──► struct between two states
//
// Server and client declare the same types; the client finds its own in the server's text
// by name. To replicate a type of your own:
//
//	s := schema.New()
//	err := errors.Join(
//		schema.Add[schema.Body](s, schema.BodyComponent), // position and velocity
//		schema.Add[Health](s, "health"),
//	)
//
// server.Config and client.Config take the schema. They reject a schema whose
// rows could exceed wire.MaxRowBytes.
//
// Strings and []byte are text fields (TextField): they are not part of rows, and are read
// and written as the texts of an Enter.
//
// A schema also declares messages, by the same tags: events that a server sends, commands
// with typed arguments and answers, and the input of a tick. A Message has a body of its
// own, see there. A server adds the kinds of its world and the constants of its motion.
//
//	err = errors.Join(
//		schema.AddEvent[Hit](s, "hit"),
//		schema.AddQuery[Buy, Bought](s, "buy"),
//		schema.SetInput[Stick](s),
//	)
//
// All of it is in Text, which Parse reads: a program without the types can read, write and
// show rows and messages of a parsed schema. Bind gives it the types that a program does
// have, by name.
//
// TypeScript writes types and accessors of a schema for clients in browsers.
//
// Invariants, cited in tests (package wire has P1 to P3):
//
//	P4 Quantising a restored value gives the number it was restored from, and every
//	   number is the same on every machine.
package schema
