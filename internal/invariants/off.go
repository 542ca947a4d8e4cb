//go:build !invariants && !race

package invariants

// In a product there are none.
const (
	Enabled = false
	Audits  = false
)
