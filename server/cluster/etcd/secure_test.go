package etcd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
)

// authority issues certificates into a folder.
type authority struct {
	t           *testing.T
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	template := x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: name}}
	a.key, a.certificate = a.sign("ca", template)
	return a
}

// file returns the path of a certificate ("ca.pem") or key ("ca.key").
func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// sign writes a certificate and its key.
func (a *authority) sign(name string, template x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = &template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	require.NoError(a.t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(a.t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	require.NoError(a.t, os.WriteFile(a.file(name+".pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.t, os.WriteFile(a.file(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return key, certificate
}

// A real engine that wants client certificates. Its gateway is a client of its own: the engine's certificate must allow
// that as well.
func TestEngineWithCertificates(t *testing.T) {
	ca := newAuthority(t, "engine")
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	ca.sign("engine", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: both})
	ca.sign("node", x509.Certificate{Subject: pkix.Name{CommonName: "node"}, ExtKeyUsage: both[1:]})
	m := startMembers(t, 1, "--client-cert-auth", "--trusted-ca-file", ca.file("ca.pem"), "--cert-file", ca.file("engine.pem"), "--key-file", ca.file("engine.key"))
	config := etcd.Config{Endpoints: m.urls, CompactEvery: -1, Timeout: time.Minute}
	var err error
	config.TLS, err = etcd.ReadTLS(ca.file("ca.pem"), ca.file("node.pem"), ca.file("node.key"))
	require.NoError(t, err)
	s, err := etcd.Open(t.Context(), config)
	for err != nil && t.Context().Err() == nil { // it starts
		s, err = etcd.Open(t.Context(), config)
	}
	require.NoError(t, err)
	defer s.Close()
	revision, err := s.Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte("v")})
	require.NoError(t, err)
	_, at, err := cluster.ReadAll(t.Context(), s, "k")
	require.NoError(t, err)
	require.Equal(t, revision, at)

	other := newAuthority(t, "other")
	other.sign("node", x509.Certificate{ExtKeyUsage: both[1:]})
	for _, files := range [][3]string{
		{ca.file("ca.pem")},
		{ca.file("ca.pem"), other.file("node.pem"), other.file("node.key")},
		{other.file("ca.pem"), ca.file("node.pem"), ca.file("node.key")},
	} {
		config.TLS, err = etcd.ReadTLS(files[0], files[1], files[2])
		require.NoError(t, err)
		_, err = etcd.Open(t.Context(), config)
		require.ErrorContains(t, err, "certificate", files)
	}
}

// An engine whose certificate its own gateway cannot use.
func TestEngineWithServerCertificate(t *testing.T) {
	ca := newAuthority(t, "engine")
	ca.sign("engine", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ca.sign("node", x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	m := startMembers(t, 1, "--client-cert-auth", "--trusted-ca-file", ca.file("ca.pem"), "--cert-file", ca.file("engine.pem"), "--key-file", ca.file("engine.key"))
	config, err := etcd.ReadTLS(ca.file("ca.pem"), ca.file("node.pem"), ca.file("node.key"))
	require.NoError(t, err)
	for t.Context().Err() == nil {
		_, err = etcd.Open(t.Context(), etcd.Config{Endpoints: m.urls, CompactEvery: -1, TLS: config, Timeout: time.Minute})
		require.Error(t, err)
		if !slices.Contains(kindsOf(err), etcd.Unreachable) { // it starts
			break
		}
	}
	require.ErrorContains(t, err, "clientAuth")
}

func TestReadTLS(t *testing.T) {
	config, err := etcd.ReadTLS("", "", "")
	require.NoError(t, err)
	require.Nil(t, config)
	a, b := newAuthority(t, "a"), newAuthority(t, "b")
	missing, large := filepath.Join(t.TempDir(), "missing.pem"), filepath.Join(t.TempDir(), "large.pem")
	require.NoError(t, os.WriteFile(large, make([]byte, 2<<20), 0o600))
	for _, c := range [][4]string{
		{missing, "", "", "authority"},
		{a.file("ca.key"), "", "", "no certificate in PEM"},
		{large, "", "", "too long"},
		{"", a.file("ca.pem"), "", "name both"},
		{"", "", a.file("ca.key"), "name both"},
		{"", missing, a.file("ca.key"), "client certificate"},
		{"", a.file("ca.pem"), t.TempDir(), "regular"},
		{"", a.file("ca.pem"), b.file("ca.key"), "does not match"},
	} {
		_, err := etcd.ReadTLS(c[0], c[1], c[2])
		require.ErrorContains(t, err, c[3])
	}
}
