package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// serving is worldd serve as a process.
type serving struct {
	t                 *testing.T
	process           *exec.Cmd
	addr, fingerprint string
	admin             string    // URL of its admin port; empty without one
	said              []string  // output before the line with its address
	out               io.Closer // the reading end of its standard output
}

func startServing(t *testing.T, args ...string) *serving {
	t.Helper()
	return startServingBy(t, func(*serving) {}, args...)
}

// startServingBy starts it after prepare has configured its process.
func startServingBy(t *testing.T, prepare func(*serving), args ...string) *serving {
	t.Helper()
	args = append([]string{"serve", "--listen=127.0.0.1:0", "--world=storm"}, args...)
	s := &serving{t: t, process: programtest.Command(t, "worldd", args...)}
	out := must.Get(s.process.StdoutPipe())
	s.out = out
	prepare(s)
	require.NoError(t, s.process.Start())
	t.Cleanup(func() {
		_ = s.process.Process.Kill()
		_ = s.process.Wait()
	})
	lines := bufio.NewScanner(out)
	address, admin := regexp.MustCompile(`on (\S+), fingerprint (\S+)`), regexp.MustCompile(`admin on (\S+)`)
	hasAdmin := slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--admin=") })
	for lines.Scan() {
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			s.addr, s.fingerprint = found[1], found[2]
		}
		if found := admin.FindStringSubmatch(lines.Text()); found != nil {
			s.admin = found[1]
		}
		if s.addr != "" && (s.admin != "" || !hasAdmin) {
			go func() {
				for lines.Scan() { // never let it block
				}
			}()
			return s
		}
		s.said = append(s.said, lines.Text())
	}
	require.Fail(t, "it does not serve", "%v", s.process.Wait())
	return nil
}

func (s *serving) end(signal os.Signal) {
	require.NoError(s.t, s.process.Process.Signal(signal))
	_ = s.process.Wait()
}

// player is a client that remembers every handle and its identity.
type player struct {
	*client.Client
	met     map[bulk.Handle]uint64
	results []client.Result
}

func (s *serving) dial(ctx context.Context, epoch uint64) (*player, error) {
	g := &player{met: map[bulk.Handle]uint64{}}
	var err error
	g.Client, err = client.Dial(ctx, client.Config{
		Addr: s.addr, Fingerprint: s.fingerprint,
		Schema: messages.Schema, Name: "guest", Epoch: epoch,
		Result: func(r client.Result) { g.results = append(g.results, r) },
		Observer: client.Observer{Enter: func(e *client.Entity) {
			if v, ok := client.Of(messages.Identities).Get(e); ok {
				g.met[e.Handle()] = v.Number()
			}
		}},
	})
	return g, err
}

// until updates until done.
func (g *player) until(t *testing.T, ctx context.Context, done func() bool) {
	t.Helper()
	for !done() {
		require.NoError(t, g.Wait(ctx))
		require.NoError(t, g.Update())
	}
}

// A client that pins a kept certificate reconnects by itself after the server was killed, and
// learns that the world is a new run.
func TestPinnedClientComesBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := t.TempDir()
	args := []string{"--listen=" + loopback.Reserve(t, 1)[0], "--identity=" + filepath.Join(dir, "identity.pem"), "--image=" + filepath.Join(dir, "storm.image"), "--image-every=100ms"}
	s := startServing(t, args...)
	g := must.Get(s.dial(ctx, 0))
	g.until(t, ctx, func() bool { return len(g.met) > 100 })
	old := maps.Clone(g.met)
	s.end(syscall.SIGKILL)
	again := startServing(t, args...)
	require.Equal(t, s.fingerprint, again.fingerprint)
	g.until(t, ctx, func() bool { return g.State() == client.Reconnecting }) // process everything sent before the end
	clear(g.met)
	g.until(t, ctx, func() bool { return len(g.met) > 100 })
	for h := range old {
		require.Equal(t, wire.Stale, g.Resolve(h))
		require.NotContains(t, g.met, h)
	}
	require.NoError(t, g.Close())
}

// resetOf makes a server answer a packet of an unknown connection.
func (s *serving) resetOf() (token string) {
	c := must.Get(net.Dial("udp", s.addr))
	defer c.Close()
	packet := bytes.Repeat([]byte{0x40}, 100) // a short header with an unknown connection ID
	answer := make([]byte, 2000)
	for n := 0; ; {
		_, err := c.Write(packet)
		require.NoError(s.t, err)
		require.NoError(s.t, c.SetReadDeadline(time.Now().Add(time.Second)))
		if n, err = c.Read(answer); err == nil { // otherwise the server was too busy
			require.Greater(s.t, n, 20)
			return string(answer[n-16 : n])
		}
		require.ErrorIs(s.t, err, os.ErrDeadlineExceeded)
	}
}

