package host

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// scriptedHandOver returns a hand-over from this process to shell scripts, which have a folder as $D, their offer
// as $O, and read this process by descriptor 3. The first one has made its offer.
func scriptedHandOver(t *testing.T, next, fallback string) *handOver {
	dir := t.TempDir()
	c := &serveCommand{Listen: "127.0.0.1:4433"}
	h := &handOver{own: c.newOffer(), log: zap.NewNop(), endAlive: keepAlive()}
	t.Setenv("D", dir)
	t.Setenv("O", string(must.Get(json.Marshal(h.own))))
	install := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
		return path
	}
	h.fallback = install("fallback", fallback)
	h.next = must.Get(startSuccessor(install("next", next)))
	t.Cleanup(func() { _ = h.next.cmd.Process.Kill() })
	require.NoError(t, h.next.awaitOffer(t.Context(), h.own))
	socket := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	defer socket.Close()
	h.passes.sockets = &server.Sockets{Clients: must.Get(socket.File()), StatelessResetKey: new([32]byte)}
	return h
}

const (
	offers = `echo "$O" >&3; head -c33 <&3 >/dev/null; `
	serves = offers + `echo serving >&3; `
)

// TestFallbackIsAlone: a next process that says nonsense or hangs is dead when the old executable starts, which needs its
// locks and ports. The supervisor hears that this process is alive until then.
func TestFallbackIsAlone(t *testing.T) {
	supervisor := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"}))
	defer supervisor.Close()
	t.Setenv("NOTIFY_SOCKET", supervisor.LocalAddr().String())
	t.Setenv("WATCHDOG_USEC", "30000")
	h := scriptedHandOver(t, `echo $$ >$D/pid; `+offers+`echo hangs >&3; exec sleep 600`,
		`kill -0 $(cat $D/pid) 2>/dev/null && exit 3; mkfifo $D/heard.new; mv $D/heard.new $D/heard; cat $D/heard; `+serves)
	var signs atomic.Int32
	followed := make(chan string, 1)
	go func() {
		buf := make([]byte, 256)
		for {
			n, err := supervisor.Read(buf)
			text := string(buf[:n])
			if err != nil || strings.HasPrefix(text, "MAINPID=") {
				followed <- text
				return
			}
			signs.Add(1)
		}
	}()
	go func() { // the fallback waits for two signs
		for began := int32(-1); began < 0 || signs.Load() < began+2; time.Sleep(time.Millisecond) {
			_, err := os.Stat(filepath.Join(os.Getenv("D"), "heard"))
			if err == nil && began < 0 {
				began = signs.Load()
			}
		}
		_ = os.WriteFile(filepath.Join(os.Getenv("D"), "heard"), nil, 0)
	}()
	require.NoError(t, h.complete(t.Context(), requests{}))
	require.Equal(t, "MAINPID="+strconv.Itoa(h.next.cmd.Process.Pid), <-followed)
}

// TestAccompany: where no supervisor follows to the next process, this one passes signals on to it and ends as it does.
func TestAccompany(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	traps := `trap 'echo reload >>$D/heard' HUP; trap 'echo replace >>$D/heard' USR2; trap 'echo end >>$D/heard; exit 7' TERM; `
	h := scriptedHandOver(t, traps+serves+`while :; do sleep 0.01; done`, "")
	ctx, end := context.WithCancel(t.Context())
	reload, replace := make(chan os.Signal), make(chan os.Signal, 1)
	replace <- syscall.SIGUSR2 // of this hand-over
	ended := make(chan error)
	go func() { ended <- h.complete(ctx, requests{reload: reload, replace: replace}) }()
	heard := func(want string) {
		for began := time.Now(); ; time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile(filepath.Join(os.Getenv("D"), "heard"))
			if string(text) == want {
				return
			}
			require.Less(t, time.Since(began), time.Minute, string(text))
		}
	}
	reload <- syscall.SIGHUP
	heard("reload\n")
	replace <- syscall.SIGUSR2
	heard("reload\nreplace\n")
	end()
	require.ErrorContains(t, <-ended, "exit status 7")
	heard("reload\nreplace\nend\n")
}

// TestInheritance: the next process gets the sockets, the cordon, and the key with which it resets the connections of this one.
func TestInheritance(t *testing.T) {
	pair := must.Get(syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0))
	old, next := must.Get(unixConn(os.NewFile(uintptr(pair[0]), "old"))), must.Get(unixConn(os.NewFile(uintptr(pair[1]), "next")))
	defer old.Close()
	defer next.Close()
	socket := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))
	defer socket.Close()
	passed := inheritance{&server.Sockets{Clients: must.Get(socket.File()), StatelessResetKey: &[32]byte{1, 31: 2}}, true}
	defer passed.sockets.Close()
	require.NoError(t, passed.send(old))
	got := must.Get((&predecessor{next}).awaitInheritance(offer{}))
	defer got.sockets.Close()
	require.True(t, got.cordoned)
	require.Equal(t, passed.sockets.StatelessResetKey, got.sockets.StatelessResetKey)
	again := must.Get(net.FilePacketConn(got.sockets.Clients))
	defer again.Close()
	require.Equal(t, socket.LocalAddr(), again.LocalAddr())
}
