package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	known := []string{"normalize", "length", "noise", "min", "max"}
	for word, want := range map[string]string{
		"normalise": "normalize",
		"nomralize": "normalize",
		"legnth":    "length",
		"nois":      "noise",
		"mix":       "min",
		"m":         "",
		"":          "",
		"velocity":  "",
		"maxx":      "max",
	} {
		require.Equal(t, want, Nearest(word, known), "%q", word)
	}
	require.Empty(t, Nearest("min", nil))
	long := strings.Repeat("a", maxBytes+1)
	require.Empty(t, Nearest(long, []string{long[1:]}), "too long to compare")
	require.Equal(t, long[1:], Nearest(long[2:], []string{long[1:]}))
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		n    int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}} {
		require.Equal(t, c.n, edits(c.a, c.b))
		require.Equal(t, c.n, edits(c.b, c.a))
	}
}
