package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
)

// TestReload: SIGHUP applies the file's current limits. Settings that cannot be applied are
// reported and change nothing.
func TestReload(t *testing.T) {
	world := filepath.Join(t.TempDir(), "world.yaml")
	write := func(players, budget int) {
		require.NoError(t, os.WriteFile(world, []byte(room(players, budget)), 0o644))
	}
	write(2, 60000)
	log := &programtest.Screen{}
	s := startServingTo(t, log, "--world="+world)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	hup := func() { require.NoError(t, s.process.Process.Signal(syscall.SIGHUP)) }
	first := must.Get(s.dial(ctx, 0))
	defer first.Close()
	said := func(words string) { // updating keeps the client connected
		t.Helper()
		first.until(t, ctx, func() bool { return strings.Contains(log.String(), words) })
	}
	full := func() {
		t.Helper()
		_, err := s.dial(ctx, 0)
		require.Equal(t, wire.ServerFull, wire.CodeOf(err), "%v", err)
	}

	write(1, 70000)
	hup()
	said(`"max_sessions":1,"max_sessions_per_address":0,"budget_bytes_per_second":70000`)
	full()
	write(3, 60000)
	hup()
	said("started for 2: restart to raise it")
	full()
	write(2, 5)
	hup()
	said("budget_bytes_per_second is 5")
	full()
	require.NotContains(t, log.String(), "restart to apply\",\"keys")
	require.NoError(t, os.WriteFile(world, []byte(strings.Replace(room(2, 60000), "name: room", "name: hall\ntick_hz: 30", 1)), 0o644))
	hup()
	said(`"max_sessions":2,`)
	require.Contains(t, log.String(), `"keys":["name","tick_hz"]`, "what is not taken is told")
	require.NoError(t, must.Get(s.dial(ctx, 0)).Close())
	s.end(syscall.SIGTERM)
}

// TestReloadOfKeys: SIGHUP reloads the certificate, the token keys and the admin token. An
// unusable file is logged, and the old one stays in use.
func TestReloadOfKeys(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) { require.NoError(t, os.WriteFile(in(name), []byte(text), 0o600)) }
	secrets := map[string]string{}
	keys := func(name string) string {
		secret, public := token.NewKeys()
		secrets[name] = secret
		return public
	}
	write("keys.pub", keys("old"))
	write("token", "0123456789abcdef")
	log := &programtest.Screen{}
	s := startServingTo(t, log, "--identity="+in("identity.pem"), "--token-keys="+in("keys.pub"), "--admin=127.0.0.1:0", "--admin-token="+in("token"))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	hups := 0
	hup := func() {
		hups++
		require.NoError(t, s.process.Process.Signal(syscall.SIGHUP))
		require.Eventually(t, func() bool { return strings.Count(log.String(), "admin access ") == hups }, time.Minute, time.Millisecond)
	}
	dial := func(key string) error {
		issuer := must.Get(token.NewIssuer(secrets[key]))
		text := must.Get(issuer.Issue(token.Claims{User: "erin"}, "worldd", time.Now(), time.Minute))
		c, err := client.Dial(ctx, client.Config{
			Addr: s.addr, Fingerprint: s.fingerprint, Schema: messages.Schema, Token: []byte(text),
		})
		if err == nil {
			require.NoError(t, c.Close())
		}
		return err
	}
	ask := func(bearer string) int {
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, s.admin+"/metrics", nil))
		request.Header.Set("Authorization", "Bearer "+bearer)
		response := must.Get(http.DefaultClient.Do(request))
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.NoError(t, dial("old"))

	must.Get(server.KeptCertificate(in("next.pem")))
	require.NoError(t, os.Rename(in("next.pem"), in("identity.pem")))
	write("keys.pub", keys("new"))
	write("token", "fedcba9876543210")
	hup()
	require.ErrorContains(t, dial("new"), "fingerprint")
	s.fingerprint = regexp.MustCompile(`"the certificate has changed.*"fingerprint":"(\w+)"`).FindStringSubmatch(log.String())[1]
	require.NoError(t, dial("new"))
	require.Equal(t, wire.Unauthorized, wire.CodeOf(dial("old")))
	require.Equal(t, []int{http.StatusOK, http.StatusUnauthorized}, []int{ask("fedcba9876543210"), ask("0123456789abcdef")})

	for _, name := range []string{"identity.pem", "keys.pub", "token"} {
		write(name, "x")
	}
	hup()
	for _, what := range []string{"certificate", "token keys", "admin access"} {
		require.Contains(t, log.String(), what+" not reloaded: the old one stays in use")
	}
	require.NoError(t, dial("new"))
	require.Equal(t, http.StatusOK, ask("fedcba9876543210"))
	require.NoError(t, os.Remove(in("identity.pem")))
	hup()
	require.NoError(t, dial("new"))
	require.NoFileExists(t, in("identity.pem"), "none is made while it serves")
	s.end(syscall.SIGTERM)
}

// room is a small world's file.
func room(players, budget int) string {
	return fmt.Sprintf("name: room\nlimits: {max_players: %d}\nbudget_bytes_per_second: %d\n"+
		"kinds:\n  avatar: {body: {kinematic: true}}\nplayers: {kind: avatar, region: {min: [-5, 0.5, -5], max: [5, 0.5, 5]}}\n", players, budget)
}

// startServingTo is startServing with a readable log.
func startServingTo(t *testing.T, log io.Writer, args ...string) *serving {
	return startServingBy(t, func(s *serving) { s.process.Stderr = log }, args...)
}

// SIGHUP does not end the server, even together with SIGTERM: systemd and terminals send it
// right after SIGTERM, while the server saves the world.
func TestHangupWhileItEnds(t *testing.T) {
	image := filepath.Join(t.TempDir(), "world.image")
	s := startServing(t, "--image="+image)
	require.NoError(t, s.process.Process.Signal(syscall.SIGTERM))
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	for {
		select {
		case err := <-ended:
			require.NoError(t, err)
			return
		default:
			_ = s.process.Process.Signal(syscall.SIGHUP) // fails if it has ended already
			time.Sleep(time.Millisecond)
		}
	}
}
