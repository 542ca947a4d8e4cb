// Package rowcodec writes the rows of State datagrams in few bits, and reads them.
// replication/wire/CODEC.md is the normative text; an independent decoder, made from
// that page alone, is a test beside it.
//
// Terms. A row's past is its state as both sides know it: the baseline, an older
// state, and the motion of its parent. From it the codec predicts each field; the
// difference is the residual. The scale of a residual is its expected size, and
// selects the Huffman code that it is written with. A part is the plan of one
// component, a unit one of its vectors, rotations or numbers; a head is a symbol that
// says of several units which changed. Tables hold all weights and codes, a Model
// the numbers that they are made of, and a chunk the bits of one row.
//
//	row, Past ──forecast──► expected ──subtract──► residuals, heads ──Huffman──► bits
//	bits ──Huffman──► heads, residuals ──add──► row        (the same forecast)
//	Chunks.Add: bits once ──Chunks.Copy──► the datagrams of all viewers with that past
//
// Invariants, cited in tests (numbered as in replication/wire and schema):
//
//	P1 What is read is checked always, and gives a *wire.Error with BadMessage.
//	P3 Nothing per row allocates.
//	P5 A coded row is read only with the very past that it was written from.
//	P6 The bits of a coded row depend on the row, its past and the tables alone; all
//	   of it is computed in integers.
//
// An Observer sees what a codec does; package rowtrain makes Models with it.
package rowcodec
