//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
)

// Each mistake with a command of operators is named with what to do, and has its exit status.
func TestClusterCommands(t *testing.T) {
	c := startEngine(t)
	c.settle()
	token, wrong := filepath.Join(c.dir, "token"), filepath.Join(c.dir, "wrong")
	c.token = "0123456789abcdef"
	require.NoError(t, os.WriteFile(token, []byte(c.token), 0o600))
	require.NoError(t, os.WriteFile(wrong, []byte("fedcba9876543210"), 0o600))
	reserved := loopback.Reserve(t, 3)
	admins, nobody := map[string]string{"a": reserved[0], "b": reserved[1]}, reserved[2]
	for node, admin := range admins {
		c.startLeased(node, "own-"+node, 2*soon, "--admin="+admin, "--admin-token="+token)
	}
	c.introduce("a", "b")
	c.until("both nodes know who has the lobby", func() bool { return c.known("a").home("lobby") != "" && c.known("b").home("lobby") != "" })
	home := c.home("lobby")
	other := map[string]string{"a": "b", "b": "a"}[home]
	in, ask, dir := "--admin="+admins[home], "--admin-token="+token, "--cluster="+c.engine
	for _, call := range []struct {
		args   string
		status int
		want   string
	}{
		{"move", exitUsage, "--admin=HOST:PORT <room> <node>"},
		{"move lobby " + in, exitUsage, `expected "<node>"`},
		{"move lobby " + other, exitUsage, "--admin=HOST:PORT"},
		{"move lobby " + other + " --admin=nowhere", exitUsage, "--admin"},
		{"move lobby " + other + " " + in, exitError, "give --admin-token FILE"},
		{"move lobby " + other + " --admin-token=" + wrong + " " + in, exitError, "give --admin-token FILE"},
		{"move lobby " + other + " --admin-token=" + token + ".none " + in, exitUsage, "cannot read the admin token"},
		{"move lobby " + other + " --admin=" + nobody, exitError, "no server answers on " + nobody},
		{"move lobby " + other + " --admin=" + strings.TrimPrefix(c.engine, "http://"), exitError, "give as --admin the --admin of a worldd server"},
		{"move nowhere " + other + " " + in + " " + ask, exitError, "nowhere"},
		{"move lobby c " + in + " " + ask, exitError, `the cluster has no node "c"`},
		{"move lobby " + home + " " + in + " " + ask, exitError, "name another one"},
		{"move lobby " + home + " --admin=" + admins[other] + " " + ask, exitError, "node " + home + " has the room: ask its admin port"},
		{"drain " + in, exitUsage, `expected "<node>"`},
		{"drain " + other + " " + in + " " + ask, exitError, "ask the admin port of node " + other},
		{"drain " + home + " --within=0s " + in + " " + ask, exitUsage, "--within"},
		{"drain " + home + " " + in, exitError, "give --admin-token FILE"},
		{"status", exitUsage, "--cluster URL is missing"},
		{"status --cluster=http://" + nobody, exitError, "no endpoint answers"},
		{"status --cluster=nowhere", exitError, "nowhere"},
		{"forget " + dir, exitUsage, `expected "<room>"`},
		{"forget lobby", exitUsage, "--cluster URL is missing"},
		{"forget nowhere " + dir, exitError, "room nowhere has no image"},
		{"forget lobby " + dir, exitError, "room lobby runs on node " + home},
		{"adopt", exitUsage, "--cluster URL is missing"},
		{"adopt " + dir, exitUsage, "--was ID is missing"},
		{"adopt " + dir + " --was=x", exitError, "16 hexadecimal digits"},
		{"move lobby " + other + " " + in + " " + ask, exitOK, "moved: room lobby to node " + other},
	} {
		status, out := c.run(append([]string{"cluster"}, strings.Fields(call.args)...)...)
		require.Equal(t, call.status, status, "%s: %s", call.args, out)
		require.Contains(t, out, call.want, call.args)
	}
}
