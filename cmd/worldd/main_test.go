package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/racetest"
)

func TestMain(m *testing.M) { programtest.RunMain(m, func(string) { main() }) }

// worldd runs a command line in this process.
func worldd(t *testing.T, args ...string) (status int, out, err string) {
	t.Helper()
	var stdout, stderr programtest.Screen
	status = run(t.Context(), args, streams{strings.NewReader(""), &stdout, &stderr})
	return status, stdout.String(), stderr.String()
}

func TestUsage(t *testing.T) {
	racetest.SkipUnchecked(t)
	for _, args := range [][]string{
		nil,
		{"bogus"},
		{"serve", "--bogus"},
		{"demo", "--bots=0"},
		{"demo", "--bots=many"},
		{"demo", "--duration=-1s"},
		{"serve", "--max-sessions=-1"},
		{"serve", "--max-sessions-per-address=-1"},
		{"serve", "--cert=a.pem"},
		{"serve", "--image-every=5s"},
		{"serve", "--image-keep=2"},
		{"serve", "--image-generation=1"},
		{"serve", "--image=x", "--image-keep=-1"},
		{"serve", "--image=x", "--image-keep=101"},
		{"serve", "--record-mb=0"},
		{"serve", "--record=x", "--record-mb=-1"},
		{"serve", "--record=x", "--record-mb=9300000000001"},
		{"serve", "--record=x", "--record-rooms=-1"},
		{"serve", "--image=x", "--image-rooms=-1"},
		{"serve", "--image=x", "--image-mb=-1"},
		{"serve", "--image=x", "--image-prune-after=1m"},
		{"serve", "--image-mb=1"},
		{"serve", "--qlog-dir=."},
		{"serve", "--audience=here"},
		{"serve", "--bans=list"},
		{"serve", "--token-spent=file"},
		{"serve", "--one-session-per-user"},
		{"serve", "--web-origin=https://game.example"},
		{"token", "issue", "--key=k", "--user=u", "--session=-1s"},
		{"check"},
		{"bots"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			status, out, err := worldd(t, args...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, "Usage: worldd")
			require.Contains(t, err, "\nworldd: ")
			if len(args) > 1 {
				require.Less(t, strings.Count(err, "\n"), 10, "the mistake is in sight: %s", err)
			}
		})
	}
	status, out, err := worldd(t, "--help")
	require.Equal(t, exitOK, status)
	require.Contains(t, out, "demo")
	require.NotContains(t, out, "bots --", "the child's command is not for people")
	require.Empty(t, err)
}

// The reference of world files is in the binary.
func TestHelpWorld(t *testing.T) {
	status, out, err := worldd(t, "help", "world")
	require.Equal(t, exitOK, status)
	require.Empty(t, err)
	require.Contains(t, out, "limits.max_players")
	require.NotContains(t, out, "```")
	_, example, _ := strings.Cut(out, "## An example\n\n")
	path := filepath.Join(t.TempDir(), "example.yaml")
	require.NoError(t, os.WriteFile(path, []byte(example), 0o600))
	status, out, err = worldd(t, "check", path)
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, "world meadow")
}

// A misspelled command is met with a list, not with a page.
func TestMisspelledCommand(t *testing.T) {
	status, _, err := worldd(t, "srve")
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, `worldd: unexpected argument srve, did you mean "serve"?`)
	require.Less(t, strings.Count(err, "\n"), 30, err)
}

func TestVersion(t *testing.T) {
	status, out, err := worldd(t, "version")
	require.Equal(t, exitOK, status)
	require.Regexp(t, `^worldd \S+, protocol 5, go\S+ `+runtime.GOOS+"/"+runtime.GOARCH+", kernels (go|avx2|avx512)\n$", out)
	require.Empty(t, err)
}

// wrongWorld has a mistake in line 3.
const wrongWorld = "name: wrong\nseed: 1\ngravitas: 9.81\n"

