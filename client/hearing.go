package client

import "time"

const (
	// lostAfter is how long a server may be silent before its connection is given
	// up: it sends a snapshot in every interval, so that many have been missed. A
	// link that is dead for less goes on by itself, sooner than another
	// connection is made: three seconds are common where people move.
	lostAfter = 4 * time.Second
	// longestLook is how far apart two looks at a connection may be for all of the
	// time between them to count. A client that was stopped for longer, as a
	// suspended machine is, looks before its own system has handed over what came.
	longestLook = time.Second
)

// hearing is how long nothing has come over a connection, of the time in which
// somebody looked. Times are since the client's start.
type hearing struct {
	heard  time.Duration // when anything came, put off by what nobody looked
	looked time.Duration
}

// begin is for a new connection.
func (h *hearing) begin(now time.Duration) { *h = hearing{now, now} }

// look notes whether anything has come, and says whether nothing has for too long.
func (h *hearing) look(now time.Duration, came bool) (lost bool) {
	if pause := now - h.looked; pause > longestLook {
		h.heard += pause - longestLook
	}
	h.looked = now
	if came {
		h.heard = now
	}
	return now-h.heard > lostAfter
}
