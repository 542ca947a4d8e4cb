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

// misreadings are wrong readings of CODEC.md, at least one for each of its rules. The
// decoder asks its probe for each misreading by name.
var misreadings = []string{
	"every receiver gets owner fields",
	"the flag is the last bool",
	"an always bool is the flag",
	"the rotation is the last one",
	"an always rotation is the rotation",
	"always units have no letter",
	"a vector may be of angles",
	"X[3] does not matter",
	"an always vector is a vector",
	"a position need not be linear",
	"the position is the first linear vector",
	"numbers of 4 bits are numbers",
	"numbers of 5 bits are plain",
	"groups are below 128",
	"groups are at most 256",
	"a group with product 1 has a symbol",
	"the last set that names a shape counts",
	"the last zone bounds of a shape count",
	"heads of other sizes count",
	"the last head of a group counts",
	"equal lengths are ordered by symbol, descending",
	"mag of v instead of v + 1",
	"mag has no fraction",
	"step counts bounds below v",
	"the way is not the short one",
	"half a ring is negative",
	"half a ring has the sign of b - a",
	">> rounds towards zero",
	"/ rounds down",
	"|v| is the largest component",
	"near keeps q",
	"near negates q at a right angle",
	"isqrt of the absolute value",
	"isqrt rounds to nearest",
	"product is p·q",
	"product is not rounded",
	"unit of 0 is 0",
	"unit is not rounded",
	"power of a negative w",
	"power: w is at least 1",
	"power: s is not bounded",
	"power: s is rounded once",
	"power: 5461 is 5462",
	"power: 3276 is 3277",
	"power: k is not bounded",
	"power: a is not bounded",
	"power: 2184 is 2185",
	"the matrix is transposed",
	"the matrix is rounded before 2^14",
	"r is not bounded",
	"r is rounded",
	"the last set codes shapes without a set",
	"zone starts at 0",
	"feature 0 is 1",
	"the anchor is for all components",
	"margin starts at 0",
	"step of moves in place of moves - 1",
	"moves: 32 is 16",
	"the flag is not in the context",
	"onward is conj(base)·now",
	"before is from base to now",
	"feature 6 without an anchor",
	"feature 10 is above the second bound",
	"feature 10 is a distance",
	"speed: 8 is 9",
	"speed: 160 is 161",
	"speed: 500 is 512",
	"speed in 1/256",
	"positions ignore the zone",
	"positions ignore attached",
	"positions ignore the speed",
	"positions ignore the constant",
	"positions ignore the mismatch",
	"positions ignore the parent",
	"the constant is in 1/256",
	"positions are not rounded",
	"moves does not count the position",
	"followed is without the turn",
	"mismatch is not extrapolated",
	"mismatch is from older to base",
	"attached without older",
	"attached at a bound",
	"attached 2 has an addend",
	"attached: 768 is 0",
	"attached: 1536 is 768",
	"attached is never 3 with an anchor",
	"all rotations are predicted",
	"turns are applied on the right",
	"twist is not extrapolated",
	"feature 11 without an anchor",
	"turns: 500 is 512",
	"turns: 5000 is 8000",
	"speed selects the weights of rotations",
	"rotations ignore the zone",
	"rotations ignore attached",
	"rotations ignore the parent",
	"rotations ignore the twist",
	"rotations are not rounded",
	"feature 4 is mag(turns)",
	"moves does not count turns",
	"the last of the largest components",
	"the largest component has a sign",
	"margin to the smallest component",
	"margin: 400 is 512",
	"sums are for the whole row",
	"features are for the whole row",
	"units follow the head of their group",
	"always units have a digit",
	"the first unit is least significant",
	"common heads: the lowest symbols are longer",
	"a changed bool is 1",
	"features 7 and 8 are of all axes",
	"the digit's signs are s1, s0",
	"features 7 and 8 are of the position only",
	"other rotations follow the first",
	"the digit is the largest component",
	"the prediction is not negated",
	"rotations expect v·N + N·11585",
	"expected rotations are not clamped",
	"all numbers are predicted",
	"predicted numbers are clamped",
	"lanes 6 and 7 are exchanged",
	"feature 1 of numbers that are not linear stays",
	"feature 1 of numbers is mag(|move| >> 8)",
	"scales ignore attached",
	"scales ignore speed",
	"scales are not rounded",
	"scales are modulo 32",
	"low bits come highest first",
	"negative magnitudes are absolute values",
	"0 has a sign",
	"lanes 2 to 7 code one less",
	"residuals are not bounded",
	"half a ring is an error",
	"sums of residuals are clamped",
	"numbers above N are read",
	"a sign follows symbol 42",
	"symbol 42 is followed by the residual",
	"symbol 42 is not summed",
	"there is one sum",
	"feature 5 is the last residual",
	"positions are not summed",
	"positions are in a ring",
	"rotations are in a ring",
	"predicted ranges are in a ring",
	inDoubles,
	unboundedMag,
	"arithmetic in more than 64 bits",
}

// mutant is a decoder that misreads a rule.
type mutant struct {
	*probe
	name string
}

// mutants returns all misreadings, and decoders that ignore a feature.
func mutants() (all []mutant) {
	for _, name := range misreadings {
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
	right := &probe{asked: map[string]bool{}}
	_, wrong := right.firstWrong(t, cases, files)
	require.Zero(t, wrong)
	require.Subset(t, misreadings, slices.Collect(maps.Keys(right.asked)))
	for _, m := range mutants() {
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
	require.Contains(t, string(page), fmt.Sprintf("of %d decoders", len(mutants())))
	require.Contains(t, string(page), fmt.Sprintf("their version is `%08x`", tables.Version()))
	size := len(tables.Bytes())
	require.Contains(t, string(page), fmt.Sprintf("of %d,%03d bytes", size/1000, size%1000))
}
