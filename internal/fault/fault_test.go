package fault_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A product has neither the defects nor the questions: the linker finds nothing
// of this package in the server's program.
func TestProductHasNoFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("links a program")
	}
	program := filepath.Join(t.TempDir(), "worldd")
	out, err := exec.Command("go", "build", "-o", program, "github.com/worldd/worldd/cmd/worldd").CombinedOutput()
	require.NoError(t, err, "%s", out)
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	require.NoError(t, err)
	require.True(t, strings.Contains(string(symbols), "worldd/client.(*Replica)"))
	require.False(t, strings.Contains(string(symbols), "internal/fault"))
}
