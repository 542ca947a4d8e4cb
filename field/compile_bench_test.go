package field

import (
	"testing"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// thirtyLines is an effect of typical size.
const thirtyLines = `effect squall
param strength = 12
param lift = 4
param center = (1, 2, 3)
box (-16, -10, -16) (16, 10, 16)
d = sub position, center
flat = mul d, (1, 0, 1)
r = length flat
fade = nmad r, 0.0625, 1
fade = smooth fade
turn = mad r, 0.31, time
turn = sin turn
k = mul fade, turn
n = normalize flat
around = cross (0, 1, 0), n
force = mul around, k
force = mul force, strength.x
output = add output, force
rise = mul turn, lift.x
rise = mul rise, fade
output = mad (0, 1, 0), rise, output
square = dot d, d
push = normalize d
push = mul push, 50
push = select_lt square, 25, push, 0
output = add output, push
wave = mad position.x, 0.1, time
wave = sin wave
wave = mul wave, 3
output.z = add output.z, wave
`

// BenchmarkCompileThirty compiles text to a program with bound code.
func BenchmarkCompileThirty(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		must.Get(Compile(thirtyLines))
	}
}

// BenchmarkBind measures binding, which Load does too.
func BenchmarkBind(b *testing.B) {
	p := must.Get(Compile(thirtyLines))
	b.ReportAllocs()
	for b.Loop() {
		p.bind(cpu.Chosen())
	}
}
