package wire

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// Versions have the order of versions.jsonl, which foreign clients read.
func TestVersionVectors(t *testing.T) {
	f := must.Get(os.Open("testdata/vectors/versions.jsonl"))
	defer func() { require.NoError(t, f.Close()) }()
	read := 0
	for lines := bufio.NewScanner(f); lines.Scan(); read++ {
		var c struct {
			A     string
			B     *string
			Order int
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		if c.B == nil {
			_, valid := versionOf(c.A)
			require.False(t, valid, "%q", c.A)
			continue
		}
		for _, v := range []string{c.A, *c.B} {
			_, valid := versionOf(v)
			require.True(t, valid, "%q", v)
		}
		require.Equal(t, c.Order, CompareVersions(c.A, *c.B), "%q %q", c.A, *c.B)
		require.Equal(t, -c.Order, CompareVersions(*c.B, c.A), "%q %q", *c.B, c.A)
	}
	require.Greater(t, read, 20)
}
