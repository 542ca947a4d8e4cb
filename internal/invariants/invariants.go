// Package invariants turns heavy self-checks on under `-tags invariants` and, but
// for the audits of whole structures, under the race detector. What we make is asserted here; what arrives from
// outside is checked always, elsewhere.
package invariants

// Check panics with err when checks are enabled and err is not nil. Callers
// guard the computation of err with Enabled, so that a release build pays
// nothing.
func Check(err error) {
	if Enabled && err != nil {
		panic(err)
	}
}
