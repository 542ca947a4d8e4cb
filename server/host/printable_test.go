package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/printable"
)

// Texts of files and arguments forge nothing in a terminal, whichever command quotes them.
func TestErrorsArePrintable(t *testing.T) {
	const forged = "x\x1b[2J\a\r\u202e\u200b\u009b"
	dir := t.TempDir()
	file := filepath.Join(dir, forged)
	require.NoError(t, os.WriteFile(file, []byte(forged+"\n"+forged), 0o600))
	for _, args := range [][]string{
		{"check", forged},
		{"replay", file},
		{"replay", filepath.Join(dir, forged+"none")},
		{"inspect", file},
		{"train", file},
		{"image", "info", file},
		{"image", "verify", file},
		{"image", "list", file},
		{"image", "migrate", file},
		{"schema", forged},
		{"schema", forged + ":1"},
		{"watch", "--addr", forged},
		{"health", "--admin", forged},
		{"cluster", "status", "--cluster", "http://127.0.0.1:1/" + forged},
		{"cluster", "move", forged, forged},
		{"loadtest", "--addr", forged},
		{"loadtest", "--baseline", file},
		{"loadtest", "--fail", forged},
		{"demo", "--scenario", forged},
		{"token", "issue", "--key", file, "ann"},
		{"help", forged},
		{forged},
		{"serve", "--listen", forged},
	} {
		_, out, errs := playOf(t, tag(), args...)
		for line := range strings.Lines(out + errs) {
			line = strings.TrimSuffix(line, "\n")
			require.Equal(t, printable.Text(line), line, args)
		}
	}
}
