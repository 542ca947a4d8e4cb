// Package shorttest says how much a test does with -short.
package shorttest

import "testing"

// Pick returns full, or short with -short.
func Pick[T any](full, short T) T {
	if testing.Short() {
		return short
	}
	return full
}

// Skip skips a test with -short, and says why it is long.
func Skip(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip(why)
	}
}
