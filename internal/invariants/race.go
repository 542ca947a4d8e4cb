//go:build race && !invariants

package invariants

// Under the race detector the audits would take most of the time, and there is
// nothing in them for it to find.
const (
	Enabled = true
	Audits  = false
)
