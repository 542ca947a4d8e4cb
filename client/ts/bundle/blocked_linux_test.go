package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/replication/schema"
)

// blockedGame names, in the process that runs in a network without UDP, the program of the created game.
const blockedGame = "WORLDD_TEST_BLOCKED_GAME"

// steerInNode steers the runner of a created game by the package that its folder has, and prints the transport, and
// whether the runner follows.
const steerInNode = `import { Client } from '@worldd/client'
const c = await Client.connect({ url: 'https://127.0.0.1:4433/worldd' })
const frame = () => new Promise((resolve) => setTimeout(resolve, 10)).then(() => c.update())
while (c.controlled === 0n || c.resolve(c.controlled) !== 'live') await frame()
const place = () => c.entity(c.controlled).get('body').Position[0]
const from = place(), to = from < 0 ? 1 : -1
c.setInput({ X: to, Z: 0 })
while ((place() - from) * to < 2) await frame()
console.log(c.linkStats.transport)
c.close()
`

// TestBlockedUDP steers the avatar of a created game from Node and from Go in a network namespace that drops all UDP.
func TestBlockedUDP(t *testing.T) {
	if program := os.Getenv(blockedGame); program != "" {
		steerBlocked(t, program)
		return
	}
	require.DirExists(t, "../build/game", "client/ts/test.sh creates a game: run it first")
	if out, err := exec.Command("unshare", "--net", "--map-root-user", "nft", "list", "tables").CombinedOutput(); err != nil {
		t.Skipf("no network namespace without UDP (it takes unshare, ip, nft and permission): %v: %s", err, out)
	}
	folder := must.Get(filepath.Abs("../build/game/bin")) // below what npm has installed
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "steer.mjs"), []byte(steerInNode), 0o600))
	program := filepath.Join(folder, "blocked")
	out, err := exec.Command("go", "-C", "../build/game/server", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	inside := exec.CommandContext(t.Context(), "unshare", "--net", "--map-root-user", must.Get(os.Executable()), "-test.v", "-test.run=^TestBlockedUDP$", "-test.timeout=5m")
	inside.Env = append(os.Environ(), blockedGame+"="+program)
	out, err = inside.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

// steerBlocked blocks UDP in the network namespace of this process, and plays in it.
func steerBlocked(t *testing.T, program string) {
	run := func(name string, args ...string) string {
		out, err := exec.CommandContext(t.Context(), name, args...).Output()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return string(out)
	}
	run("ip", "link", "set", "lo", "up")
	run("nft", "add table inet blocked; add chain inet blocked in { type filter hook input priority 0; }; add rule inet blocked in meta l4proto udp counter drop")

	game := exec.Command(program, "serve", "--web", "--listen", "127.0.0.1:4433", "--admin", "127.0.0.1:4434")
	up, ended := make(chan struct{}), make(chan error, 1)
	game.Stdout = &programtest.Screen{Words: "admin on", Seen: func() { close(up) }}
	game.Stderr = os.Stderr
	require.NoError(t, game.Start())
	go func() { ended <- game.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = game.Process.Kill()
		for range ended { // before this process: the server would keep the pipe of its output open
		}
	})
	select {
	case <-up:
	case err := <-ended:
		require.Fail(t, "the server has ended", "%v", err)
	}

	script := filepath.Join(filepath.Dir(program), "steer.mjs")
	require.Equal(t, "websocket\n", run("node", "--experimental-websocket", script)) // from version 22 on Node needs no flag
	require.True(t, steerInGo(t).OverTCP)
	require.NotContains(t, run("nft", "list", "ruleset"), "counter packets 0 ", "Go has tried UDP")
}

// steerInGo steers a runner until it follows, and returns the figures of its client.
func steerInGo(t *testing.T) client.Stats {
	type stick struct {
		X, Z float32 `net:"range=-1..1,step=1/127"`
	}
	protocol := schema.NewWithBody()
	sticks := schema.DefineInput[stick](protocol)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := must.Get(client.Dial(ctx, client.Config{Addr: "127.0.0.1:4433", InsecureDev: true, Schema: protocol, Fallback: true}))
	defer c.Close()
	frames := time.NewTicker(10 * time.Millisecond)
	defer frames.Stop()
	var from, to float32
	for {
		require.NoError(t, c.Update())
		body, in := client.Body.Get(c.Replica().Entity(c.Controlled()))
		x := body.Position[0]
		switch {
		case in && to == 0: // it has entered
			from, to = x, 1
			if from > 0 { // away from the border
				to = -1
			}
			must.Get(client.SetInput(c, sticks, stick{X: to}))
		case in && (x-from)*to > 2:
			return c.Stats()
		}
		select {
		case <-frames.C:
		case <-ctx.Done():
			require.NoError(t, ctx.Err(), "the runner does not move")
		}
	}
}
