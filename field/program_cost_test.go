package field

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// A longer effect's estimate is higher, and without kernels it is much higher.
func TestNanosecondsPerPoint(t *testing.T) {
	steps := func(n int) *Program {
		text := "effect steps\neverywhere\nlet a0 = position.x\n"
		for i := range n {
			text += fmt.Sprintf("let a%d = sin(a%d + position.y)\n", i+1, i)
		}
		return must.Get(Compile(fmt.Sprintf("%soutput.y += a%d\n", text, n)))
	}
	for k := range cpu.Best() + 1 {
		short, long := steps(10), steps(200)
		short.bind(k)
		long.bind(k)
		require.InEpsilon(t, 20*short.NanosecondsPerPoint(), long.NanosecondsPerPoint(), 0.5, "%v", k)
		if k != cpu.Go {
			interpreted := steps(200)
			interpreted.bind(cpu.Go)
			require.Greater(t, interpreted.NanosecondsPerPoint(), 5*long.NanosecondsPerPoint(), "%v", k)
		}
	}
	require.Zero(t, new(Program).NanosecondsPerPoint())
}
