package field

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// reference returns the text of LANGUAGE.md.
func reference(t *testing.T) string {
	t.Helper()
	return string(must.Get(os.ReadFile("LANGUAGE.md")))
}

// TestDocExamples: the effects in the reference compile.
func TestDocExamples(t *testing.T) {
	var examples []string
	for i, block := range strings.Split(reference(t), "```\n") {
		if i%2 == 1 && strings.HasPrefix(block, "effect ") {
			examples = append(examples, block)
		}
	}
	require.Len(t, examples, 4)
	for _, e := range examples {
		p := must.Get(Compile(e))
		requireRoundTrip(t, p)
	}
}

// TestDocNamesAll: the reference lists every function with its arguments, and
// every operation.
func TestDocNamesAll(t *testing.T) {
	comment := reference(t)
	for _, name := range builtinNames {
		require.Regexp(t, `(?m)^(.*  )?`+name+`\(`, comment)
	}
	for _, name := range libraryNames() {
		args := slices.Clone(libraryFunction(name).args)
		if name == "attack_sustain_release" {
			args = []string{"t", "a", "s", "r"} // by initial
		}
		require.Contains(t, comment, name+"("+strings.Join(args, ", ")+")")
	}
	for name := range strings.SplitSeq(operationNames, ", ") {
		require.Regexp(t, `(?m)^(.*  )?`+name+` a\b`, comment)
	}
}

// TestDocOperations: PROGRAM.md lists the number of every operation.
func TestDocOperations(t *testing.T) {
	page := string(must.Get(os.ReadFile("PROGRAM.md")))
	for o := opEnd; o < opcodes; o++ {
		require.Contains(t, page, fmt.Sprintf("| %d `%v` |", uint8(o), o))
	}
}
