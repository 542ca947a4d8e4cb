// Package conformance has a second client, written from PROTOCOL.md and CODEC.md alone, and
// compares it with the implementation. It shows that the pages suffice to write a client,
// that package wire follows them, and that the conformance vectors test every rule. It has
// tests only.
//
// # The client from the pages
//
// The files page_*_test.go are the client: pageDecoder reads messages
// (page_decoder_test.go, page_messages_test.go) and coded rows (page_codec*_test.go), and
// records their contents; pageClient keeps the state of a session (page_client_test.go).
// They take the table of messages and the codes from the text of PROTOCOL.md, the row
// tables from their file, and the schema from its text.
//
// These files may use only handles, and the types of records, inputs and rows, of worldd,
// so that results can be compared. They call no code that reads or writes the protocol. The
// table independent in policy_test.go names every identifier that they may use.
//
// # Mutants
//
// Each rule of PROTOCOL.md that a client can break has a name (page_rules_test.go). The
// code that obeys a rule first asks whether this client keeps it (mutation.keeps,
// mutation.pick). A mutant breaks one rule, and must fail a vector
// (client_mutants_test.go). The decoder of rows asks a probe in the same way
// (page_codec_probe_test.go, row_mutants_test.go). A rule without a vector therefore fails
// a test.
//
// # Comparison
//
//	messages_test.go         samples of all messages, and the golden files of package wire
//	codec_test.go            rows that package rowcodec writes, of random schemas
//	vectors_test.go          the vectors of sessions
//	smallest_page_test.go    the session in PROTOCOL.md, byte by byte, which it also writes
//	row_vectors*_test.go     rows.jsonl, exact_vectors*: exact.jsonl, schema_vectors*: schemas.jsonl;
//	                         each also makes its file
//
// The page ../testdata/vectors/README.md lists the commands that make the vectors.
//
// # Changing the protocol
//
// Change the page first, then the client from the page, then package wire. Name the new rule
// in page_rules_test.go; its mutant survives until a vector tests it.
package conformance
