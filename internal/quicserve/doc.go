// Package quicserve carries sessions over QUIC: one UDP port, whose connections it hands
// to a session.Core.
//
//	first packet ──► door.distrusts ──► Retry, or trust
//	                 door.knock     ──► refused, or a handshake
//	handshake    ──► door.pace      ──► waits for its turn among many
//	             ──► door.enter     ──► closed, or serve:
//	                                      readStream, readDatagrams ──► session.Peer
//	                                      Conn.send ◄── Conn's queues ◄── the tick
//
// The door bounds what strangers cost: half-open handshakes, handshakes a second in all
// and of one address, and connections of one address. An attempt is charged to its
// address only after a Retry or a finished handshake has proved it, so that nobody can
// use up the share of another. limits.go lists the bounds of connections; package
// server/session has those of sessions.
//
// A Conn never makes the tick wait (S2 of package server/session): the tick fills its
// queues, and one goroutine for each connection empties them. A snapshot that was not sent
// when the next one is made is replaced by it.
//
// The package also has the server's certificates (certificate.go), and recordings of
// single connections in qlog (qlog.go).
package quicserve
