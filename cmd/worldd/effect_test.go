package main

import (
	"bytes"
	"image/gif"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
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
	huge := effectFile(t, "huge.field", "")
	require.NoError(t, os.Truncate(huge, 100<<20))
	picture := filepath.Join(t.TempDir(), "out.png")
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
			for _, command := range [][]string{{"check"}, {"hash"}, {"fmt"}, {"fmt", "-w"}, {"explain"}, {"render", "--output", picture}} {
				status, out, err := worldd(t, append(append([]string{"effect"}, command...), c.path)...)
				require.Equal(t, exitError, status)
				require.Empty(t, out)
				require.True(t, strings.HasPrefix(err, c.path+":"), "%s", err)
				require.Contains(t, err, c.want)
			}
			require.NoFileExists(t, picture)
		})
	}
}

// render draws the updraft with some flags and returns the picture's bytes.
func render(t *testing.T, name string, flags ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	status, out, err := worldd(t, append([]string{"effect", "render", effectFile(t, "updraft.field", updraft), "-o", path}, flags...)...)
	require.Equal(t, exitOK, status, "%s", err)
	require.Empty(t, err)
	require.Contains(t, out, path+": effect updraft, ")
	picture, readErr := os.ReadFile(path)
	require.NoError(t, readErr)
	return picture
}

func TestEffectRender(t *testing.T) {
	plain := render(t, "plain.png")
	again := render(t, "again.png")
	require.True(t, bytes.Equal(plain, again))
	image := must.Get(png.Decode(bytes.NewReader(plain)))
	require.Greater(t, image.Bounds().Dx(), 300)
	for _, flags := range [][]string{
		{"--plane", "xy"},
		{"--at=3"},
		{"--region=-10,-5,10,5"},
		{"--time", "1.5"},
		{"--param", "strength=4"},
		{"--param", "drift=(3, 0, -1)"},
		{"--mode", "acceleration"},
	} {
		require.False(t, bytes.Equal(plain, render(t, "other.png", flags...)), "%v", flags)
	}
	require.True(t, bytes.Equal(plain, render(t, "default.PNG", "--at=10", "--param=strength=9", "--param", " drift = ( 1,0 , 0.5,0)")))
}

func TestEffectAnimate(t *testing.T) {
	film := must.Get(gif.DecodeAll(bytes.NewReader(render(t, "out.gif", "--animate", "--plane=xy", "--duration=1"))))
	require.Greater(t, len(film.Image), 20)
	sheet := render(t, "sheet.png", "--animate", "--plane=xy")
	require.False(t, bytes.Equal(sheet, render(t, "still.png", "--plane=xy")))
	require.False(t, bytes.Equal(sheet, render(t, "slow.png", "--animate", "--plane=xy", "--duration=0.1")))
}

