//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package bulk

import "syscall"

const canReserve = true

// reserve maps zeroed address space, which uses memory from the first touch of each
// page.
func reserve(bytes uintptr) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(max(bytes, 1)), syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|noReserve)
}

func release(mapping []byte) error { return syscall.Munmap(mapping) }
