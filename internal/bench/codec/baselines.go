package main

import "math/rand/v2"

const oldestGap = 8

// baselines chooses the baseline of each frame, the newest received frame at least age
// frames back, and its older state, the newest received frame at least apart frames
// before that and at most oldestGap. -1 means none.
type baselines struct {
	age, apart int
	got        []bool
}

func newBaselines(frames, age, apart int, loss float64) *baselines {
	b := &baselines{age: age, apart: apart, got: make([]bool, frames)}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range b.got {
		b.got[i] = i <= age || random.Float64() >= loss
	}
	return b
}

func (b *baselines) of(frame int) (base, older int) {
	base = frame - b.age
	for base >= 0 && !b.got[base] {
		base--
	}
	older = base - b.apart
	for older >= 0 && !b.got[older] {
		older--
	}
	if older < 0 || base-older > oldestGap {
		older = -1
	}
	return base, older
}