// TestWrongWorlds: every command rejects a wrong world in the same way and starts
// nothing.
func TestWrongWorlds(t *testing.T) {
	racetest.SkipUnchecked(t)
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	require.NoError(t, os.WriteFile(wrong, []byte(wrongWorld), 0o600))
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	for _, command := range [][]string{{"check"}, {"serve", "--listen=127.0.0.1:0", "--world"}, {"demo", "--json", "--world"}} {
		t.Run(command[0], func(t *testing.T) {
			status, out, err := worldd(t, append(command, wrong)...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, wrong+":3:1: ")
			require.Contains(t, err, "    3 | gravitas: 9.81\n")
			require.Contains(t, err, "expected")

			status, out, err = worldd(t, append(command, missing)...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, missing)
			require.Contains(t, err, "(the embedded worlds are calm, storm); worldd help world")
			require.NotContains(t, err, "did you mean")

			status, out, err = worldd(t, append(command, "strom")...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, "; did you mean storm? (the embedded worlds are calm, storm)")

			status, out, err = worldd(t, append(command, t.TempDir())...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Regexp(t, "^worldd: .*is a directory\n$", err)
		})
	}
}

func TestCheck(t *testing.T) {
	status, out, err := worldd(t, "check", "storm")
	require.Equal(t, exitOK, status)
	require.Empty(t, err)
	require.Equal(t, "storm: ok: world storm, 60 Hz, 20 snapshots/s, 3 kinds, 3 effects, 10000 entities at the start, "+
		"300 spawned a second, at most 16384 with 1024 players\n", out)
}

// TestCheckWarns: a valid world whose effects take too much of a tick causes a warning.
func TestCheckWarns(t *testing.T) {
	racetest.SkipUnchecked(t)
	world := strings.Replace(room(2, 60000), "kinds:\n", "kinds:\n  crate: {body: {mass: 1}}\n", 1)
	world += "spawns:\n  - {kind: crate, count: 10000, region: {min: [-99, 0.5, -99], max: [99, 30, 99]}}\neffects:\n"
	open, end := strings.Repeat("curl_noise(", 5), strings.Repeat(")", 5)
	for i := range 64 {
		world += fmt.Sprintf("  heavy_%d:\n    mode: wind\n    center: [0, 0, 0]\n    text: |\n      effect heavy\n      everywhere\n      output += %sposition / %d%s\n", i, open, i+3, end)
	}
	path := filepath.Join(t.TempDir(), "heavy.yaml")
	require.NoError(t, os.WriteFile(path, []byte(world), 0o600))
	status, out, err := worldd(t, "check", path)
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, ": ok: world room")
	require.Regexp(t, `^\S+heavy.yaml: warning: effects may take about [\d.]+ ms of a tick of 16.7 ms, if no body in them sleeps: heavy_\d+ [\d.]+ ms \(10002 bodies\), .*, 61 more\n$`, err)
}

// TestCheckWarnsOfTime: lines in which time grows for ever are named, of effects that never end.
func TestCheckWarnsOfTime(t *testing.T) {
	world := room(2, 60000) + `effects:
  swing:
    mode: wind
    center: [0, 0, 0]
    text: |
      everywhere
      output.x += sin(time / 2 + position.x)
  front:
    mode: wind
    center: [0, 0, 0]
    text: |
      everywhere
      output.x += 3
      output.y += saturate(position.x - 4 * time)
`
	path := filepath.Join(t.TempDir(), "fronts.yaml")
	require.NoError(t, os.WriteFile(path, []byte(world), 0o600))
	status, out, err := worldd(t, "check", path)
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, ": ok: world room")
	require.Regexp(t, `^\S+fronts.yaml: warning: effect front, line 3: time grows here for ever, .*: output.y \+= saturate\(position.x - 4 \* time\)\n$`, err)

	effect := filepath.Join(t.TempDir(), "front.field")
	require.NoError(t, os.WriteFile(effect, []byte("output.x += 3\noutput.y += position.x * time\n"), 0o600))
	status, out, err = worldd(t, "effect", "check", effect)
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, ": ok: an effect without a name")
	require.Contains(t, err, "warning: "+effect+":2:1: time grows here for ever")
}

// TestCheckWarnsOfEffectsThatKeepAwake: a wind that changes everywhere is named, unless nothing
// feels it.
func TestCheckWarnsOfEffectsThatKeepAwake(t *testing.T) {
	for _, c := range []struct{ body, effect, want string }{
		{"{mass: 1, drag: 1}", "mode: wind, shipped: wind", "no body sleeps that feels breeze: "},
		{"{mass: 1}", "mode: wind, shipped: wind", ""},
		{"{mass: 1}", "mode: acceleration, shipped: wind", "no body sleeps that feels breeze: "},
		{"{kinematic: true}", "mode: acceleration, shipped: wind", ""},
		{"{mass: 1, drag: 1}", "mode: wind, shipped: wind, params: {carried: 0}", ""},
		{"{mass: 1, drag: 1}", "mode: wind, shipped: gust", ""},
	} {
		world := strings.Replace(room(2, 60000), "kinds:\n", "kinds:\n  crate: {body: "+c.body+"}\n", 1) + "effects:\n  breeze: {" + c.effect + "}\n"
		path := filepath.Join(t.TempDir(), "windy.yaml")
		require.NoError(t, os.WriteFile(path, []byte(world), 0o600))
		status, _, err := worldd(t, "check", path)
		require.Equal(t, exitOK, status, err)
		require.Equal(t, c.want != "", err != "", "%s: %s", c.effect, err)
		require.Contains(t, err, c.want)
	}
}

