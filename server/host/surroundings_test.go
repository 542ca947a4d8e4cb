package host

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestSurroundings: the limits of the process's cgroup and of those above it are read, and the smallest counts.
func TestSurroundings(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  surroundings
	}{
		"no Linux": {fstest.MapFS{}, surroundings{}},
		"no limits": {fstest.MapFS{
			"proc/self/cgroup": file("0::/system.slice/worldd.service\n"), "sys/fs/cgroup/system.slice/worldd.service/cpu.max": file("max 100000\n"),
			"sys/fs/cgroup/system.slice/worldd.service/memory.max": file("max\n"),
		}, surroundings{}},
		"a container": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("150000 100000\n"), "sys/fs/cgroup/memory.max": file("1073741824\n"),
		}, surroundings{quota: 1.5, memory: 1 << 30}},
		"a slice above": {fstest.MapFS{
			"proc/self/cgroup": file("12:cpu:/other\n0::/game.slice/worldd.service\n"), "sys/fs/cgroup/game.slice/cpu.max": file("50000 100000\n"),
			"sys/fs/cgroup/game.slice/worldd.service/cpu.max": file("300000 100000\n"), "sys/fs/cgroup/game.slice/worldd.service/memory.max": file("4096\n"),
			"sys/fs/cgroup/game.slice/memory.max": file("8192\n"),
		}, surroundings{quota: 0.5, memory: 4096}},
		"garbage": {fstest.MapFS{
			"proc/self/cgroup": file("0::/\n"), "sys/fs/cgroup/cpu.max": file("many 0\n"), "sys/fs/cgroup/memory.max": file(""),
		}, surroundings{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := readSurroundings(c.files, 0)
			require.Positive(t, got.cores)
			got.cores, got.memoryLimit = 0, 0 // of this machine
			require.Equal(t, c.want, got)
		})
	}
}

// TestAdvice: each limit that disturbs a server is named once, with its remedy.
func TestAdvice(t *testing.T) {
	require.Empty(t, surroundings{cores: 4}.advice())
	require.Empty(t, surroundings{cores: 2, quota: 2, memory: 1 << 30, memoryLimit: 900 << 20, received: 8 << 20}.advice())
	for want, s := range map[string]surroundings{
		"net.core.rmem_max":     {cores: 4, received: 416 << 10},
		"allows 1.5 cores of 4": {cores: 4, quota: 1.5},
		"above 1000 MiB":        {cores: 4, memory: 1000 << 20},
		"set GOMEMLIMIT=900MiB": {cores: 4, memory: 1000 << 20, memoryLimit: 2000 << 20},
	} {
		lines := s.advice()
		require.Len(t, lines, 1)
		require.Contains(t, lines[0], want)
	}
}
