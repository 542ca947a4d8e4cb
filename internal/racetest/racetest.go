// Package racetest leaves tests in which the race detector can find nothing out of builds with it.
package racetest

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// SkipSequential skips a test that runs in one goroutine if the race detector is on, which would
// find nothing and take ten times as long. Other builds check the claim: a test that starts a
// goroutine after the call fails. Subtests are goroutines: they call it, and their parent does not.
func SkipSequential(t testing.TB) {
	t.Helper()
	SkipUnchecked(t)
	startRuntimeGoroutines()
	before := goroutinesCreated()
	t.Cleanup(func() {
		started := goroutinesCreated() - before
		if started != 0 {
			t.Errorf("the test started %d goroutines: the race detector should run it, so remove SkipSequential", started)
		}
	})
}

// SkipUnchecked is SkipSequential without the check. It is for packages with real connections or
// timers, which start goroutines during a later test.
func SkipUnchecked(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("runs in one goroutine: nothing for the race detector to find")
	}
}

// startRuntimeGoroutines has the runtime start the goroutines of the collector, of finalizers and
// of cleanups, which it does once.
func startRuntimeGoroutines() {
	object := new([16]byte)
	runtime.SetFinalizer(object, func(*[16]byte) {})
	runtime.AddCleanup(object, func(int) {}, 0)
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	if cycles[0].Value.Uint64() == 0 {
		runtime.GC()
	}
}

// goroutinesCreated returns how many goroutines this process has started.
func goroutinesCreated() uint64 {
	created := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(created)
	return created[0].Value.Uint64()
}
