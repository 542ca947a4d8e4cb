package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// A game that sends more commands than may be unanswered gets an error, and the command is not
// sent. All sent commands are answered, and the session continues.
func TestMoreThan256Commands(t *testing.T) {
	h := newTestServer(t)
	c := h.dial()
	for round := range 3 {
		var all []*client.Future
		for range wire.MaxUnanswered {
			f := must.Get(c.DoRaw("poke", 0, nil))
			all = append(all, f)
		}
		for range 100 {
			require.ErrorIs(t, must.Fail(c.DoRaw("poke", 0, nil)), client.ErrTooManyCommands)
		}
		executed := 0
		for _, f := range all {
			r, err := f.Wait(h.ctx)
			if err == nil {
				executed++
			} else {
				require.ErrorIs(t, err, &wire.Error{Code: wire.RateLimited}, "the session goes on")
			}
			require.Equal(t, wire.Live, r.Verdict)
		}
		if round == 0 {
			require.GreaterOrEqual(t, executed, 100, "a burst is allowed")
		}
	}
	require.Equal(t, client.Joined, c.State())
	stats := c.Stats()
	require.EqualValues(t, 3*wire.MaxUnanswered, stats.Commands, "refused commands are not sent")
	require.Zero(t, stats.Unanswered)
}
