package engines

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cstruct"
)

// A program in C++17 plays a session through the wrapper for Unreal, without exceptions and RTTI. Stand-ins replace the headers of Unreal.
func TestUnreal(t *testing.T) {
	need(t, "g++", "g++")
	lib, to := builtLibrary(t), t.TempDir()
	header, err := cstruct.Header(plot, "plot", "unreal_test.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "plot.h"), []byte(header), 0o600))
	const module = "../../unreal/Worldd/Source/Worldd"
	run(t, nil, "g++", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-fsanitize=address,undefined",
		"-I../../unreal/tests/stub", "-I"+module+"/Public", "-I"+lib+"/include", "-I"+to, "../../unreal/tests/session.cpp", module+"/Private/WorlddModule.cpp",
		"-o", to+"/session", "-L"+lib+"/lib", "-lworldd", "-Wl,-rpath,"+lib+"/lib")
	addr, fingerprint := servePlot(t)
	rows := beside(t, addr, fingerprint)
	out := run(t, nil, to+"/session", addr, fingerprint)
	checkSession(t, out, rows)
	checkPrediction(t, out)
}
