// Package wire encodes and decodes the messages between a world server and its clients. It
// does no I/O, keeps no session state and has no clock. PROTOCOL.md is the normative text
// and also defines how a client must process messages. A test compares this package with an
// independent decoder, written from that page alone.
//
// The package helps to write other clients in Go, and to test clients in other languages.
// The messages in PROTOCOL.md are stable. The Go names of errors, and of types in the API
// of package client, are stable (Error, Code, CodeOf, Verdict, Reason, Welcome, RoomQuery, RoomInfo); all others
// may change in any release.
//
// Terms. A frame, in this package, is one message on the stream. A row is the quantised
// state of one entity: an Enter record carries it in full (package schema), a State
// datagram relative to its past (package rowcodec; CODEC.md is the normative text).
// This package treats rows as opaque bits and reads only their headers.
//
//	             stream: uvarint length | type | body
//	Hello, Command, Bye, Resync, Arrived, ListRooms ─►   msgpack arrays
//	                ◄───── Welcome, Refused, Result, Control, Goodbye, RoomList
//	                ◄───── Structure: first | tick | records   (Enter, Leave, Destroy)
//	             datagrams
//	Input:  stamp | acknowledgement | inputs ────────►
//	                ◄────── State: header | fold | row headers | rows
//
// Invariants, cited in tests:
//
//	E1 Input is always checked: malformed input gives an *Error with BadMessage.
//	   Output is asserted under the invariants tag.
//	E2 Allocations and loops are bounded by the bytes received, never by a count
//	   that a peer claims.
//	E3 Coding a row, record or datagram does not allocate.
//	E4 A row is decoded against the same past against which it was coded: all row
//	   headers, which name entities and baselines, precede the rows.
//
// Parse functions return copies, with three exceptions for E3: Structure, Input and the
// bitio.Reader of a State datagram alias their bytes.
package wire
