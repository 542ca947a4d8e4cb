//go:build linux || darwin || freebsd || netbsd || openbsd

package field

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// guarded is room for so many float32s, which is rounded up to whole pages, between
// two pages that may not be touched: a kernel that goes too far is a fault.
func guarded(t testing.TB, floats int) []float32 {
	page := syscall.Getpagesize()
	size := (floats*4 + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+size:], syscall.PROT_NONE))
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[page])), size/4)
}

// TestGuarded: what is beyond faults, and a fault is a panic that can be told from
// success.
func TestGuarded(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m := guarded(t, 10)
	at := func(i int) func() {
		return func() { *(*float32)(unsafe.Add(unsafe.Pointer(&m[0]), 4*i))++ }
	}
	require.NotPanics(t, at(0))
	require.NotPanics(t, at(len(m)-1))
	require.Panics(t, at(-1))
	require.Panics(t, at(len(m)))
}
