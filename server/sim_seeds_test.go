package server_test

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication/wire"
)

var (
	simSeeds = flag.Int("sim.seeds", 200, "how many seeds the simulation runs")
	simSeed  = flag.Uint64("sim.seed", 0, "run this one seed only")
)

// conditionsOf makes the weather of a seed.
func conditionsOf(seed uint64) simtest.Conditions {
	return simtest.Conditions{
		Loss: float64(seed%7) * 0.05, Duplicate: float64(seed%3) * 0.1, Reorder: float64(seed%5) * 0.1,
		DelayMin: int64(seed % 40), DelayMax: int64(seed%40) + int64(seed%11)*20, ReorderExtra: 120,
	}
}

// TestHandlesNeverLie holds H1 to H6 against the server's full history, under
// loss, duplication, reordering and delay, while slots change hands all the
// time. Run one seed again with -sim.seed.
func TestHandlesNeverLie(t *testing.T) {
	first, n := uint64(1), *simSeeds
	if testing.Short() {
		n = min(n, 24)
	}
	if *simSeed != 0 {
		first, n = *simSeed, 1
	}
	var executed atomic.Int64
	t.Cleanup(func() {
		if n > 1 {
			require.NotZero(t, executed.Load(), "no command was ever executed: the test proves nothing")
		}
	})
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			executed.Add(int64(runSeed(t, seed)))
		})
	}
}

// TestHelloTakesTooLong is a seed whose weather keeps a Hello for longer than
// the server waits: the client is refused and comes again.
func TestHelloTakesTooLong(t *testing.T) { runSeed(t, 559) }

// runSeed returns how many commands were executed.
func runSeed(t *testing.T, seed uint64) int {
	o := simOptions{
		clients: 3, entities: 60, first: 1, links: conditionsOf(seed), maxSlots: 4096,
		budget: []int{4_000, 16_000, 64_000}[seed%3], faultyFold: seed%6 == 0,
	}
	if seed%4 == 0 {
		o.first = bulk.MaxGeneration - 6 // slots retire after four tenants (H4)
	}
	s := newSim(t, seed, o)
	for i := range 300 {
		s.step()
		if seed%5 == 0 && i == 150 && seed%4 != 0 {
			s.restart()
		}
		if seed%9 == 0 && i == 100 {
			s.setLinks(simtest.Conditions{Loss: 1, DelayMin: 30, DelayMax: 30}) // a stall
		}
		if seed%9 == 0 && i == 160 {
			s.setLinks(conditionsOf(seed))
		}
	}
	s.settle()
	if o.faultyFold {
		faults := uint64(0)
		for _, c := range s.clients {
			faults += c.session.Replica().Stats().Faults
		}
		require.NotZero(t, faults, "the fold was broken on purpose and nobody noticed")
		if seed%5 != 0 || seed%4 == 0 { // else another core was asked
			require.NotZero(t, s.core.Replication().Resyncs, "the clients asked for everything anew")
		}
	}
	return s.executed
}

// TestStaleWithinRoundTrip is the first half of H3: on a working link, every
// handle that a client was ever sent is Stale on it one round trip and one
// send interval after its destruction.
func TestStaleWithinRoundTrip(t *testing.T) {
	const oneWay = 48
	s := newSim(t, 7, simOptions{
		clients: 3, entities: 60, first: 1, maxSlots: 4096, budget: 64_000,
		links: simtest.Conditions{DelayMin: oneWay, DelayMax: oneWay},
	})
	const bound = 2*oneWay + 3*simTickMs
	judged := 0
	for range 600 {
		s.step()
		for _, c := range s.clients {
			for h := range c.heard {
				if died := s.lives[h].died; died != 0 && s.now-died > bound {
					require.Equal(t, wire.Stale, c.session.Resolve(h), "H3: %v died at %d ms; %s", h, died, s.where())
					judged++
				}
			}
		}
	}
	require.Greater(t, judged, 1000)
	hidden := uint64(0)
	for _, c := range s.clients {
		hidden += c.session.Replica().Stats().Leaves
	}
	require.NotZero(t, hidden, "nothing ever left interest")
}
