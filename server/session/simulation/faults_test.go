//go:build faults

package simulation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/vectors"
)

var (
	faultTable = flag.Bool("fault.table", false, "write the table of faults into replication/README.md, with the seed that caught each")
	faultNew   = flag.Bool("fault.scripts", false, "write a shrunk script for every fault into testdata/scripts")
)

// faultLine is a row of the fault table.
type faultLine struct {
	name   string
	breaks string
	caught string
}

// TestFaultsAreCaught runs the simulation with every deliberate fault. A fault that survives
// all seeds is a gap in the suite.
func TestFaultsAreCaught(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	lines := faultLines(t)
	require.GreaterOrEqual(t, len(lines), 15)
	for i := range lines {
		l := &lines[i]
		fault.Inject(l.name)
		l.caught = catch(t, kebab(l.name)) + " | " + catchByVectors(t)
		fault.Inject("")
		t.Logf("%-20s %s", l.name, l.caught)
		if strings.HasPrefix(l.caught, " ") {
			t.Errorf("fault %s survives %d seeds: %s", l.name, *seedCount, l.breaks)
		}
	}
	checkFaultTable(t, lines)
}

// TestAnswersDependOnSight detects a server that reveals the death of an entity that a client
// never received.
func TestFaultRevealDeadDiffersByWorld(t *testing.T) {
	t.Cleanup(func() { fault.Inject("") })
	fault.Inject("RevealDead")
	_, _, f := playUnseen(1)
	require.NotNil(t, f)
	require.Equal(t, "R10", f.invariant)
}

// catch returns what detected the injected fault, or "".
func catch(t *testing.T, name string) string {
	for seed := uint64(1); seed <= uint64(*seedCount); seed++ {
		s := generate(seed, *viewersPerSeed)
		_, f := s.run()
		if f == nil {
			continue
		}
		if *faultNew {
			small := s.shrink(f.invariant)
			_, last := small.run()
			text := fmt.Sprintf("# Fails by %s under the fault %s.\n# %s\n%s", f.invariant, name, firstLine(last.text), small)
			require.NoError(t, os.WriteFile(filepath.Join("testdata", "scripts", name+".txt"), []byte(text), 0o644))
		}
		return fmt.Sprintf("simulation, %s | %d", f.invariant, seed)
	}
	return ""
}

// catchByVectors returns the first conformance vector that the fault breaks.
func catchByVectors(t *testing.T) string {
	files := must.Get(vectors.SessionFiles(vectorsAt))
	schemas := vectorSchemas(t)
	for _, file := range files {
		f := must.Get(os.Open(file))
		defer f.Close()
		cases := must.Get(vectors.Read(f))
		for i := range cases {
			if cases[i].Check(schemas...) != nil {
				return cases[i].Name
			}
		}
	}
	return ""
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func faultLines(t *testing.T) (lines []faultLine) {
	faults := must.Get(fault.All())
	for _, f := range faults {
		// TestFaultRooms, TestFaultCrash, TestFaultPassages and the tests of packages client, internal/botrun, server/imagefile and server/cluster catch the others.
		if !slices.ContainsFunc([]string{"Predict", "Compute", "Shoot", "Room", "Crash", "Passage", "Disk", "Cluster", "Crossing", "Range", "Misread"}, func(p string) bool { return strings.HasPrefix(f.Name, p) }) {
			lines = append(lines, faultLine{name: f.Name, breaks: f.Breaks})
		}
	}
	return lines
}

// kebab converts CamelCase to kebab-case.
func kebab(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

const faultTableBegins, faultTableEnds = "<!-- faults: generated -->\n", "<!-- end of faults -->\n"

// checkFaultTable compares the table in replication/README.md with the faults. It ignores
// the seeds, which change with every change of the protocol.
func checkFaultTable(t *testing.T, lines []faultLine) {
	const path = "../../../replication/README.md"
	text := must.Get(os.ReadFile(path))
	before, rest, begins := strings.Cut(string(text), faultTableBegins)
	table, after, ends := strings.Cut(rest, faultTableEnds)
	require.True(t, begins && ends, "%s has no table of faults", path)
	if *faultTable {
		var b strings.Builder
		b.WriteString("| fault | what is wrong | caught by | seeds | vector |\n|---|---|---|---|---|\n")
		for _, l := range lines {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", kebab(l.name), l.breaks, l.caught)
		}
		table = b.String()
		require.NoError(t, os.WriteFile(path, []byte(before+faultTableBegins+table+faultTableEnds+after), 0o644))
	}
	require.Equal(t, len(lines)+2, strings.Count(table, "\n"), "run with -fault.table")
	for _, l := range lines {
		require.Contains(t, table, fmt.Sprintf("| %s | %s |", kebab(l.name), l.breaks), "run with -fault.table")
	}
}
