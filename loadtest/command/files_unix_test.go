//go:build unix

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/scenes/bots"
	"github.com/worldd/worldd/server/token"
)

func TestFlagsNameRegularFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, flag := range []string{"--tables=", "--token-key="} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, Main(t.Context(), bots.Player(), []string{"--addr=127.0.0.1:1", "--insecure-dev", flag + pipe}, &stdout, &stderr))
		require.Contains(t, stderr.String(), pipe+": not a regular file: it is a named pipe")
	}
}

func TestReadableTokenKey(t *testing.T) {
	secret, _ := token.NewKeys()
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(secret), 0o600))
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o644: true} {
		require.NoError(t, os.Chmod(key, mode))
		var stdout, stderr bytes.Buffer
		// The run ends because no server answers.
		require.Equal(t, exitError, Main(t.Context(), bots.Player(), []string{"--addr=127.0.0.1:1", "--insecure-dev", "--token-key=" + key, "--bots=1", "--duration=100ms"}, &stdout, &stderr))
		require.Equal(t, warned, bytes.Contains(stderr.Bytes(), []byte("can read the secret key "+key)), "%o: %s", mode, &stderr)
	}
}
