//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A room that panics at the same tick after each restore stays closed, also in the next process, which serves. No file of it
// changes until the operator removes the note of the panic.
func TestRoomInACrashLoop(t *testing.T) {
	shorttest.Skip(t, "starts processes")
	i := installations(t, t.TempDir())[1]
	flags := []string{"--journal=always", "--image-every=100ms"}
	stops := func(s *serverProcess) {
		s.until("gives the room up", func() bool { return strings.Contains(s.output(), server.ErrCrashLoop.Error()) })
	}
	panics := func(s *serverProcess) int { return strings.Count(s.output(), "the room panicked") }
	const tick = 100
	t.Setenv(failure, "lobby 100 panic")
	s := i.start(flags...)
	stops(s)
	require.Equal(t, 3, panics(s))
	s.end(syscall.SIGKILL)
	before := i.generations()
	for range 2 {
		s = i.start(flags...)
		stops(s)
		s.until("serves", func() bool { return strings.Contains(s.output(), `"serving"`) })
		require.Zero(t, panics(s))
		require.Equal(t, exitOK, s.end(syscall.SIGTERM))
		require.Equal(t, before, i.generations())
	}
	require.NoError(t, os.Remove(i.file+".crash"))
	t.Setenv(failure, "")
	s = i.start(flags...)
	require.EqualValues(t, tick-1, s.restored())
	s.until("continues", func() bool { return i.savedTick() > tick })
}

// A process that is killed while a room ends for good leaves files that the next start removes: the room begins with a new world.
func TestKillWhileARoomEnds(t *testing.T) {
	shorttest.Skip(t, "kills processes")
	i := installations(t, t.TempDir())[1]
	folder := filepath.Join(i.image, "room")
	addr := loopback.Reserve(t, 1)[0]
	start := func() *serverProcess {
		s := i.start("--listen="+addr, "--journal=always")
		s.until("serves", func() bool { return strings.Contains(s.output(), `"serving"`) })
		return s
	}
	visit := func() wire.Welcome {
		s := schema.NewWithBody()
		schema.DefineEvent[bell](s, "bell")
		c := must.Get(client.Dial(t.Context(), client.Config{Addr: addr, InsecureDev: true, Room: "room/a", Schema: s}))
		defer c.Close()
		return c.Welcome()
	}
	files := func() (names string) {
		all, _ := os.ReadDir(folder) // it may not exist yet
		for _, f := range all {
			names += f.Name() + " "
		}
		return names
	}
	for changes := range 4 {
		t.Setenv(failure, "room/a 40 end")
		s := start()
		epoch := visit().Epoch
		s.until("ends the room", func() bool {
			return strings.Contains(files(), ".ended") || strings.Contains(s.output(), "the room has ended")
		})
		for was := files(); changes > 0 && was != ""; changes-- { // each is the removal of a file
			for files() == was && !strings.Contains(s.output(), "the room has ended") {
			}
			was = files()
		}
		s.end(syscall.SIGKILL)
		t.Setenv(failure, "")
		s = start()
		s.until("removes the room", func() bool { return !strings.Contains(files(), "a.image ") })
		require.NotEqual(t, epoch, visit().Epoch)
		require.NotContains(t, s.output(), "damaged")
		s.end(syscall.SIGKILL)
		require.NoError(t, os.RemoveAll(folder))
	}
}
