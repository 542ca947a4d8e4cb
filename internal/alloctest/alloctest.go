// Package alloctest is for tests of code that allocates nothing. In builds with internal/invariants
// the audits and messages of assertions allocate.
package alloctest

import (
	"testing"

	"github.com/worldd/worldd/internal/invariants"
)

// SkipAudited skips a test of allocations in builds with invariants.
func SkipAudited(t testing.TB) {
	t.Helper()
	if invariants.Enabled {
		t.Skip("audits allocate")
	}
}

// RequireNone calls f warm times, then once, and then runs times. It fails the test if these runs allocate,
// except in builds with invariants. It says what f does.
func RequireNone(t testing.TB, warm, runs int, f func(), what ...any) {
	t.Helper()
	for range warm {
		f()
	}
	if n := testing.AllocsPerRun(runs, f); n != 0 && !invariants.Enabled {
		t.Fatal(append([]any{n, "allocations: "}, what...)...)
	}
}
