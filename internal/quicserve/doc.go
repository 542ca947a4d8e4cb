// Package quicserve serves sessions over QUIC, WebTransport and WebSocket: it accepts connections on one
// UDP port, and on the TCP port with its number, and passes them to session.Core.Open.
//
//	first packet ──► requireRetry    ──► Retry, or trusted
//	                 beginHandshake  ──► refused, or handshaking
//	handshake    ──► paceHandshake   ──► delayed if many arrive at once
//	             ──► allowConnection ──► closed, or serve:
//	                                      ALPN worldd/1 ──► rawLink
//	                                      ALPN h3 ──► web: its session ──► webLink
//	                                      ALPN of other servers ──► Config.Peers
//	                                      TCP ──► webSockets: an upgrade ──► webSocketLink
//	                                      readStream, readDatagrams ──► session.Peer
//	                                      Conn.sendQueued ◄── Conn's queues ◄── the tick
//
// The first four are methods of connectionLimits, which bounds the cost of
// unauthenticated clients: half-open handshakes, handshakes a second in total and per
// address, and connections per address. An attempt is charged to its address only after
// a Retry or a finished handshake has proved the address, so a forged address does not
// consume another's share. limits.go lists the bounds of connections; package
// server/session has the bounds of sessions.
//
// A Conn never blocks the tick (S2 of package server/session): the tick fills its
// queues, and one goroutine per connection empties them. No snapshot is made while one is
// unsent (S8).
//
// link.go has the common interface of the transports. With WebTransport off no HTTP/3 code
// runs, and the transport refuses all streams except the protocol's one.
//
// The package also makes the server's certificates (certificate.go, web_certificate.go) and
// records single connections in qlog (qlog.go).
package quicserve
