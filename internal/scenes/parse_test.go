package scenes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// base is a valid world; each case of the table replaces a piece of it. The cases
// contain line numbers, so its layout must not change.
const base = `name: base
seed: 1
tick_hz: 60
snapshot_hz: 20
bounds: [64, 32, 64]
limits: {max_entities: 100, max_players: 10}
kinds:
  crate:
    priority: 1
    body: {mass: 20, drag: 0.1}
  avatar:
    body:
      kinematic: true
effects:
  breeze:
    mode: wind
    text: |
      output = add output, (1, 0, 0, 0)
spawns:
  - kind: crate
    count: 5
    region: {min: [-9, 1, -9], max: [9, 1, 9]}
emitters:
  - kind: crate
    per_second: 10
    life_s: [1, 2]
    region: {min: [0, 1, 0], max: [1, 2, 1]}
players:
  kind: avatar
  region: {min: [0, 1, 0], max: [1, 1, 1]}
`

func TestBaseParses(t *testing.T) {
	f := must.Get(Parse("base.yaml", []byte(base)))
	require.Equal(t, "crate", f.Kinds[0].Name)
	require.Equal(t, Body{Mass: 20, Drag: 0.1, Radius: 0.5, Friction: 0.5}, *f.Kinds[0].Body)
	require.Equal(t, Vec{-9, 1, -9}, f.Spawns[0].Region.Min)
	require.Equal(t, float32(9.81), f.Gravity, "the default")
	require.Equal(t, "output = add output, (1, 0, 0, 0)\n", f.Effects[0].Text)
}