// TestCannotServe: one clear line, a status that distinguishes usage errors from
// transient ones, and nothing left behind.
func TestCannotServe(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))
	defer taken.Close()
	folder := t.TempDir()
	record := filepath.Join(folder, "running.recording")
	require.NoError(t, os.WriteFile(record, []byte("of the server that has the port"), 0o600))
	image := filepath.Join(folder, "image")
	for _, c := range []struct {
		status int
		args   []string
	}{
		{exitError, []string{"--listen", taken.LocalAddr().String()}},
		{exitError, []string{"--listen", taken.LocalAddr().String(), "--record", record}},
		{exitUsage, []string{"--listen", "nowhere"}},
		{exitUsage, []string{"--listen", "127.0.0.1:99999"}},
		{exitUsage, []string{"--listen", "127.0.0.1:"}},
		{exitUsage, []string{"--listen", "127.0.0.1:game"}},
		{exitUsage, []string{"--listen", "my server:4433"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "nowhere"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:99999"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "my server:4434"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--commands-per-second=-1"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--command-burst=-1"}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "0.0.0.0:0", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", ":0", "--admin-host", "ops.example", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-token", "missing", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-token", os.DevNull, "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-client-ca", os.DevNull, "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--admin-cert", "missing", "--admin-key", "missing", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--workers", "1000", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--max-sessions", "100000", "--image", image}},
		{exitUsage, []string{"--listen", "127.0.0.1:0", "--cert", "missing.pem", "--key", "missing.pem", "--image", image}},
		{exitError, []string{"--listen", "127.0.0.1:0", "--identity", filepath.Join("nowhere", "identity.pem")}},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			status, out, err := worldd(t, append([]string{"serve", "--world=calm"}, c.args...)...)
			require.Equal(t, c.status, status, "%s", err)
			require.Empty(t, out)
			require.Equal(t, 1, strings.Count(err, "\n"), "%s", err)
			require.True(t, strings.HasPrefix(err, "worldd: "), "%s", err)
		})
	}
	require.Empty(t, must.Get(filepath.Glob(image+"*")), "a wrong command line starts nothing")
	require.Equal(t, "of the server that has the port", string(must.Get(os.ReadFile(record))))
}

// TestMisspelledVariable: a variable that resembles a flag's is reported; another
// program's is not.
func TestMisspelledVariable(t *testing.T) {
	t.Setenv("WORLDD_LISTN", "127.0.0.1:0")
	t.Setenv("WORLDD_SCENARIO", "roam") // of loadtest
	t.Setenv("WORLDD_KERNELS", "")      // of internal/cpu
	t.Setenv("WORLDD_WORLD", "calm")
	t.Setenv("LISTEM", "1")
	status, _, err := worldd(t, "version")
	require.Equal(t, exitOK, status)
	require.Equal(t, "worldd: WORLDD_LISTN sets nothing; did you mean WORLDD_LISTEN?\n", err)
}

// TestEnvironment: a flag wins over the environment, which wins over the default.
func TestEnvironment(t *testing.T) {
	t.Setenv("WORLDD_WORLD", "missing-by-environment.yaml")
	_, _, err := worldd(t, "serve", "--listen=127.0.0.1:0")
	require.Contains(t, err, "missing-by-environment.yaml")
	_, _, err = worldd(t, "serve", "--listen=127.0.0.1:0", "--world=missing-by-flag.yaml")
	require.Contains(t, err, "missing-by-flag.yaml")
}

// The bots' storm is repeated tick by tick: journals and recordings of it are valid.
func TestCheckDeterminism(t *testing.T) {
	status, out, err := worldd(t, "check", "--determinism", "--ticks=60", "../../internal/scenes/worlds/storm.yaml")
	require.Equal(t, exitOK, status, err)
	require.Contains(t, out, "storm.yaml: deterministic: 84 ticks of 8 bots, repeated in two halves: 336 hashes are equal\n")
}
