package engines

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The arena's client in C flies a ship under a real X server, fires a missile, holds its handle, and draws a picture that
// shows the ship.
func TestArena(t *testing.T) {
	need(t, "sdl2-config", "libsdl2-dev")
	need(t, "Xvfb", "xvfb")
	lib, to := builtLibrary(t), t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", to+"/arena", "./server/host/examples/arena")
	build.Dir = "../../.."
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.WriteFile(to+"/arena.h", []byte(run(t, nil, to+"/arena", "schema", "--lang=c")), 0o600))
	flags := strings.Fields(run(t, nil, "sdl2-config", "--cflags", "--libs"))
	args := append([]string{
		"-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-ffp-contract=off", "-I" + to, "-I" + lib + "/include", "../examples/arena/arena.c",
		"-o", to + "/client", "-L" + lib + "/lib", "-lworldd", "-Wl,-rpath," + lib + "/lib", "-lm",
	}, flags...)
	run(t, nil, "gcc", args...)

	addr, fingerprint := startArena(t, to+"/arena")
	picture := to + "/picture.bmp"
	if keep := os.Getenv("ARENA_PICTURE"); keep != "" { // to look at it
		picture, err = filepath.Abs(keep)
		require.NoError(t, err)
	}
	said := run(t, []string{"DISPLAY=" + display(t), "SDL_RENDER_DRIVER=software"}, to+"/client", addr, fingerprint, picture)
	t.Log(said)
	require.Regexp(t, `(?m)^held ([0-9a-f]{16}) is live\nheld [0-9a-f]{16} is stale\npredicted: `, said)
	predicted := regexp.MustCompile(`(?m)^predicted: (\d+) agreed, (\d+) corrected, (\d+) of`).FindStringSubmatch(said)
	require.NotNil(t, predicted)
	number := func(i int) (n int) { _, _ = fmt.Sscan(predicted[i], &n); return n }
	require.Greater(t, number(1), 10)
	require.LessOrEqual(t, number(2)-number(3), 2, "the ship is where its first state says")
	own := regexp.MustCompile(`(?m)^own [0-9a-f]{16} at (\d+) (\d+) of \d+$`).FindStringSubmatch(said)
	require.NotNil(t, own)
	x, _ := strconv.Atoi(own[1])
	y, _ := strconv.Atoi(own[2])
	pixel := readBMP(t, picture)
	require.Equal(t, color.RGBA{0, 255, 80, 255}, pixel(x, y), "the ship")
	require.Equal(t, color.RGBA{200, 0, 0, 255}, pixel(22, 504-20), "the verdict on the missile: stale")
	require.Equal(t, color.RGBA{8, 12, 20, 255}, pixel(5, 5), "the margin")
}

// startArena starts a server of the arena as a process.
func startArena(t *testing.T, program string) (addr, fingerprint string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, "serve", "--listen=127.0.0.1:0", "--anyone")
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	serves := regexp.MustCompile(`on (\S+), fingerprint (\S+)`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := serves.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() { // never let it block
				}
			}()
			return found[1], found[2]
		}
	}
	require.Fail(t, "it does not serve")
	return "", ""
}

// display starts an X server without a screen, and returns its name.
func display(t *testing.T) string {
	t.Helper()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), "Xvfb", "-displayfd", "3", "-screen", "0", "1024x768x24", "-nolisten", "tcp")
	c.ExtraFiles = []*os.File{write}
	require.NoError(t, c.Start())
	require.NoError(t, write.Close())
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = read.Close()
	})
	number, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err, "Xvfb does not start")
	return ":" + strings.TrimSpace(number)
}

// readBMP returns the pixels of a bitmap with 24 bits each, as SDL writes it: from the bottom up, blue first.
func readBMP(t *testing.T, file string) func(x, y int) color.RGBA {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Greater(t, len(b), 54)
	start, width, height := int(binary.LittleEndian.Uint32(b[10:])), int(binary.LittleEndian.Uint32(b[18:])), int(binary.LittleEndian.Uint32(b[22:]))
	require.EqualValues(t, 24, binary.LittleEndian.Uint16(b[28:]))
	stride := (width*3 + 3) &^ 3
	require.GreaterOrEqual(t, len(b), start+stride*height)
	return func(x, y int) color.RGBA {
		require.True(t, x >= 0 && x < width && y >= 0 && y < height, fmt.Sprint(x, " ", y))
		p := b[start+(height-1-y)*stride+3*x:]
		return color.RGBA{p[2], p[1], p[0], 255}
	}
}
