// Package wire is the protocol between a world server and its clients: the
// bytes of every message, and nothing else. It does no I/O, keeps no session
// and knows no clock. PROTOCOL.md is the normative text, and also says what a
// client has to do with what it reads; a second decoder, made from that page
// alone, is a test.
//
// Terms. A frame (here) is one message on the stream; a row is the quantised
// state of one entity, as words; a full row is written without a baseline, in
// an Enter record; a coded row is written from its past, in a State datagram. A
// schema says which components rows have and how their fields are quantised.
// CODEC.md is the normative text of coded rows; package rowcodec writes them.
//
//	             stream: uvarint length | type | body
//	Hello, Command, Bye, Resync ─────►                   msgpack arrays
//	                ◄───── Welcome, Refused, Result, Control, Goodbye
//	                ◄───── Structure: first | tick | records   (Enter, Leave, Destroy)
//	             datagrams
//	Input:  stamp | acknowledgement | inputs ────────►
//	                ◄────── State: header | fold | row headers | rows
//
//	struct ──Quantise──► words ──rowcodec──► bits ──rowcodec──► words ──Restore──► struct
//
// Invariants, cited in tests:
//
//	P1 What is read is checked always, and gives an *Error with BadMessage;
//	   what is written is asserted, under the invariants tag.
//	P2 Nothing is allocated, and no loop runs, by a count that a peer claims:
//	   only by bytes that are there.
//	P3 Nothing per row, per record or per datagram allocates.
//	P4 Quantising a restored value gives the number it came from, and every
//	   number is the same on every machine.
//	P5 A coded row is read only with the very past that it was written from, so
//	   whose rows follow, and on which states they stand, is said before them.
//
// Results of Parse functions are copies, with three exceptions for the sake of
// P3: Structure, Input and the bitio.Reader of a State datagram alias their bytes.
package wire
