package commandline

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

func TestIsTerminal(t *testing.T) {
	require.False(t, IsTerminal(&bytes.Buffer{}))
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "out")))
	defer f.Close()
	require.False(t, IsTerminal(f))
}
