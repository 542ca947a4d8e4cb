//go:build linux

package main

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tickClock holds when the server's newest ticks began, in memory that it shares with the
// clients, so that peers need not send these times.
type tickClock struct{ ticks *[clockTicks]atomic.Int64 }

// clockTicks exceeds a minute at 60 ticks a second.
const clockTicks = 4096

// openClock maps a file, which it creates if necessary.
func openClock(path string) (*tickClock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(clockTicks * 8); err != nil {
		return nil, err
	}
	memory, err := unix.Mmap(int(f.Fd()), 0, clockTicks*8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &tickClock{(*[clockTicks]atomic.Int64)(unsafe.Pointer(&memory[0]))}, nil
}

// begin notes that a tick begins now.
func (c *tickClock) begin(tick uint32) { c.ticks[tick%clockTicks].Store(int64(now())) }

// begun returns when one of the newest ticks began.
func (c *tickClock) begun(tick uint32) time.Duration {
	return time.Duration(c.ticks[tick%clockTicks].Load())
}

// now returns a time since an origin that all processes of this machine share.
func now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
