package field

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestAtEachLimit: a text at each limit compiles, prints and compiles again; a text beyond
// the limit gives an error with a position.
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
	padded := func(n int) string { // with comments of maximum length
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
		{"literals", lines("a = mov 1\n", "output = add output, (%[1]d, %[1]d.25, %[1]d.5)\n", 160) + end, lines("a = mov 1\n", "output = add output, (%[1]d, %[1]d.25, %[1]d.5)\n", 342) + end, "the effect has more than 1024 distinct numbers"},
		{"instructions", lines("a = mov position\n", "a = sin a # %d\n", 340) + end, lines("a = mov position\n", "a = sin a # %d\n", 341) + end, "the effect has more than 1024 instructions"},
		{"registers", remembered(29), remembered(60), "the effect has more than 32 values alive at this point"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := must.Get(Compile(c.right))
			require.LessOrEqual(t, p.Scratch(), MaxScratch)
			require.LessOrEqual(t, len(p.encode()), MaxBinaryBytes)
			again := must.Get(Compile(p.String()))
			require.Equal(t, p.Hash(), again.Hash())

			_, err := Compile(c.wrong)
			var fault *SyntaxError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, c.message, fault.Message)
		})
	}
}

// TestExpressionLimits: expressions and functions are bounded too, and rejected in
// bounded time.
func TestExpressionLimits(t *testing.T) {
	const end = "\noutput += position\n"
	chain := func(n int) string { // f0 is called 2^n times
		text := "def f0(a) = a + a\n"
		for i := range n {
			text += fmt.Sprintf("def f%d(a) = f%d(a) + f%d(a)\n", i+1, i, i)
		}
		return text + fmt.Sprintf("output += f%d(position)\n", n)
	}
	deep := func(n int) string {
		text := "def f0(a) = a\n"
		for i := range n {
			text += fmt.Sprintf("def f%d(a) = f%d(a)\n", i+1, i)
		}
		return text + fmt.Sprintf("output += f%d(position)\n", n)
	}
	functions := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("def f%d(a) = a\n", i)
		}
		return text + end
	}
	arguments := func(n int) string {
		names := "a"
		for i := range n - 1 {
			names += fmt.Sprintf(", a%d", i)
		}
		return "def f(" + names + ") = a\nlet b = f(1" + strings.Repeat(", 1", n-1) + ")" + end
	}
	nested := func(n int) string {
		return "let a = " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + end
	}
	for _, c := range []struct {
		name         string
		right, wrong string
		message      string
	}{
		{"depth", nested(MaxDepth - 1), nested(MaxDepth), "the expression is nested deeper than 64"},
		{"signs", "let a = " + strings.Repeat("-", MaxDepth-1) + "1" + end, "let a = " + strings.Repeat("-", MaxDepth) + "1" + end, "the expression is nested deeper than 64"},
		{"calls", deep(MaxCalls - 1), deep(MaxCalls), "function calls are nested deeper than 32 (called in line 34)"},
		{"functions", functions(MaxFunctions), functions(MaxFunctions + 1), "more than 256 functions"},
		{"arguments", arguments(MaxArguments), arguments(MaxArguments + 1), "more than 16 arguments"},
		{"values", "", "let a = min(1" + strings.Repeat(", 1", MaxArguments) + ")" + end, "more than 16 values in parentheses"},
		{"work", chain(10), chain(31), "the effect's functions expand to more than 32768 parts (called in line 33)"},
		{"noise", "", manyNoises(300), "the effect's functions expand to more than 32768 parts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.right != "" {
				must.Get(Compile(c.right))
			}
			_, err := Compile(c.wrong)
			var fault *SyntaxError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, c.message, fault.Message)
		})
	}
}

func manyNoises(n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("let a%d = curl_noise(position * %d)\n", i, i)
	}
	return text + "output += a1\n"
}
