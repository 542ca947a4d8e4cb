package host

import (
	"net/http"
	"net/http/httptest"
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

// A node that is too busy to answer is asked again how its drain gets on.
func TestDrainOutlastsSilence(t *testing.T) {
	asked := 0
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked++; {
		case r.Method == http.MethodPost:
			_, _ = w.Write([]byte(`{"moving": true}`))
		case asked == 2:
			panic(http.ErrAbortHandler) // closes the connection
		default:
			_, _ = w.Write([]byte(`{"stay": ["inn/1"]}`))
		}
	}))
	t.Cleanup(admin.Close)
	status, _, errs := play(t, "cluster", "drain", "a", "--admin="+admin.Listener.Addr().String())
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "inn/1")
	require.Equal(t, 3, asked)
}
