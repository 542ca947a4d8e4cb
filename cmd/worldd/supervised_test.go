package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSupervised plays systemd: the server is ready once it ticks, gives signs of
// life, and says that it ends.
func TestSupervised(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	told, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skip(err)
	}
	defer told.Close()
	require.NoError(t, told.SetReadDeadline(time.Now().Add(3*time.Minute)))
	hear := func() string {
		buf := make([]byte, 1024)
		n, err := told.Read(buf)
		require.NoError(t, err)
		return string(buf[:n])
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "300000")
	s := startServing(t)
	require.Equal(t, "READY=1", hear())
	require.True(t, strings.HasPrefix(hear(), "STATUS=0 clients, "))
	for range 3 {
		require.Equal(t, "WATCHDOG=1", hear())
	}
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	for last := ""; last != "STOPPING=1"; {
		last = hear()
		require.Contains(t, []string{"WATCHDOG=1", "STOPPING=1"}, last)
	}
	require.NoError(t, s.process.Wait())
}

// TestDeployment: what stands in the unit and in the image is a command line that
// the program takes.
func TestDeployment(t *testing.T) {
	unit, err := os.ReadFile("deploy/worldd.service")
	require.NoError(t, err)
	image, err := os.ReadFile("deploy/Dockerfile")
	require.NoError(t, err)
	_, line, found := strings.Cut(string(unit), "ExecStart=/usr/local/bin/worldd ")
	require.True(t, found)
	line, _, _ = strings.Cut(line, "\n")
	_, list, found := strings.Cut(string(image), "CMD [")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "]")
	for _, args := range [][]string{strings.Fields(line), strings.Fields(strings.NewReplacer(`"`, "", ",", " ").Replace(list))} {
		c, status := parse(args, streams{strings.NewReader(""), &screen{}, &screen{}})
		require.Equal(t, exitOK, status, args)
		require.IsType(t, &serveCommand{}, c)
	}
}

// TestDashboard: every metric that the dashboard shows is one that the server has,
// with the labels that it is picked by.
func TestDashboard(t *testing.T) {
	s := startServing(t, "--admin=127.0.0.1:0", "--image="+filepath.Join(t.TempDir(), "image"))
	g, err := s.dial(t.Context(), 0)
	require.NoError(t, err)
	_, err = g.Command("poke", 0, nil) // rejected, so that there is a rejection
	require.NoError(t, err)
	for len(g.results) == 0 {
		require.NoError(t, g.Wait(t.Context()))
		require.NoError(t, g.Update())
	}
	require.NoError(t, g.Close())
	var metrics string
	require.Eventually(t, func() bool {
		response, err := http.Get(s.admin + "/metrics")
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		metrics = string(text)
		return strings.Contains(metrics, "worldd_sessions_ended_total")
	}, time.Minute, 20*time.Millisecond)
	text, err := os.ReadFile("deploy/grafana.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	shown := 0
	selector := regexp.MustCompile(`(worldd_\w+)\{([^}]*)\}`)
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, found := range selector.FindAllStringSubmatch(target.Expr, -1) {
				shown++
				require.Regexp(t, `(?m)^`+found[1]+`[ {]`, metrics, target.Expr)
				for _, label := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllString(found[2], -1) {
					require.Regexp(t, `(?m)^`+found[1]+`\{.*`+regexp.QuoteMeta(label), metrics, target.Expr)
				}
			}
		}
	}
	require.Greater(t, shown, 20)
}
