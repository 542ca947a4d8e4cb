//go:build linux

package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain runs a child if a test starts its own program as one.
func TestMain(m *testing.M) {
	if slices.ContainsFunc(os.Args, func(a string) bool { return strings.HasPrefix(a, "-clock=") }) {
		main()
		return
	}
	os.Exit(m.Run())
}

// Each peer serves three clients, with about 200 entities in view.
func TestPeers(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, p := range peers {
		t.Run(p.name, func(t *testing.T) {
			m, err := (&bench{}).measure(t.Context(), p, load{clients: 3, seconds: 1})
			require.NoError(t, err)
			r := m.row()
			require.Positive(t, m.client.Updates)
			require.Positive(t, r.serverMicros)
			require.Positive(t, r.clientMicros)
			require.Positive(t, r.payload)
			require.Greater(t, r.wire, r.payload)
			require.Positive(t, r.latency99)
			require.Positive(t, r.age99)
			require.Positive(t, r.megabytes)
			require.InDelta(t, 200, r.known, 100)
			require.Positive(t, r.rows)
		})
	}
}

func TestRow(t *testing.T) {
	m := measurement{
		clients: 10,
		server:  serverResult{CPU: 100 * time.Millisecond, Resident: 30e6},
		client: clientsResult{
			CPU: 40 * time.Millisecond, Seconds: 5, Updates: 1000, Rows: 25_000, Known: 230_000, Payload: 200_000, Slowest: 19,
			Latency: [2]time.Duration{3 * time.Millisecond, 8 * time.Millisecond}, Age: [2]time.Duration{28 * time.Millisecond, 57 * time.Millisecond},
		},
		traffic: traffic{packets: 3000, bytes: 450_000},
	}
	require.Equal(t, row{
		serverMicros: 100, clientMicros: 40, payload: 4, wire: 9, packets: 60, latency50: 3, latency99: 8, age50: 28, age99: 57,
		megabytes: 30, updates: 20, slowest: 19, rows: 25, known: 230,
	}, m.row())
}

func TestMedians(t *testing.T) {
	require.Equal(t, row{serverMicros: 2, updates: 20}, medians([]row{{serverMicros: 9, updates: 20}, {serverMicros: 1, updates: 19}, {serverMicros: 2, updates: 20}}))
	require.Equal(t, row{wire: 2.5}, medians([]row{{wire: 1}, {wire: 4}}))
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	p, err := peersNamed("delta, worldd")
	require.NoError(t, err)
	require.NoError(t, writeTable(&b, load{clients: 5, seconds: 1, rounds: 1}, p, map[string][]row{"worldd": {{serverMicros: 81.25}}}))
	require.Contains(t, b.String(), "81.2")
	require.NotContains(t, b.String(), "delta", "it was not measured")
	_, err = peersNamed("worldd,other")
	require.ErrorContains(t, err, "delta-tls")
}

func TestLoadIsChecked(t *testing.T) {
	require.NoError(t, (&load{clients: 1, seconds: 1, rounds: 1}).validate())
	bad := load{loss: 100, rtt: -1}
	for _, flag := range []string{"-clients", "-seconds", "-rounds", "-loss", "-rtt"} {
		require.ErrorContains(t, bad.validate(), flag)
	}
}

// A state that grew older from 10 to 60 ms, and then from 20 to 70, was below 65 ms for 95 %
// of the time.
func TestAge(t *testing.T) {
	ms := time.Millisecond
	m := meter{last: 100 * ms, newest: 90 * ms}
	m.grow(150 * ms)
	m.newest = 130 * ms
	m.grow(200 * ms)
	require.Equal(t, []span{{10 * ms, 60 * ms}, {20 * ms, 70 * ms}}, m.ages)
	require.InDelta(t, 65*ms, quantileOfSpans(m.ages, 0.95), float64(ms)/100)
	require.InDelta(t, 40*ms, quantileOfSpans(m.ages, 0.5), float64(ms)/100)
	require.Zero(t, quantileOfSpans(nil, 0.5))
}

func TestQuantile(t *testing.T) {
	require.Zero(t, quantile(nil, 0.99))
	require.EqualValues(t, 3, quantile([]time.Duration{1, 2, 3, 4}, 0.5))
	require.EqualValues(t, 4, quantile([]time.Duration{1, 2, 3, 4}, 1))
}

func TestCounter(t *testing.T) {
	const text = "Ip: Forwarding InReceives\nIp: 1 42\nTcp: InSegs OutSegs\nTcp: 7 -8\n"
	n, err := counter(text, "Tcp", "OutSegs")
	require.NoError(t, err)
	require.EqualValues(t, -8, n)
	n, err = counter(text, "Ip", "InReceives")
	require.NoError(t, err)
	require.EqualValues(t, 42, n)
	_, err = counter(text, "Udp", "InDatagrams")
	require.ErrorContains(t, err, "Udp.InDatagrams")
}

// A client of delta knows what the game says that it sees, with and without quantised fields.
func TestDelta(t *testing.T) {
	for name, quantised := range map[string]bool{"floats": false, "quantised": true} {
		t.Run(name, func(t *testing.T) {
			g := newGame(updateHz)
			v := g.join()
			seen := newDeltaView(quantised)
			precision := map[bool]float64{false: 0, true: positionUnit / 2}[quantised]
			for range 200 {
				require.NoError(t, g.step(encodeDelta(quantised)))
				u, err := seen.decode(<-v.out)
				require.NoError(t, err)
				require.Equal(t, g.tick, u.tick)
				require.Len(t, seen.entities, len(v.known))
				for e := range v.known {
					got := seen.entities[e.id]
					require.NotNil(t, got)
					require.Equal(t, uint8(e.kind), got.kind)
					for i := range e.at {
						require.InDelta(t, e.at[i], got.at[i], precision)
					}
				}
			}
			require.Greater(t, int(g.newest)-resting-walkers, 1000, "sparks")
			require.Less(t, len(g.movers), walkers+2*sparkRate, "they end")
		})
	}
}

// A client that does not read misses nothing: the next update has what changed since.
func TestDeltaToSlowClient(t *testing.T) {
	g := newGame(updateHz)
	v := g.join()
	for range maxUnsent + 20 {
		require.NoError(t, g.step(encodeDelta(false)))
	}
	seen := newDeltaView(false)
	for range maxUnsent {
		_, err := seen.decode(<-v.out)
		require.NoError(t, err)
	}
	require.NoError(t, g.step(encodeDelta(false)))
	_, err := seen.decode(<-v.out)
	require.NoError(t, err)
	for e := range v.known {
		require.Equal(t, e.at, seen.entities[e.id].at)
	}
}

func TestFull(t *testing.T) {
	g := newGame(updateHz)
	v := g.join()
	require.NoError(t, g.step(encodeFull))
	var seen fullView
	u, err := seen.decode(<-v.out)
	require.NoError(t, err)
	in := 0
	for range g.near(v.avatar.at, enterRadius) {
		in++
	}
	require.Equal(t, update{tick: 1, rows: in, known: in}, u)
	g.leave(v)
	require.NoError(t, g.step(encodeFull))
	require.True(t, v.avatar.dead)
}
