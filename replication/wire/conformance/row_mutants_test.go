package conformance

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
)

// mutant is a decoder that misreads a rule.
type mutant struct {
	*probe
	name string
}

// askedMisreadings returns the misreadings for which a correct decoder of the vectors asks its probe.
// The vectors reach them all, or CODEC.md has another count.
func askedMisreadings(t testing.TB, cases []*rowCase, files map[string][]byte) map[string]bool {
	right := &probe{asked: map[string]bool{}}
	_, wrong := right.firstWrong(t, cases, files)
	require.Zero(t, wrong)
	return right.asked
}

// mutants returns decoders that misread a rule of CODEC.md or ignore a feature.
func mutants(misreadings map[string]bool) (all []mutant) {
	for _, name := range slices.Sorted(maps.Keys(misreadings)) {
		all = append(all, mutant{&probe{wrong: name}, name})
	}
	for i := range 12 {
		all = append(all, mutant{&probe{missing: i + 1}, fmt.Sprintf("feature %d is ignored", i)})
	}
	return all
}

// tables reads the files of tables.
func (m *probe) tables(files map[string][]byte) map[string]codingTables {
	all := map[string]codingTables{}
	for name, b := range files {
		all[name] = m.readTables(b)
	}
	return all
}

// misreadBy reports whether a decoder gets the row wrong.
func (row *codeRow) misreadBy(page *codingTables, parts []codecPart) bool {
	values, err := row.read(page, parts)
	return (err == nil) != (row.Error == "") || !slices.Equal(values, row.Values)
}

// firstWrong returns the line of the first row that a reading gets wrong, or 0, and the
// number of such rows.
func (m *probe) firstWrong(t testing.TB, cases []*rowCase, files map[string][]byte) (line, rows int) {
	tables := m.tables(files)
	for _, c := range cases {
		page, schema := tables[c.Tables], parseSchemaText(t, c.Schema)
		parts := map[bool][]codecPart{false: m.parts(schema, false), true: m.parts(schema, true)}
		for j := range c.Rows {
			if row := &c.Rows[j]; row.misreadBy(&page, parts[row.Owned]) {
				rows++
				if rows == 1 {
					line = c.first + j
				}
			}
		}
	}
	return line, rows
}

// Each mutant gets rows of the vectors wrong.
func TestRowVectorsKillMutants(t *testing.T) {
	cases, files := readRowCases(t), tableFiles()
	for _, m := range mutants(askedMisreadings(t, cases, files)) {
		line, rows := m.firstWrong(t, cases, files)
		t.Logf("%4d rows, first line %4d: %s", rows, line, m.name)
		if rows == 0 {
			t.Errorf("no row notices: %s", m.name)
		}
	}
}

// Doubles suffice where CODEC.md says so, on rows of the vectors and on other rows.
func TestDoublesSuffice(t *testing.T) {
	parented := func(largest float64) float64 { return largest * (1 + 3.5*math.Sqrt(3)) * 0x1p29 }
	require.Less(t, parented(1<<21), 0x1p53)
	require.Greater(t, parented(1<<22), 0x1p53)
	cases, files := readRowCases(t), tableFiles()
	wide := slices.DeleteFunc(slices.Clone(cases), func(c *rowCase) bool { return c.Case != "tall-22" && c.Case != "tall-32" })
	others := slices.DeleteFunc(cases, func(c *rowCase) bool { return slices.Contains(wide, c) })
	_, wrong := (&probe{wrong: inDoubles}).firstWrong(t, wide, files)
	require.NotZero(t, wrong)
	_, wrong = (&probe{wrong: inDoubles}).firstWrong(t, others, files)
	require.Zero(t, wrong)
	for _, g := range rowMakers(t, files) {
		if g.to.Case == "tall-22" || g.to.Case == "tall-32" {
			continue
		}
		m := &probe{wrong: inDoubles}
		page := g.page
		page.probe = m
		for range 200 {
			row := g.candidate()
			g.read(&row)
			require.False(t, row.misreadBy(&page, codecParts(g.components, row.Owned)), g.to.Case)
		}
		if strings.HasPrefix(g.to.Case, "tall") {
			require.Less(t, m.largest, parented(float64(g.components[0].fields[0].largest)), g.to.Case)
		}
	}
}

// The figures of CODEC.md agree with the tests and with the default tables.
func TestCodecPageFigures(t *testing.T) {
	page := must.Get(os.ReadFile("../CODEC.md"))
	tables := rowcodec.DefaultTables()
	require.Contains(t, string(page), fmt.Sprintf("of %d decoders", len(mutants(askedMisreadings(t, readRowCases(t), tableFiles())))))
	require.Contains(t, string(page), fmt.Sprintf("their version is `%08x`", tables.Version()))
	size := len(tables.Bytes())
	require.Contains(t, string(page), fmt.Sprintf("of %d,%03d bytes", size/1000, size%1000))
}
