//go:build unix

package restart

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/programtest"
)

// testClients: players of a game's version play on servers of the version before, and of the next one.
func testClients(t *testing.T, built programs) {
	tests := map[string]func(*testing.T){}
	for name, g := range games {
		if g.edits == nil {
			continue
		}
		tests[name+", old clients"] = func(t *testing.T) { playOn(t, built, name, upgraded, shipped) }
		tests[name+", new clients"] = func(t *testing.T) { playOn(t, built, name, shipped, upgraded) }
	}
	runAtOnce(t, tests)
}

// playOn lets the bots of one version play on a server of another one.
func playOn(t *testing.T, built programs, program string, server, bots version) {
	p := startProcess(t, built.command(t, program, server, t.TempDir(), "serve", "--listen=127.0.0.1:0", "--image=images"))
	addr := p.said(`"msg":"serving","addr":"(\S+?)"`)[1]
	var out []byte
	var err error
	programtest.PlayLonger(t, "2s", "30s", func(duration string) (string, bool) {
		c := built.command(t, program, bots, t.TempDir(), "loadtest", "--addr="+addr, "--insecure-dev", "--bots=4", "--duration="+duration,
			"--fail=confusions>0", "--fail=failed>0", "--fail=delivered_ratio<0.9")
		out, err = c.CombinedOutput()
		return string(out), err == nil
	})
	require.NoError(t, err, "%s", out)
	require.Zero(t, p.end(syscall.SIGTERM), &p.screen)
	require.NotContains(t, p.screen.String(), `"level":"error"`)
}