// Every mistake is reported at its position, with what was expected.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		line, column   int
		message        string
		expected       string
	}{
		{"unknown key", "    count: 5", "    cuont: 5", 21, 5, `unknown key "cuont" in spawns[0]`, "count? (one of kind, count, region, grid)"},
		{"unknown key in a flow mapping", "drag: 0.1", "darg: 0.1", 10, 22, `unknown key "darg" in kinds.crate.body`, "drag? (one of mass, drag, radius, friction, restitution, kinematic)"},
		{"unknown key at the root", "seed: 1", "sneed: 1", 2, 1, `unknown key "sneed" in the world file`, "seed? (one of name, seed, tick_hz,"},
		{"nothing like it", "seed: 1", "colour: 1", 2, 1, `unknown key "colour"`, "one of name, seed"},
		{"text for a number", "mass: 20", "mass: heavy", 10, 18, `kinds.crate.body.mass is the text "heavy"`, "a number"},
		{"quoted number", "count: 5", `count: "5"`, 21, 12, `spawns[0].count is the text "5"`, "a whole number"},
		{"fraction for a count", "count: 5", "count: 5.5", 21, 12, "spawns[0].count is the number 5.5", "a whole number"},
		{"list for a number", "tick_hz: 60", "tick_hz: [60]", 3, 10, "tick_hz is a list of 1", "a whole number"},
		{"number for a name", "name: base", "name: 5", 1, 7, "name is the number 5", "a text on one line"},
		{"number for a truth", "kinematic: true", "kinematic: 1", 13, 18, "kinds.avatar.body.kinematic is the number 1", "true or false"},
		{"no value", "snapshot_hz: 20", "snapshot_hz:", 4, 13, "snapshot_hz has no value", "a whole number"},
		{"scalar for a mapping", "limits: {max_entities: 100, max_players: 10}", "limits: 100", 6, 9, "limits is the number 100", "a mapping with the keys max_entities, max_players"},
		{"list for a named mapping", "effects:\n  breeze:\n    mode: wind", "effects:\n  - breeze:\n    mode: wind", 15, 3, "effects is a list of 1", "a mapping: `name: ...`"},
		{"short vector", "[-9, 1, -9]", "[-9, 1]", 22, 19, "spawns[0].region.min is a list of 2", "a list of 3 numbers"},
		{"text in a vector", "[-9, 1, -9]", "[-9, x, -9]", 22, 24, `spawns[0].region.min[1] is the text "x"`, "a number"},
		{"infinity", "mass: 20", "mass: .inf", 10, 18, "the number .inf", "a number"},
		{"beyond float32", "mass: 20", "mass: 1e39", 10, 18, "the number 1e39", "a number"},
		{"negative seed", "seed: 1", "seed: -1", 2, 7, "seed is the number -1", "a whole number from 0 to 2^64-1"},
		{"key that is a number", "  crate:\n    priority", "  5:\n    priority", 8, 3, "a key of kinds is the number 5", "a name"},
		{"plain text over lines", "kind: crate\n    count: 5", "kind: crate\n     crate", 20, 11, "spawns[0].kind is the text", "a text on one line"},

		{"negative count", "count: 5", "count: -5", 21, 12, "spawns[0].count is -5", "entities, from 1 to 100"},
		{"huge count", "count: 5", "count: 1000000000", 21, 12, "spawns[0].count is 1000000000", "from 1 to 100"},
		{"no count", "    count: 5\n", "", 20, 5, "spawns[0].count is 0", "entities, from 1 to 100"},
		{"negative mass", "mass: 20", "mass: -2", 10, 18, "kinds.crate.body.mass is -2", "kg from 0.001 to 1e+06"},
		{"radius above the world", "mass: 20", "radius: 33", 10, 20, "kinds.crate.body.radius is 33", "metres, not above bounds[1]: from 0.01 to 32"},
		{"unknown kind", "- kind: crate\n    count", "- kind: creat\n    count", 20, 11, `spawns[0].kind: no kind is called "creat"`, "crate? (one of crate, avatar)"},
		{"no kind", "  kind: avatar\n", "", 29, 3, "players.kind is missing", "one of crate, avatar"},
		{"unknown mode", "mode: wind", "mode: windy", 16, 11, `effects.breeze.mode is "windy"`, "wind? (one of wind, acceleration)"},
		{"more snapshots than ticks", "snapshot_hz: 20", "snapshot_hz: 61", 4, 14, "snapshot_hz is 61", "snapshots a second, not more than tick_hz: from 1 to 60"},
		{"outside of the bounds", "min: [-9, 1, -9]", "min: [-99, 1, -9]", 22, 20, "spawns[0].region.min[0] is -99", "metres inside the bounds, from -64 to 64"},
		{"below the ground", "min: [-9, 1, -9]", "min: [-9, -1, -9]", 22, 24, "spawns[0].region.min[1] is -1", "from 0 to 32"},
		{"wrong way round", "max: [9, 1, 9]", "max: [-10, 1, 9]", 22, 38, "spawns[0].region.max[0] is -10, below min (-9)", "not below min"},
		{"life wrong way round", "life_s: [1, 2]", "life_s: [2, 1]", 26, 17, "emitters[0].life_s[1] is 1", "not below the first: from 2 to 3600"},
		{"no region", "    region: {min: [-9, 1, -9], max: [9, 1, 9]}\n", "", 20, 5, "spawns[0].region is missing", "`region: {min:"},
		{"grid and count", "    count: 5", "    count: 5\n    grid: {count: [1, 1, 1]}", 22, 11, "spawns[0].grid and count or region are both set", "either"},
		{"grid leaves the world", "    count: 5\n    region: {min: [-9, 1, -9], max: [9, 1, 9]}", "    grid: {count: [99, 1, 1], at: [0, 0, 0]}", 21, 20, "spawns[0].grid.count[0] is 99, and the last stands at 98 m", "a grid that ends before 64 m"},
		{"world too small", "max_entities: 100", "max_entities: 30", 6, 24, "limits.max_entities is 30, but spawns, emitters and max_players need up to 37 at once", "37 or more"},
		{"bad name of a kind", "  crate:\n    priority", "  \"a b\":\n    priority", 8, 3, `"a b" cannot be a name`, "letters, digits"},
		{"no name", "name: base\n", "", 1, 1, "the world has no name", "letters, digits"},

		{"effect does not compile", "add output, (1, 0, 0, 0)", "add output,, (1, 0, 0, 0)", 18, 27, "effects.breeze.text: ", ""},
		{"effect, third line", "      output = add", "      # one\n\n        output = bad", 20, 18, "effects.breeze.text: ", ""},
		{"effect, behind wide characters", "      output = add", "      # é\n      é = add", 19, 7, "effects.breeze.text: unexpected character", "a name"},
		{"effect, unknown operation", "= add output", "= ad output", 18, 16, `effects.breeze.text: there is no operation "ad"`, "one of "},
		{"effect that does nothing", "output = add output, (1, 0, 0, 0)", "x = mov 1", 19, 7, "effects.breeze.text: the effect never adds to output", "output = add output, wind"},
		{"effect, unused parameter", "      output = add output, (1, 0, 0, 0)", "      param speed = 3\n      output = add output, (1, 0, 0, 0)", 18, 13, `effects.breeze.text: the output does not depend on the parameter "speed"`, "a line that uses it"},
		{"effect that is not a block", "text: |\n      output", "text: output", 17, 11, `effects.breeze.text is the text "output = add`, "a literal block"},
		{"folded effect", "text: |", "text: >", 17, 11, "effects.breeze.text is a block of text", "a literal block"},
		{"no effect text", "    text: |\n      output = add output, (1, 0, 0, 0)\n", "", 16, 5, "effects.breeze.text is missing", "literal block"},
		{"unknown parameter", "mode: wind", "mode: wind\n    params: {strength: 1}", 17, 14, `the text of effects.breeze declares no parameter "strength"`, "nothing"},
		{"moves without a box", "mode: wind", "mode: wind\n    orbit: {radius: 5}", 18, 11, "effects.breeze.text has no box", "a box"},
		{"shipped and text", "mode: wind", "mode: wind\n    shipped: whirl", 17, 14, "effects.breeze.shipped and text are both set", "one of the two"},
		{"nothing of the name is shipped", "    text: |\n      output = add output, (1, 0, 0, 0)\n", "    shipped: whril\n", 17, 14, `effects.breeze.shipped is "whril"`, "whirl? (one of explosion, "},
		{"shipped, and moves without a box", "    text: |\n      output = add output, (1, 0, 0, 0)\n", "    shipped: wind\n    orbit: {radius: 5}\n", 17, 14, "effects.breeze.shipped has no box", "a box"},
		{"parameter out of its range", "    text: |\n      output = add output, (1, 0, 0, 0)\n", "    shipped: whirl\n    params: {radius: 17}\n", 18, 22, "effects.breeze.params.radius is outside of the effect's range", "1 to 16"},
		{"parameter is a number", "    text: |\n      output = add output, (1, 0, 0, 0)\n", "    shipped: whirl\n    params: {radius: [1, 2, 3]}\n", 18, 22, "effects.breeze.params.radius is a list", "a number"},
		{"orbit and pulse", "mode: wind", "mode: wind\n    orbit: {radius: 5}\n    pulse: {per_second: 1, life_s: 1, region: {min: [0, 0, 0], max: [1, 1, 1]}}", 18, 12, "effects.breeze.pulse and orbit are both set", "one of the two"},

		{"duplicate key", "seed: 1", "seed: 1\nseed: 2", 3, 1, `mapping key "seed" already defined at [2:1]`, "each key once"},
		{"anchor", "seed: 1", "seed: &s 1", 2, 7, "no anchors, aliases or merge keys", "the value itself"},
		{"alias", "seed: 1", "seed: *s", 2, 7, "no anchors, aliases or merge keys", "the value itself"},
		{"merge", "    priority: 1", "    <<: 1", 9, 5, "no anchors, aliases or merge keys", ""},
		{"tag", "seed: 1", "seed: !!int 1", 2, 7, "no tags", "without a tag"},
		{"complex key", "seed: 1", "? seed\n: 1", 2, 1, "`?` keys", "`key: value`"},
		{"second document", "seed: 1", "seed: 1\n---\nseed: 2", 3, 1, "a second YAML document", "one world a file"},
		{"deep brackets", "seed: 1", "seed: " + strings.Repeat("[", 20), 2, 15, "brackets are nested too deeply", "at most 8"},
		{"deep blocks", "seed: 1", "seed:\n  " + strings.Repeat("- ", 30), 3, 41, "this is nested too deeply", "column 40"},
		{"open bracket", "bounds: [64, 32, 64]", "bounds: [64, 32, 64", 6, 1, "',' or ']' must be specified", "well-formed YAML"},
		{"tab", "    count: 5", "\tcount: 5", 21, 1, "", ""},
		{"not UTF-8", "seed: 1", "seed: 1 # \xff", 2, 11, "this is not UTF-8", "UTF-8"},
		{"control character", "seed: 1", "seed: 1 # \x1b[31m", 2, 11, "the control character U+001B", "without control characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, 1, strings.Count(base, c.old), "the case replaces one place")
			text := strings.Replace(base, c.old, c.new, 1)
			f, err := Parse("bad.yaml", []byte(text))
			require.Error(t, err)
			require.Nil(t, f)
			var e *FileError
			require.ErrorAs(t, err, &e)
			require.Equal(t, [2]int{c.line, c.column}, [2]int{e.Line, e.Column}, err.Error())
			require.Contains(t, e.Message, c.message)
			require.Contains(t, e.Expected, c.expected)
			require.Equal(t, "bad.yaml", e.File)
			require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("bad.yaml:%d:%d: ", c.line, c.column)))
		})
	}
}

