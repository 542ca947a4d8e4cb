package server_test

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server"
)

// A certificate that is kept is the same at each start, and its key is for nobody
// else to read.
func TestKeptCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	first, err := server.KeptCertificate(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := server.KeptCertificate(path)
	require.NoError(t, err)
	require.Equal(t, first.Certificate, again.Certificate)
	require.Equal(t, first.PrivateKey, again.PrivateKey)
	other, err := server.KeptCertificate(path + "2")
	require.NoError(t, err)
	require.NotEqual(t, first.Certificate, other.Certificate)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	require.Len(t, files, 2, "nothing else is left")
}

// The key of stateless resets is the same as long as the certificate is kept.
func TestStatelessResetKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	keyOf := func(path string) [32]byte {
		c, err := server.KeptCertificate(path)
		require.NoError(t, err)
		key, err := server.StatelessResetKeyOf(c)
		require.NoError(t, err)
		return *key
	}
	require.Equal(t, keyOf(path), keyOf(path))
	require.NotEqual(t, keyOf(path), keyOf(path+"2"))
	_, err := server.StatelessResetKeyOf(&tls.Certificate{PrivateKey: "in a safe"})
	require.Error(t, err)
}

// A file that cannot be used is left as it is: it may be somebody's key.
func TestKeptCertificateThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	require.NoError(t, os.WriteFile(path, []byte("my diary"), 0o600))
	_, err := server.KeptCertificate(path)
	require.ErrorContains(t, err, path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "my diary", string(text))

	_, err = server.KeptCertificate(filepath.Join(path, "nowhere", "identity.pem"))
	require.Error(t, err)
	_, err = server.KeptCertificate(filepath.Join(t.TempDir(), "nowhere", "identity.pem"))
	require.ErrorContains(t, err, "can't keep a certificate")
}
