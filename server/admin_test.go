package server_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

const adminToken = "0123456789abcdef"

// request is a request to the admin port.
type request struct {
	method, path, host string
	header             map[string]string
}

// status sends a request and returns the response's status.
func (h *testServer) status(c *http.Client, scheme string, r request) int {
	h.t.Helper()
	for {
		request := must.Get(http.NewRequestWithContext(h.ctx, r.method, scheme+"://"+h.server.AdminAddr().String()+r.path, nil))
		request.Host = r.host
		for name, value := range r.header {
			request.Header.Set(name, value)
		}
		response := must.Get(c.Do(request))
		require.NoError(h.t, response.Body.Close())
		if response.StatusCode != http.StatusServiceUnavailable { // retry if the world was too slow to answer
			return response.StatusCode
		}
	}
}

// A page of another site whose name was rebound to loopback is refused, even for profiles.
func TestAdminRefusesForeignHosts(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) { c.AdminAccess.Hosts = []string{"Ops.example"} })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	stays := h.bystander()
	kick := fmt.Sprintf("/sessions/%d/kick", h.rows("")[0].ID)
	port := strings.TrimPrefix(h.server.AdminAddr().String(), "127.0.0.1")
	sameOrigin := map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"}
	for _, path := range []string{"/", "/metrics", "/healthz", "/sessions", "/debug/pprof/heap", "/debug/pprof/profile?seconds=600"} {
		for _, host := range []string{"evil.example", "evil.example" + port, "127.0.0.1.evil.example", "localhost.evil.example", "10.1.2.3", "[2001:db8::1]:80"} {
			require.Equal(t, http.StatusForbidden, h.status(http.DefaultClient, "http", request{http.MethodGet, path, host, sameOrigin}), "%s of %s", path, host)
		}
	}
	require.Equal(t, http.StatusForbidden, h.status(http.DefaultClient, "http", request{http.MethodPost, kick, "evil.example", sameOrigin}))
	for _, host := range []string{"localhost", "LocalHost" + port, "127.0.0.1", "127.0.0.1:9", "[::1]:80", "ops.example", "OPS.EXAMPLE:4434"} {
		require.Equal(t, http.StatusOK, h.status(http.DefaultClient, "http", request{http.MethodGet, "/metrics", host, nil}), host)
	}
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"} {
		r := request{http.MethodGet, "/debug/pprof/profile?seconds=600", "", map[string]string{name: value}}
		require.Equal(t, http.StatusForbidden, h.status(http.DefaultClient, "http", r), name)
	}
	stays()
}

// With a token configured, requests without it are refused, except probes.
func TestAdminToken(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) {
		c.AdminListen, c.AdminAccess.Token = "0.0.0.0:0", adminToken
	})
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": token} }
	for _, path := range []string{"/", "/metrics", "/ticks", "/web", "/sessions", "/debug/pprof/", "/debug/pprof/profile?seconds=600"} {
		for _, wrong := range []map[string]string{nil, bearer("Bearer"), bearer("Bearer 0123456789abcdeF"), bearer(adminToken), bearer("Basic " + adminToken)} {
			require.Equal(t, http.StatusUnauthorized, h.status(http.DefaultClient, "http", request{http.MethodGet, path, "localhost", wrong}), "%s %v", path, wrong)
		}
	}
	require.Equal(t, http.StatusUnauthorized, h.status(http.DefaultClient, "http", request{http.MethodPost, "/sessions/1/kick", "localhost", nil}))
	for _, path := range []string{"/metrics", "/ticks", "/sessions", "/debug/pprof/"} {
		require.Equal(t, http.StatusOK, h.status(http.DefaultClient, "http", request{http.MethodGet, path, "localhost", bearer("bearer " + adminToken)}), path)
	}
	require.Equal(t, http.StatusNotFound, h.status(http.DefaultClient, "http", request{http.MethodPost, "/sessions/1/kick", "localhost", bearer("Bearer " + adminToken)}))
	for _, path := range []string{"/healthz", "/readyz", "/live", "/live.js", "/live.css"} {
		require.Equal(t, http.StatusOK, h.status(http.DefaultClient, "http", request{http.MethodGet, path, "localhost", nil}), path)
	}
}

