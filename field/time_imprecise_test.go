package field

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// TestImpreciseTime: the warnings name the lines where time loses its precision, and no
// other lines.
func TestImpreciseTime(t *testing.T) {
	for text, lines := range map[string][]int{
		"output.x += 10 * sin(time / 2)":                                                nil,
		"let t = time / 3\noutput.x += smooth(1 - abs(position.x - 12 * fract(t)) / 4)": nil,
		"output.x += min(time, 4) + max(3 - time, 0) + exp2(-time) + 1 / (1 + time)":    nil,
		"output.x += abs(clamp(-time, -1, 2) * position.x)":                             nil,
		"output.x += hash(floor(time * 20), floor(position.x), 0)":                      nil,
		"output.x += select(time < 5, position.x, 1)":                                   nil,
		"output.x += attack_sustain_release(time, 2, 30, 5)":                            nil,
		"output.x += pulse(time + position.x / 9, 3, 0.2)":                              nil,
		"output.x += time - 7 * floor(time / 7)":                                        nil,
		"output += (0, time, 0)":                                                        {1},
		"let r = length(position)\noutput.x += 1\noutput.y += saturate(r - 10 * time)":  {3},
		"output.x += sin(position.x * time)":                                            {1},
		"output.x += sin(max(position.x, time))":                                        {1},
		"output.x += noise(position * (1 + time))":                                      {1},
		"output.x += select(position.x < time, 1, 2)":                                   {1},
		"output.x += hash(time, 0, 0)":                                                  {1},
		"output.x += floor(position.x - time)":                                          {1},
		"output.x += exp2(0.1 * time)\noutput.y += position.y\noutput.z -= sqrt(time)":  {1, 3},
		"output += shock(position, time, 9, 4)":                                         {1},
		"a = sub position, time\na = length a\nb = mul a, 2\noutput = add output, b":    {1},
	} {
		warnings := must.Get(ImpreciseTime(text))
		var got []int
		for _, w := range warnings {
			var at *SyntaxError
			require.ErrorAs(t, w, &at)
			got = append(got, at.Line)
		}
		require.Equal(t, lines, got, text)
	}
	for name, text := range timeTexts() {
		require.Empty(t, must.Get(ImpreciseTime(text)), name)
	}
	must.Fail(ImpreciseTime("output += 1"))
}
