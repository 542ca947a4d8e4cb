//go:build linux

package main

import (
	"os"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage counts the resources that a process has used.
type usage struct {
	CPU      time.Duration // of all threads
	Switches int64         // how often a thread went to sleep or was preempted
	Allocs   int64         // objects on the heap
}

// readUsage returns the usage of this process so far.
func readUsage() usage {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return usage{}
	}
	allocs := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(allocs)
	return usage{
		CPU:      time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		Switches: int64(u.Nvcsw) + int64(u.Nivcsw),
		Allocs:   int64(allocs[0].Value.Uint64()),
	}
}

func (u usage) since(before usage) usage {
	return usage{u.CPU - before.CPU, u.Switches - before.Switches, u.Allocs - before.Allocs}
}

// residentBytes returns this process's resident memory.
func residentBytes() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
