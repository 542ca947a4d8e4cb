package engines

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cstruct"
)

// A script plays a session in Godot 3, with the class WorlddClient and the types of `schema --lang gd`.
func TestGodot(t *testing.T) {
	need(t, "godot3-server", "godot3-server")
	lib, project := builtLibrary(t), t.TempDir()
	script, err := cstruct.GDScript(plot, "godot_test.go")
	require.NoError(t, err)
	files := map[string]string{"project.godot": "config_version=4\n", "plot.gd": script}
	for _, name := range []string{"worldd.gdnlib", "worldd.gdns", "tests/session.gd"} {
		text, err := os.ReadFile("../../godot/" + name)
		require.NoError(t, err)
		files[filepath.Base(name)] = string(text)
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(project, name), []byte(text), 0o600))
	}
	run(t, nil, "gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-I"+lib+"/include",
		"../../godot/worldd_godot.c", "-o", project+"/libworldd_godot.so", "-L"+lib+"/lib", "-lworldd", "-Wl,-rpath,"+lib+"/lib")
	addr, fingerprint := servePlot(t)
	rows := beside(t, addr, fingerprint)
	out := run(t, []string{"HOME=" + project, "PLOT_ADDRESS=" + addr, "PLOT_FINGERPRINT=" + fingerprint}, "godot3-server", "--path", project, "-s", "session.gd")
	checkSession(t, out, rows)
	checkPrediction(t, out)
	require.NotContains(t, out, "mistake")
	require.NotRegexp(t, `(?m)^(not|no) `, out)
}
