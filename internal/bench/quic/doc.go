//go:build unix

// Command quic measures the cost of quic-go alone, in a server that only sends, as a
// baseline for worldd's own cost.
//
//	go -C internal/bench run ./quic -clients 500                     bare quic-go
//	go -C internal/bench run ./quic -clients 500 -world storm        worldd with bots, then bare quic-go with the same load
//
// The bare server has worldd's structure: a goroutine per client with a mailbox for the newest
// snapshot, and clients spread evenly over the ticks. It sends each client snapshots of the
// given size at the given rate. Each client sends 60-byte inputs at the snapshot rate, on its
// own clock. With -answer it sends one upon each snapshot, as package client does. The clients
// run in a child process of the same program.
//
//	this process: server ══ QUIC, loopback ══ child: clients
//	      └──── stdin, stdout: begin, end, counters ────┘
//
// It prints the server's CPU time and the UDP packets of both directions per delivered
// snapshot, and the server's memory per client.
package main
