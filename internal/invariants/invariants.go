// Package invariants turns on heavy self-checks with `-tags invariants`. Under the race
// detector it turns them on too, except for audits of whole structures. It asserts the
// program's own results; input from outside is always checked, elsewhere.
package invariants

import "fmt"

// Check panics with err when checks are enabled and err is not nil. Callers
// guard the computation of err with Enabled, so that a release build pays
// nothing.
func Check(err error) {
	if Enabled && err != nil {
		panic(err)
	}
}

// Checkf panics with the formatted text when checks are enabled and ok is false. Callers guard
// it with Enabled, as they guard Check.
func Checkf(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic(fmt.Errorf(format, args...))
	}
}
