package server

import "time"

const (
	// defaultGrace is how long a session waits for its client to come again: a
	// change of networks or a short outage takes seconds. The client needs 3 s to
	// notice, and as much for a handshake over a bad link.
	defaultGrace = 15 * time.Second
	// DefaultMaxSessions is what two cores carry at 30 snapshots a second.
	DefaultMaxSessions = 1024
	// maxQueuedCommands bounds the commands that one session has waiting for
	// the next tick: a flood costs its sender the session, not the server
	// memory.
	maxQueuedCommands = 256
	// maxQueuedInputs bounds the input datagrams that one session has waiting
	// for the next tick. The oldest goes first: inputs are repeated, and a
	// newer acknowledgement says all that an older one said.
	maxQueuedInputs = 8
	// commandsPerSecond and commandBurst bound what one session may ask for.
	commandsPerSecond = 50
	commandBurst      = 100
	// resyncsPerMinute bounds how often a client may have everything again.
	resyncsPerMinute = 6
	// helloSeconds is how long a connection may stay without a valid Hello.
	helloSeconds = 5
	// silenceSeconds is how long an active session may send no datagram: it
	// acknowledges nothing meanwhile, so everything for it piles up.
	silenceSeconds = 10
)
