package session

import (
	"fmt"
	"time"
)

// Bounds on what a client's session can cost, with the attack or mistake that each stops.
// Anything beyond is counted: worldd_dropped_total by reason,
// worldd_command_rejections_total and worldd_sessions_ended_total by code. Config can
// change the defaults.
const (
	// DefaultMaxSessions is about what two slow cores keep connected at the minimum
	// snapshot rate (BENCHMARKS.md). Smaller worlds should lower it.
	DefaultMaxSessions = 1024
	// joinsPerSecond bounds how many Hellos are answered, spread over the ticks. Each
	// costs a tick 20 µs plus Hooks.Join; hundreds at once made a tick late for every
	// player. The others wait for the next ticks.
	joinsPerSecond = 500
	// defaultGrace is how long a session waits for its client to reconnect. Changing
	// networks or a short outage takes seconds; the client needs 4 s to notice and 3 s for
	// a handshake over a bad link.
	defaultGrace = 15 * time.Second
	// defaultViewAge is the oldest moment that Session.View returns. Lag compensation
	// hits players where they were: a quarter second serves most links, and a player who
	// reaches cover is safe after it.
	defaultViewAge = 250 * time.Millisecond
	// maxQueuedInputs bounds the input datagrams that a session has waiting for the next
	// tick. The oldest is dropped first: inputs are repeated, and a newer acknowledgement
	// includes the older one.
	maxQueuedInputs = 8
	// defaultCommandsPerSecond and defaultCommandBurst bound the commands of one
	// session: each runs a function of the game inside the tick.
	defaultCommandsPerSecond = 50
	defaultCommandBurst      = 100
	// resyncsPerMinute bounds how often a client may request the full state.
	resyncsPerMinute = 6
	// HelloTimeout is how long a connection may stay without a valid Hello.
	HelloTimeout = 5 * time.Second
	// silenceSeconds is how long an active session may send no datagram. Meanwhile it
	// acknowledges nothing, and everything sent to it accumulates.
	silenceSeconds = 10
	// stalledSeconds is how long an active session may send datagrams without
	// acknowledging anything new of its snapshots or structure: such a client does not
	// read, and its queues stay full. A connection begins with its Welcome, even one that
	// arrives late. It exceeds silenceSeconds so that a silent client ends with Timeout.
	stalledSeconds = 15
	// stuckSeconds is how long the stream of a connection may bring nothing new although it
	// has before and snapshots still arrive: a path that carries less than it did loses the
	// stream's full packets for ever, and a new connection begins with smaller ones.
	stuckSeconds = 8
)

func validateMaxSessions(n int) error {
	if n < 0 {
		return fmt.Errorf("server: %d sessions at most: want a positive number, or 0 for %d", n, DefaultMaxSessions)
	}
	return nil
}
