//go:build unix

package browsertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// View is how a picture shows a page.
type View struct {
	Width, Height int // pixels
	Dark          bool
}

// Picture opens the page at path of s in Chromium, and returns a PNG of it once it has loaded.
// s can delay that by a script in the document that it serves late.
func (b Browser) Picture(t testing.TB, s *Site, path string, v View) []byte {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "picture.png")
	scheme := 1
	if v.Dark {
		scheme = 0
	}
	arguments := append([]string{
		"--screenshot=" + file, fmt.Sprintf("--window-size=%d,%d", v.Width, v.Height), "--hide-scrollbars", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme),
	}, b.arguments(t, folder, s.Origin()+path)...)
	command := exec.CommandContext(t.Context(), b.path, arguments...)
	command.Env = append(os.Environ(), "HOME="+folder, "XDG_CACHE_HOME="+folder, "XDG_CONFIG_HOME="+folder, "TMPDIR="+folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s takes no picture: %v\n%s", b.Name, err, output)
	}
	png, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s took no picture: %v\n%s", b.Name, err, output)
	}
	return png
}