// TestWrongPictures: wrong flags are reported, and nothing is written.
func TestWrongPictures(t *testing.T) {
	effect := effectFile(t, "updraft.field", updraft)
	picture := filepath.Join(t.TempDir(), "out.png")
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--plane=yx"}, `--plane: there is no plane "yx": it is xz (from above), xy or zy`},
		{[]string{"--mode=breeze"}, `--mode: unknown mode "breeze": want wind or acceleration`},
		{[]string{"--duration=1"}, "--duration needs --animate"},
		{[]string{"--animate", "--duration=0"}, "the duration is 0 s"},
		{[]string{"--region=1,2"}, `--region: "1,2" must be four numbers, as in --region=-10,-5,10,5`},
		{[]string{"--region=1,2,3,x"}, `--region: "1,2,3,x" must be four numbers`},
		{[]string{"--region=5,5,-5,-5"}, "or inverted"},
		{[]string{"--region=0,0,1,100"}, "at most 4 times as long"},
		{[]string{"--at=NaN"}, "y is NaN: want -1e+06 to 1e+06"},
		{[]string{"--time=1e9"}, "time is 1e+09"},
		{[]string{"--param=strenght=4"}, `the effect has no parameter "strenght"; did you mean strength? (it has strength, drift)`},
		{[]string{"--param=power=4"}, `the effect has no parameter "power"; it has strength, drift`},
		{[]string{"--param=strength=101"}, "--param strength=101: strength must be from 0 to 100"},
		{[]string{"--param=strength=(1, 2, 3)"}, "strength is a number, not a vector"},
		{[]string{"--param=strength"}, "a value is missing; expected NAME=VALUE"},
		{[]string{"--param=strength=much"}, `"much" is not a number; expected one like 80`},
		{[]string{"--param=strength=Inf"}, `"Inf" is not a number`},
		{[]string{"--param=strength=1e99"}, `"1e99" is not a number`},
		{[]string{"--param=drift=(1, 2)"}, "(1, 2) is not a vector; expected one like (1, 2, 3)"},
		{[]string{"--param=drift=(1, 2, 3"}, "(1, 2, 3 is not a vector"},
		{[]string{"--param=drift=(1, , 3)"}, `"" is not a number`},
		{[]string{"--param=strength=1", "--param=strength=2"}, "strength is set twice"},
	} {
		t.Run(strings.Join(c.flags, " "), func(t *testing.T) {
			status, out, err := worldd(t, append([]string{"effect", "render", effect, "-o", picture}, c.flags...)...)
			require.Equal(t, exitUsage, status)
			require.Empty(t, out)
			require.Contains(t, err, c.want)
			require.NoFileExists(t, picture)
		})
	}
	for output, want := range map[string]string{
		"out.jpg": "must end in .png or, with --animate, in .gif",
		"out":     "must end in .png",
		"out.gif": "a .gif needs --animate",
	} {
		status, _, err := worldd(t, "effect", "render", effect, "-o", output)
		require.Equal(t, exitUsage, status)
		require.Contains(t, err, want)
	}
	status, _, err := worldd(t, "effect", "render", effect)
	require.Equal(t, exitUsage, status)
	require.Contains(t, err, "missing flags: --output=FILE")
}

// TestUnwritablePictures: one line, status 1.
func TestUnwritablePictures(t *testing.T) {
	effect := effectFile(t, "updraft.field", updraft)
	folder := filepath.Join(t.TempDir(), "folder.png")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, output := range []string{filepath.Join(t.TempDir(), "no", "where.png"), folder} {
		status, out, err := worldd(t, "effect", "render", effect, "-o", output)
		require.Equal(t, exitError, status)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(err, "worldd: cannot write the picture "+output+": "), "%s", err)
		require.Equal(t, 1, strings.Count(err, "\n"))
	}
}

func TestParseVector(t *testing.T) {
	for text, want := range map[string]field.Vec4{
		"80":           {80, 80, 80, 80},
		"-0.5":         {-0.5, -0.5, -0.5, -0.5},
		"(1, 2, 3)":    {1, 2, 3, 0},
		" (1,2,3,-4) ": {1, 2, 3, -4},
	} {
		v := must.Get(parseVector(text))
		require.Equal(t, want, v, "%s", text)
	}
}

// If the disk is full, the old picture remains, and no other file.
func TestRenderWithoutRoom(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
	}{{"still.png", nil}, {"film.gif", []string{"--animate"}}} {
		dir := t.TempDir()
		path, before := filepath.Join(dir, c.name), []byte("the picture of before")
		require.NoError(t, os.WriteFile(path, before, 0o644))
		// Limit the file size, as on a nearly full disk.
		worldd := programtest.Command(t, "worldd", append([]string{"effect", "render", "gust", "-o", path}, c.args...)...)
		programtest.LimitByShell(worldd, "-f 1")
		out, err := worldd.CombinedOutput()
		var status *exec.ExitError
		require.ErrorAs(t, err, &status, "%s", out)
		require.Equal(t, exitError, status.ExitCode(), "%s", out)
		require.Contains(t, string(out), "cannot write the picture "+path)
		require.Contains(t, string(out), syscall.EFBIG.Error())
		now := must.Get(os.ReadFile(path))
		require.Equal(t, before, now)
		entries := must.Get(os.ReadDir(dir))
		require.Len(t, entries, 1, "something is left of what was begun")
	}
}
