package server_test

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server"
)

// A new certificate applies to new handshakes; existing connections stay.
func TestSetCertificate(t *testing.T) {
	h := newTestServer(t)
	next := must.Get(server.KeptCertificate(filepath.Join(t.TempDir(), "identity.pem")))
	first, before := h.dial(), h.config()
	for _, bad := range []*tls.Certificate{nil, {}, {Certificate: next.Certificate}} {
		require.Error(t, h.server.SetCertificate(bad))
		require.Equal(t, before.Fingerprint, h.server.Fingerprint())
	}
	require.NoError(t, h.server.SetCertificate(next))
	require.NotEqual(t, before.Fingerprint, h.server.Fingerprint())
	second := h.dial() // with the new fingerprint
	require.ErrorContains(t, must.Fail(client.Dial(h.ctx, before)), "fingerprint")
	before.Fingerprint += ", " + h.server.Fingerprint() // as a client of both certificates
	require.NoError(t, must.Get(client.Dial(h.ctx, before)).Close())
	at := first.Replica().Tick()
	h.until(first, "it goes on", func() bool {
		h.stay(second)
		return first.Replica().Tick() > at+20
	})
}

func TestSetAdminAccess(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) { c.AdminAccess.Token = adminToken })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	status := func(token string) int {
		return h.status(http.DefaultClient, "http", request{http.MethodGet, "/metrics", "", map[string]string{"Authorization": "Bearer " + token}})
	}
	require.Equal(t, http.StatusOK, status(adminToken))
	for _, bad := range []server.AdminAccess{{Token: "short"}, {Token: adminToken, Certificate: newCertificate(t, "ops.example", nil)}} {
		require.Error(t, h.server.SetAdminAccess(bad))
		require.Equal(t, http.StatusOK, status(adminToken))
	}
	require.NoError(t, h.server.SetAdminAccess(server.AdminAccess{Token: "another-of-16-bytes"}))
	require.Equal(t, http.StatusUnauthorized, status(adminToken))
	require.Equal(t, http.StatusOK, status("another-of-16-bytes"))

	h = newTestServerWith(t, func(c *server.Config) { c.AdminListen, c.AdminAccess.Token = "0.0.0.0:0", adminToken })
	require.ErrorIs(t, h.server.SetAdminAccess(server.AdminAccess{}), server.ErrAdminExposed)
	h = newTestServerWith(t, func(c *server.Config) { c.AdminListen = "" })
	require.Error(t, h.server.SetAdminAccess(server.AdminAccess{Token: adminToken}))
}
