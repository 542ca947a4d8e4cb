//go:build unix

package server

import "syscall"

// descriptorLimit returns how many files the process may open. The Go runtime has raised the
// soft limit to the hard one.
func descriptorLimit() (uint64, bool) {
	var l syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil
}
