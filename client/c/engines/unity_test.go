package engines

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cstruct"
)

// compileUnity compiles the package for Unity and a test program with Mono, and returns the folder of both.
func compileUnity(t *testing.T) string {
	t.Helper()
	need(t, "mcs", "mono-mcs")
	need(t, "mono", "mono-runtime")
	to := t.TempDir()
	generated, err := cstruct.CSharp(plot, "plot", "unity_test.go")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, "Plot.cs"), []byte(generated), 0o600))
	sources, err := filepath.Glob("../../unity/Runtime/*.cs")
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	compile := func(args ...string) {
		run(t, nil, "mcs", append([]string{"-langversion:6", "-warn:4", "-warnaserror", "-out:" + to + "/" + args[0]}, args[1:]...)...)
	}
	compile(append([]string{"Worldd.dll", "-target:library"}, sources...)...)
	// Native arrays only against a stand-in for Unity's.
	compile(append([]string{"Stub.dll", "-target:library", "-unsafe", "-define:UNITY_5_3_OR_NEWER", "../../unity/Tests~/UnityStub.cs"}, sources...)...)
	compile("Program.exe", "-reference:"+to+"/Worldd.dll", "../../unity/Tests~/Program.cs", to+"/Plot.cs")
	return to
}

// A program in C# plays a session through the package for Unity. The structs of `schema --lang cs` are laid out as
// `schema --lang c` does it.
func TestUnity(t *testing.T) {
	to := compileUnity(t)
	layout := run(t, nil, "mono", to+"/Program.exe", "layout")
	for _, c := range plot.Components() {
		of := cstruct.Of(c.Fields, c.TextFields)
		name := strings.ToUpper(c.Name[:1]) + c.Name[1:]
		require.Contains(t, layout, fmt.Sprintf("\n%s %d\n", name, of.Size))
		for _, m := range of.Members {
			require.Contains(t, layout, fmt.Sprintf("%s %s %d %d\n", name, m.Path, m.Offset, m.Size()))
		}
	}
	require.Contains(t, layout, "\nInput 8\n")
	require.Contains(t, layout, "\nBreakAnswer 40\n")

	addr, fingerprint := servePlot(t)
	rows := beside(t, addr, fingerprint)
	out := run(t, []string{"LD_LIBRARY_PATH=" + builtLibrary(t) + "/lib"}, "mono", to+"/Program.exe", addr, fingerprint)
	checkSession(t, out, rows)
	require.Regexp(t, `(?m)^mistake WD_BadArgument: .*nowhere`, out)
	require.Contains(t, out, "state Joined code 0 flags None\n")
	checkPrediction(t, out)
}

// checkSession checks the words of a program that has played the session.
func checkSession(t *testing.T, out string, rows []string) {
	t.Helper()
	require.Len(t, rows, stones)
	require.Equal(t, rows, linesOf(out, "row"))
	require.Contains(t, out, "answer 0 verdict Live well done, Zoë!\n")
	require.Regexp(t, `(?m)^victim [0-9a-f]{16} Live$`, out)
	require.Contains(t, out, "\nplanted 0 Live\n")
	require.Regexp(t, `(?m)^stale [0-9a-f]{16} Stale controlled Live$`, out)
	require.Contains(t, out, "\nend\n")
}

// checkPrediction checks that a program has predicted its player as the server moves it, but for inputs that were late.
func checkPrediction(t *testing.T, out string) {
	t.Helper()
	line := linesOf(out, "predicted")
	require.Len(t, line, 1)
	var agreed, corrected, missed int
	_, err := fmt.Sscanf(line[0], "predicted %d agreed %d corrected %d missed", &agreed, &corrected, &missed)
	require.NoError(t, err)
	require.LessOrEqual(t, corrected-missed, 2, line[0])
	t.Log(line[0])
}
