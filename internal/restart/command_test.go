//go:build unix

package restart

import (
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/server/token"
	"github.com/worldd/worldd/world"
)

// commands are the commands that write files and end. Each has all options that name files to
// write.
var commands = []command{
	{program: "worldd", command: "demo", args: []string{"--world=calm", "--bots=1", "--duration=1s", "--html=page.html"}, writes: map[string]check{"page.html": isPage}, talks: true},
	{program: "loadtest", command: "loadtest", args: []string{"--addr=ADDRESS", "--insecure-dev", "--admin=ADMIN", "--bots=1", "--duration=1s", "--html=page.html", "--profile=profiles"}, writes: map[string]check{
		"page.html": isPage, "profiles/cpu.pprof": isProfile, "profiles/heap.pprof": isProfile, "profiles/goroutine.pprof": isProfile,
	}, talks: true},
	{program: "worldd", command: "train", args: []string{"storm.recording", "--out=tables"}, writes: map[string]check{"tables": isTables}},
	{program: "worldd", command: "image migrate", args: []string{"storm.image", "--out=new.image"}, writes: map[string]check{"new.image": isImage}, once: "exists"},
	{program: "worldd", command: "effect fmt", args: []string{"own.effect", "--write"}, input: "effect wind\neverywhere\noutput += (1,0,0)\n", writes: map[string]check{"own.effect": isEffect}},
	{program: "worldd", command: "token new", args: []string{"key"}, writes: map[string]check{"key": isKey, "key.pub": isAny}, once: "exists"},
}

// command is a row of the table.
type command struct {
	program string
	command string // empty for the program loadtest
	args    []string
	input   string           // content of the effect that it writes
	writes  map[string]check // files to write
	talks   bool             // prints something before it writes
	once    string           // part of the output of a refused second run; "" if a second run replaces the files
}

// check fails unless a file's content is complete.
type check func(t *testing.T, content string)

func isAny(t *testing.T, content string) { require.NotEmpty(t, content) }

func isPage(t *testing.T, content string) {
	require.True(t, strings.HasSuffix(strings.TrimSpace(content), "</html>"), "a whole page")
}

func isProfile(t *testing.T, content string) {
	r := must.Get(gzip.NewReader(strings.NewReader(content)))
	must.Get(io.Copy(io.Discard, r))
}

func isTables(t *testing.T, content string) {
	must.Get(client.ParseTables([]byte(content)))
}

func isImage(t *testing.T, content string) {
	require.Positive(t, must.Get(world.ReadImageInfo(strings.NewReader(content))).Entities)
}

func isEffect(t *testing.T, content string) {
	require.Equal(t, must.Get(field.Format(content)), content)
}

func isKey(t *testing.T, content string) {
	must.Get(token.NewIssuer(strings.TrimSpace(content)))
}

// testCommands: a command that is killed leaves each file unchanged or complete. A command with
// a wrong command line changes nothing.
func testCommands(t *testing.T, built programs) {
	inputs := t.TempDir()
	recordStorm(t, built, inputs)
	addr, admin := startCalm(t, built, inputs)
	tests := map[string]func(*testing.T){}
	for _, row := range commands {
		tests[row.command] = func(t *testing.T) {
			c := &commandRuns{T: t, command: row, built: built, dir: t.TempDir(), addresses: strings.NewReplacer("ADDRESS", addr, "ADMIN", admin)}
			for _, name := range stormFiles {
				data := must.Get(os.ReadFile(filepath.Join(inputs, name)))
				require.NoError(t, os.WriteFile(filepath.Join(c.dir, name), data, 0o600))
			}
			c.refuse(2, "no-such-option", "--no-such-option")
			for n := range 5 {
				c.complete(n)
				c.kill(n)
			}
			c.refuse(2, "no-such-option", "--no-such-option")
		}
	}
	runAtOnce(t, tests)
}

// commandRuns are the runs of a command in a folder.
type commandRuns struct {
	*testing.T
	command
	built     programs
	dir       string
	addresses *strings.Replacer
}

