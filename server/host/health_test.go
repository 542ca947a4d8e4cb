package host

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// TestHealth: the exit status is the answer of the probe, over HTTP, over HTTPS with the server's
// own certificate, and from the environment of a container.
func TestHealth(t *testing.T) {
	admin := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte("behind\x1b[2J\n" + strings.Repeat("x", 10*maxHealthAnswer)))
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	plain, secret := httptest.NewServer(admin), httptest.NewTLSServer(admin)
	t.Cleanup(plain.Close)
	t.Cleanup(secret.Close)
	own := filepath.Join(t.TempDir(), "own.pem")
	require.NoError(t, os.WriteFile(own, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secret.Certificate().Raw}), 0o600))
	other := filepath.Join(t.TempDir(), "other.pem")
	must.Get(server.KeptCertificate(other))
	at := func(s *httptest.Server) string { return "--admin=" + s.Listener.Addr().String() }
	anywhere := "--admin=0.0.0.0" + at(plain)[strings.LastIndexByte(at(plain), ':'):]
	for _, c := range []struct {
		args     []string
		status   int
		out, err string
	}{
		{[]string{at(plain)}, exitOK, "ok\n", ""},
		{[]string{anywhere}, exitOK, "ok\n", ""},
		{[]string{at(secret), "--admin-cert=" + own}, exitOK, "ok\n", ""},
		{[]string{at(plain), "--ready"}, exitError, "", "behind"},
		{[]string{at(secret), "--admin-cert=" + other}, exitError, "", "another certificate"},
		{[]string{at(secret)}, exitError, "", "HTTPS"},
		{[]string{"--admin=127.0.0.1:1"}, exitError, "", "no server answers on 127.0.0.1:1"},
		{[]string{"--admin=4434"}, exitUsage, "", "missing port"},
		{[]string{at(plain), "--admin-cert=missing.pem"}, exitUsage, "", "admin certificate"},
		{nil, exitUsage, "", "--admin"},
	} {
		status, out, errs := play(t, append([]string{"health"}, c.args...)...)
		require.Equal(t, c.status, status, "%v: %s", c.args, errs)
		require.Equal(t, c.out, out, c.args)
		require.Contains(t, errs, c.err, c.args)
		require.NotContains(t, errs, "\x1b", c.args)
		require.Less(t, len(errs), 2*maxHealthAnswer, c.args)
	}
}

// TestIdentity: the command makes a certificate once, and prints what clients pin.
func TestIdentity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "identity.pem")
	status, first, errs := play(t, "identity", file)
	require.Equal(t, exitOK, status, errs)
	require.Regexp(t, "^[0-9a-f]{64}\n$", first)
	_, second, _ := play(t, "identity", file)
	require.Equal(t, first, second)
	require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o600))
	status, out, errs := play(t, "identity", file)
	require.Equal(t, exitError, status)
	require.Empty(t, out)
	require.Contains(t, errs, "invalid kept certificate")
	require.Equal(t, "damaged", string(must.Get(os.ReadFile(file))))
}

// TestAnyone: off loopback, a server lets clients join without a token only if told so.
func TestAnyone(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		status, out, errs := play(t, "serve", "--listen="+listen)
		require.Equal(t, exitUsage, status, listen)
		require.Empty(t, out, listen)
		require.Contains(t, errs, "give --token-keys FILE, or --anyone", listen)
	}
	status, _, errs := play(t, "serve", "--anyone", "--token-keys=any.pub")
	require.Equal(t, exitUsage, status)
	require.Contains(t, errs, "exclude each other")
	for address, want := range map[string]bool{
		"127.0.0.1:1": false, "127.1.2.3:1": false, "[::1]:1": false, "localhost:1": false, "nonsense": false,
		"0.0.0.0:1": true, "[::]:1": true, ":1": true, "10.1.2.3:1": true,
	} {
		require.Equal(t, want, isReachable(address), address)
	}
}
