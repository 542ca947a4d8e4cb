package quicserve

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A certificate that is kept is the same at each start, and its key is for nobody
// else to read.
func TestKeptCertificate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	first, err := KeptCertificate(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	again, err := KeptCertificate(path)
	require.NoError(t, err)
	require.Equal(t, first.Certificate, again.Certificate)
	require.Equal(t, first.PrivateKey, again.PrivateKey)
	other, err := KeptCertificate(path + "2")
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
		c, err := KeptCertificate(path)
		require.NoError(t, err)
		key, err := StatelessResetKeyOf(c)
		require.NoError(t, err)
		return *key
	}
	require.Equal(t, keyOf(path), keyOf(path))
	require.NotEqual(t, keyOf(path), keyOf(path+"2"))
	_, err := StatelessResetKeyOf(&tls.Certificate{PrivateKey: "in a safe"})
	require.Error(t, err)
}

// A file that cannot be used is left as it is: it may be somebody's key.
func TestKeptCertificateThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.pem")
	require.NoError(t, os.WriteFile(path, []byte("my diary"), 0o600))
	_, err := KeptCertificate(path)
	require.ErrorContains(t, err, path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "my diary", string(text))

	_, err = KeptCertificate(filepath.Join(path, "nowhere", "identity.pem"))
	require.Error(t, err)
	_, err = KeptCertificate(filepath.Join(t.TempDir(), "nowhere", "identity.pem"))
	require.ErrorContains(t, err, "can't keep a certificate")
}
