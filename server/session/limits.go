package session

import (
	"fmt"
	"time"
)

// Bounds on the cost of a client's session, with the attack or mistake that each stops.
// Metrics count what exceeds them: worldd_dropped_total by reason,
// worldd_command_rejections_total and worldd_sessions_ended_total by code. Config can
// change the defaults.
const (
	// DefaultMaxSessions is about the number of sessions that two slow cores serve at the
	// minimum snapshot rate (BENCHMARKS.md). Smaller worlds should lower it.
	DefaultMaxSessions = 1024
	// joinsPerSecond bounds the Hellos that are answered, spread over the ticks; further
	// Hellos wait. An answer takes 20 µs plus Hooks.Join: hundreds in one tick made it late
	// for every player.
	joinsPerSecond = 500
	// defaultGrace is the time for which a session waits for its client to reconnect. A
	// change of networks or a short outage takes seconds, the client needs 4 s to notice
	// it, and a handshake over a bad link takes 3 s.
	defaultGrace = 15 * time.Second
	// defaultViewAge is the oldest moment that Session.View returns. Lag compensation hits
	// players where they were. A quarter second serves most links, and bounds the time for
	// which a player behind cover can still be hit.
	defaultViewAge = 250 * time.Millisecond
	// maxQueuedInputs bounds the input datagrams that a session has waiting for the next
	// tick. The oldest is dropped first: inputs are repeated, and a newer acknowledgement
	// includes the older one.
	maxQueuedInputs = 8
	// defaultCommandsPerSecond and defaultCommandBurst bound the commands of one
	// session: each runs a function of the game inside the tick.
	defaultCommandsPerSecond = 50
	defaultCommandBurst      = 100
	// resyncsPerMinute bounds a client's requests for the full state.
	resyncsPerMinute = 6
	// HelloTimeout is the time within which a connection must send a valid Hello.
	HelloTimeout = 5 * time.Second
	// silenceSeconds is the time for which an active session may send no datagram. It
	// acknowledges nothing in that time, so sent structure accumulates.
	silenceSeconds = 10
	// stalledSeconds is the time for which an active session may send datagrams without a
	// new acknowledgement of snapshots or of structure: such a client does not read, and
	// its queues stay full. It exceeds silenceSeconds so that a silent client ends with
	// Timeout.
	stalledSeconds = 15
	// stuckSeconds is the time for which a stream that worked before may make no progress
	// while snapshots still arrive. If the path's MTU has shrunk, the stream's full packets
	// are lost for ever, and a new connection begins with smaller packets.
	stuckSeconds = 8
)

func validateMaxSessions(n int) error {
	if n < 0 {
		return fmt.Errorf("server: %d sessions at most: want a positive number, or 0 for %d", n, DefaultMaxSessions)
	}
	return nil
}
