// Package rowschema reads and writes what a schema describes: rows, the texts of entities, and
// messages. Package schema has the definitions; package rowcodec encodes rows relative to their past.
//
//	Layout     rows and texts of a schema: full rows, handles, parents, cost
//	Component  one component: its Go struct, its values in a row, states between and around two
//	Message    one message: its Go struct and its bytes
//
//	struct ──Component.Quantise──► values ──Layout.AppendFull──► bits
//	bits ──Layout.ReadFull──► values ──Component.Restore──► struct
//	values, values ──Component.Blend──► struct between two states
//
// Layouts, components and messages are compiled once from a complete schema. Package schema
// has the invariant Q1.
package rowschema
