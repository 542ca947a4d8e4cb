package field

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestZeroIsOneLiteralTooMuch: the literal 0 exists before the first line, but the
// error still has a position in the text (F3).
func TestZeroIsOneLiteralTooMuch(t *testing.T) {
	var b strings.Builder
	b.WriteString("a = mov position\n")
	for i := range 341 {
		fmt.Fprintf(&b, "a = add a, (%d,%d,%d)\n", 3*i+1, 3*i+2, 3*i+3)
	}
	b.WriteString("a = add a, (1024,1,1)\na = add a, 0\noutput = add output, a\n")
	var fault *SyntaxError
	require.NotPanics(t, func() { require.ErrorAs(t, must.Fail(Compile(b.String())), &fault) })
	require.Positive(t, fault.Line)
}
