package engines

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// CMake and pkg-config find the library where build.sh has put it, and build the first program, which loads it.
func TestBuildSystems(t *testing.T) {
	need(t, "cmake", "cmake")
	need(t, "pkg-config", "pkg-config")
	lib, to := builtLibrary(t), t.TempDir()
	configure := []string{"-S../examples", "-B" + to, "-DCMAKE_PREFIX_PATH=" + lib}
	run(t, nil, "cmake", configure...)
	run(t, nil, "cmake", "--build", to)
	for _, version := range []string{"0.999", "1.0"} {
		said, err := exec.CommandContext(t.Context(), "cmake", append(configure, "-DWORLDD_VERSION="+version)...).CombinedOutput()
		require.Error(t, err, "version %s", version)
		require.Contains(t, string(said), "considered but not accepted")
	}
	flags := run(t, []string{"PKG_CONFIG_PATH=" + lib + "/lib"}, "pkg-config", "--cflags", "--libs", "worldd >= 0.2")
	run(t, nil, "gcc", append([]string{"-o", to + "/second", "../examples/first.c", "-Wl,-rpath," + lib + "/lib"}, strings.Fields(flags)...)...)
	for _, program := range []string{"/first", "/second"} {
		said, err := exec.CommandContext(t.Context(), to+program).CombinedOutput()
		require.Error(t, err)
		require.Equal(t, "usage: first HOST:PORT FINGERPRINT\n", string(said))
	}
}
