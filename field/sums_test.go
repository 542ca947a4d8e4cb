package field

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/cpu"
	"github.com/worldd/worldd/internal/must"
)

// TestLanesOfTheOutput checks F7 for each subset of lanes. Lanes to which the program adds
// receive their sum, with NaN as +0. The others keep their bits, including every kind of
// NaN. It covers short and long programs, clipping, and partial blocks.
func TestLanesOfTheOutput(t *testing.T) {
	for sums := uint8(1); sums < 1<<3; sums++ {
		for _, long := range []bool{false, true} {
			p := adding(t, sums, long)
			require.Equal(t, sums, p.sums)
			for k := cpu.Go; k <= cpu.Best(); k++ {
				q := p.with(k)
				for seed, n := range []int{1, 63, 64, 65, 320, 333} {
					for _, clip := range []bool{false, true} {
						r := rand.New(rand.NewPCG(uint64(seed), uint64(sums)))
						points, out := newFenced(r, n), newFenced(r, n)
						want := out.clone()
						addTo(want, points, p, clip)
						runOn(q, points, out, Env{}, clip)
						for lane := range want.memory {
							require.NoError(t, firstDifference(want.memory[lane], out.memory[lane]), "lanes %b, %v, %d points, long %v, clip %v, lane %d", sums, k, n, long, clip, lane)
						}
					}
				}
			}
		}
	}
}

// adding returns a program that adds the position to some lanes of the output. A long one
// has enough other operations to make the machine prefetch.
func adding(t *testing.T, sums uint8, long bool) *Program {
	t.Helper()
	var b strings.Builder
	b.WriteString("box (-4,-5,-3) (6,5,7)\n")
	for lane := range 3 {
		if sums>>lane&1 == 0 {
			continue
		}
		name := laneNames[lane : lane+1]
		fmt.Fprintf(&b, "output.%[1]s = add output.%[1]s, position.%[1]s\n", name)
	}
	for i := range 30 {
		if long { // adds 0 to a lane, but -0 becomes +0
			name := laneNames[bits.TrailingZeros8(sums):][:1]
			fmt.Fprintf(&b, "a = hash position.x, %d, 1\na = min a.x, 0\noutput.%[2]s = add output.%[2]s, a\n", i, name)
		}
	}
	p := must.Get(Compile(b.String()))
	for _, bound := range []*bound{p.withoutOrigin, p.withOrigin} {
		if bound != nil {
			require.Equal(t, long, bound.blockNanoseconds() > 250, "%d", bound.blockNanoseconds())
		}
	}
	return p
}

// addTo defines the result of adding's program.
func addTo(out, points *fenced, p *Program, clip bool) {
	for i := range points.X {
		if clip && !p.box.holds(points.X[i], points.Y[i], points.Z[i]) {
			continue
		}
		for lane, plane := range out.lanes() {
			if p.sums>>lane&1 == 0 {
				continue
			}
			plane[i] += points.lanes()[lane][i]
			if long := len(p.code) > 10; plane[i] != plane[i] || plane[i] == 0 && long && lane == bits.TrailingZeros8(p.sums) {
				plane[i] = 0
			}
		}
	}
}

// TestLanesOfASet: a set changes the lanes to which any of its effects adds (F4, F7).
func TestLanesOfASet(t *testing.T) {
	nan := math.Float32frombits(0xffc12345)
	for k := cpu.Go; k <= cpu.Best(); k++ {
		var s Set
		for _, sums := range []uint8{0b100, 0b001} {
			require.NoError(t, s.Add(adding(t, sums, false).with(k), Env{}))
		}
		points, out := Planes{}, Planes{}
		for range 100 {
			points.X, points.Y, points.Z = append(points.X, 1), append(points.Y, 2), append(points.Z, 3)
			out.X, out.Y, out.Z = append(out.X, nan), append(out.Y, nan), append(out.Z, 1)
		}
		require.NoError(t, s.Evaluate(points, out, make([]float32, s.Scratch())))
		for i := range out.X {
			require.Equal(t, [3]uint32{0, 0xffc12345, math.Float32bits(4)},
				[3]uint32{math.Float32bits(out.X[i]), math.Float32bits(out.Y[i]), math.Float32bits(out.Z[i])}, "%v, point %d", k, i)
		}
	}
}
