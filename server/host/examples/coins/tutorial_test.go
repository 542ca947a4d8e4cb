package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/racetest"
)

// A passage is a fenced block of TUTORIAL.md.
type passage struct{ lang, text string }

func passages(t *testing.T) (list []passage) {
	t.Helper()
	page, err := os.ReadFile("TUTORIAL.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		list = append(list, passage{m[1], m[2]})
	}
	return list
}

// chunks splits a source file at the blank lines between its declarations.
func chunks(source string) []string {
	return strings.Split(regexp.MustCompile(`\n\n(\S)`).ReplaceAllString(strings.TrimSpace(source), "\n\x00$1"), "\n\x00")
}

// nameOf returns the declaration of a chunk, as "func main".
func nameOf(chunk string) string {
	return regexp.MustCompile(`(?m)^(package|import|(?:func|type|var) \w+)`).FindString(chunk)
}

// edit applies a step of the tutorial. A chunk replaces the one with its name. A new chunk is
// added before the one that follows it in the step, or at the end.
func edit(source, step string) string {
	file, edits := chunks(source), chunks(step)
	for i := len(edits) - 1; i >= 0; i-- {
		named := func(name string) int {
			return slices.IndexFunc(file, func(c string) bool { return nameOf(c) == name })
		}
		if at := named(nameOf(edits[i])); at >= 0 {
			file[at] = edits[i]
			continue
		}
		at := len(file)
		if i+1 < len(edits) {
			at = named(nameOf(edits[i+1]))
		}
		file = slices.Insert(file, at, edits[i])
	}
	return strings.Join(file, "\n\n") + "\n"
}

// build compiles source as a program of this module.
func build(t *testing.T, source, dir, program string) {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, dir, "main.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", overlay, "-o", program, "./"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// served is a server in the background. Its addresses replace those in the page.
type served struct {
	command *exec.Cmd
	replace *strings.Replacer
}

// serve starts a server on free ports.
func serve(t *testing.T, program string, args ...string) *served {
	t.Helper()
	s := &served{command: exec.CommandContext(t.Context(), program, args...)}
	s.command.Dir = filepath.Dir(program)
	out, err := s.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.command.Start())
	var pairs []string
	for lines := bufio.NewScanner(out); len(pairs) < 4; {
		require.True(t, lines.Scan(), "the server has ended")
		if m := regexp.MustCompile(`game coins on (\S+),`).FindStringSubmatch(lines.Text()); m != nil {
			pairs = append(pairs, "127.0.0.1:4433", m[1])
		}
		if m := regexp.MustCompile(`admin on http://(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			pairs = append(pairs, "127.0.0.1:4434", m[1])
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s.replace = strings.NewReplacer(pairs...)
	return s
}

func (s *served) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, s.command.Process.Signal(os.Interrupt))
	require.NoError(t, s.command.Wait())
}

// The page's program compiles and runs after each step, and is main.go at the end. Its commands
// succeed in their order. They run for a shorter time here, and without thresholds for this
// machine's speed.
func TestTutorial(t *testing.T) {
	racetest.SkipUnchecked(t) // the programs that it builds are without the race detector
	finished, err := os.ReadFile("main.go")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "coins")
	source, commands := "", 0
	var server *served
	for _, p := range passages(t) {
		switch {
		case strings.Contains(p.text, "// Command east"):
			east(t, program, p.text)
		case p.lang == "go" && source == "":
			source = p.text
		case p.lang == "go":
			source = edit(source, p.text)
			build(t, source, "", program) // even if the page does not say so
		case p.lang == "sh":
			for line := range strings.Lines(p.text) {
				commands++
				server = shell(t, program, source, strings.TrimSpace(line), server)
			}
		}
	}
	require.Equal(t, string(finished), source)
	require.Equal(t, 10, commands)
}

// shell runs a command of the page. It returns the server in the background.
func shell(t *testing.T, program, source, line string, server *served) *served {
	t.Helper()
	if line == "go build -o coins ." {
		build(t, source, "", program)
		return server
	}
	if line == "kill -INT %1" {
		server.interrupt(t)
		return nil
	}
	line = regexp.MustCompile(`_ms>\d+`).ReplaceAllString(line, "_ms>60000")
	if rest, background := strings.CutSuffix(line, " &"); background {
		args := strings.Fields(regexp.MustCompile(`:443[34]`).ReplaceAllString(rest, ":0"))
		return serve(t, program, args[1:]...)
	}
	if server != nil {
		line = server.replace.Replace(line)
	}
	args := strings.Fields(strings.ReplaceAll(line, "'", ""))
	require.Equal(t, "./coins", args[0])
	short := "1s"
	if strings.Contains(line, "tick_p99_ms") { // takes two samples of a second
		short = "3s"
	}
	var out []byte
	var err error
	programtest.PlayLonger(t, short, "30s", func(duration string) (string, bool) {
		if at := slices.Index(args, "--duration"); at >= 0 {
			args[at+1] = duration
		}
		command := exec.CommandContext(t.Context(), program, args[1:]...)
		command.Dir = filepath.Dir(program)
		out, err = command.CombinedOutput()
		return string(out), err == nil
	})
	require.NoError(t, err, "%s\n%s", line, out)
	return server
}

// east runs the page's client until it has printed something.
func east(t *testing.T, program, source string) {
	t.Helper()
	server := serve(t, program, "serve", "--listen=127.0.0.1:0", "--admin=127.0.0.1:0")
	client := filepath.Join(t.TempDir(), "east")
	build(t, source, "east", client)
	command := exec.CommandContext(t.Context(), client, server.replace.Replace("127.0.0.1:4433"))
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "0 coins at tick")
	require.NoError(t, command.Process.Kill())
	require.Error(t, command.Wait(), "killed")
	server.interrupt(t)
}
