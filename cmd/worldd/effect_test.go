package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
)

const updraft = `effect updraft
param strength = 9 in 0..100
param drift = (1, 0, 0.5)
box (-4, 0, -4) (4, 20, 4)
wind = mul (0, 1, 0), strength
wind = add wind, drift
output = add output, wind
`

// wrongEffect has a mistake in line 2, column 8.
const wrongEffect = "effect wrong\nwind = normalise position\noutput = add output, wind\n"

// effectFile writes an effect to a temporary file.
func effectFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestEffectCheck(t *testing.T) {
	right := effectFile(t, "updraft.field", updraft)
	status, out, err := worldd(t, "effect", "check", right)
	require.Equal(t, exitOK, status)
	require.Equal(t, right+": ok: effect updraft, 2 parameters, box (-4, 0, -4) (4, 20, 4)\n", out)
	require.Empty(t, err)

	wrong := effectFile(t, "wrong.field", wrongEffect)
	status, out, err = worldd(t, "effect", "check", wrong, right)
	require.Equal(t, exitError, status)
	require.Contains(t, out, right+": ok", "the others are looked at too")
	require.True(t, strings.HasPrefix(err, wrong+`:2:8: there is no operation "normalise"; expected `), "%s", err)
	require.True(t, strings.HasSuffix(err, "\n\twind = normalise position\n\t       ^\n"), "%s", err)

	unused := effectFile(t, "unused.field", "effect unused\nparam speed = 3 # m/s\n  param widht = 2 in 0..9\nparam drift = (1, 0, 0)\nlet w = widht + 1\noutput += drift * drift.x\n")
	status, out, err = worldd(t, "effect", "check", unused)
	require.Equal(t, exitError, status)
	require.Empty(t, out)
	const expected = "; expected a line that uses it, or no such parameter\n"
	require.Equal(t, unused+`:2:7: the output does not depend on the parameter "speed"`+expected+"\tparam speed = 3 # m/s\n\t      ^\n"+
		unused+`:3:9: the output does not depend on the parameter "widht"`+expected+"\t  param widht = 2 in 0..9\n\t        ^\n", err)

	bom := effectFile(t, "windows.field", "\ufeffeverywhere\r\noutput = add output, (1, 0, 0)\r\n")
	status, out, _ = worldd(t, "effect", "check", bom)
	require.Equal(t, exitOK, status)
	require.Equal(t, bom+": ok: an effect without a name, 0 parameters, everywhere\n", out)
}

func TestEffectHash(t *testing.T) {
	path := effectFile(t, "updraft.field", updraft)
	same := effectFile(t, "same.field", "# as before\n"+updraft)
	status, out, err := worldd(t, "effect", "hash", path, same)
	require.Equal(t, exitOK, status)
	require.Empty(t, err)
	require.Regexp(t, `^([0-9a-f]{16})  \S+updraft.field\n[0-9a-f]{16}  \S+same.field\n$`, out)
	lines := strings.Split(out, "\n")
	require.Equal(t, lines[0][:16], lines[1][:16], "comments are not part of the program")
}

// TestWrongEffects: every command rejects a wrong effect in the same way and writes nothing.
func TestWrongEffects(t *testing.T) {
	racetest.SkipUnchecked(t)
	huge := effectFile(t, "huge.field", "")
	require.NoError(t, os.Truncate(huge, 100<<20))
	for _, c := range []struct{ name, path, want string }{
		{"wrong", effectFile(t, "wrong.field", wrongEffect), ":2:8: there is no operation"},
		{"missing", filepath.Join(t.TempDir(), "none.field"), "cannot read the effect: no such file or directory"},
		{"a directory", t.TempDir(), "not a regular file: it is a directory"},
		{"empty", effectFile(t, "empty.field", " \n\n"), "the file is empty; an effect has at least a line like"},
		{"huge", huge, "the file exceeds the limit of 262144 bytes for an effect"},
		{"binary", effectFile(t, "binary.field", "\x89PNG\r\n\x1a\n\x00"), ":1:1: "},
		{"a world", "../../internal/scenes/worlds/storm.yaml", ":5:5: unexpected character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, command := range [][]string{{"check"}, {"hash"}, {"fmt"}, {"fmt", "-w"}, {"explain"}} {
				status, out, err := worldd(t, append(append([]string{"effect"}, command...), c.path)...)
				require.Equal(t, exitError, status)
				require.Empty(t, out)
				require.True(t, strings.HasPrefix(err, c.path+":"), "%s", err)
				require.Contains(t, err, c.want)
			}
		})
	}
}