// newCertificate returns a certificate signed by ca, or self-signed if ca is nil.
func newCertificate(t *testing.T, name string, ca *tls.Certificate) *tls.Certificate {
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	parent, signer := template, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer))
	leaf := must.Get(x509.ParseCertificate(der))
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// With ClientCAs configured, a client certificate replaces the token.
func TestAdminClientCertificates(t *testing.T) {
	ca := newCertificate(t, "ca", nil)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Leaf)
	h := newTestServerWith(t, func(c *server.Config) {
		c.AdminListen = "0.0.0.0:0"
		c.AdminAccess = server.AdminAccess{Certificate: newCertificate(t, "ops.example", ca), ClientCAs: pool, Token: adminToken}
	})
	of := func(own *tls.Certificate) *http.Client {
		show := func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own, nil } // for any request
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "ops.example", GetClientCertificate: show}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	metrics := request{http.MethodGet, "/metrics", "localhost", nil}
	require.Equal(t, http.StatusOK, h.status(of(newCertificate(t, "prometheus", ca)), "https", metrics))
	require.Equal(t, http.StatusUnauthorized, h.status(of(new(tls.Certificate)), "https", metrics))
	require.Equal(t, http.StatusOK, h.status(of(new(tls.Certificate)), "https", request{http.MethodGet, "/healthz", "localhost", nil}))
	require.Equal(t, http.StatusOK, h.status(of(new(tls.Certificate)), "https", request{http.MethodGet, "/metrics", "localhost", map[string]string{"Authorization": "Bearer " + adminToken}}))
	require.Equal(t, http.StatusBadRequest, h.status(http.DefaultClient, "http", metrics), "no plain HTTP")
	response, err := of(newCertificate(t, "self-signed", nil)).Get("https://" + h.server.AdminAddr().String() + "/metrics")
	if err == nil { // a TLS 1.3 client receives the refusal with its first read
		response.Body.Close()
	}
	require.Error(t, err)
}

func TestAdminAccessIsChecked(t *testing.T) {
	w := must.Get(world.New(world.Config{}))
	for _, c := range []struct {
		listen string
		access server.AdminAccess
		want   string
	}{
		{"127.0.0.1:0", server.AdminAccess{}, ""},
		{"127.9.9.9:0", server.AdminAccess{}, ""},
		{"localhost:0", server.AdminAccess{}, ""},
		{"[::1]:0", server.AdminAccess{}, ""},
		{"0.0.0.0:0", server.AdminAccess{Token: adminToken}, ""},
		{":0", server.AdminAccess{}, "not on loopback"},
		{"0.0.0.0:0", server.AdminAccess{}, "not on loopback"},
		{"[::]:0", server.AdminAccess{}, "not on loopback"},
		{"192.0.2.1:0", server.AdminAccess{}, "not on loopback"},
		{"game.example:0", server.AdminAccess{}, "not on loopback"},
		{"0.0.0.0:0", server.AdminAccess{Certificate: &tls.Certificate{}}, "not on loopback"},
		{"127.0.0.1:0", server.AdminAccess{Token: "short"}, "admin token of 5 bytes"},
		{"127.0.0.1:0", server.AdminAccess{Token: strings.Repeat("x", 513)}, "admin token of 513 bytes"},
		{"127.0.0.1:0", server.AdminAccess{Token: "0123456789 abcdef"}, "without spaces"},
		{"127.0.0.1:0", server.AdminAccess{ClientCAs: x509.NewCertPool()}, "has a client CA but no certificate"},
		{"127.0.0.1:0", server.AdminAccess{Hosts: []string{"https://ops.example"}}, "without scheme and port"},
	} {
		config := server.Config{
			Listen: "127.0.0.1:0", AdminListen: c.listen, AdminAccess: c.access,
			WorldConfig: server.WorldConfig{
				World: w, Schema: schema.NewWithBody(),
			},
		}
		err := config.Validate()
		if c.want == "" {
			require.NoError(t, err, c.listen)
		} else {
			require.ErrorContains(t, err, c.want, "%+v", c)
		}
	}
}

// Profiles are bounded in number and duration.
func TestAdminProfilesAreBounded(t *testing.T) {
	h := newTestServer(t)
	for _, path := range []string{"/debug/pprof/profile?seconds=601", "/debug/pprof/trace?seconds=1e9", "/debug/pprof/heap?seconds=NaN"} {
		code, _ := h.ask(http.MethodGet, path)
		require.Equal(t, http.StatusBadRequest, code, path)
	}
	ended := make(chan struct{}, 2)
	for _, path := range []string{"profile?seconds=600", "allocs?seconds=600"} {
		go func() {
			defer func() { ended <- struct{}{} }()
			for { // until it begins: another test's profile may still be ending, and each try below occupies a place
				response, err := http.Get(fmt.Sprintf("http://%v/debug/pprof/%s", h.server.AdminAddr(), path))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				response.Body.Close()
				if response.StatusCode == http.StatusOK {
					return
				}
			}
		}()
	}
	for {
		if code, text := h.ask(http.MethodGet, "/debug/pprof/cmdline"); code == http.StatusTooManyRequests {
			require.Contains(t, text, "2 profiles are under way")
			break
		}
	}
	code, _ := h.operate(http.MethodGet, "/metrics")
	require.Equal(t, http.StatusOK, code)
	h.stop()
	<-ended
	<-ended
}

// An excessive request body is not read.
func TestAdminBodyIsBounded(t *testing.T) {
	h := newTestServer(t)
	response, err := http.Post(fmt.Sprintf("http://%v/sessions/1/kick", h.server.AdminAddr()),
		"application/x-www-form-urlencoded", bytes.NewReader(append([]byte("reason="), bytes.Repeat([]byte("x"), 1<<20)...)))
	if err == nil { // otherwise the connection was closed while sending
		require.True(t, response.Close)
		require.NoError(t, response.Body.Close())
	}
}
