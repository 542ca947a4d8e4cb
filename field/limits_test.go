package field

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAtEachLimit: a text at each limit compiles, prints and compiles again; one
// beyond it has a fault with a place.
func TestAtEachLimit(t *testing.T) {
	const end = "output = add output, a\n"
	lines := func(head, format string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			fmt.Fprintf(&b, format, i+2)
		}
		return b.String()
	}
	padded := func(n int) string { // with comments of the longest lines
		text := "a = mov position\n" + end
		for len(text)+MaxLineBytes+1 <= n {
			text += "#" + strings.Repeat("x", MaxLineBytes-1) + "\n"
		}
		return text + strings.Repeat("\n", n-len(text))
	}
	remembered := func(n int) string {
		text := lines("x = mov position.x\n", "v%[1]d = mul x, %[1]d\n", n) + "a = mov 0\n"
		return text + lines("", "a = add a, v%d\n", n) + end
	}
	for _, c := range []struct {
		name         string
		right, wrong string
		message      string
	}{
		{"source", padded(MaxSourceBytes), padded(MaxSourceBytes + 1), "the effect has 262145 bytes"},
		{"line", "a = mov 1 #" + strings.Repeat("x", MaxLineBytes-11) + "\n" + end, "a = mov 1 #" + strings.Repeat("x", MaxLineBytes-10) + "\n" + end, "the line has 513 bytes"},
		{"assignments", lines("", "a = mov %d\n", MaxStatements-1) + end, lines("", "a = mov %d\n", MaxStatements) + end, "more than 2048 assignments"},
		{"name", strings.Repeat("n", MaxNameBytes) + " = mov 1\na = mov 1\n" + end, strings.Repeat("n", MaxNameBytes+1) + " = mov 1\na = mov 1\n" + end, "a name of 65 bytes; at most 64 are allowed"},
		{"parameters", lines("", "param p%d = 1\n", MaxParams) + "a = mov p2\n" + end, lines("", "param p%d = 1\n", MaxParams+1) + "a = mov p2\n" + end, "more than 64 parameters"},
		{"literals", lines("a = mov 1\n", "output = add output, (%[1]d, %[1]d.25, %[1]d.5)\n", 160) + end, lines("a = mov 1\n", "output = add output, (%[1]d, %[1]d.25, %[1]d.5)\n", 342) + end, "the effect has more than 1024 different numbers"},
		{"instructions", lines("a = mov position\n", "a = sin a # %d\n", 340) + end, lines("a = mov position\n", "a = sin a # %d\n", 341) + end, "the effect has more than 1024 instructions"},
		{"registers", remembered(29), remembered(60), "the effect has more than 32 numbers to remember here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Compile(c.right)
			require.NoError(t, err)
			require.LessOrEqual(t, p.Scratch(), MaxScratch)
			require.LessOrEqual(t, len(p.encode()), MaxBinaryBytes)
			again, err := Compile(p.String())
			require.NoError(t, err)
			require.Equal(t, p.Hash(), again.Hash())

			_, err = Compile(c.wrong)
			var fault *SyntaxError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, c.message, fault.Message)
		})
	}
}
