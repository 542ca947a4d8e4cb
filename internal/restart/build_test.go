//go:build unix

package restart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// root is the folder of the module.
const root = "../.."

// games are the programs of games: the folder of each, and its function that makes the world.
var games = map[string]struct{ folder, new string }{
	"worldd": {"cmd/worldd", "newWorld"},
	"arena":  {"server/host/examples/arena", "newArena"},
	"coins":  {"server/host/examples/coins", "newGame"},
}

// tools are other programs that write files.
var tools = map[string]string{"loadtest": "loadtest"}

// version is a build of a program.
type version int

const (
	shipped  version = iota
	upgraded         // with an additional component "mana", kind and command
	changed          // as upgraded, but "mana" has another type
)

// programs are folders with all programs in all versions.
type programs struct{ shipped, upgraded string }

// buildPrograms builds all programs.
func buildPrograms(t *testing.T) programs {
	dir := t.TempDir()
	p := programs{filepath.Join(dir, "shipped"), filepath.Join(dir, "upgraded")}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	addition := must.Get(filepath.Abs("testdata/upgrade.go"))
	var packages, all []string
	for name, g := range games {
		folder := must.Get(filepath.Abs(filepath.Join(root, g.folder)))
		main := filepath.Join(folder, "main.go")
		text := must.Get(os.ReadFile(main))
		definition := regexp.MustCompile(`\bNew:\s+` + g.new + `\b`)
		require.Len(t, definition.FindAll(text, -1), 1, "%s must name the function that makes its world once, as New: %s", main, g.new)
		patched := filepath.Join(dir, name+".go")
		require.NoError(t, os.WriteFile(patched, definition.ReplaceAll(text, []byte("New: upgrade("+g.new+")")), 0o600))
		overlay.Replace[main], overlay.Replace[filepath.Join(folder, "upgrade.go")] = patched, addition
		packages = append(packages, "./"+g.folder)
	}
	file := filepath.Join(dir, "overlay.json")
	text := must.Get(json.Marshal(overlay))
	require.NoError(t, os.WriteFile(file, text, 0o600))
	all = append(all, packages...)
	for _, folder := range tools {
		all = append(all, "./"+folder)
	}
	for _, args := range [][]string{append([]string{p.shipped}, all...), append([]string{p.upgraded, "-overlay=" + file}, packages...)} {
		require.NoError(t, os.MkdirAll(args[0], 0o700))
		c := exec.Command("go", append([]string{"build", "-ldflags=-s -w", "-o"}, args...)...)
		c.Dir = root
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return p
}

// command returns a command that runs a program in a folder.
func (p programs) command(t *testing.T, name string, v version, dir string, args ...string) *exec.Cmd {
	folder := p.upgraded
	if v == shipped {
		folder = p.shipped
	}
	c := exec.CommandContext(t.Context(), filepath.Join(folder, name), args...)
	c.Dir, c.Env = dir, os.Environ()
	if v == changed {
		c.Env = append(c.Env, "RESTART_TEST_CHANGED=1")
	}
	return c
}
