package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// changingServer is the address of servers that follow each other. Each attempt to connect meets the next of them.
type changingServer struct {
	dialServer
	ends     []error // why each server ends before its Welcome; nil: it does not
	unready  bool    // the first server ends while the connection is made
	attempts int
	moments  []time.Duration // of attempts
	welcome  wire.Welcome
}

func (s *changingServer) Connect(string) (client.Conn, error) {
	end := s.ends[min(s.attempts, len(s.ends)-1)]
	s.attempts++
	s.moments = append(s.moments, s.now)
	if s.unready && s.attempts == 1 {
		return nil, end
	}
	s.in = client.Arrivals{Err: end}
	if end == nil {
		s.in.Stream = wire.AppendMessage(nil, s.welcome)
	}
	return s, nil
}

func (s *changingServer) Wait() error { s.now += 10 * time.Millisecond; return nil }

// Dial joins the process that follows one that has ended meanwhile. It does not repeat other refusals, and it does not wait for a
// server that admits nobody.
func TestDialMeetsTheEndOfAServer(t *testing.T) {
	draining, reset := &wire.Error{Code: wire.Draining}, &wire.Error{Code: wire.Timeout}
	full, broken := &wire.Error{Code: wire.ServerFull}, errors.New("no route")
	for _, c := range []struct {
		name    string
		ends    []error
		giveUp  time.Duration
		unready bool
		want    error
		tried   int
	}{
		{name: "hand-over", ends: []error{draining, nil}, tried: 2},
		{name: "while it connects", ends: []error{draining, nil}, unready: true, tried: 2},
		{name: "a reset, then the end of that process", ends: []error{reset, draining, nil}, tried: 3},
		{name: "cordon", ends: []error{draining}, want: draining, tried: 3},
		{name: "full", ends: []error{full, nil}, want: full, tried: 1},
		{name: "full afterwards", ends: []error{draining, full}, want: full, tried: 2},
		{name: "no network", ends: []error{broken, nil}, want: broken, tried: 1},
		{name: "a program that wants no attempts", ends: []error{draining, nil}, giveUp: -1, want: draining, tried: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			protocol := schema.NewWithBody()
			s := &changingServer{ends: c.ends, unready: c.unready, welcome: stage.Welcome(protocol)}
			var states []client.State
			joined, err := client.Dial(t.Context(), client.Config{
				Schema: protocol, Simulation: s, GiveUp: c.giveUp, State: func(s client.StateChange) { states = append(states, s.State) },
			})
			require.Equal(t, c.tried, s.attempts)
			require.LessOrEqual(t, s.moments[len(s.moments)-1], time.Second)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []client.State{client.Joined}, states)
			require.NoError(t, joined.Close())
		})
	}
}

// Hand-overs that follow each other closely cost a client its first, short delay each, and one that fails at once longer ones.
func TestBackoffAfterConnections(t *testing.T) {
	for lasts, longest := range map[time.Duration]time.Duration{
		3 * time.Second:       250 * time.Millisecond,
		10 * time.Millisecond: 5 * time.Second,
	} {
		protocol := schema.NewWithBody()
		s := &changingServer{ends: []error{nil}, welcome: stage.Welcome(protocol)}
		var lost, delay time.Duration
		c := must.Get(client.Dial(t.Context(), client.Config{Schema: protocol, Simulation: s, State: func(change client.StateChange) {
			if change.State == client.Reconnecting {
				lost = s.now
			}
		}}))
		s.welcome.SchemaText = ""
		for range 20 {
			for end := s.now + lasts; s.now < end; {
				require.NoError(t, s.Wait())
				require.NoError(t, c.Update())
			}
			s.in.Err = &wire.Error{Code: wire.Draining}
			for tried := s.attempts; s.attempts == tried || c.State() != client.Joined; {
				require.NoError(t, c.Update())
				require.NoError(t, s.Wait())
			}
			delay = max(delay, s.moments[s.attempts-1]-lost)
		}
		require.LessOrEqual(t, delay, longest+20*time.Millisecond, "connections last %v", lasts)
		require.GreaterOrEqual(t, delay, longest/2, "connections last %v", lasts)
		require.NoError(t, c.Close())
	}
}
