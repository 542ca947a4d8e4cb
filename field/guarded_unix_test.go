//go:build linux || darwin || freebsd || netbsd || openbsd

package field

import (
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// guarded returns n float32s, rounded up to whole pages, between two inaccessible
// pages: a kernel that goes too far faults.
func guarded(t testing.TB, floats int) []float32 {
	page := syscall.Getpagesize()
	size := (floats*4 + page - 1) / page * page
	m := must.Get(syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+size:], syscall.PROT_NONE))
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	return unsafe.Slice((*float32)(unsafe.Pointer(&m[page])), size/4)
}

// TestGuarded: an access outside faults, and the fault is a panic that tests can
// detect.
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
