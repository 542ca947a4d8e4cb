package client_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/simtest"
)

// crowded plays for ms on a machine that is too busy: frames of 4 to 40 ms, one in 40 of them
// and one in 200 of the server's ticks up to 200 ms late. The client does nothing between frames.
func (k *linkedPrediction) crowded(ms int64, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	hiccup := func(of int) int64 {
		if r.IntN(of) == 0 {
			return 50 + r.Int64N(150)
		}
		return 0
	}
	drawn, served, ticks := k.Now, k.Now, k.Now*stepHz/1000
	for end := k.Now + ms; k.Now < end; k.Now++ {
		if k.Now >= served {
			require.NoError(k.t, k.Serve())
			for ; ticks < k.Now*stepHz/1000; ticks++ {
				k.serve()
			}
			served = k.Now + 1 + hiccup(2000)
		}
		if k.Now >= drawn {
			k.receive()
			k.render()
			k.receive()
			drawn = k.Now + 4 + r.Int64N(36) + hiccup(40)
		}
		k.Flush()
	}
}

// On a busy machine, with the stick moved in every frame, a state of the server is corrected only
// if the server stepped with other inputs than the client, and the client finds out with which.
func TestPredictionOnBusyMachine(t *testing.T) {
	for i, link := range []simtest.Conditions{{}, {DelayMin: 5, DelayMax: 25}, overseas} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(i, seed), func(t *testing.T) {
				k := newLinkedPrediction(t, 10*seed, link)
				k.run(3000)
				r := rand.New(rand.NewPCG(seed, 6))
				k.stick = func(int) lever { return lever{X: float32(r.IntN(129)-64) / 64, Z: float32(r.IntN(129)-64) / 64} }
				before := k.play.Stats()
				k.synced = func() {
					now := k.play.Stats()
					if now.Corrected > before.Corrected {
						require.False(t, k.agreed(before.Confirmed, now.Confirmed), "the same inputs up to %d", now.Confirmed)
					}
					before = now
				}
				k.crowded(20_000, seed)
				t.Logf("%+v", before)
				require.Positive(t, before.Corrected)
				require.Equal(t, before.Corrected, before.Missed)
				require.Greater(t, before.Agreed, uint64(400))
			})
		}
	}
}
