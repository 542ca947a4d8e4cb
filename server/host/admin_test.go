package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
)

// A token that every user can read is used, with a warning.
func TestAdminTokenIsReadable(t *testing.T) {
	for mode, warned := range map[os.FileMode]int{0o600: 0, 0o644: 1} {
		path := filepath.Join(t.TempDir(), "token")
		require.NoError(t, os.WriteFile(path, []byte("0123456789abcdef"), mode))
		core, logged := observer.New(zapcore.WarnLevel)
		access := must.Get((&adminFlags{AdminToken: path}).newAccess(zap.New(core)))
		require.Equal(t, "0123456789abcdef", access.Token)
		require.Equal(t, warned, logged.FilterMessageSnippet("can read the secret key").Len(), "%v", mode)
	}
}
