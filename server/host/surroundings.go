package host

import (
	"fmt"
	"io/fs"
	"math"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// surroundings are what the machine and its supervisor give to a process. Zero fields are unknown or unlimited.
type surroundings struct {
	cores       int     // that the process may use at once
	quota       float64 // cores that the cgroup allows on average
	memory      int64   // bytes that the cgroup allows
	memoryLimit int64   // GOMEMLIMIT
	received    int     // bytes of the receive buffer of the socket for clients
}

const (
	// wantedBuffer is the receive buffer that quic-go wants.
	wantedBuffer = 7 << 20
	// bufferSwitch silences quic-go's own line about it, which names no remedy.
	bufferSwitch = "QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING"
)

// readSurroundings reads the limits of the process from the root of a Linux file system. Elsewhere none are known.
func readSurroundings(root fs.FS, receiveBuffer int) surroundings {
	s := surroundings{cores: runtime.NumCPU(), received: receiveBuffer}
	limit := debug.SetMemoryLimit(-1)
	if limit != math.MaxInt64 {
		s.memoryLimit = limit
	}
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return s
	}
	for line := range strings.Lines(string(text)) {
		group, unified := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		if !unified {
			continue
		}
		for ; ; group = path.Dir(group) { // each group above limits too
			s.addGroup(root, path.Join("sys/fs/cgroup", group))
			if group == "" || group == "." {
				return s
			}
		}
	}
	return s
}

// addGroup adds the limits of a cgroup.
func (s *surroundings) addGroup(root fs.FS, folder string) {
	text, _ := fs.ReadFile(root, folder+"/cpu.max") // the root group has none
	if fields := strings.Fields(string(text)); len(fields) == 2 {
		quota, unlimited := strconv.ParseFloat(fields[0], 64) // "max"
		period, err := strconv.ParseFloat(fields[1], 64)
		if unlimited == nil && err == nil && period > 0 && (s.quota == 0 || quota/period < s.quota) {
			s.quota = quota / period
		}
	}
	text, _ = fs.ReadFile(root, folder+"/memory.max")
	memory, unlimited := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if unlimited == nil && (s.memory == 0 || memory < s.memory) {
		s.memory = memory
	}
}

// advice returns what disturbs a server, each with its remedy.
func (s surroundings) advice() (lines []string) {
	if s.received > 0 && s.received < wantedBuffer {
		lines = append(lines, fmt.Sprintf("the socket's receive buffer has %d KiB of the %d KiB wanted, so bursts of joins lose packets: set net.core.rmem_max and net.core.wmem_max to 7500000 (sysctl)",
			s.received>>10, wantedBuffer>>10))
	}
	if s.quota > 0 && s.quota < float64(s.cores) {
		lines = append(lines, fmt.Sprintf("the cgroup allows %.2g cores of %d by a quota, which stops the process for the rest of each period once it is spent, and ticks come late: give it cores of its own (AllowedCPUs=, --cpuset-cpus), or no quota",
			s.quota, s.cores))
	}
	if s.memory > 0 && (s.memoryLimit == 0 || s.memoryLimit > s.memory) {
		lines = append(lines, fmt.Sprintf("the cgroup ends the process above %d MiB, which the garbage collector does not know: set GOMEMLIMIT=%dMiB",
			s.memory>>20, s.memory/10*9>>20))
	}
	return lines
}
