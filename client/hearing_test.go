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
	var h silence
	now := time.Minute
	h.reset(now)
	silence := func(least time.Duration) {
		t.Helper()
		for began := now; ; {
			now += frame
			if h.check(now, false) {
				require.GreaterOrEqual(t, now-began, least)
				require.LessOrEqual(t, now-began, lostAfter+frame)
				return
			}
		}
	}
	silence(lostAfter)

	h.reset(now)
	now += time.Hour // and what came meanwhile was not taken in yet
	require.False(t, h.check(now, false))
	silence(lostAfter - maxCheckGap)

	h.reset(now)
	for range 3 { // who looks seldom finds out late, but does
		now += maxCheckGap
		require.False(t, h.check(now, false))
	}
	silence(lostAfter - 3*maxCheckGap)

	require.False(t, h.check(now, true))
	silence(lostAfter)
}
