package client

import (
	"slices"
	"time"
)

const (
	// allowanceSamples is how many delays an allowance looks back on: at 30 a
	// second, four seconds.
	allowanceSamples = 128
	// allowanceShare is the part of passing time by which an allowance shrinks:
	// 100 ms too much are gone after five seconds.
	allowanceShare = 50
)

// allowance is how much time to allow for something whose delays vary, so that
// one in fifty is later. It grows at once, since who waits too little sees it,
// and shrinks slowly, since who waits too long hardly does.
type allowance struct {
	samples [allowanceSamples]time.Duration
	count   int
	value   time.Duration
	updated time.Duration
}

// add takes a delay that was seen at now.
func (a *allowance) add(now, delay time.Duration) {
	a.samples[a.count%allowanceSamples] = delay
	a.count++
	sorted := a.samples
	n := min(a.count, allowanceSamples)
	slices.Sort(sorted[:n])
	want := sorted[n-1-n/50]
	passed := max(now-a.updated, 0)
	a.updated = now
	if a.count == 1 {
		a.value = want
	}
	a.value = max(want, a.value-passed/allowanceShare)
}
