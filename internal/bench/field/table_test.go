//go:build yardstick && cgo && amd64 && linux

package field

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bench/field/fastmath"
	"github.com/worldd/worldd/internal/bench/field/fused"
)

var (
	roundsFlag = flag.Int("yardstick.rounds", 31, "rounds of each row of the table")
	roundFlag  = flag.Duration("yardstick.round", 2*time.Millisecond, "how long a variant runs in one round, at least once")
)

// A variant evaluates an effect so many times.
type variant struct {
	name string
	run  func(times int)
}

// spent is the processor time of this thread: what others take on a busy machine
// is not in it.
func spent() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now); err != nil {
		panic(err)
	}
	return time.Duration(now.Nano())
}

// measure gives what each variant takes, in each round, for one time.
func measure(variants []variant) [][]time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]int, len(variants))
	for i, v := range variants {
		v.run(1) // warm
		start := spent()
		v.run(1)
		times[i] = 1 + int(*roundFlag/max(spent()-start, 1))
	}
	took := make([][]time.Duration, len(variants))
	for round := range *roundsFlag {
		for i := range variants {
			v := (i + round) % len(variants) // each goes first at times
			start := spent()
			variants[v].run(times[v])
			took[v] = append(took[v], (spent()-start)/time.Duration(times[v]))
		}
	}
	return took
}

// ratio is the median of a to b, round by round.
func ratio(a, b []time.Duration) float64 {
	var r []float64
	for i := range a {
		r = append(r, float64(a[i])/float64(b[i]))
	}
	slices.Sort(r)
	return r[len(r)/2]
}

// best is the ratio of the shortest times: what is left on a busy machine.
func best(a, b []time.Duration) float64 { return float64(slices.Min(a)) / float64(slices.Min(b)) }

func median(d []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(d))[len(d)/2]
}

// evaluating is a program run over the planes.
func evaluating(t *testing.T, text string, p *fused.Planes, s *fused.Scene) func(times int) {
	program, err := field.Compile(text)
	require.NoError(t, err)
	points, out := fieldPlanes(p)
	scratch := make([]float32, program.Scratch())
	return func(times int) {
		for range times {
			if err := program.Evaluate(points, out, field.Env{Time: s.Time}, scratch); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// variantsOf are those of a row; the first is field, the others are what it is
// compared with.
func variantsOf(t *testing.T, what int, p *fused.Planes, s *fused.Scene) []variant {
	variants := []variant{{"field", evaluating(t, textFor(what, s), p, s)}}
	if has512() {
		variants = append(variants, variant{"fused C 512", func(times int) { fused.Run(16, p, s, what, times) }})
	}
	if has256() {
		variants = append(variants, variant{"fused C 256", func(times int) { fused.Run(8, p, s, what, times) }})
	}
	return append(variants,
		variant{"fast-math C", func(times int) { fastmath.Run(false, p, s, what, times) }},
		variant{"fast-math C 512", func(times int) { fastmath.Run(true, p, s, what, times) }},
		variant{"Go by hand", func(times int) { runByHand(p, s, what, times) }},
	)
}

// TestYardstick prints the table: what a point takes, and how long field takes for
// what another does in 1. It asserts nothing: a figure is of a machine and a day.
func TestYardstick(t *testing.T) {
	s := someScene()
	path := os.Getenv("WORLDD_KERNELS")
	if path == "" {
		path = "the best that the machine has"
	}
	fmt.Printf("field's kernels: %s; %d rounds; ns a point (median); field's time to that of the other: median of rounds, and shortest to shortest\n", path, *roundsFlag)
	for what, name := range []string{"explosion", "whirl", "sixteen"} {
		for _, n := range []int{1_000, 20_000, 1_000_000} {
			p := somePlanes(n)
			if what != fused.Sixteen {
				near(p, &s.Explosions[0])
			}
			variants := variantsOf(t, what, p, s)
			if what != fused.Whirl {
				unsunk := evaluating(t, textWith(unsunkText, what, s), p, s)
				variants = append(variants, variant{"six ops as written", unsunk})
			}
			if n == 1_000_000 {
				variants = append(variants,
					variant{"copy, 24 B", func(times int) { fastmath.Copy(p, times) }},
					variant{"add, 36 B", func(times int) { fastmath.Add(p, times) }})
			}
			printRow(fmt.Sprintf("%s, %d points", name, n), n, variants, measure(variants))
		}
	}
}

func printRow(title string, n int, variants []variant, took [][]time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: field %.3f ns, %.1f us\n", title, float64(median(took[0]))/float64(n), float64(median(took[0]))/1e3)
	for i, v := range variants[1:] {
		fmt.Fprintf(&b, "    %-20s %8.3f ns  %6.3f  %6.3f", v.name, float64(median(took[i+1]))/float64(n), ratio(took[0], took[i+1]), best(took[0], took[i+1]))
		switch v.name {
		case "six ops as written":
			fmt.Fprintf(&b, "  (to fused C: %.3f, %.3f)", ratio(took[i+1], took[1]), best(took[i+1], took[1]))
		case "copy, 24 B":
			fmt.Fprintf(&b, "  (%.1f GB/s; field, 36 B: %.1f GB/s)", rate(24, n, took[i+1]), rate(36, n, took[0]))
		case "add, 36 B":
			fmt.Fprintf(&b, "  (%.1f GB/s; field, 36 B: %.1f GB/s)", rate(36, n, took[i+1]), rate(36, n, took[0]))
		case "Go by hand":
			fmt.Fprintf(&b, "  (%.1fx, %.1fx faster)", ratio(took[i+1], took[0]), best(took[i+1], took[0]))
		}
		b.WriteByte('\n')
	}
	fmt.Print(b.String())
}

// rate is in 1e9 bytes a second.
func rate(bytes, n int, took []time.Duration) float64 {
	return float64(bytes) * float64(n) / float64(median(took))
}
