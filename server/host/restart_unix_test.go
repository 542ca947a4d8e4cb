//go:build unix

package host

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
)

// installation is a program, with the image from which its processes continue.
type installation struct {
	t       *testing.T
	program string
	image   string   // of --image; empty: nothing is saved
	file    string   // file of the world or room that the test examines
	within  []string // command that runs the program; nil: none
}

// installations returns a single world and rooms in a folder.
func installations(t *testing.T, dir string) []*installation {
	rooms := filepath.Join(dir, "rooms")
	require.NoError(t, os.MkdirAll(rooms, 0o700))
	file := filepath.Join(dir, "world.image")
	return []*installation{{t: t, program: "tag", image: file, file: file}, {t: t, program: "inn", image: rooms, file: filepath.Join(rooms, "lobby.image")}}
}

func (i *installation) command(args ...string) *exec.Cmd {
	if i.image != "" {
		args = append([]string{"--image=" + i.image}, args...)
	}
	args = append([]string{"serve", "--listen=127.0.0.1:0"}, args...)
	c := programtest.Command(i.t, i.program, args...)
	if i.within != nil {
		c.Path, c.Args = must.Get(exec.LookPath(i.within[0])), slices.Concat(i.within, []string{c.Path}, c.Args[1:])
	}
	return c
}

// savedTick returns the tick of the image, or 0 without one.
func (i *installation) savedTick() uint64 {
	data, err := os.ReadFile(i.file)
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(i.t, err)
	g := must.Get(programNamed(i.program).New(Options{}))
	defer g.World.Close()
	img := must.Get(g.World.ReadImage(bytes.NewReader(data)))
	return img.Tick()
}

// generations returns the contents of the image's files that hold worlds, by suffix.
func (i *installation) generations() map[string]string {
	all := map[string]string{}
	paths := must.Get(filepath.Glob(i.file + "*"))
	for _, path := range paths {
		suffix := strings.TrimPrefix(path, i.file)
		if suffix == ".lock" || suffix == ".run" || strings.HasSuffix(suffix, ".tmp") {
			continue
		}
		data := must.Get(os.ReadFile(path))
		all[suffix] = string(data)
	}
	return all
}

// serverProcess is a process of an installation.
type serverProcess struct {
	*installation
	process *exec.Cmd
	ended   chan struct{}

	mu   sync.Mutex
	said []string
}

func (i *installation) start(args ...string) *serverProcess {
	i.t.Helper()
	s := &serverProcess{installation: i, process: i.command(args...), ended: make(chan struct{})}
	out := must.Get(s.process.StdoutPipe())
	s.process.Stderr = s.process.Stdout
	require.NoError(i.t, s.process.Start())
	i.t.Cleanup(func() {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	})
	go func() {
		defer close(s.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.said = append(s.said, lines.Text())
			s.mu.Unlock()
		}
	}()
	return s
}

// output returns what the process has written.
func (s *serverProcess) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.said, "\n")
}

// until waits for a condition.
func (s *serverProcess) until(what string, done func() bool) {
	s.t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > soon {
			require.FailNow(s.t, "it never "+what, s.output())
		}
	}
}

var restoredTick = regexp.MustCompile(`restored from \S+: tick (\d+)|"the room is open","room":"lobby",.*"tick":(\d+)`)

// restored returns the tick from which the process continues.
func (s *serverProcess) restored() uint64 {
	s.t.Helper()
	var found []string
	s.until("restores", func() bool {
		found = restoredTick.FindStringSubmatch(s.output())
		return found != nil
	})
	return must.Get(strconv.ParseUint(found[1]+found[2], 10, 64))
}

// end ends the process by a signal, and returns its exit status.
func (s *serverProcess) end(signal os.Signal) int {
	require.NoError(s.t, s.process.Process.Signal(signal))
	<-s.ended
	_ = s.process.Wait()
	return s.process.ProcessState.ExitCode()
}

// refuses runs a process that must not start and must not change an image.
func (i *installation) refuses(args ...string) (output string) {
	i.t.Helper()
	before := i.generations()
	out, err := i.command(args...).CombinedOutput()
	require.Error(i.t, err)
	require.Equal(i.t, exitError, err.(*exec.ExitError).ExitCode(), "%s", out)
	require.Equal(i.t, before, i.generations())
	return string(out)
}

// inNamespace runs the test again as root in its own mount namespace, where it may mount. It
// reports whether this is the second run.
func inNamespace(t *testing.T) bool {
	const variable = "TAG_TEST_IN_NAMESPACE"
	if os.Getenv(variable) != "" {
		return true
	}
	if err := exec.Command("unshare", "-rm", "true").Run(); err != nil {
		t.Skip("no namespaces: ", err)
	}
	self := must.Get(os.Executable())
	c := exec.Command("unshare", "-rm", self, "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), variable+"=1")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name())
	return false
}

// mount mounts a small disk, and returns a function that changes its options.
func mount(t *testing.T, dir string) (remount func(options string)) {
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return func(options string) {
		// A disk cannot become read-only while a process writes a file: it is busy until the save has ended.
		for began := time.Now(); time.Since(began) < soon; time.Sleep(5 * time.Millisecond) {
			out, err = exec.Command("mount", "-o", "remount,"+options, dir).CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("busy")) {
				break
			}
		}
		require.NoError(t, err, "%s", out)
	}
}

// fill leaves no space on the disk of dir until the returned file is removed.
func fill(t *testing.T, dir string) string {
	path := filepath.Join(dir, "filler")
	file := must.Get(os.Create(path))
	defer file.Close()
	for n := 1 << 16; n > 0; {
		if _, err := file.Write(make([]byte, n)); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			n /= 2
		}
	}
	return path
}

// A full disk costs no image: servers start, keep running, and end with an error. A disk that
// becomes read-only costs none either, but no server starts on it.
func TestWorldOnABadDisk(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	dir := t.TempDir()
	remount := mount(t, dir)
	for _, i := range installations(t, dir) {
		t.Run(i.program, func(t *testing.T) {
			i.t = t
			const often = "--image-every=50ms"
			notSaved := func(s *serverProcess, why string) {
				t.Helper()
				s.until("logs why", func() bool {
					return strings.Contains(s.output(), "the world was not saved") && strings.Contains(s.output(), why)
				})
			}
			s := i.start(often)
			s.until("saves", func() bool { return i.savedTick() > 10 })
			filler := fill(t, dir)
			notSaved(s, "no space left on device")
			last := i.savedTick()
			s.end(syscall.SIGKILL)
			require.GreaterOrEqual(t, i.savedTick(), last)
			last = i.savedTick()

			s = i.start(often)
			require.GreaterOrEqual(t, s.restored(), last, "it serves on a full disk")
			notSaved(s, "no space left on device")
			require.Equal(t, exitError, s.end(syscall.SIGTERM), "the last image was not saved")
			require.Equal(t, last, i.savedTick())

			s = i.start(often, "--journal=off") // a disk with an open journal cannot be remounted
			require.NoError(t, os.Remove(filler))
			s.until("saves again", func() bool { return i.savedTick() > last+10 })
			remount("ro")
			notSaved(s, "read-only file system")
			last = i.savedTick()
			require.Equal(t, exitError, s.end(syscall.SIGTERM))
			require.Contains(t, i.refuses(), "read-only file system")
			remount("rw")
			s = i.start(often)
			require.Equal(t, last, s.restored())
			require.Equal(t, exitOK, s.end(syscall.SIGTERM))
			require.NotContains(t, i.generations(), ".damaged")
		})
	}
}
