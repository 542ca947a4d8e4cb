// Package wire is the protocol between a world server and its clients: the
// bytes of every message, and nothing else. It does no I/O, keeps no session
// and knows no clock. PROTOCOL.md is the normative text, and also says what a
// client has to do with what it reads; a second decoder, made from that page
// alone, is a test.
//
// Terms. A frame (here) is one message on the stream. A row is the quantised state of
// one entity: an Enter record carries it in full (package schema), a State datagram
// coded from its past (package rowcodec; CODEC.md is the normative text). Here rows
// are bytes and bits; only their headers are read.
//
//	             stream: uvarint length | type | body
//	Hello, Command, Bye, Resync ─────►                   msgpack arrays
//	                ◄───── Welcome, Refused, Result, Control, Goodbye
//	                ◄───── Structure: first | tick | records   (Enter, Leave, Destroy)
//	             datagrams
//	Input:  stamp | acknowledgement | inputs ────────►
//	                ◄────── State: header | fold | row headers | rows
//
// Invariants, cited in tests (P4 is package schema's, P6 package rowcodec's):
//
//	P1 What is read is checked always, and gives an *Error with BadMessage;
//	   what is written is asserted, under the invariants tag.
//	P2 Nothing is allocated, and no loop runs, by a count that a peer claims:
//	   only by bytes that are there.
//	P3 Nothing per row, per record or per datagram allocates.
//	P5 A coded row is read only with the very past that it was written from: all row
//	   headers, which name entities and baselines, precede the rows.
//
// Results of Parse functions are copies, with three exceptions for the sake of
// P3: Structure, Input and the bitio.Reader of a State datagram alias their bytes.
package wire
