//go:build unix

package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
)

// A secret key that every user can read is used, with a warning.
func TestReadableSecretKeys(t *testing.T) {
	dir := t.TempDir()
	identity, key := filepath.Join(dir, "identity.pem"), filepath.Join(dir, "key")
	status, _, errs := play(t, "token", "new", key)
	require.Equal(t, exitOK, status, errs)
	issue := []string{"token", "issue", "--user=ann", "--key=" + key}

	logs, seen := observer.New(zap.WarnLevel)
	kept, owned := serveCommand{Identity: identity}, serveCommand{Cert: identity, Key: identity}
	for _, c := range []*serveCommand{&kept, &owned} {
		must.Get(c.loadCertificate(zap.New(logs)))
	}
	require.Zero(t, seen.Len(), "as worldd makes them")
	_, _, errs = play(t, issue...)
	require.Empty(t, errs)

	require.NoError(t, os.Chmod(identity, 0o644))
	require.NoError(t, os.Chmod(key, 0o604))
	for n, c := range []*serveCommand{&kept, &owned} {
		require.NotNil(t, must.Get(c.loadCertificate(zap.New(logs))))
		require.Equal(t, n+1, seen.FilterField(zap.String("path", identity)).Len())
	}
	status, out, errs := play(t, issue...)
	require.Equal(t, exitOK, status)
	require.NotEmpty(t, out)
	require.Contains(t, errs, "every user of this machine can read the secret key "+key)
}
