package scenes

import (
	"bytes"
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world/motion"
)

const movingFile = `name: moving
bounds: [32, 16, 32]
kinds: {leaf: {body: {mass: 1, drag: 1}}}
effects:
  whirl: {mode: wind, shipped: whirl, center: [1, 0, 2], orbit: {radius: 9, period_s: 7, phase: 0.3}}
  push:
    mode: acceleration
    pulse: {per_second: 4, life_s: 0.5, speed: 3, region: {min: [-9, 5, -9], max: [9, 5, 9]}}
    text: |
      box (-9, -9, -9) (9, 9, 9)
      output += (60, 0, 0)
players: {kind: leaf, region: {min: [0, 5, 0], max: [0, 5, 0]}}
`

// moved is the scene of movingFile at tick 100, saved when a system still moved effects.
const moved = "d2ltZwIAAABFBgAADAMAACi1L/1gRQUVGAByMJhEAHMcBby/KQAU6KBtq51tKyNCwIO+BlXVVY14gBtbhgBKMHrEA2Gb524qy0paL010l8gCPf9Yz3mqcWhlhH5+idmZkg8wFutlitbVUp2qltF+KCgw070hE9MVjUwmIDgyjUBgKQxBUnhBoQlIIt0bfjAReEXLKk+Tg/1gJdO9IWgC3VGIBIYmUQgKtcjTJCXYD0a6t3RJIdB1IFoQ9gNF+8F+4QVvyIQECkXrwb6INsVZklhhkR3sZ0ct14p2AgX7cvKhnJyI1kW6WC8N9kOxpLli2s/eFtCeiNZ1liNaGexnU8yyZeWEFS15QoXBvnwmuhFCxMnABhYQJyEoXqBgHpUhSJEr/OeznaVYxhiSfzs7+yw7lfJiMCTjjxkcIDz+aRDJkVlAuwWbXwGHKtj8H+r5bP5rp7PdSOd5OP+brut0PHaE03Qezut0OgD/tVO5Wjuckv9Ordx/lqCTqVvVZLVmtKxytFKOUsr9XIZWDqUl/5VSrtbMP92o5n9KM/93deTvrO02/57Xcf/alJv+c7S5/4129q/RNvDPaRf4z2gT+N+0B/xr2iX/mbbnfw2FehTKi4nFxE6xlPfbqZJSkiqaMfanMba5XuVK1RphWF4jyW+rlsrFLDUpHF8Dx/jjt5X5WmlxrFap4nKD6RmOy7QVq4TLayG3/dyfncmA0SJAXRHjhxAdDFhY8LFDhZhCguUX8AoWiqR7muXLK6FMtFQXvAclUUQ6zfLlgSjyxVJ1ePk/Kc7yNMlV+XP+7P8U+1Ps/6yEimT9mT+L4KJHNx4YYiP1j7FP/SOCs/8hHE4gAAOi2eYM8ziR86hQl1wOTbA4P0a20ML0LryBpetuAo2GwWEJFzCKBa2sIxhIm/2MCnbAONyxnexuGbcLvi6HMAFYRPLYnOyQ5mBHGok2JoSRZtzFxridi5FGGmmkpc0DghDkTRj5ZvFjYGQPPBvwQa6xiDFj6wxcYnM4uIHkoFOS6KO4+OzcBY5bWwg8MHgsjLUbAgYCYRJk48jgFdO3MnzxNmxvAAAAAAAAAADaK32MLhvaKw=="

// An image in which a system moved the effects continues with effects that move themselves:
// the same ways and lives.
func TestImageOfMovedEffects(t *testing.T) {
	f := must.Get(Parse("moving.yaml", []byte(movingFile)))
	s := must.Get(Build(f))
	file := must.Get(base64.StdEncoding.DecodeString(moved))
	img := must.Get(s.World.ReadImage(bytes.NewReader(file)))
	require.NoError(t, s.RestoreRun(img))
	require.EqualValues(t, 100, s.World.Tick())
	near := func(x, y, z float32) {
		t.Helper()
		for _, e := range s.World.AppendEffects(nil) {
			if e.Center.Sub(motion.Vec3{X: x, Y: y, Z: z}).Len() < 1e-3 {
				return
			}
		}
		t.Errorf("no effect at %v, %v, %v in tick %d", x, y, z, s.World.Tick())
	}
	run(s, 4)
	near(-7.600155, 0, -0.6527965)
	near(0.736115, 5, 1.400238)
	require.Equal(t, 2, len(s.World.AppendEffects(nil)), "one explosion ended after tick 104")
	run(s, 15)
	near(-6.7942286, 0, -2.5)
	require.Equal(t, 2, len(s.World.AppendEffects(nil)), "one that began in tick 105 replaced one that ended after 119")
}
