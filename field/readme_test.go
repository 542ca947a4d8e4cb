package field_test

import (
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// The README's example.
func Example_fountain() {
	p, err := field.Compile(`
effect fountain
param speed = 12 in 0..50 # m/s
box (-3, 0, -3) (3, 20, 3)
output.y += speed * falloff(axis_distance(position), 3)
`)
	if err != nil {
		log.Fatal(err) // the position, and the expected text
	}
	points := field.Planes{X: []float32{0, 1.5, 3}, Y: []float32{1, 1, 1}, Z: []float32{0, 0, 0}}
	air := field.Planes{X: make([]float32, 3), Y: make([]float32, 3), Z: make([]float32, 3)}
	scratch := make([]float32, p.Scratch()) // a few kilobytes for any number of points
	env := field.Env{Time: 0.5, Params: []field.Vec4{{20}}}
	if err := p.Evaluate(points, air, env, scratch); err != nil {
		log.Fatal(err)
	}
	fmt.Println(air.Y) // on the axis, half way out, and at the edge
	// Output: [20 10 0]
}

// TestReadmeExample: the README contains the example above verbatim.
func TestReadmeExample(t *testing.T) {
	source := must.Get(os.ReadFile("readme_test.go"))
	_, body, found := strings.Cut(string(source), "func Example_fountain() {\n")
	require.True(t, found)
	body, _, _ = strings.Cut(body, "\n}\n")
	body = strings.ReplaceAll("\n"+body, "\n\t", "\n") + "\n"
	require.Contains(t, readme(t), "```go"+body+"```\n")
}

// TestReadmeFunctions: the README's table lists exactly the language's functions,
// including all of the library, and LANGUAGE.md lists each.
func TestReadmeFunctions(t *testing.T) {
	_, table, found := strings.Cut(readme(t), "| functions | |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	doc := must.Get(os.ReadFile("LANGUAGE.md"))
	named := map[string]bool{}
	for _, match := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(table, -1) {
		named[match[1]] = true
		require.Regexp(t, `(?m)^.*\b`+match[1]+`\(`, string(doc), "in LANGUAGE.md")
		_, err := field.Compile("output += " + match[1] + "()")
		require.NotContains(t, err.Error(), "there is no function")
	}
	library := must.Get(os.ReadFile("library.field"))
	definitions := regexp.MustCompile(`(?m)^def ([a-z0-9_]+)`).FindAllStringSubmatch(string(library), -1)
	require.NotEmpty(t, definitions)
	for _, match := range definitions {
		require.True(t, named[match[1]], "%s is in the library", match[1])
	}
}

// TestReadmeEffects: the README's effects compile and are formatted.
func TestReadmeEffects(t *testing.T) {
	fences := strings.Split(readme(t), "```")
	shown := 0
	for i := 1; i < len(fences); i += 2 {
		if strings.HasPrefix(fences[i], "go\n") {
			continue
		}
		shown++
		text := strings.TrimPrefix(fences[i], "\n")
		must.Get(field.Compile(text))
		formatted := must.Get(field.Format(text))
		require.Equal(t, formatted, text)
	}
	require.Equal(t, 1+len(field.ShippedNames()), shown)
}

func readme(t *testing.T) string {
	t.Helper()
	text := must.Get(os.ReadFile("README.md"))
	return string(text)
}
