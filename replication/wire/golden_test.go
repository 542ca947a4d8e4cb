package wire_test

import (
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// The golden files hold the bytes of every message, and below them what a
// decoder made from PROTOCOL.md alone reads in them. A difference here is a new
// protocol version, unless the sample itself changed.
func TestGolden(t *testing.T) {
	for _, m := range samples(t) {
		t.Run(m.name, func(t *testing.T) {
			got := hex.Dump(m.bytes) + "\n" + strings.Join(readByStranger(t, m), "\n") + "\n"
			path := filepath.Join("testdata", m.name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err, "go test -run TestGolden -update writes it")
			require.Equal(t, string(want), got)
		})
	}
}
