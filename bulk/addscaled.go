package bulk

import "fmt"

//go:generate go -C _asm run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg bulk

// AddScaled adds from[i]*k to to[i], for every i: positions += velocities * dt,
// over words, blocks or whole columns, holes and all. The product and the sum
// are rounded one after the other, never fused, so the bits are the same on
// every machine. The slices must be of equal length; they may be the same, and
// must not overlap otherwise.
//
// It uses vector instructions where there are some, unless built with -tags
// purego.
func AddScaled(to, from []float32, k float32) {
	if len(to) != len(from) {
		panic(fmt.Sprintf("bulk: AddScaled of %d and %d elements", len(to), len(from)))
	}
	done := addScaledFast(to, from, k)
	addScaledGo(to[done:], from[done:], k)
}

// addScaledGo is the definition, and what other machines run.
func addScaledGo(to, from []float32, k float32) {
	from = from[:len(to)]
	for i := range to {
		to[i] += float32(from[i] * k)
	}
}
