package cookbook

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const top = "../../../.."

// The page quotes the files that it names, letter by letter, and its commands send what tests send.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "COOKBOOK.md"))
	require.NoError(t, err)
	page := string(text)
	quotes := regexp.MustCompile("(?ms)^\\[[^\\]\n]+\\]\\(([^)\n]+)\\)\n\n```go\n(.*?)^```$").FindAllStringSubmatch(page, -1)
	require.Len(t, quotes, strings.Count(page, "```go\n"), "each snippet follows the name of its file")
	require.Greater(t, len(quotes), 9)
	for _, q := range quotes {
		source, err := os.ReadFile(filepath.Join(top, q[1]))
		require.NoError(t, err)
		require.Contains(t, string(source), q[2], "in %s", q[1])
	}
	var tests strings.Builder
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, name := range files {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		tests.Write(source)
	}
	bodies := regexp.MustCompile(`curl -d '([^']+)'`).FindAllStringSubmatch(page, -1)
	require.Len(t, bodies, strings.Count(page, "curl"))
	for _, b := range bodies {
		require.Contains(t, tests.String(), b[1])
	}
}
