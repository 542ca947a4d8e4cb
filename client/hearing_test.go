package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A server that says nothing is lost after its time; a client that was stopped for
// longer than that is not what makes it so.
func TestHearing(t *testing.T) {
	const frame = time.Second / 60
	var h hearing
	now := time.Minute
	h.begin(now)
	silence := func(least time.Duration) {
		t.Helper()
		for began := now; ; {
			now += frame
			if h.look(now, false) {
				require.GreaterOrEqual(t, now-began, least)
				require.LessOrEqual(t, now-began, lostAfter+frame)
				return
			}
		}
	}
	silence(lostAfter)

	h.begin(now)
	now += time.Hour // and what came meanwhile was not taken in yet
	require.False(t, h.look(now, false))
	silence(lostAfter - longestLook)

	h.begin(now)
	for range 3 { // who looks seldom finds out late, but does
		now += longestLook
		require.False(t, h.look(now, false))
	}
	silence(lostAfter - 3*longestLook)

	require.False(t, h.look(now, true))
	silence(lostAfter)
}
