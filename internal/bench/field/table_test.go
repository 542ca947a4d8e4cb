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

	"golang.org/x/sys/unix"

	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/bench/field/fastmath"
	"github.com/worldd/worldd/internal/bench/field/fused"
	"github.com/worldd/worldd/internal/must"
)

var (
	roundsFlag = flag.Int("yardstick.rounds", 31, "rounds for each row of the table")
	roundFlag  = flag.Duration("yardstick.round", 2*time.Millisecond, "duration of a variant in a round; it runs at least once")
)

// A variant evaluates an effect as many times as requested.
type variant struct {
	name string
	run  func(times int)
}

// cpuTime returns the CPU time of this thread, which excludes other load on the machine.
func cpuTime() time.Duration {
	var now unix.Timespec
	must.Do(unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

// measure returns the duration of one evaluation, by variant and round.
func measure(variants []variant) [][]time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := make([]int, len(variants))
	for i, v := range variants {
		v.run(1) // warm up
		start := cpuTime()
		v.run(1)
		times[i] = 1 + int(*roundFlag/max(cpuTime()-start, 1))
	}
	durations := make([][]time.Duration, len(variants))
	for round := range *roundsFlag {
		for i := range variants {
			v := (i + round) % len(variants) // each is first in some rounds
			start := cpuTime()
			variants[v].run(times[v])
			durations[v] = append(durations[v], (cpuTime()-start)/time.Duration(times[v]))
		}
	}
	return durations
}

// ratio returns the median over rounds of a/b.
func ratio(a, b []time.Duration) float64 {
	var r []float64
	for i := range a {
		r = append(r, float64(a[i])/float64(b[i]))
	}
	slices.Sort(r)
	return r[len(r)/2]
}

// bestRatio returns the ratio of the shortest durations, which other load affects least.
func bestRatio(a, b []time.Duration) float64 { return float64(slices.Min(a)) / float64(slices.Min(b)) }

func median(d []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(d))[len(d)/2]
}

// evaluator returns a function that evaluates a text on the planes.
func evaluator(t *testing.T, text string, p *fused.Planes, s *fused.Scene) func(times int) {
	program := must.Get(field.Compile(text))
	points, out := fieldPlanes(p)
	scratch := make([]float32, program.Scratch())
	return func(times int) {
		for range times {
			must.Do(program.Evaluate(points, out, field.Env{Time: float64(s.Time)}, scratch))
		}
	}
}

// variantsFor returns the variants of a row: field, then the variants to compare with.
func variantsFor(t *testing.T, effect int, p *fused.Planes, s *fused.Scene) []variant {
	variants := []variant{{"field", evaluator(t, textFor(effect, s), p, s)}}
	if has512() {
		variants = append(variants, variant{"fused C 512", func(times int) { fused.Run(16, p, s, effect, times) }})
	}
	if has256() {
		variants = append(variants, variant{"fused C 256", func(times int) { fused.Run(8, p, s, effect, times) }})
	}
	return append(variants,
		variant{"fast-math C", func(times int) { fastmath.Run(false, p, s, effect, times) }},
		variant{"fast-math C 512", func(times int) { fastmath.Run(true, p, s, effect, times) }},
		variant{"Go by hand", func(times int) { runByHand(p, s, effect, times) }},
	)
}

// TestYardstick prints the table: the time of a point, and field's time relative to the
// other variant's. It asserts nothing, since figures depend on the machine.
func TestYardstick(t *testing.T) {
	s := newScene()
	kernels := os.Getenv("WORLDD_KERNELS")
	if kernels == "" {
		kernels = "the best of this CPU"
	}
	fmt.Printf("field's kernels: %s; %d rounds; ns per point (median); field's time / the variant's: median of rounds, then shortest / shortest\n", kernels, *roundsFlag)
	for effect, name := range []string{"explosion", "whirl", "sixteen"} {
		for _, n := range []int{1_000, 20_000, 1_000_000} {
			p := newPlanes(n)
			if effect != fused.Sixteen {
				moveTo(p, &s.Explosions[0])
			}
			variants := variantsFor(t, effect, p, s)
			if effect != fused.Whirl {
				asWritten := evaluator(t, textWith(vectorText, effect, s), p, s)
				variants = append(variants, variant{"six ops as written", asWritten})
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

// printRow prints a row; variants[0] is field.
func printRow(title string, n int, variants []variant, durations [][]time.Duration) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: field %.3f ns, %.1f us\n", title, float64(median(durations[0]))/float64(n), float64(median(durations[0]))/1e3)
	for i, v := range variants[1:] {
		fmt.Fprintf(&b, "    %-20s %8.3f ns  %6.3f  %6.3f", v.name, float64(median(durations[i+1]))/float64(n), ratio(durations[0], durations[i+1]), bestRatio(durations[0], durations[i+1]))
		switch v.name {
		case "six ops as written":
			fmt.Fprintf(&b, "  (/ fused C: %.3f, %.3f)", ratio(durations[i+1], durations[1]), bestRatio(durations[i+1], durations[1]))
		case "copy, 24 B":
			fmt.Fprintf(&b, "  (%.1f GB/s; field, 36 B: %.1f GB/s)", rate(24, n, durations[i+1]), rate(36, n, durations[0]))
		case "add, 36 B":
			fmt.Fprintf(&b, "  (%.1f GB/s; field, 36 B: %.1f GB/s)", rate(36, n, durations[i+1]), rate(36, n, durations[0]))
		case "Go by hand":
			fmt.Fprintf(&b, "  (%.1fx, %.1fx faster)", ratio(durations[i+1], durations[0]), bestRatio(durations[i+1], durations[0]))
		}
		b.WriteByte('\n')
	}
	fmt.Print(b.String())
}

// rate returns gigabytes per second for bytes per point.
func rate(bytes, n int, durations []time.Duration) float64 {
	return float64(bytes) * float64(n) / float64(median(durations))
}
