package field

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
)

var changeCases = []struct {
	text   string
	params []Vec4
	want   bool
}{
	{"output += position", nil, false},
	{"output.y += time", nil, true},
	{"let unused = sin(time)\noutput += (1, 0, 0)", nil, false},
	{"output += position * fract(time / 6)", nil, true},
	{"output += select(time < 3, position, (0, 1, 0))", nil, true},
	{"output.y += select(position.x < 0, time, 1)", nil, true},
	{"output += position * min(time, 2)", nil, true},
	{"output.x += hash(time, 1, 2)", nil, true},
	{"param a = 0\noutput += position * (a * time)", nil, false},
	{"param a = 0\noutput += position * (a * time)", []Vec4{{1, 1, 1, 1}}, true},
	{"param a = 1\noutput += position * (a * time)", []Vec4{{}}, false},
	{"param a = 0\noutput += position * (1 - a * sin(time))", nil, false},
	{"param a = 0\noutput += position * (a * sin(time) + 1)", nil, false},
	{"param a = 0\noutput += position * (a * time + a * sin(time))", nil, false},
	{"param a = 0\noutput += position * (time * (a + a))", nil, false},
	{"param a = 0\noutput += position * (time * (1 - a))", nil, true},
	{"param v = (0, 1, 0)\noutput += v * time", nil, true},
	{"param v = (0, 1, 0)\noutput.x += v.x * time", nil, false},
	{"param a = 0\noutput += position * (a / time)", nil, true}, // NaN at time 0
}

// A program changes with time if time reaches its output by anything but a factor of 0.
func TestChangesWithTime(t *testing.T) {
	for _, c := range changeCases {
		p, err := Compile(c.text + "\n")
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, p.ChangesWithTime(c.params), "%s\nwith %v", c.text, c.params)
		b := must.Get(p.MarshalBinary())
		loaded := must.Get(Load(b))
		require.Equal(t, c.want, loaded.ChangesWithTime(c.params), "from its portable form: %s\nwith %v", c.text, c.params)
	}
}

// A steady program of the corpus gives the same bits at all times if no factor is 0:
// infinity and NaN times 0 are not 0.
func TestChangesWithTimeOfCorpus(t *testing.T) {
	racetest.SkipSequential(t)
	steady, changing := 0, 0
	for number := range 3000 {
		c := newCorpusCase(t, number)
		zero := false
		for _, in := range c.program.code {
			zero = zero || in.op == opLoad && in.uniform != uniformTime && c.program.uniform(in.uniform, &c.env) == 0
		}
		c.env.Time = 0.5
		first := c.on(cpu.Go)
		c.env.Time = 2.25
		switch second := c.on(cpu.Go); {
		case c.program.ChangesWithTime(c.env.Params):
			changing++
		case !zero:
			steady++
			require.Equal(t, first, second, "program %d:\n%s", number, c.program)
		}
	}
	require.Greater(t, steady, 500)
	require.Greater(t, changing, 300)
	require.False(t, new(Program).ChangesWithTime(nil), "the zero Program")
}

// The steady ones of the shipped effects let bodies in their reach sleep.
func TestChangesWithTimeOfShipped(t *testing.T) {
	for name, want := range map[string]bool{
		"explosion": true, "gust": true, "storm_cell": true, "updraft": true, "whirl": false, "wind": true,
	} {
		text, _ := Shipped(name)
		p := must.Get(Compile(text))
		require.Equal(t, want, p.ChangesWithTime(nil), name)
		for steady, param := range map[string]string{"updraft": "depth", "wind": "carried", "explosion": "strength"} {
			if name != steady {
				continue
			}
			params := make([]Vec4, len(p.Params()))
			for i, d := range p.Params() {
				params[i] = d.Default
				if d.Name == param {
					params[i] = Vec4{}
				}
			}
			require.False(t, p.ChangesWithTime(params), "%s with %s 0", name, param)
		}
	}
}
