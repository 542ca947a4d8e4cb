//go:build invariants || race

package invariants

// Enabled says whether the heavy checks are compiled in.
const Enabled = true
