package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication/wire"
)

var (
	seedCount      = flag.Int("seeds", 400, "number of seeds of the simulation")
	firstSeed      = flag.Uint64("first", 1, "first seed to play")
	oneSeed        = flag.Uint64("seed", 0, "run only this seed")
	viewersPerSeed = flag.Int("viewers", 3, "approximate number of viewers of a seed, at most 64")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestHandlesNeverLie checks H1 to H7 against the server's full history, under loss,
// duplication, reordering, delay and disconnects, while slots are reused, clients reconnect
// and the server restarts. Repeat one seed with -seed.
func TestHandlesNeverLie(t *testing.T) {
	first, n := *firstSeed, shorttest.Pick(*seedCount, min(*seedCount, 8))
	if *oneSeed != 0 {
		first, n = *oneSeed, 1
	}
	var mu sync.Mutex
	var sum coverage
	t.Cleanup(func() {
		if n >= 40 && !t.Failed() {
			sum.requireAll(t)
		}
	})
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			got := requireRun(t, generate(seed, min(*viewersPerSeed, 64)))
			mu.Lock()
			defer mu.Unlock()
			sum.add(got)
		})
	}
}

// Many viewers of one world do not affect each other.
func TestHandlesNeverLieToMany(t *testing.T) {
	shorttest.Skip(t, "TestHandlesNeverLie suffices")
	s := generate(1, 64)
	s.viewers = 64
	requireRun(t, s)
}

// TestStaleWithinRoundTrip checks the first half of H3: on a working link, every handle that
// a client was sent is Stale one round trip and one send interval after its destruction.
func TestStaleWithinRoundTrip(t *testing.T) {
	racetest.SkipSequential(t)
	s := generate(7, 3)
	s.budget, s.ticks = 64_000, 600
	s.ops = slices.DeleteFunc(s.ops, func(o op) bool { return o.do == "link" || o.do == "restart" })
	s.ops = slices.Insert(s.ops, 0, op{do: "link", args: []int{everybody, 0, 0, 0, 48, 48, 0}})
	got := requireRun(t, s)
	require.Greater(t, got.timed, 1000)
	require.NotZero(t, got.leaves, "nothing left interest")
}

// requireRun runs a script. It shrinks and prints a failing script: add that to
// testdata/scripts, with a line on its cause.
func requireRun(t *testing.T, s *script) coverage {
	got, f := s.run()
	if f != nil {
		small := s.shrink(f.invariant)
		_, last := small.run()
		t.Fatalf("%v\n\nthe smallest script that fails by %s, with %v:\n\n%s", f, f.invariant, last, small)
	}
	return got
}

// TestScriptsThatFailed runs the scripts that once failed.
func TestScriptsThatFailed(t *testing.T) {
	files := must.Get(filepath.Glob("testdata/scripts/*.txt"))
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			racetest.SkipSequential(t)
			text := must.Get(os.ReadFile(file))
			s := must.Get(parseScript(string(text)))
			requireRun(t, s)
		})
	}
}

func (t *coverage) add(o coverage) {
	for side := range t.verdicts {
		for v := range t.verdicts[side] {
			t.verdicts[side][v] += o.verdicts[side][v]
		}
	}
	t.executed += o.executed
	t.rejected += o.rejected
	t.timed += o.timed
	t.corrupted += o.corrupted
	t.copies += o.copies
	t.faults += o.faults
	t.resyncs += o.resyncs
	t.leaves += o.leaves
	t.retired += o.retired
	t.refused += o.refused
	t.boasts += o.boasts
	t.lies += o.lies
	t.cuts += o.cuts
	t.resumed += o.resumed
	t.thefts += o.thefts
	t.unanswered += o.unanswered
	t.steered += o.steered
	t.informed += o.informed
	t.owned += o.owned
	t.disowned += o.disowned
	t.gusts += o.gusts
	t.called += o.called
	t.kicks += o.kicks
	t.turnedAway += o.turnedAway
	t.drained += o.drained
	t.veiled += o.veiled
	t.hurried += o.hurried
	t.held += o.held
	t.rides += o.rides
	t.plain += o.plain
	t.renames += o.renames
	t.travels += o.travels
	t.answered += o.answered
	t.pushed += o.pushed
	t.views += o.views
	t.reliable += o.reliable
	t.unreliable += o.unreliable
	t.newborn += o.newborn
	t.causes += o.causes
	t.bound += o.bound
	t.stillborn += o.stillborn
	t.cleanCoverage.add(&o.cleanCoverage)
	for i := range t.ends {
		t.ends[i] += o.ends[i]
	}
}

// requireAll requires each event to have happened: an event that never happens is not tested.
func (t *coverage) requireAll(tb testing.TB) {
	for side := range t.verdicts {
		for v, n := range t.verdicts[side] {
			require.NotZero(tb, n, "verdict %v of side %d", wire.Verdict(v), side)
		}
	}
	for name, n := range map[string]int{
		"commands executed": t.executed, "commands rejected": t.rejected, "verdicts timed": t.timed,
		"datagrams spoilt": t.corrupted, "datagrams sent twice": t.copies,
		"faults": int(t.faults), "resyncs": int(t.resyncs), "leaves": int(t.leaves), "slots retired": t.retired,
		"boasts": t.boasts, "lies": t.lies, "clients of an earlier run": t.refused,
		"connections cut": t.cuts, "sessions resumed": t.resumed, "thefts": t.thefts, "commands without an answer": t.unanswered,
		"changes of control": t.steered, "handles sent outside the protocol": t.informed,
		"entities owned": t.owned, "entities disowned": t.disowned, "effects that ended with their entity": t.gusts,
		"operations from within callbacks": t.called, "sessions kicked": t.kicks, "ticks without time for all snapshots": t.hurried, "snapshots that waited for the one before": t.held,
		"joins refused": t.turnedAway, "sessions drained": t.drained, "entities veiled": t.veiled,
		"reliable events": t.reliable, "unreliable events": t.unreliable, "events after an Enter": t.newborn, "deaths with a cause": t.causes,
		"entities seated on others": t.rides, "absences that outlast pasts": t.travels,
		"questions answered": t.answered, "typed inputs": t.pushed, "views checked": t.views, "snapshots of plain rows": t.plain,
		"changes of texts":          t.renames,
		"provisional handles bound": t.bound, "bound entities that died at once": t.stillborn, "provisional handles that waited": t.ends[open],
		"provisional handles that became real": t.ends[becameReal], "provisional handles rejected": t.ends[wasRejected],
	} {
		require.NotZero(tb, n, "%s: none", name)
	}
	t.cleanCoverage.requireAll(tb)
}

// The text form is complete.
func TestScriptText(t *testing.T) {
	racetest.SkipSequential(t)
	for seed := range uint64(3) {
		s := generate(seed+1, 3)
		again := must.Get(parseScript(s.String()))
		require.Equal(t, s.String(), again.String())
		a, _ := s.run()
		b, _ := again.run()
		require.Equal(t, a, b, "seed %d", seed+1)
	}
	for _, wrong := range []string{
		"seed=1", "seed=1 first=1 slots=1 budget=1 hz=1 entities=1 viewers=1 tocks=1",
		generate(1, 3).String() + "@900 dance 1", generate(1, 3).String() + "@900 join 1", generate(1, 3).String() + "@1 join",
		generate(1, 3).String() + "join", generate(1, 3).String() + "@900 kill x",
	} {
		require.Error(t, must.Fail(parseScript(wrong)), "%.80s", wrong)
	}
}
