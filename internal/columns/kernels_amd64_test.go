//go:build !purego

package columns

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// TestKernelsAreForced: an operator can turn off all kernels.
func TestKernelsAreForced(t *testing.T) {
	if os.Getenv(cpu.Variable) == cpu.Go.String() {
		require.False(t, hasPack())
		require.Zero(t, addScaledFast(make([]float32, 64), make([]float32, 64), 1))
		return
	}
	self := must.Get(os.Executable())
	c := exec.CommandContext(t.Context(), self, "-test.run=^TestKernelsAreForced$")
	c.Env = append(os.Environ(), cpu.Variable+"="+cpu.Go.String())
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