func (c *commandRuns) start(args ...string) *process {
	all := slices.Concat(strings.Fields(c.command.command), c.args, args)
	if c.program == "loadtest" {
		all = all[1:]
	}
	for n := range all {
		all[n] = c.addresses.Replace(all[n])
	}
	return startProcess(c.T, c.built.command(c.T, c.program, shipped, c.dir, all...))
}

// refuse makes a run that must fail, and change nothing.
func (c *commandRuns) refuse(status int, why string, args ...string) {
	before := readDisk(c.T, c.dir)
	p := c.start(args...)
	require.Equal(c, status, p.wait(), &p.screen)
	require.Contains(c, p.screen.String(), why)
	requireSame(c.T, before, readDisk(c.T, c.dir), "a command that is refused changes nothing")
}

// complete makes an uninterrupted run.
func (c *commandRuns) complete(n int) {
	if n > 0 && c.once != "" {
		c.refuse(1, c.once)
		return
	}
	if c.input != "" {
		require.NoError(c, os.WriteFile(filepath.Join(c.dir, "own.effect"), []byte(c.input), 0o600))
	}
	before := readDisk(c.T, c.dir)
	var p *process
	status := 0
	programtest.PlayLonger(c, "1s", "30s", func(duration string) (string, bool) {
		var more []string
		if c.talks { // it has a bot
			more = []string{"--duration=" + duration}
		}
		p = c.start(more...)
		status = p.wait()
		return p.screen.String(), status == 0
	})
	require.Zero(c, status, &p.screen)
	after := readDisk(c.T, c.dir)
	for name := range c.writes {
		require.True(c, before[name] != after[name], "%s is written", name)
	}
	require.Len(c, after.leftovers(), len(before.leftovers()), "no temporary file")
	c.requireWhole()
}

// kill makes a run that is killed, in every second case after its first output.
func (c *commandRuns) kill(n int) {
	p := c.start()
	if n%2 == 1 && c.talks {
		p.await("says anything", func() bool { return p.screen.String() != "" })
	}
	_ = p.cmd.Process.Kill() // it may have ended
	p.wait()
	c.requireWhole()
}

// requireWhole fails unless all files are complete, and there are no others except temporary
// files. A killed command's temporary files stay: a command has no lock that would prove them
// abandoned.
func (c *commandRuns) requireWhole() {
	all := readDisk(c.T, c.dir)
	for _, name := range all.leftovers() {
		delete(all, name)
	}
	for name, isWhole := range c.writes {
		isWhole(c.T, all[name].content)
		delete(all, name)
		delete(all, filepath.Dir(name))
	}
	for _, name := range stormFiles {
		delete(all, name)
	}
	require.Empty(c, slices.Collect(maps.Keys(all)), "unknown files")
}

// stormFiles are what recordStorm writes for commands to read.
var stormFiles = []string{"storm.recording", "storm.image"}

// recordStorm records and saves a second of storm.
func recordStorm(t *testing.T, built programs, dir string) {
	p := startProcess(t, built.command(t, "worldd", shipped, dir, "serve", "--listen=127.0.0.1:0", "--record=storm.recording", "--image=storm.image"))
	c := must.Get(client.Dial(t.Context(), client.Config{Addr: p.said(`"msg":"serving","addr":"(\S+?)"`)[1], InsecureDev: true}))
	for c.Replica().Tick() < 60 {
		require.NoError(t, c.Wait(t.Context()))
		require.NoError(t, c.Update())
	}
	require.NoError(t, c.Close())
	require.Zero(t, p.end(syscall.SIGTERM), &p.screen)
}

// startCalm starts a server for commands, and returns its addresses.
func startCalm(t *testing.T, built programs, dir string) (addr, admin string) {
	p := startProcess(t, built.command(t, "worldd", shipped, dir, "serve", "--world=calm", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0"))
	addr = p.said(`"msg":"serving","addr":"(\S+?)"`)[1]
	return addr, p.said(`admin on http://(\S+)`)[1]
}
