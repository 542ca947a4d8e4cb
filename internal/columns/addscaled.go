package columns

import "fmt"

//go:generate go -C _asm run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg columns

// AddScaled adds from[i]*k to to[i] for every i, as in positions += velocities*dt over
// words, blocks or whole columns, including holes. Product and sum are rounded
// separately, never fused, so results are bit-identical on every machine. The slices
// must have equal length and be identical or disjoint.
//
// It uses vector instructions where available, unless built with -tags purego.
func AddScaled(to, from []float32, k float32) {
	if len(to) != len(from) {
		panic(fmt.Sprintf("columns: AddScaled of %d and %d elements", len(to), len(from)))
	}
	done := addScaledFast(to, from, k)
	addScaledGo(to[done:], from[done:], k)
}

// addScaledGo defines AddScaled, and runs where there is no kernel.
func addScaledGo(to, from []float32, k float32) {
	from = from[:len(to)]
	for i := range to {
		to[i] += float32(from[i] * k)
	}
}
