//go:build unix

package restart

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// root is the folder of the module.
const root = "../.."

// games are the tested programs, by name.
var games = map[string]game{
	"worldd": {"cmd/worldd", "newWorld", nil},
	"arena": {"server/host/examples/arena", "newRoom", []edit{
		{"game.go", "Kills uint16 `net:\"bits=10\"`", "Rank uint8\n Kills uint16 `net:\"bits=12\"`"},
		{"server.go", "Pilot{t.Name, t.Kills}", "Pilot{Name: t.Name, Kills: t.Kills}"},
		{"game.go", "X, Z float32 `net:\"range=-1..1,step=1/16\"`", "Boost bool\n X, Z float32 `net:\"range=-2..2,step=1/32\"`"},
		{"game.go", "Aim float32 `net:\"angle,bits=12\"` // the direction", "Charge uint8\n Aim float32 `net:\"angle,bits=14\"` // the direction"},
		{"game.go", "By, Of string `net:\"max=16\"`", "Metres float32\n By, Of string `net:\"max=24\"`"},
	}},
	"coins": {"server/host/examples/coins", "newGame", []edit{
		{"main.go", "type Purse struct{ Coins uint16 }", "type Purse struct { Gems uint8 `net:\"owner\"`; Coins uint16 }"},
		{"main.go", "X, Z float32 `net:\"range=-1..1,step=1/127\"`", "Jump bool\n X, Z float32 `net:\"range=-2..2,step=1/255\"`"},
	}},
	"neighbours": {"server/host/examples/neighbours", "newRoom", nil},
}

// game is a program of a game.
type game struct {
	folder string
	new    string // its function that makes the world
	// edits make the game's next version, beside testdata/upgrade.go. Clients of both versions play on
	// servers of both.
	edits []edit
}

// edit replaces a text that a file has once.
type edit struct{ file, old, new string }

// tools are other programs that write files.
var tools = map[string]string{"loadtest": "loadtest"}

// version is a build of a program.
type version int

const (
	shipped  version = iota
	upgraded         // with other fields, and an additional component "mana", kind and command
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
		overlay.Replace[filepath.Join(folder, "upgrade.go")] = addition
		for path, text := range g.upgrade(t, folder) {
			patched := filepath.Join(dir, name+"-"+filepath.Base(path))
			require.NoError(t, os.WriteFile(patched, []byte(text), 0o600))
			overlay.Replace[path] = patched
		}
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

// upgrade returns the files of the game's next version that differ, by path.
func (g game) upgrade(t *testing.T, folder string) map[string]string {
	files := map[string]string{}
	call := regexp.MustCompile(`\bNew:\s+` + g.new + `\b`).FindString(string(must.Get(os.ReadFile(filepath.Join(folder, "main.go")))))
	for _, e := range append(g.edits, edit{"main.go", call, "New: upgrade(" + g.new + ")"}) {
		path := filepath.Join(folder, e.file)
		if files[path] == "" {
			files[path] = string(must.Get(os.ReadFile(path)))
		}
		require.Equal(t, 1, strings.Count(files[path], e.old), "%s must have once: %s", path, e.old)
		files[path] = strings.Replace(files[path], e.old, e.new, 1)
	}
	return files
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
