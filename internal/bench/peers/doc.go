//go:build linux

// Command peers compares worldd with servers written by hand for the same scene.
//
//	go -C internal/bench run ./peers -clients 100 -rounds 3
//	go -C internal/bench run ./peers -clients 50 -peers worldd,delta-tls -loss 5 -rtt 40ms
//	go -C internal/bench run ./peers -peers worldd,delta-tls -most
//	go -C internal/bench run ./peers -peers worldd -cpuprofile "$PWD"
//
// The scene is a square of 512 m with 9,000 entities at rest. 700 walkers change heading and
// height in each tick, 300 sparks a second live for a second each, and there is an
// avatar per client that walks in a circle at 3 m/s. Entities enter a client's view within 40 m
// and leave it beyond 48 m. Servers tick and send 20 times a second; each client answers each
// update with an input of two bytes.
//
//	worldd      packages server and client; worldd-60 ticks 60 times a second
//	worldd-tcp  the same without UDP: clients fall back to WebSocket
//	quic        quic-go alone, with as many datagrams as worldd's, of 180 and 40 bytes (bare.go)
//	full        WebSocket and msgpack with field names: all that is in view, each time
//	delta       WebSocket and msgpack arrays: what entered, changed and left
//	delta-tls   the same with TLS 1.3
//	delta-q     the same with TLS 1.3, fields quantised as worldd's
//
//	this process ─ stdin, stdout: begin, end, results ─┬─ child: server
//	                                                   └─ child: clients
//
// All processes run in a separate network namespace, so that no other traffic is counted. -here
// runs them without one, on systems that do not allow it. With -loss or -rtt all packets, TCP
// and UDP alike, pass through a TUN interface that loses and delays them (link.go). That needs
// the namespace, and access to /dev/net/tun.
//
// CPU is the time of all threads of a process, by getrusage, per update that a client applied.
// Payload counts the bytes that a client decodes. Wire counts all IP packets with headers, in
// both directions, by /proc/net/snmp or the link. Latency is the time from the start of a tick
// until a client has applied its update, on one clock. Age is the time since the start of the
// newest tick that a client has, over the whole measurement: it shows the delay that a lost
// packet causes. Memory is the server's resident set. Rows counts the entities that an update
// changes or brings into view; known counts the entities in view. They show that all peers but
// quic, which has no scene, send the same content.
package main
