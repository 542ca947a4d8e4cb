package session

import (
	"fmt"
	"time"
)

// Every bound of what a client's session can cost, with the attack or the mistake that
// it stops. What is beyond is counted: worldd_dropped_total by reason,
// worldd_command_rejections_total and worldd_sessions_ended_total by code. The config can
// change those with Default in their names.
const (
	// DefaultMaxSessions is about what two slow cores keep connected, at the few
	// snapshots that there is time for then (BENCHMARKS.md); a world for less says so.
	DefaultMaxSessions = 1024
	// joinsPerSecond is how many Hellos are answered, spread over the ticks: each costs
	// a tick 20 µs and what the game does for who joins, and hundreds at once made one
	// late for all who play. The others wait for the next ticks.
	joinsPerSecond = 500
	// defaultGrace is how long a session waits for its client to come again: a
	// change of networks or a short outage takes seconds. The client needs 4 s to
	// notice, and 3 s for a handshake over a bad link.
	defaultGrace = 15 * time.Second
	// maxQueuedInputs bounds the input datagrams that one session has waiting
	// for the next tick. The oldest goes first: inputs are repeated, and a
	// newer acknowledgement says all that an older one said.
	maxQueuedInputs = 8
	// DefaultCommandsPerSecond and DefaultCommandBurst bound the commands of one
	// session: each runs a function of the game inside the tick.
	DefaultCommandsPerSecond = 50
	DefaultCommandBurst      = 100
	// resyncsPerMinute bounds how often a client may have everything again.
	resyncsPerMinute = 6
	// HelloTimeout is how long a connection may stay without a valid Hello.
	HelloTimeout = 5 * time.Second
	// silenceSeconds is how long an active session may send no datagram: it
	// acknowledges nothing meanwhile, so everything for it piles up.
	silenceSeconds = 10
	// unreadSeconds is how long an active session may send datagrams and
	// acknowledge nothing new of what waits for it, snapshots or structure: it
	// does not read, and what is queued for it stays. Longer than silenceSeconds,
	// so that who is gone is called that.
	unreadSeconds = 15
)

func validateMaxSessions(n int) error {
	if n < 0 {
		return fmt.Errorf("server: %d sessions at most: want a positive number, or 0 for %d", n, DefaultMaxSessions)
	}
	return nil
}
