package field

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
)

// crowded returns a text that uses many values again later.
func crowded(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("param p = (0.5, -2, 1e-3, 4)\nparam q = 3\ns = mov 0\n")
	values := 20 + r.IntN(30)
	for i := range values {
		lane := laneNames[r.IntN(3):][:1]
		fmt.Fprintf(&b, "a%d = mad position.%s, %d.25, p.%s\n", i, lane, i, lane)
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "a%d = floor a%d\n", i, r.IntN(i+1))
		}
		fmt.Fprintf(&b, "s = max s, a%d\n", i)
	}
	for range 2 * values {
		switch i := r.IntN(values); r.IntN(8) {
		case 0:
			fmt.Fprintf(&b, "output.%s = add output.%[1]s, s\n", laneNames[r.IntN(3):][:1])
		case 1:
			fmt.Fprintf(&b, "a%d = sin s\n", i)
		default:
			fmt.Fprintf(&b, "s = mad s, q, a%d\n", i)
		}
	}
	b.WriteString("output.x = add output.x, s\n")
	return b.String()
}

// TestRecomputed: programs short of registers keep their meaning and F6.
func TestRecomputed(t *testing.T) {
	racetest.SkipSequential(t)
	programs, short := shorttest.Pick(300, 60), 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 31))
		source := crowded(r)
		text := parse(source)
		c := newCompiler(text)
		c.lower(text)
		_, why := (&Program{params: text.params}).allocate(c.graph)
		p, err := Compile(source)
		if err != nil {
			require.NotEmpty(t, why)
			continue
		}
		if why != "" {
			short++
			require.NoError(t, p.verify())
			requireRoundTrip(t, p)
			requireOracle(t, plainText(text, Env{}), p, r, 40, Env{})
		}
	}
	require.Greater(t, short, programs/10, "many are meant to be short of registers")
}
