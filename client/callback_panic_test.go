package client_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// brokenGame is a game whose callback has a mistake.
type brokenGame struct {
	states []client.State
	goexit bool
}

func (g *brokenGame) onState(s client.StateChange) {
	g.states = append(g.states, s.State)
	if s.State != client.Reconnecting {
		return
	}
	if g.goexit {
		new(testing.B).SkipNow()
	}
	var none []int
	none[len(g.states)]++
}

// After a callback that panicked, or ended its goroutine, each Update names the callback:
// arrived data is half applied.
func TestUpdateAfterACallbackPanicked(t *testing.T) {
	for _, goexit := range []bool{false, true} {
		s := schema.NewWithBody()
		d, g := &dialServer{}, &brokenGame{goexit: goexit}
		d.in.Stream = wire.AppendMessage(nil, stage.Welcome(s))
		c := must.Get(client.Dial(context.Background(), client.Config{Schema: s, Simulation: d, State: g.onState}))
		d.in.Err = errors.New("the link broke")
		done := make(chan any)
		go func() {
			defer close(done)
			defer func() { done <- recover() }()
			_ = c.Update()
		}()
		require.Equal(t, goexit, <-done == nil, "the panic reaches the caller")
		for range 2 {
			err := c.Update()
			require.ErrorIs(t, err, client.ErrCallback)
			require.ErrorContains(t, err, "client_test.(*brokenGame).onState panicked")
		}
		require.Equal(t, []client.State{client.Joined, client.Reconnecting, client.Ended}, g.states)
		require.Equal(t, client.Ended, c.State())
		require.NoError(t, c.Close())
	}
}
