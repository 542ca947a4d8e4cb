package quicserve

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// A kept certificate is the same at each start, and its file is readable by its owner
// only.
func TestKeptCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	first := must.Get(KeptCertificate(path))
	require.Equal(t, os.FileMode(0o600), must.Get(os.Stat(path)).Mode().Perm())
	again := must.Get(KeptCertificate(path))
	require.Equal(t, first.Certificate, again.Certificate)
	require.Equal(t, first.PrivateKey, again.PrivateKey)
	other := must.Get(KeptCertificate(path + "2"))
	require.NotEqual(t, first.Certificate, other.Certificate)
	files := must.Get(filepath.Glob(filepath.Join(filepath.Dir(path), "*")))
	require.Len(t, files, 2, "no temporary files remain")
}

// A kept certificate always derives the same stateless reset key.
func TestStatelessResetKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	keyOf := func(path string) [32]byte {
		c := must.Get(KeptCertificate(path))
		key := must.Get(StatelessResetKeyOf(c))
		return *key
	}
	require.Equal(t, keyOf(path), keyOf(path))
	require.NotEqual(t, keyOf(path), keyOf(path+"2"))
	must.Fail(StatelessResetKeyOf(&tls.Certificate{PrivateKey: "in a safe"}))
}

// An invalid file is not overwritten: it may be another key.
func TestInvalidKeptCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	require.NoError(t, os.WriteFile(path, []byte("my diary"), 0o600))
	require.ErrorContains(t, must.Fail(KeptCertificate(path)), path)
	require.Equal(t, "my diary", string(must.Get(os.ReadFile(path))))

	must.Fail(KeptCertificate(filepath.Join(path, "nowhere", "identity.pem")))
	require.ErrorContains(t, must.Fail(KeptCertificate(filepath.Join(t.TempDir(), "nowhere", "identity.pem"))), "cannot keep a certificate")
}
