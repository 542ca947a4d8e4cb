//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/loopback"
)

// process is a server that the test ends by signals.
type process struct {
	*crowd
	dir string
	run *exec.Cmd
}

func (p *process) start(args ...string) {
	self, err := os.Executable()
	require.NoError(p, err)
	p.run = exec.CommandContext(p.Context(), self, append([]string{"serve", "--listen=" + p.config.Addr, "--image=rooms", "--journal=always", "--identity=identity.pem"}, args...)...)
	p.run.Dir = p.dir
	p.run.Env = append(os.Environ(), asMain+"=1")
	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(p, err)
	defer log.Close()
	p.run.Stdout, p.run.Stderr = log, log
	require.NoError(p, p.run.Start())
}

// awaitServing waits until the first server serves: to dial before may fail. Clients that reconnect try again.
func (p *process) awaitServing() {
	for {
		log, err := os.ReadFile(filepath.Join(p.dir, "log"))
		require.NoError(p, errors.Join(err, p.ctx.Err()), "%s", log)
		if strings.Contains(string(log), `"serving"`) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (p *process) end(by syscall.Signal) error {
	require.NoError(p, p.run.Process.Signal(by))
	return p.run.Wait()
}

// After a kill the queue and the match go on: everybody is in the same room, with the same place or ship. So they do
// after SIGTERM, with a time to drain.
func TestLobbyAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("kills servers")
	}
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	p := &process{crowd: &crowd{T: t, ctx: ctx, config: client.Config{Addr: loopback.Reserve(t, 1)[0], InsecureDev: true, Room: "lobby"}}, dir: t.TempDir()}
	p.start()
	p.awaitServing()
	players := p.enter("ann", "bob", "eve", "joe")
	p.until("they fight", all(players, func(p *Player) bool { round, _ := p.Match(); return round == fight && flies(p) }))
	waiting := p.enter("sue")[0]
	place := func() (own Ticket) {
		for v := range waiting.Visitors() {
			if v.Name == "sue" {
				own = v
			}
		}
		return own
	}
	p.until("sue waits", func() bool { return place().Wants == ToPlay })

	lost := func(p *Player) (n int) {
		for _, l := range p.Lines {
			if l == client.Reconnecting.String() {
				n++
			}
		}
		return n
	}
	for _, by := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		match, since, ships, outages := room(players[0]), place().Since, map[*Player]any{}, map[*Player]int{}
		for _, o := range p.players {
			own, _ := o.Own()
			ships[o], outages[o] = own.Handle, lost(o)
		}
		err := p.end(by)
		require.Equal(t, by == syscall.SIGTERM, err == nil, "%v", err)
		p.start("--drain-for=1s")
		p.until("all have returned", all(p.players, func(p *Player) bool { return p.client.State() == client.Joined && lost(p) > outages[p] }))
		p.until("they fly, and sue waits", func() bool { return all(players, flies)() && place().Wants == ToPlay })
		require.True(t, inLobby(waiting))
		require.Equal(t, since, place().Since)
		for _, o := range players {
			own, _ := o.Own()
			require.Equal(t, []any{match, ships[o]}, []any{room(o), own.Handle})
		}
	}
	p.enter("kim", "lee", "max")
	p.until("the second match", func() bool { return inMatch(waiting) && flies(waiting) })
	require.NotEqual(t, room(players[0]), room(waiting))
	p.disperse()
	require.NoError(t, p.end(syscall.SIGTERM))
}
