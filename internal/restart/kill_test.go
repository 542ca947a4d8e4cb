//go:build unix

package restart

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
)

// killsVariable sets how often testKills kills each server.
const killsVariable = "WORLDD_KILLS"

// testKills: a server that writes its ticks before it tells of them is killed at random moments under load, or told to end,
// and each time the same run comes back. Bots keep their sessions and their handles, no handle ever names
// another entity, and no command is executed twice or denied after its answer (J1, J5).
func testKills(t *testing.T, built programs) {
	kills := 4
	if text := os.Getenv(killsVariable); text != "" {
		kills = must.Get(strconv.Atoi(text))
	}
	for _, program := range []string{"worldd", "arena", "coins"} {
		t.Run(program, func(t *testing.T) { killOften(t, built, program, kills) })
	}
}

func killOften(t *testing.T, built programs, program string, kills int) {
	dir, addr := t.TempDir(), loopback.Reserve(t, 1)[0]
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	start := func() *process {
		args := []string{"serve", "--listen=" + addr, "--image=kill.image", "--image-every=2s", "--journal=always", "--identity=identity.pem"}
		if program == "worldd" {
			args = append(args, "--world=storm")
		}
		p := startProcess(t, built.command(t, program, shipped, dir, args...))
		p.said(`"msg":"serving"`)
		return p
	}
	server := start()
	bots := startProcess(t, built.command(t, program, shipped, dir, "loadtest", "--addr="+addr, "--insecure-dev", "--bots=8", "--probes=250", "--duration=1h"))
	bots.said(`8/8`)
	for n := range kills {
		time.Sleep(time.Duration(500+random.IntN(1500)) * time.Millisecond) // at any moment
		if n%4 == 3 {
			require.Zero(t, server.end(syscall.SIGTERM), &server.screen)
		} else {
			require.Equal(t, -1, server.end(syscall.SIGKILL))
		}
		server = start()
		require.Contains(t, server.screen.String(), "the run continues")
		server.await("resumes all sessions", func() bool { return strings.Count(server.screen.String(), `"msg":"back"`) >= 8 })
	}
	lines := func() int { return strings.Count(bots.screen.String(), "8/8") }
	before := lines()
	bots.await("shows all bots again", func() bool { return lines() > before })
	require.Zero(t, bots.end(syscall.SIGINT), &bots.screen)
	require.Zero(t, server.end(syscall.SIGTERM), &server.screen)
	_, report, _ := strings.Cut(bots.screen.String(), "outages")
	t.Logf("%d kills of %s: outages%s", kills, program, report)
	require.Contains(t, bots.screen.String(), "✓ no bot failed")
	require.Contains(t, bots.screen.String(), "no handle lied         0 confusions in")
	report = strings.ReplaceAll(report, ",", "") // which group digits too
	// Fewer than the server has counted, if it was killed before bots heard that they were back. After the last kill all have heard it.
	require.Regexp(t, "([89]|[1-9][0-9]+) sessions resumed 0 anew 0 in another run of the world", report)
}
