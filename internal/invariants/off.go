//go:build !invariants && !race

package invariants

// A release build has no checks.
const (
	Enabled = false
	Audits  = false
)