// TestFileErrorText pins the text that an operator reads.
func TestFileErrorText(t *testing.T) {
	_, err := Parse("worlds/base.yaml", []byte(strings.Replace(base, "    count: 5", "    cuont: 5", 1)))
	require.EqualError(t, err, `worlds/base.yaml:21:5: unknown key "cuont" in spawns[0]
   21 |     cuont: 5
      |     ^
      expected: count? (one of kind, count, region, grid)`)
}

func TestExcerptIsShort(t *testing.T) {
	line := strings.Repeat("x", 500) + "!" + strings.Repeat("y", 500)
	got, caret := excerpt(line, 501)
	require.Len(t, got, excerptRunes)
	require.Equal(t, byte('!'), got[caret])
	got, caret = excerpt("\tä\x1b!", 4)
	require.Equal(t, " ä?!", got)
	require.Equal(t, 3, caret)
	_, caret = excerpt("ab", 900)
	require.Zero(t, caret)
}

// All complaints come at once, in the order of the file, and not too many.
func TestAllComplaints(t *testing.T) {
	text := strings.NewReplacer("count: 5", "count: -5", "mass: 20", "mass: -1", "mode: wind", "mode: no").Replace(base)
	_, err := Parse("bad.yaml", []byte(text))
	var lines []int
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		lines = append(lines, e.(*FileError).Line)
	}
	require.Equal(t, []int{10, 16, 21}, lines)

	// A value that cannot be parsed does not hide mistakes in an effect's text.
	text = strings.NewReplacer("tick_hz: 60", "tick_hz: fast", "= add output", "= ad output").Replace(base)
	_, err = Parse("bad.yaml", []byte(text))
	require.ErrorContains(t, err, `bad.yaml:3:10: tick_hz is the text "fast"`)
	require.ErrorContains(t, err, `bad.yaml:18:16: effects.breeze.text: there is no operation "ad"`)
	require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), 2)

	_, err = Parse("bad.yaml", []byte("name: x\n"+manyKeys(500)))
	require.ErrorIs(t, err, ErrTooMany)
	require.Len(t, err.(interface{ Unwrap() []error }).Unwrap(), MaxComplaints+1)
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "key%d: 1\n", i)
	}
	return b.String()
}

