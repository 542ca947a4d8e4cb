package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

// The inputs of an outage waited for a connection, which says nothing about the link. Later
// inputs are made no earlier, even if few were measured before.
func TestLeadAfterAnOutage(t *testing.T) {
	for _, before := range []time.Duration{500 * time.Millisecond, 5 * time.Second} {
		link := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25)}
		s := newLinkedServer(t, 21, link, link)
		s.render = func() { setInput(s.session, []byte("w"), s.time()) }
		lead := 0.0
		s.arrived = func(in wire.Input, _ uint32) { lead = max(lead, float64(in.Inputs[0].Tick)-s.trueTick()) }
		s.play(before)
		usual := lead
		for range 3 {
			s.reconnect(4 * time.Second)
			s.play(500 * time.Millisecond)
		}
		lead = 0
		s.play(time.Second)
		require.Positive(t, lead)
		require.LessOrEqual(t, lead, usual+1)
	}
}

// An outage does not change the estimate of the snapshots' delay.
func TestFramesAfterAnOutage(t *testing.T) {
	link := simtest.Conditions{DelayMin: ms(20), DelayMax: ms(25)}
	s := newLinkedServer(t, 21, link, link)
	lag := 0.0
	s.render = func() { lag = s.trueTick() - s.session.Render(s.time()).Tick }
	s.play(time.Second)
	usual := lag
	s.reconnect(4 * time.Second)
	s.play(time.Second)
	require.InDelta(t, usual, lag, 2)
}
