package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// Every Resync from a client that simulates counts as a fault, even if its rate limit drops
// it. The first of a session is reported.
func TestResyncsOfSimulatingClientsAreFaults(t *testing.T) {
	for _, c := range []struct {
		name      string
		abilities wire.Abilities
		faults    uint64
		reports   int
	}{
		{"simulates", wire.Simulates, 3, 1},
		{"ordinary", 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTestServerWith(t, addExact)
			var reported []uint64
			d.core.OnDiverge(func(s *session.Session) { reported = append(reported, s.ID()) })
			client := d.dial(withAbilities(c.abilities))
			w := client.wantWelcome("joins")
			for range 3 {
				client.send(wire.Resync{})
				d.ticks(1)
			}
			require.Equal(t, c.faults, d.core.Stats().PredictionFaults)
			require.EqualValues(t, 1, d.core.Stats().Resyncs)
			require.Len(t, reported, c.reports)
			for _, id := range reported {
				require.Equal(t, w.Session, id)
			}
		})
	}
}
