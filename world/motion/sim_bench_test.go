package motion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/world/motion"
)

// BenchmarkSim measures a tick of 250 bodies within reach of all six shipped effects.
// client/ts/test/motion.bench.ts measures the same in TypeScript.
func BenchmarkSim(b *testing.B) {
	sim := motion.NewSim(motion.New(motion.Params{
		TickHz: 1000, HalfExtent: motion.Vec3{X: 900, Y: 900, Z: 900}, RestSpeed: 0.01, RestTicks: 1 << 30,
	}), 0)
	sim.SetKind(0, motion.Kind{InvMass: 1, Coupling: 0.01, Radius: 0.25, Friction: 0.5, Restitution: 0.5, Layers: 1})
	for slot, name := range field.ShippedNames() {
		text, _ := field.Shipped(name)
		p := must.Get(field.Compile(text))
		var params []field.Vec4
		for _, q := range p.Params() {
			params = append(params, q.Default)
		}
		require.NoError(b, sim.SetEffect(uint32(slot), &motion.Source{
			Program: p, Params: params, Path: motion.Path{Center: motion.Vec3{Y: 10}}, First: 1,
		}, false))
	}
	for n := 0; b.Loop(); n++ {
		if n%20 == 0 {
			for i := range uint32(250) {
				sim.Put(i, 0, motion.State{Position: motion.Vec3{X: float32(i%16)/4 - 2, Y: 11, Z: float32(i>>4)/4 - 2}, Awake: true})
			}
		}
		sim.Tick()
	}
}
