//go:build unix

// Command quic measures what quic-go alone costs a server that does nothing
// but send: the yardstick that worldd's own costs are read against.
//
//	go -C internal/bench run ./quic -clients 500                     bare quic-go, by itself
//	go -C internal/bench run ./quic -clients 500 -world storm        worldd with bots, then bare quic-go with the same load
//
// The bare server sends each client a snapshot of the given size at the given
// rate, by the shape that worldd has (a goroutine a client with one place for the
// newest snapshot, clients spread evenly over the ticks), and gets inputs of 60
// bytes: at the rate of snapshots on each client's own clock, or with -answer at
// once for each snapshot, as package client does. The clients are a child process
// of the same program.
//
//	this process: server ══ QUIC, loopback ══ child: clients
//	      └──── stdin, stdout: begin, end, counters ────┘
//
// It prints the server's processor time for a delivered snapshot, the UDP packets
// of both directions that went with it, and the memory that a client takes.
package main