// Windows' line ends and a byte order mark move no position.
func TestLineEnds(t *testing.T) {
	text := "\ufeff" + strings.ReplaceAll(strings.Replace(base, "add output, (1", "bad output, (1", 1), "\n", "\r\n")
	_, err := Parse("bad.yaml", []byte(text))
	var e *FileError
	require.ErrorAs(t, err, &e)
	require.Equal(t, 18, e.Line, err.Error())
	must.Get(Parse("good.yaml", []byte("\ufeff"+strings.ReplaceAll(base, "\n", "\r\n"))))
}

// Files that are not world files at all.
func TestNotAWorld(t *testing.T) {
	for text, message := range map[string]string{
		"":                                    "the file is empty",
		"# nothing\n":                         "the file is empty",
		"hello":                               `the file is the text "hello"`,
		"- a\n- b\n":                          "the file is a list of 2",
		strings.Repeat("x", MaxFileBytes+1):   "the file has 1048577 bytes",
		strings.Repeat("[", MaxFileBytes):     "brackets are nested too deeply",
		strings.Repeat("- ", MaxFileBytes/2):  "this is nested too deeply",
		strings.Repeat("a: ", MaxFileBytes/3): "this is nested too deeply",
		strings.Repeat("--- a\n", MaxFileBytes/6): "a second YAML document",
		strings.Repeat("- {}\n", MaxFileBytes/5):  "the file has too many parts",
		manyKeys(80000):                           "the file has too many keys",
	} {
		_, err := Parse("x.yaml", []byte(text))
		var e *FileError
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Message, message)
		require.LessOrEqual(t, len(err.Error()), 2000)
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "base.yaml")
	require.ErrorIs(t, must.Fail(Load(path)), os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(base), 0o600))
	require.Equal(t, "base", must.Get(Load(path)).Name)
	require.NoError(t, os.WriteFile(path, []byte("nmae: x"), 0o600))
	require.ErrorContains(t, must.Fail(Load(path)), path+":1:1: unknown key")
	require.NoError(t, os.WriteFile(path, make([]byte, MaxFileBytes+2), 0o600))
	require.ErrorContains(t, must.Fail(Load(path)), "at most 1048576")
}

