//go:build invariants

package invariants

// Enabled reports whether the heavy checks are compiled in. Audits reports whether they include
// those that examine a whole world or viewer after each step.
const (
	Enabled = true
	Audits  = true
)
