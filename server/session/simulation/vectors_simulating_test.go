package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/wire"
)

// cleanScript is a script in which effects of each form move bodies of a client that
// simulates, over a bad link that breaks once.
func cleanScript() *script {
	return &script{
		seed: 21, first: 1, slots: 64, budget: 64_000, hz: 20, entities: 10, viewers: 1, ticks: 240,
		ops: []op{
			{0, "link", []int{everybody, 8, 3, 10, 20, 50, 60}},
			{0, "simulate", []int{1}},
			{0, "fan", []int{0, 0, 256}},  // everywhere
			{0, "fan", []int{0, 0, 1024}}, // two more fans: the order of their sum matters
			{0, "fan", []int{0, 0, 1792}},
			{0, "fan", []int{8, -6, 260}},   // on an orbit
			{0, "fan", []int{-30, 24, 258}}, // linear
			{0, "toss", []int{0, 5, 9, 2, 1}},
			{6, "move", []int{11, 0, 0}}, // the client's entity moves: all others are in view
			{20, "toss", []int{1, -4, 6, 1, -3}},
			{22, "toss", []int{0, 6, -2, 0, 0}},
			{22, "lull", []int{13}},
			{30, "push", []int{2, 6, -4}},
			{45, "fan", []int{3, 3, 322}},   // an effect on some layers
			{50, "fan", []int{-5, 2, 2306}}, // an effect for a limited time
			{55, "fan", []int{6, 6, 4}},     // hidden
			{60, "hit", []int{4, 3, 5}},
			{70, "tune", []int{0, -9, 7}},
			{80, "turn", []int{1, 4, -4}},
			{85, "destroy", []int{3}},
			{90, "stop", []int{7}},
			{95, "corrupt", []int{0}}, // the server then sends everything again
			{98, "lull", []int{9}},
			{98, "lull", []int{12}},
			{120, "cut", []int{0, 5, 20}},
			{130, "tune", []int{1, 6, 6}},
			{150, "turn", []int{2, -3, 8}},
			{170, "move", []int{1, 7, 3}},
			{180, "fan", []int{-8, -3, 4384}}, // an acceleration everywhere
			{190, "lull", []int{5}},
			{200, "stop", []int{0}},
		},
	}
}

// recordedClean returns the data that a simulating client received.
func recordedClean(t *testing.T) vectors.Case {
	x, handles := recordScript(t, cleanScript())
	served := x.core.Config().Schema
	c := playedAs(t, served, vectors.Case{
		Name: "clean", About: "what a client that simulates received, and the states that it computes: the server's, to the bit",
		Protocol: wire.Version, Schema: served.Text(), SchemaHash: fmt.Sprintf("%016x", served.Hash()), Simulate: true, Handles: handles,
	}, x.recording.steps)
	requireEverything(t, &c)
	return c
}

// requireEverything requires all forms of data that only simulating clients are sent,
// except the forms that this server does not write: following effects and kinds.
func requireEverything(t *testing.T, c *vectors.Case) {
	var extensions [5]int
	var paths [3]int
	var enters [5]int
	back, exact := 0, 0
	eachRecord(t, c, func(r wire.Record) {
		switch r.Op {
		case wire.OpEnter:
			enters[r.Exact.Form]++
			back += int(r.Exact.Back)
		case wire.OpExtension:
			extensions[r.Number]++
			if wire.Extension(r.Number) == wire.ExtendEffectAdded {
				paths[r.EffectAdded().Path.Form]++
			}
		}
	})
	for _, s := range c.Steps {
		exact += len(s.Expect.Exact)
	}
	for what, n := range extensions {
		require.NotZero(t, n, "extension %d", what)
	}
	for form, n := range paths {
		require.NotZero(t, n, "path form %d", form)
	}
	for form, n := range enters[1:] {
		require.NotZero(t, n, "enters of exact form %d", form)
	}
	require.NotZero(t, back)
	require.Greater(t, exact, 100)
	require.Greater(t, c.Steps[len(c.Steps)-1].Expect.Audits, uint64(4))
}

// eachRecord calls f for each structure record of a case.
func eachRecord(t *testing.T, c *vectors.Case, f func(wire.Record)) {
	var frames wire.FrameReader
	for _, s := range c.Steps {
		if s.Lost {
			frames = wire.FrameReader{}
		}
		frames.Feed(s.Stream)
		for {
			kind, body, ok, err := frames.Next()
			require.NoError(t, err)
			if !ok {
				break
			}
			if kind != wire.TypeStructure {
				continue
			}
			m := must.Get(wire.ParseStructure(body))
			for r, err := range m.Records() {
				require.NoError(t, err)
				f(r)
			}
		}
	}
}
