package world_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
)

// The effects of the tests, as source text.
const (
	// gust is one wind everywhere.
	gust = `effect gust
param wind = (6,0,2,0)
everywhere
output = add output, wind
`
	// blast blows outwards from its centre, within 8 m.
	blast = `effect blast
param strength = 60
box (-8,-8,-8) (8,8,8)
lensqr = dot position, position
direction = normalize position
direction = mul direction, strength
direction = select_lt lensqr, 64, direction, 0
output = add output, direction
`
	// updraft lifts, more strongly with age. It is not zero outside its box: the world
	// clips it.
	updraft = `effect updraft
box (-4,0,-4) (4,30,4)
push = mul (0,9,0,0), time
output = add output, push
`
)

func compile(t testing.TB, source string) *field.Program {
	t.Helper()
	return must.Get(field.Compile(source))
}

// interpreted is an effect with too many live values and constants for the scratch memory of
// the vector kernels.
func interpreted(name string) string {
	const alive, numbers = 30, 400
	var text, sums strings.Builder
	fmt.Fprintf(&text, "effect %s\n", name)
	for i := range alive {
		fmt.Fprintf(&text, "let v%d = sin(position.x + %d.5)\n", i, i)
		fmt.Fprintf(&sums, "output.z += v%d\n", i)
	}
	for i := range numbers {
		fmt.Fprintf(&text, "output.y += position.y * %d.25\n", i+alive)
	}
	return text.String() + sums.String()
}
