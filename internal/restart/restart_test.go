//go:build unix

package restart

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/shorttest"
)

// Files survive the processes that write them.
func TestRestarts(t *testing.T) {
	shorttest.Skip(t, "builds and starts programs for half a minute")
	built := buildPrograms(t)
	runAtOnce(t, map[string]func(*testing.T){
		"servers":   func(t *testing.T) { testServers(t, built) },
		"clients":   func(t *testing.T) { testClients(t, built) },
		"commands":  func(t *testing.T) { testCommands(t, built) },
		"kills":     func(t *testing.T) { testKills(t, built) },
		"handovers": func(t *testing.T) { testHandOvers(t, built) },
		"options":   func(t *testing.T) { testOptions(t, built) },
	})
}

// runAtOnce runs tests at the same time, even on few processors, since they wait for processes.
func runAtOnce(t *testing.T, tests map[string]func(*testing.T)) {
	var all sync.WaitGroup
	for name, test := range tests {
		all.Go(func() { t.Run(name, test) })
	}
	all.Wait()
}

// onlyRead lists, by command, the options and arguments that name files to read.
var onlyRead = map[string][]string{
	"serve":          {"world", "config", "cert", "key", "admin-token", "admin-cert", "admin-key", "admin-client-ca", "tables", "token-keys", "bans", "cluster-ca", "cluster-cert", "cluster-key"},
	"cluster status": {"cluster-ca", "cluster-cert", "cluster-key"},
	"cluster forget": {"cluster-ca", "cluster-cert", "cluster-key"},
	"cluster adopt":  {"cluster-ca", "cluster-cert", "cluster-key"},
	"cluster move":   {"admin-token", "admin-cert"},
	"cluster drain":  {"admin-token", "admin-cert"},
	"demo":           {"world", "config", "cluster-ca", "cluster-cert", "cluster-key"},
	"loadtest":       {"config", "tables", "token-key", "admin-token", "baseline"},
	"check":          {"file"},
	"replay":         {"file", "world"},
	"train":          {"file", "world"},
	"image info":     {"file"},
	"image verify":   {"file", "world"},
	"image migrate":  {"file", "world"},
	"inspect":        {"file", "world", "tables"},
	"schema":         {"token-file", "tables"},
	"watch":          {"token-file", "tables"},
	"token issue":    {"key"},
	"health":         {"admin-cert"},
	"effect check":   {"file"},
	"effect explain": {"file"},
	"effect hash":    {"file"},
	"play":           {"token-file", "tables"},
}

// elsewhere lists options whose files other tests cover.
var elsewhere = map[string]string{
	"identity --file":      "made once, as by serve --identity, and kept: TestIdentity",
	"serve --image-shared": "the newest image of each room, of all nodes: TestRollingRestart",
	"serve --qlog-dir":     "each recording makes a file of its own: TestQlogOnDemand",
}

var (
	subcommand   = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)*)(?: |$)`)
	fileOption   = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)=(?:FILE|DIR)`)
	fileArgument = regexp.MustCompile(`(?m)^ +<(file)>`)
)

// testOptions: every option that names a file is in a table of this package. A new option fails
// until it is.
func testOptions(t *testing.T, built programs) {
	written := writtenOptions()
	found := map[string]bool{}
	help := func(program string, words ...string) string {
		out, err := built.command(t, program, shipped, t.TempDir(), append(words, "--help")...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	look := func(command, text string) {
		for _, option := range append(fileOption.FindAllStringSubmatch(text, -1), fileArgument.FindAllStringSubmatch(text, -1)...) {
			if slices.Contains(onlyRead[command], option[1]) {
				continue
			}
			name := command + " --" + option[1]
			found[name] = true
			if elsewhere[name] == "" {
				require.Contains(t, written, name, "an option that names a file: is it written? Add a row, or list it in onlyRead")
			}
		}
	}
	for program := range games {
		_, list, _ := strings.Cut(help(program), "\nCommands:\n")
		require.NotEmpty(t, list)
		for _, match := range subcommand.FindAllStringSubmatch(list, -1) {
			if match[1] != "help" && match[1] != "version" {
				look(match[1], help(program, strings.Fields(match[1])...))
			}
		}
	}
	look("loadtest", help("loadtest"))
	require.Greater(t, len(found), 8)
}

// writtenOptions returns the options that the rows of the tables use, each after its command.
// An argument without a name counts as the option "file".
func writtenOptions() map[string]bool {
	all := map[string]bool{}
	add := func(command string, args []string) {
		for _, arg := range args {
			name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if !strings.HasPrefix(arg, "-") {
				name = "file"
			}
			all[command+" --"+name] = true
		}
	}
	for _, s := range servers {
		add("serve", s.args)
	}
	for _, c := range commands {
		add(c.command, c.args)
	}
	return all
}

// Every program of this module that serves a game is in the tables.
func TestPrograms(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root {
			_, missing := os.Stat(filepath.Join(path, "go.mod"))
			if missing == nil {
				return filepath.SkipDir // a module of its own tests its programs
			}
		}
		if err != nil || entry.IsDir() || entry.Name() != "main.go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), "host.Main(") {
			return err
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "go.mod")); err == nil {
			return nil // a module of its own kills its program itself
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		for name, g := range games {
			if g.folder == folder {
				require.True(t, slices.ContainsFunc(servers, func(s server) bool { return s.program == name }), "%s has no row", name)
				return err
			}
		}
		require.Fail(t, "a program without a row", path)
		return err
	}))
}
