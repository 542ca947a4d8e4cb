//go:build invariants

package invariants

// Enabled says whether the heavy checks are compiled in, and Audits whether they
// include those that go over a whole world or viewer after each step.
const (
	Enabled = true
	Audits  = true
)
