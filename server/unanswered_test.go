package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// TestMoreThan256Commands: a game that asks for more than may wait for answers is
// told so and sends nothing of it; all that it did send is answered, and it goes on.
func TestMoreThan256Commands(t *testing.T) {
	h := openHouse(t)
	c := h.dial()
	for round := range 3 {
		var all []*client.Future
		for range wire.MaxUnanswered {
			f, err := c.Command("poke", 0, nil)
			require.NoError(t, err)
			all = append(all, f)
		}
		for range 100 {
			_, err := c.Command("poke", 0, nil)
			require.ErrorIs(t, err, client.ErrTooManyCommands)
		}
		executed := 0
		for _, f := range all {
			r, err := f.Wait(h.ctx)
			if err == nil {
				executed++
			} else {
				require.ErrorIs(t, err, &wire.Error{Code: wire.RateLimited}, "the session lives on")
			}
			require.Equal(t, wire.Live, r.Verdict)
		}
		if round == 0 {
			require.GreaterOrEqual(t, executed, 100, "a burst is free")
		}
	}
	require.Equal(t, client.Joined, c.State())
	stats := c.Stats()
	require.EqualValues(t, 3*wire.MaxUnanswered, stats.Commands, "what was refused here was not sent")
	require.Zero(t, stats.Unanswered)
}
