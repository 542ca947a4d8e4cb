package field

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packageComment returns the text of doc.go without slashes.
func packageComment(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	return regexp.MustCompile(`(?m)^// ?`).ReplaceAllString(string(b), "")
}

// TestDocExamples: the effects in the package comment compile.
func TestDocExamples(t *testing.T) {
	var examples []string
	for block := range strings.SplitSeq(packageComment(t), "\n\n") { // indented or not
		if strings.HasPrefix(block, "\teffect ") {
			examples = append(examples, block)
			continue
		}
		if n := len(examples); n > 0 && strings.HasPrefix(block, "\t") && !strings.Contains(examples[n-1], "output") {
			examples[n-1] += "\n" + block
		}
	}
	require.Len(t, examples, 4)
	for _, e := range examples {
		p, err := Compile(e)
		require.NoError(t, err)
		requireRoundTrip(t, p)
	}
}

// TestDocNamesAll: the package comment lists every function with its arguments, and
// every operation.
func TestDocNamesAll(t *testing.T) {
	comment := packageComment(t)
	for _, name := range builtinNames {
		require.Regexp(t, `(?m)^\t(.*  )?`+name+`\(`, comment)
	}
	for _, name := range libraryNames() {
		args := slices.Clone(libraryFunction(name).args)
		if name == "attack_sustain_release" {
			args = []string{"t", "a", "s", "r"} // by initial
		}
		require.Contains(t, comment, name+"("+strings.Join(args, ", ")+")")
	}
	for name := range strings.SplitSeq(operationNames, ", ") {
		require.Regexp(t, `(?m)^\t(.*  )?`+name+` a\b`, comment)
	}
}
