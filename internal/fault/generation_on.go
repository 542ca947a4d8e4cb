//go:build fault_generation

package fault

// IgnoreGeneration makes a client compare handles by index alone.
const IgnoreGeneration = true
