package engines

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cstruct"
)

// Of the host's memory, as valgrind's memcheck knows it from malloc, the library touches only what a call was given, and only during
// the call (E3). Sanitizers see no access by Go. Memcheck's errors about Go's own memory
// are void: it does not know goroutines' stacks.
func TestMemory(t *testing.T) {
	need(t, "valgrind", "valgrind")
	lib, to := builtLibrary(t), t.TempDir()
	header, err := cstruct.Header(plot, "plot", "memory_test.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "plot.h"), []byte(header), 0o600))
	run(t, nil, "gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I"+lib+"/include", "-I"+to, "../tests/memory.c",
		"-o", to+"/memory", "-L"+lib+"/lib", "-lworldd", "-Wl,-rpath,"+lib+"/lib")
	addr, fingerprint := servePlot(t)
	// Valgrind lacks the instruction RDTSCP, which Go can do without.
	out := run(t, []string{"GODEBUG=cpu.rdtscp=off"}, "valgrind", "--log-file="+to+"/log", "--error-limit=no", "--undef-value-errors=no", "--leak-check=full",
		to+"/memory", addr, fingerprint)
	require.Equal(t, "end\n", out)
	log, err := os.ReadFile(to + "/log")
	require.NoError(t, err)
	require.Contains(t, string(log), "ERROR SUMMARY")
	found := 0
	for e := range strings.SplitSeq(regexp.MustCompile(`(?m)^==\d+== `).ReplaceAllString(string(log), ""), "\n\n") {
		if strings.Contains(e, "a block of size") || strings.Contains(e, "are definitely lost") {
			require.Regexp(t, `Invalid write of size[^@]* block of size 490 alloc'd`, e, "beside the program's own mistake")
			found++
		}
	}
	require.NotZero(t, found, "the program's mistake")
}
