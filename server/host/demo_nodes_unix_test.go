//go:build unix

package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/programtest"
)

// The demo shares the rooms among nodes and kills one. Its rooms move, every bot plays on, and no handle is confused.
func TestDemoOfNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	c := startEngine(t)
	var out []byte
	var err error
	programtest.PlayLonger(t, "30s", "2m", func(duration string) (string, bool) {
		out, err = programtest.Command(t, "inn", "demo", "--nodes=2", "--cluster="+c.engine, "--room=room", "--bots=6", "--duration="+duration).CombinedOutput()
		return string(out), err == nil
	})
	require.NoError(t, err, "%s", out)
	require.Regexp(t, `node-\d was killed with [1-9]\d* rooms?; [1-9]\d* of them have moved, `, string(out))
	require.Contains(t, string(out), " 0 confusions in")
	require.Regexp(t, `[1-9] connections lost: .* [1-9] in another run of the world`, string(out))
	require.Empty(t, c.directory().Nodes, "the demo's nodes have a directory of their own")
}

// Contradictions of the demo's flags are named.
func TestFlagsOfNodes(t *testing.T) {
	url := directoryFlags{Cluster: []string{"http://127.0.0.1:2379"}}
	for want, f := range map[string]nodesFlags{
		"want 2 to 16":            {url, 1},
		"--nodes needs --cluster": {directoryFlags{}, 3},
		"--cluster needs --nodes": {url, 0},
	} {
		require.ErrorContains(t, (&demoCommand{Bots: 1, Duration: time.Second, nodesFlags: f}).Validate(), want)
	}
	c := demoCommand{Bots: 1, Duration: time.Second, nodesFlags: nodesFlags{url, 2}}
	require.NoError(t, c.Validate())
	c.HTML = "page.html"
	require.ErrorContains(t, c.Validate(), "--html and --nodes exclude each other")
}
