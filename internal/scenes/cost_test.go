package scenes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// costly is a world of 100 crates on a square of 10 by 10 m around the origin, up to 4
// players at the origin, and 20 sparks at 50 m.
const costly = `
name: costly
kinds:
  avatar: {body: {kinematic: true}}
  crate: {body: {mass: 1}}
limits: {max_players: 4}
players: {kind: avatar, region: {min: [-1, 0.5, -1], max: [1, 0.5, 1]}}
spawns:
  - {kind: crate, grid: {count: [10, 1, 10], spacing: 1, at: [-4.5, 0.5, -4.5]}}
emitters:
  - {kind: crate, per_second: 9, life_s: [1, 2], region: {min: [50, 0.5, 50], max: [50, 0.5, 50]}}
effects:
  everywhere:
    mode: wind
    center: [0, 0, 0]
    text: |
      effect e
      everywhere
      output.x += sin(position.x)
  half:
    mode: wind
    center: [25, 0, 0]
    text: |
      effect e
      box (-25, 0, -25) (25, 9, 25)
      output.x += sin(position.x)
  nowhere:
    mode: wind
    center: [-50, 0, 0]
    text: |
      effect e
      box (-25, 0, -25) (25, 9, 25)
      output.x += sin(position.x)
  passing:
    mode: wind
    center: [0, 0, 50]
    orbit: {radius: 50, period_s: -10}
    text: |
      effect e
      box (-25, 0, -25) (25, 9, 25)
      output.x += sin(position.x)
  pulsing:
    mode: wind
    center: [0, 0, 0]
    pulse: {per_second: 2, life_s: 3, region: {min: [-100, 0, 0], max: [0, 0, 0]}}
    text: |
      effect e
      box (-50, 0, -50) (50, 9, 50)
      output.x += sin(position.x)
`

// An effect costs what its box contains, wherever it moves.
func TestEffectCosts(t *testing.T) {
	file := must.Get(Parse("costly", []byte(costly)))
	scene := must.Get(Build(file))
	before := scene.World.StateHash()
	costs := map[string]EffectCost{}
	all := scene.EffectCosts()
	for i, c := range all {
		costs[c.Name] = c
		require.True(t, i == 0 || c.PerTick <= all[i-1].PerTick, "the costliest first")
	}
	require.Len(t, costs, 5)
	sparks := file.Emitters[0].most(file.TickHz)
	require.Equal(t, 100+4+sparks, costs["everywhere"].Bodies)
	require.InDelta(t, 50+2, costs["half"].Bodies, 1)
	require.Zero(t, costs["nowhere"].Bodies)
	require.Zero(t, costs["nowhere"].PerTick)
	require.Equal(t, 100+4, costs["passing"].Bodies, "where it comes along most")
	require.InDelta(t, (100+4)*6/2, costs["pulsing"].Bodies, 20, "every second explosion of six reaches them")
	require.Equal(t, before, scene.World.StateHash())
	require.Equal(t, all, scene.EffectCosts())
}

// Of many bodies a sample is examined.
func TestEffectCostsOfMany(t *testing.T) {
	file := must.Get(Parse("costly", []byte(strings.Replace(costly, "count: [10, 1, 10], spacing: 1", "count: [200, 1, 100], spacing: 0.1", 1))))
	scene := must.Get(Build(file))
	for _, c := range scene.EffectCosts() {
		if c.Name == "everywhere" {
			require.Equal(t, 20000+4+file.Emitters[0].most(file.TickHz), c.Bodies)
		}
	}
}

// Every effect of a world is estimated.
func TestEffectCostsOfStorm(t *testing.T) {
	file := must.Get(Named("storm"))
	scene := must.Get(Build(file))
	all := scene.EffectCosts()
	require.Len(t, all, len(file.Effects))
	require.NotZero(t, all[0].PerTick)
}
