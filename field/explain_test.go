package field

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

var rewrite = flag.Bool("rewrite", false, "write what Explain shows anew")

// TestExplain pins the explanation of the article's explosion, and of the same effect
// written with expressions.
func TestExplain(t *testing.T) {
	for _, name := range []string{"explosion", "push"} {
		text := must.Get(os.ReadFile("testdata/explain/" + name + ".field"))
		explained := must.Get(Explain(string(text)))
		got, kernels, found := strings.Cut(explained, "\n# vector kernels\n") // these depend on the build
		require.True(t, found)
		require.NotContains(t, kernels, "interpreted:")
		for _, k := range kernelsOfBuild {
			require.Regexp(t, `(?m)^`+k.String()+`: \d+ steps, \d+ planes$`, kernels)
		}
		file := "testdata/explain/" + name + ".txt"
		if *rewrite {
			require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		}
		want := must.Get(os.ReadFile(file))
		require.Equal(t, string(want), got)
	}
	crowd := must.Get(Explain("output += curl_noise2(position) * noise3(position)"))
	require.Contains(t, crowd, "values, some computed again, because registers are short\nv0 = floor position.x\n")
	for _, text := range []string{"output += ", "output += 5", "let a = 1", "output += (1, 2, 3) * falloff(position)"} {
		_, want := Compile(text)
		require.EqualError(t, must.Fail(Explain(text)), want.Error())
	}
}
