// Package schema says which components rows have, how their fields are quantised,
// and writes rows in full. PROTOCOL.md, beside package wire, is the normative text.
//
// Terms. A component is a struct type under a name; struct tags say how its fields
// are quantised (see Schema). A row is the quantised state of one entity: a mask of
// its components and the uint32 words of all. A full row is written without
// reference to another, in an Enter record; how rows are written from their past is
// package rowcodec's affair, which reads a schema through Fields.
//
//	struct ──Quantise──► words ──AppendFull──► bits ──ReadFull──► words ──Restore──► struct
//	                     words, words ──Blend──► struct between two states
//
// Server and client add the same types in the same order; the handshake compares
// Hash. To replicate a type of your own:
//
//	s := schema.New()
//	err := errors.Join(
//		schema.Add[schema.Body](s, schema.BodyComponent), // position and velocity
//		schema.Add[Health](s, "health"),
//	)
//
// server.Config and client.Config take the schema. They refuse one whose rows
// could grow beyond wire.MaxRowBytes.
//
// Invariants, cited in tests (package wire has P1 to P3):
//
//	P4 Quantising a restored value gives the number it came from, and every
//	   number is the same on every machine.
package schema