// A restarted server with the same identity tells clients of the previous run that
// their connections are gone.
func TestStatelessReset(t *testing.T) {
	identity := "--identity=" + filepath.Join(t.TempDir(), "identity.pem")
	s := startServing(t, identity)
	token := s.resetOf()
	s.end(syscall.SIGKILL)
	s = startServing(t, identity)
	require.Equal(t, token, s.resetOf())
	s.end(syscall.SIGTERM)
	s = startServing(t, identity+".other")
	require.NotEqual(t, token, s.resetOf())
	s.end(syscall.SIGTERM)
}

// A damaged image is not overwritten.
func TestServeRefusesABrokenImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "storm.image")
	broken := []byte("wimg but not really")
	require.NoError(t, os.WriteFile(path, broken, 0o600))
	status, _, err := worldd(t, "serve", "--listen=127.0.0.1:0", "--image", path)
	require.Equal(t, exitError, status)
	require.Contains(t, err, "cannot restore")
	require.Contains(t, err, "move it and its older copies ("+path+"*) away to start a new world")
	require.Equal(t, broken, must.Get(os.ReadFile(path)))

	status, _, err = worldd(t, "serve", "--listen=127.0.0.1:0", "--image", filepath.Join(path, "x"))
	require.Equal(t, exitError, status, err)
}

// An image has one server, under any name: the lock and the saves go to the target of links,
// and the links remain.
func TestServeRefusesAnImageInUseByAnotherName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data", "calm.image")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	file, way := filepath.Join(dir, "link.image"), filepath.Join(dir, "way")
	require.NoError(t, os.Symlink(path, file))
	require.NoError(t, os.Symlink("data", way))
	first := startServing(t, "--world=calm", "--image="+file)
	for _, name := range []string{path, file, filepath.Join(way, "calm.image")} {
		status, _, err := worldd(t, "serve", "--world=calm", "--listen=127.0.0.1:0", "--image", name)
		require.Equal(t, exitError, status)
		require.Contains(t, err, "another server saves to the image "+name)
	}
	first.end(syscall.SIGTERM)
	info := must.Get(os.Lstat(path))
	require.True(t, info.Mode().IsRegular())
	info = must.Get(os.Lstat(file))
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	again := startServing(t, "--world=calm", "--image="+filepath.Join(way, "calm.image"))
	require.Contains(t, strings.Join(again.said, "\n"), "calm.image: tick")
	again.end(syscall.SIGTERM)
}

// If the newest image is damaged, an older one is restored and the log says what was
// lost. Without any valid image, nothing starts and nothing is replaced.
func TestServeRestoresAnOlderImage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calm.image")
	args := []string{"--world=calm", "--image=" + path, "--image-keep=2"}
	for range 2 {
		startServing(t, args...).end(syscall.SIGTERM)
	}
	damage := func(path string) {
		data := must.Get(os.ReadFile(path))
		data[len(data)/2] ^= 1
		require.NoError(t, os.WriteFile(path, data, 0o600))
	}
	damage(path)
	var log programtest.Screen
	restored := startServingTo(t, &log, args...)
	require.Contains(t, strings.Join(restored.said, "\n"), "restored from "+path+".old-1")
	restored.end(syscall.SIGTERM)
	require.Equal(t, 1, strings.Count(log.String(), `"level":"error"`))
	require.Contains(t, log.String(), `"generation":1,"tick":`)
	require.Contains(t, log.String(), path+": world: image damaged")

	require.FileExists(t, path+".damaged")
	damage(path)
	damage(path + ".old-1")
	status, _, complaint := worldd(t, append([]string{"serve", "--listen=127.0.0.1:0"}, args...)...)
	require.Equal(t, exitError, status)
	require.Contains(t, complaint, "all generations are damaged")
	require.Contains(t, complaint, "replace it with a backup")
	require.FileExists(t, path)
}

// An image of another version is kept, and not replaced by an older copy.
func TestServeRefusesAnImageOfAnotherVersion(t *testing.T) {
	file := must.Get(scenes.Named("calm"))
	scene := must.Get(scenes.Build(file))
	defer scene.World.Close()
	var img world.Image
	scene.World.TakeImage(&img)
	img.Extra = scene.Extra(nil)
	var b bytes.Buffer
	must.Get(img.WriteTo(&b))
	b.Bytes()[len("wimg")]++ // the version's lowest byte
	path := filepath.Join(t.TempDir(), "calm.image")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	status, _, said := worldd(t, "serve", "--listen=127.0.0.1:0", "--world=calm", "--image", path)
	require.Equal(t, exitError, status)
	require.Contains(t, said, "image of another version")
	require.Contains(t, said, "start the version that saved it")
	require.NotContains(t, said, "older copy")
}
