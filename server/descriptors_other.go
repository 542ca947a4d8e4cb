//go:build !unix

package server

// descriptorLimit returns how many files the process may open, and false if the system does not
// tell.
func descriptorLimit() (uint64, bool) { return 0, false }
