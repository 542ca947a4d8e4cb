package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/browsertest"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
)

// blockedGame names, in the process that runs in a network without UDP, the folder of the created game.
const blockedGame = "WORLDD_TEST_BLOCKED_GAME"

// steerInNode steers the runner of a created game by the package that its folder has, and prints the transport, and
// whether the runner follows.
const steerInNode = `import { Client } from '@worldd/client'
const c = await Client.connect({ url: 'https://' + process.argv[2] + '/worldd' })
const frame = () => new Promise((resolve) => setTimeout(resolve, 10)).then(() => c.update())
while (c.controlled === 0n || c.resolve(c.controlled) !== 'live') await frame()
const place = () => c.entity(c.controlled).get('body').Position[0]
const from = place(), to = from < 0 ? 1 : -1
c.setInput({ X: to, Z: 0 })
while ((place() - from) * to < 2) await frame()
console.log(c.linkStats.transport)
c.close()
`

// TestBlockedUDP steers the avatar of a created game from Node, from Go and on its page in a network namespace that drops
// all UDP.
func TestBlockedUDP(t *testing.T) {
	if folder := os.Getenv(blockedGame); folder != "" {
		steerBlocked(t, folder)
		return
	}
	require.DirExists(t, "../build/game", "client/ts/test.sh creates a game: run it first")
	if out, err := exec.Command("unshare", "--net", "--map-root-user", "nft", "list", "tables").CombinedOutput(); err != nil {
		t.Skipf("no network namespace without UDP (it takes unshare, ip, nft and permission): %v: %s", err, out)
	}
	inside := exec.CommandContext(t.Context(), "unshare", "--net", "--map-root-user", must.Get(os.Executable()), "-test.v", "-test.run=^TestBlockedUDP$", "-test.timeout=15m")
	inside.Env = append(os.Environ(), blockedGame+"="+must.Get(filepath.Abs("../build/game")))
	out, err := inside.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

// steerBlocked blocks UDP in the network namespace of this process, and plays the game of folder in it.
func steerBlocked(t *testing.T, folder string) {
	run := func(name string, args ...string) string {
		out, err := exec.CommandContext(t.Context(), name, args...).Output()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return string(out)
	}
	run("ip", "link", "set", "lo", "up")
	run("nft", "add table inet blocked; add chain inet blocked in { type filter hook input priority 0; }; add rule inet blocked in meta l4proto udp counter drop")
	vite, game, _ := runDev(t, folder)

	script := filepath.Join(folder, "bin/steer.mjs") // below what npm has installed
	require.NoError(t, os.WriteFile(script, []byte(steerInNode), 0o600))
	require.Equal(t, "websocket\n", run("node", "--experimental-websocket", script, game)) // from version 22 on Node needs no flag
	require.True(t, steerInGo(t, game).OverTCP)
	require.NotContains(t, run("nft", "list", "ruleset"), "counter packets 0 ", "Go has tried UDP")
	browsertest.Each(t, func(t *testing.T, b browsertest.Browser) {
		var moved struct{ Avatar string }
		require.NoError(t, json.Unmarshal(b.Open(t, browsertest.NewSite(t, withScript(vite, watchRunner)), "/").Next(), &moved))
		require.Regexp(t, `(?s)ahead\s+\d+ ticks.*agreed\s+\d`, moved.Avatar)
	})
}

// steerInGo steers a runner until it follows, and returns the figures of its client.
func steerInGo(t *testing.T, game string) client.Stats {
	type stick struct {
		X, Z float32 `net:"range=-1..1,step=1/127"`
	}
	protocol := schema.NewWithBody()
	sticks := schema.DefineInput[stick](protocol)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := must.Get(client.Dial(ctx, client.Config{Addr: game, InsecureDev: true, Schema: protocol, Fallback: true}))
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
