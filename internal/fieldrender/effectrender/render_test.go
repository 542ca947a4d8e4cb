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
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

func TestMain(m *testing.M) {
	programtest.RunMain(m, func(string) { main() })
}

const updraft = `effect updraft
param strength = 9 in 0..100
param drift = (1, 0, 0.5)
box (-4, 0, -4) (4, 20, 4)
wind = mul (0, 1, 0), strength
wind = add wind, drift
output = add output, wind
`

// effectrender runs the command.
func effectrender(t *testing.T, args ...string) (status int, out, err string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

// effectFile writes an effect to a temporary file.
func effectFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// A wrong effect is reported with its place, and nothing is written.
func TestWrongEffect(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "out.png")
	wrong := effectFile(t, "wrong.field", "effect wrong\nwind = normalise position\noutput = add output, wind\n")
	for path, want := range map[string]string{wrong: ":2:8: there is no operation", "none.field": ": cannot read the effect: no such file"} {
		status, out, err := effectrender(t, path, "--output", picture)
		require.Equal(t, commandline.Error, status)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(err, path+want), "%s", err)
		require.NoFileExists(t, picture)
	}
}

// render draws the updraft with some flags and returns the picture's bytes.
func render(t *testing.T, name string, flags ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	status, out, err := effectrender(t, append([]string{effectFile(t, "updraft.field", updraft), "-o", path}, flags...)...)
	require.Equal(t, commandline.OK, status, "%s", err)
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
	require.Greater(t, must.Get(png.Decode(bytes.NewReader(plain))).Bounds().Dx(), 300)
	for _, flags := range [][]string{
		{"--plane", "xy"},
		{"--at=3"},
		{"--region=-10,-5,10,5"},
		{"--time", "1.5"},
		{"--param", "strength=4"},
		{"--param", "drift=(3, 0, -1)"},
		{"--mode", "acceleration"},
		{"--theme", "light"},
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
		{[]string{"--theme=grey"}, `--theme: there is no theme "grey": it is dark or light`},
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
			status, out, err := effectrender(t, append([]string{effect, "-o", picture}, c.flags...)...)
			require.Equal(t, commandline.Usage, status)
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
		status, _, err := effectrender(t, effect, "-o", output)
		require.Equal(t, commandline.Usage, status)
		require.Contains(t, err, want)
	}
	status, _, err := effectrender(t, effect)
	require.Equal(t, commandline.Usage, status)
	require.Contains(t, err, "missing flags: --output=FILE")
}

// TestUnwritablePictures: one line, status 1.
func TestUnwritablePictures(t *testing.T) {
	effect := effectFile(t, "updraft.field", updraft)
	folder := filepath.Join(t.TempDir(), "folder.png")
	require.NoError(t, os.Mkdir(folder, 0o700))
	for _, output := range []string{filepath.Join(t.TempDir(), "no", "where.png"), folder} {
		status, out, err := effectrender(t, effect, "-o", output)
		require.Equal(t, commandline.Error, status)
		require.Empty(t, out)
		require.True(t, strings.HasPrefix(err, "effectrender: cannot write the picture "+output+": "), "%s", err)
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
		command := programtest.Command(t, "effectrender", append([]string{"gust", "-o", path}, c.args...)...)
		programtest.LimitByShell(command, "-f 1")
		out, err := command.CombinedOutput()
		var status *exec.ExitError
		require.ErrorAs(t, err, &status, "%s", out)
		require.Equal(t, commandline.Error, status.ExitCode(), "%s", out)
		require.Contains(t, string(out), "cannot write the picture "+path)
		require.Contains(t, string(out), syscall.EFBIG.Error())
		require.Equal(t, before, must.Get(os.ReadFile(path)))
		require.Len(t, must.Get(os.ReadDir(dir)), 1, "something is left of what was begun")
	}
}