func TestNamed(t *testing.T) {
	require.Equal(t, []string{"calm", "storm"}, Names())
	for _, name := range Names() {
		require.Equal(t, name, must.Get(Named(name)).Name)
	}
	require.ErrorContains(t, must.Fail(Named("strom")), `no world is called "strom"; expected storm? (one of calm, storm)`)
	must.Fail(Named("../worlds/storm"))
}

// FuzzParse: any bytes give a file that builds, or mistakes with places inside
// the text; never a panic, and never a long run (S4).
func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text := must.Get(worlds.ReadFile("worlds/" + name + ".yaml"))
		f.Add(text)
	}
	f.Add([]byte(base))
	f.Add([]byte("a: |\n  b\nc: >\n  d\n? e\n: &f *g\n<<: !h {i: [j, 'k', \"\\u0041\"]}\n--- # l\n%m\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz.yaml", data)
		if err == nil {
			require.NoError(t, file.Validate())
			return
		}
		lines := strings.Count(string(data), "\n") + 1
		list := []error{err}
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			list = many.Unwrap()
		}
		for _, one := range list {
			var e *FileError
			if errors.Is(one, ErrTooMany) {
				continue
			}
			require.ErrorAs(t, one, &e)
			require.True(t, e.Line >= 1 && e.Line <= lines && e.Column >= 1, "%d:%d of %d lines: %v", e.Line, e.Column, lines, one)
			require.NotEmpty(t, e.Message)
		}
	})
}
