//go:build race && !invariants

package invariants

// Under the race detector audits would take most of the time, and they contain no races.
const (
	Enabled = true
	Audits  = false
)
