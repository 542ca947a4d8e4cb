// Package rowcodec encodes and decodes the rows of State datagrams.
// replication/wire/CODEC.md is the normative text. A test in replication/wire/conformance
// compares this package with an independent decoder, written from that page alone.
//
// Terms. A row's past is known to both sides: its baseline, an older state, and its
// parent's motion. The codec predicts each field from the past; the difference is the
// residual. The scale of a residual is its expected size and selects its Huffman code. A
// part is the plan of one component. A unit is one of its vectors, rotations or numbers. A
// head is a symbol that tells which units of a group changed. Tables hold all weights and
// codes. A Model holds the numbers from which tables are built. A chunk holds the bits of
// one row.
//
//	row, Past ──predict──► expected ──subtract──► residuals, heads ──Huffman──► bits
//	bits ──Huffman──► heads, residuals ──add──► row        (the same prediction)
//	Chunks.Add: encode once ──Chunks.Copy──► datagrams of all receivers with that past
//
// Invariants, cited in tests:
//
//	D1 Input is always checked; malformed input gives a *wire.Error with BadMessage.
//	D2 Coding a row does not allocate.
//	D3 A row is decoded only with the same past with which it was coded.
//	D4 The bits of a coded row depend only on the row, its past and the tables, and
//	   are computed in integers.
//
// An Observer watches a codec encode; package rowtrain builds Models with it.
package rowcodec
