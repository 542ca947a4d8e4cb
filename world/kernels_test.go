package world_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

// kernelsDir is set in a process that runs one leg of TestImageAcrossKernels: the directory
// of the images that it reads and writes.
const kernelsDir = "WORLDD_TEST_KERNELS_DIR"

// A world that is saved and restored repeatedly, each time in another process and
// with another set of kernels, reaches the same state as a world that is never saved.
func TestImageAcrossKernels(t *testing.T) {
	racetest.SkipUnchecked(t)
	if dir := os.Getenv(kernelsDir); dir != "" {
		kernelsLeg(t, dir)
		return
	}
	self := must.Get(os.Executable())
	dir := t.TempDir()
	s := kernelsScene(t)
	legs := []cpu.Kernels{cpu.Best()}
	for k := range cpu.Best() {
		legs = append(legs, k) // from the fastest to the plainest and back
	}
	for _, k := range append(legs, cpu.Best()) {
		steps(s.World, 60)
		leg := exec.CommandContext(t.Context(), self, "-test.run=^TestImageAcrossKernels$")
		leg.Env = append(os.Environ(), kernelsDir+"="+dir, cpu.Variable+"="+k.String())
		out, err := leg.CombinedOutput()
		require.NoError(t, err, "%v: %s", k, out)
		file := must.Get(os.ReadFile(filepath.Join(dir, "image")))
		img := read(t, s.World, file)
		require.Equal(t, s.Tick(), img.Tick())
		restored := kernelsScene(t)
		require.NoError(t, restored.Restore(img))
		require.Equal(t, s.StateHash(), restored.StateHash(), "restored with %v at tick %d", k, s.Tick())
	}
}

// kernelsScene has more awake bodies than one chunk, in wind and blasts.
func kernelsScene(t testing.TB) *scene { return watched(t, 7, 300, 2, 3) }

// kernelsLeg continues for a second, from the existing image if there is one.
func kernelsLeg(t *testing.T, dir string) {
	path := filepath.Join(dir, "image")
	s := kernelsScene(t)
	if file, err := os.ReadFile(path); err == nil {
		require.NoError(t, s.Restore(read(t, s.World, file)))
	}
	steps(s.World, 60)
	require.NoError(t, os.WriteFile(path, written(t, s.World), 0o600))
}
