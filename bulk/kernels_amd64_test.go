//go:build !purego

package bulk

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// TestKernelsAreForced: an operator can turn off all kernels.
func TestKernelsAreForced(t *testing.T) {
	racetest.SkipUnchecked(t)
	if os.Getenv(cpu.Variable) == cpu.Go.String() {
		require.False(t, hasAppendMembers())
		require.Equal(t, 16, minWholeWords())
		var full Bitset
		full.SetWord(wordLen-1, ^uint64(0))
		must.Lack(full.countRunFast(0, 1))
		return
	}
	self := must.Get(os.Executable())
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestKernelsAreForced$")
	c.Env = append(os.Environ(), cpu.Variable+"="+cpu.Go.String())
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
