package policy

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const maxLines = 800

var sample = &Rules{
	Module:   "example.com/world",
	Language: "1.26",
	Graph: `
bulk
field
world                   bulk field
replication             bulk world replication/wire
replication/wire        bulk
client                  bulk replication/wire quic-go
server/session          bulk world replication
server                  server/session world zap
internal/bench/codec    bulk
internal/quicserve      quic-go
`,
	Everywhere: "internal/invariants",
	Modules: `
quic-go  github.com/quic-go/quic-go v0.64.1
zap      go.uber.org/zap
`,
	BenchModule: "internal/bench",
	Independent: "client/page_ bulk.Handle",
	Pure:        []string{"bulk", "field", "world", "replication", "replication/wire", "server/session"},
	Banned: map[string][]string{
		"time":         {"Now", "Since"},
		"context":      {"WithTimeout"},
		"math/rand":    {"!New", "!NewSource"},
		"math/rand/v2": {"!New", "!NewPCG", "!Rand"},
		"crypto/rand":  nil,
		"net":          nil,
	},
	OnTime:       []string{"internal/quicserve", "server", "client"},
	WallClocks:   []string{"internal/quicserve/qlog.go"},
	Surface:      "bulk 2",
	TopLevel:     []string{".ci", ".gitignore", "go.mod", "bulk"},
	MaxLines:     map[string]int{".go": maxLines, ".ts": 3},
	Wording:      "anew \\banew\\b\nheadless (?:^|[.] )(?-i:What) [^?.]*(?:[.?]|$)",
	Quotations:   []string{"bulk/quoting.go: golden"},
	PageWords:    map[string]int{"README.md": 3},
	MaxSentence:  map[string]int{".go": 6, ".ts": 6, ".md": 6},
	PrivateWords: []string{"tally"},
}

// Each checker is given a violation: otherwise its silence would prove nothing.
func TestCheckersFind(t *testing.T) {
	source := func(p, text string) *tree {
		return load(fstest.MapFS{p: {Data: []byte(text)}})
	}
	long := "// Package x.\npackage x\n" + strings.Repeat("\n", maxLines)

	for _, c := range []struct {
		name string
		got  []string
		want string // part of the only complaint; none if empty
	}{
		{"import up", sample.checkImports(source("bulk/a.go", `package bulk; import _ "`+sample.Module+`/world"`)), "bulk may not import " + sample.Module + "/world"},
		{"import sideways", sample.checkImports(source("field/a.go", `package field; import _ "`+sample.Module+`/bulk"`)), "may not import"},
		{"client of world", sample.checkImports(source("client/a.go", `package client; import w "`+sample.Module+`/world"; var _ w.World`)), "may not import"},
		{"third party", sample.checkImports(source("world/a.go", `package world; import _ "go.uber.org/zap"`)), "may not import go.uber.org/zap"},
		{"like a third party", sample.checkImports(source("server/a.go", `package server; import _ "go.uber.org/zapper"`)), "may not import"},
		{"cgo", sample.checkImports(source("bulk/a.go", `package bulk; import "C"`)), "may not import C"},
		{"unlisted package", sample.checkImports(source("server/lobby/a.go", `package lobby`)), "not in the graph"},
		{"tagged file", sample.checkImports(source("bulk/a_windows.go", "//go:build never\n\npackage bulk; import _ \"go.uber.org/zap\"")), "may not import"},
		{"good imports", sample.checkImports(source("server/a.go", `package server; import ( _ "net"; _ "`+sample.Module+`/internal/invariants"; _ "`+sample.Module+`/world"; _ "go.uber.org/zap/zapcore")`)), ""},
		{"test files are free", sample.checkImports(source("bulk/a_test.go", `package bulk; import _ "go.uber.org/zap"`)), ""},
		{"other modules obey too", sample.checkImports(load(fstest.MapFS{
			"internal/bench/go.mod": {}, "internal/bench/codec/a.go": {Data: []byte(`package main; import _ "` + sample.Module + `/world"`)},
		})), "internal/bench/codec may not import"},
		{"tools are free", sample.checkImports(load(fstest.MapFS{
			".ci/tools/go.mod": {}, ".ci/tools/a.go": {Data: []byte(`package main; import _ "example.com/x"`)},
			"field/_asm/go.mod": {}, "field/_asm/a.go": {Data: []byte(`package main; import _ "example.com/x"`)},
		})), ""},

		{"independent", sample.checkIndependence(source("client/page_a_test.go", `package client; import b "`+sample.Module+`/bulk"; var _ b.Handle`)), ""},
		{"dependent", sample.checkIndependence(source("client/page_a_test.go", `package client; import b "`+sample.Module+`/bulk"; var _ b.Pool`)), "may not use bulk.Pool"},
		{"dependent by dot", sample.checkIndependence(source("client/page_a_test.go", `package client; import . "`+sample.Module+`/bulk"; var _ Pool`)), "dot import of bulk"},
		{"independent of none", sample.checkIndependence(source("client/b_test.go", `package client`)), "client/page_: no files"},

		{"does not parse", source("bulk/a.go", `package`).broken, "a.go"},
		{"no doc", checkDocs(source("bulk/a.go", "// Not attached.\n\npackage bulk")), "bulk: no package comment"},
		{"doc", checkDocs(source("bulk/a.go", "// Package bulk holds.\npackage bulk")), ""},

		{"clock", sample.checkPure(source("world/a.go", `package world; import "time"; var T = time.Now()`)), "time.Now"},
		{"clock by value", sample.checkPure(source("world/a.go", `package world; import "time"; var f = time.Since`)), "time.Since"},
		{"clock by alias", sample.checkPure(source("bulk/a.go", `package bulk; import clock "time"; var T = clock.Now()`)), "time.Now"},
		{"clock by dot", sample.checkPure(source("bulk/a.go", `package bulk; import . "time"; var T = Now()`)), `import of "time"`},
		{"timer in a context", sample.checkPure(source("server/session/a.go", `package session; import "context"; var F = context.WithTimeout`)), "context.WithTimeout"},
		{"context", sample.checkPure(source("server/session/a.go", `package session; import "context"; var F = context.WithCancel`)), ""},
		{"global rand", sample.checkPure(source("field/a.go", `package field; import "math/rand"; var I = rand.Intn(3)`)), "math/rand.Intn"},
		{"global rand v2", sample.checkPure(source("replication/wire/a.go", `package wire; import r "math/rand/v2"; var I = r.N(3)`)), "math/rand/v2.N"},
		{"secret rand", sample.checkPure(source("world/a.go", `package world; import "crypto/rand"; var R = rand.Reader`)), "crypto/rand"},
		{"socket", sample.checkPure(source("replication/a.go", `package replication; import "net"; var _ net.Conn`)), `import of "net"`},
		{"seeded rand", sample.checkPure(source("world/a.go", `package world; import "math/rand/v2"; var R *rand.Rand = rand.New(rand.NewPCG(1, 2))`)), ""},
		{"durations", sample.checkPure(source("world/a.go", `package world; import "time"; const D = 2 * time.Second`)), ""},
		{"a local called time", sample.checkPure(source("world/a.go", `package world; import _ "time"; type c struct{ Now int }; func f(time c) int { return time.Now }`)), ""},
		{"clock above the line", sample.checkPure(source("server/a.go", `package server; import "time"; var T = time.Now()`)), ""},

		{"wall clock", sample.checkWallClocks(source("server/a.go", `package server; import "time"; var T = time.Now().UnixNano()`)), "UnixNano"},
		{"stripped", sample.checkWallClocks(source("client/a.go", `package client; import "time"; var T = time.Now().Round(0)`)), "Round"},
		{"the other clock", sample.checkWallClocks(source("client/a.go", `package client; import "time"; var T, U = time.Since(time.Now()).Round(time.Second), time.Unix(0, 0)`)), ""},
		{"a file's name", sample.checkWallClocks(source("internal/quicserve/qlog.go", `package quicserve; import "time"; var T = time.Now().UTC()`)), ""},

		{"goroutines counted beside a timer", sample.checkSequential(source("field/a_test.go", `package field; import ( "time"; "`+sample.Module+`/internal/racetest" ); var _, _ = time.AfterFunc, racetest.SkipSequential`)), "use SkipUnchecked"},
		{"goroutines counted beside connections", sample.checkSequential(source("client/a_test.go", `package client; import ( _ "`+sample.Module+`/internal/loopback"; "`+sample.Module+`/internal/racetest" ); var _ = racetest.SkipSequential`)), "use SkipUnchecked"},
		{"goroutines counted", sample.checkSequential(source("field/a_test.go", `package field; import ( _ "time"; "`+sample.Module+`/internal/racetest" ); var _ = racetest.SkipSequential`)), ""},
		{"goroutines not counted", sample.checkSequential(source("field/a_test.go", `package field; import ( "time"; "`+sample.Module+`/internal/racetest" ); var _, _ = time.AfterFunc, racetest.SkipUnchecked`)), ""},

		{"long", sample.checkSizes(source("bulk/a.go", long)), "lines, at most 800"},
		{"long, generated", sample.checkSizes(source("bulk/a.go", "// Code generated by a test. DO NOT EDIT.\n\n"+long)), ""},
		{"long, test", sample.checkSizes(source("bulk/a_test.go", long)), ""},

		{"mutation", checkConditions(source("bulk/a_test.go", `package bulk; func f(n int) { if n++; n > 1 {} }`)), "a_test.go:1"},
		{"call", checkConditions(source(".ci/tools/a.go", `package bulk; func f() { if g(); true {} }`)), "hides a mutation"},
		{"assignment", checkConditions(source("bulk/a.go", `package bulk; func f(n int) { if n = 2; n > 1 {} }`)), "hides a mutation"},
		{"untested error", checkConditions(source("bulk/a.go", `package bulk; func f(n int) { if n, err = g(); n > 1 {} }`)), "hides a mutation"},
		{"field and error", checkConditions(source("bulk/a.go", `package bulk; func f(t T) { if t.err = g(); t.err != nil {} }`)), "hides a mutation"},
		{"good conditions", checkConditions(source("bulk/a.go", `package bulk; func f() { if n, err = g(); err != nil {}; if v, ok := m[1]; ok {}; if n := len(s); n > 1 {}; if v, ok = m[1]; !ok {} }`)), ""},

		{"shadowed in a parameter", sample.checkIdentifiers(source("bulk/a_test.go", `package bulk; func f(max int) {}`)), "max shadows"},
		{"shadowed by :=", sample.checkIdentifiers(source("bulk/a.go", `package bulk; func f() { a, len := 1, 2 }`)), "len shadows"},
		{"shadowed by range", sample.checkIdentifiers(source("bulk/a.go", `package bulk; func f() { for any := range 3 {} }`)), "any shadows"},
		{"shadowed by a function", sample.checkIdentifiers(source("bulk/a.go", `package bulk; func clear() {}`)), "clear shadows"},
		{"shadowed by a type parameter", sample.checkIdentifiers(source("bulk/a.go", `package bulk; type t[error int] struct{}`)), "error shadows"},
		{"members shadow nothing", sample.checkIdentifiers(source("bulk/a.go", `package bulk; type t struct{ max int }; func (t) len() {}; type i interface{ clear() }; var _ = t{max: 1}`)), ""},
		{"private word", sample.checkIdentifiers(source("bulk/a.go", `package bulk; type t struct{ rowTally int }`)), "standard term"},
		{"part of a word", sample.checkIdentifiers(source("bulk/a.go", `package bulk; func incrementally() {}`)), ""},

		{"wording of a comment", sample.checkProse(source("bulk/a.go", "package bulk\n\n// It is\n// sent anew.\nvar a int")), "bulk/a.go:3: anew"},
		{"wording of a message", sample.checkProse(source("bulk/a.go", `package bulk; var a = "it is sent anew"`)), "anew"},
		{"wording of a page", sample.checkProse(source("a.md", "one\n\n- sent\n  anew")), "a.md:3: anew"},
		{"wording of a cell", sample.checkProse(source("a.md", "| a | anew |")), "a.md:1: anew"},
		{"wording of a script", sample.checkProse(source("a.ts", "let a\n/** Sent\n * anew. */\nlet b\n")), "a.ts:2: anew"},
		{"a headless clause", sample.checkProse(source("bulk/a.go", "package bulk\n\n// What is sent stays.\nvar a int")), "headless"},
		{"long sentence", sample.checkProse(source("bulk/a.go", "package bulk\n\n// A b c d e f, e.g. g. H.\nvar a int")), "a sentence of 8 words"},
		{"long page", sample.checkProse(source("README.md", "a b. C d.")), "4 words, at most 3"},
		{"good prose", sample.checkProse(source("bulk/a.go", "package bulk\n\n//go:fix anew\n\n// A b c d e. F `anew` g h i j.\n//\n//\tanew\n//\n// - a b c d\n// - e f g h\n//\n// What is it?\nvar a = `anew`")), ""},
		{"good page", sample.checkProse(source("a.md", "a\n```\nanew\n```\n\n    anew\n| a b c d | e f g h |\n")), ""},
		{"a formula", sample.checkProse(source("bulk/a.go", "package bulk\n\n// a = b, c = d, e = f, g = h\nvar a int")), ""},
		{"a message of a test", sample.checkProse(source("bulk/a_test.go", `package bulk; var a = "it is sent anew"`)), ""},
		{"a quotation", sample.checkProse(source("bulk/quoting.go", `package bulk; var a = "the golden text anew"`)), ""},
		{"generated", sample.checkProse(source("a.ts", "// Code generated by a test. DO NOT EDIT.\n// anew")), ""},

		{"long script", sample.checkSizes(source("a.ts", "\n\n\n\n")), "4 lines, at most 3"},

		{"empty name of a directory", checkNames(source("server/util/a.go", `package strings`)), "name it"},
		{"empty name of a package", checkNames(source("server/text/a.go", `package helpers`)), "name it"},
		{"full name", checkNames(source("server/a.go", `package server`)), ""},

		{"stray file", sample.checkTopLevel(fstest.MapFS{"notes.txt": {}}), "notes.txt"},
		{"stray folder", sample.checkTopLevel(fstest.MapFS{"pkg/a.go": {}}), "pkg"},
		{"folder like prose", sample.checkTopLevel(fstest.MapFS{"docs.md/a.go": {}}), "docs.md"},
		{"stray beside ignored", sample.checkTopLevel(fstest.MapFS{".gitignore": {Data: []byte("/worldd\n*.prof\n")}, "worldd": {}, "cpu.prof": {}, "x.go": {}}), "x.go"},
		{"known names", sample.checkTopLevel(fstest.MapFS{"bulk/a.go": {}, "README.md": {}, ".ci/run": {}, "go.mod": {}}), ""},

		{"home", checkForeign(fstest.MapFS{"a.md": {Data: []byte("one\nsee /ho" + "me/ann/x")}}, nil), "a.md:2"},
		{"workplace", checkForeign(fstest.MapFS{".ci/run": {Data: []byte(`cd "/wo` + `rk/main"`)}}, nil), ".ci/run:1"},
		{"registry", checkForeign(fstest.MapFS{"a.md": {Data: []byte("GOPROXY=https://proxy." + "golang.org")}}, nil), "names"},
		{"own registry", checkForeign(fstest.MapFS{"a.md": {Data: []byte("from https://modules.corp.example/go")}}, packageHosts("https://modules.corp.example:8443/x|direct,off")), "modules.corp.example"},
		{"harmless paths", checkForeign(fstest.MapFS{"a.md": {Data: []byte("a/work/b, ./root/c, https://example.com/home/x, /healthz, 1/2")}}, packageHosts("off,http://127.0.0.1:3000,direct")), ""},
		{"binary", checkForeign(fstest.MapFS{"a.png": {Data: []byte("\x00 /ro" + "ot/x")}}, nil), ""},

		{"moved pin", sample.checkPins(goMod("require github.com/quic-go/quic-go v0.65.0")), "pinned at v0.64.1"},
		{"replace", sample.checkPins(goMod("replace x => ../x")), "replace"},
		{"old language", sample.checkPins(fstest.MapFS{"go.mod": {Data: []byte(strings.Replace(string(goMod("")["go.mod"].Data), "go 1.26", "go 1.25", 1))}}), "go 1.26"},
		{"good go.mod", sample.checkPins(goMod("")), ""},
		{"bench with another pin", sample.checkBench(benchMod("require github.com/quic-go/quic-go v0.65.0"), &tree{}), "pinned at v0.64.1"},
		{"bench of another tree", sample.checkBench(fstest.MapFS{"internal/bench/go.mod": {Data: []byte("module " + sample.Module + "/internal/bench\n")}}, &tree{}), "replace"},
		{"a third module", sample.checkBench(benchModWith("field/gen"), source("field/gen/a.go", "package gen")), "field/gen: a module"},
		{"good bench", sample.checkBench(benchMod("require github.com/quic-go/quic-go v0.64.1"), &tree{}), ""},

		{"unsafe argument", checkUnsafe(source("bulk/a.go", `package bulk; import "unsafe"; func (p *Pool) At(x []unsafe.Pointer) {}`)), "At takes or returns"},
		{"unsafe inside", checkUnsafe(source("bulk/a.go", `package bulk; import "unsafe"; func At() { f(unsafe.Pointer(nil)) }; func f(unsafe.Pointer) {}`)), ""},
		{"unsafe in internal", checkUnsafe(source("internal/cpu/a.go", `package cpu; import "unsafe"; func At(unsafe.Pointer) {}`)), ""},

		{"large surface", sample.checkSurface(source("bulk/a.go", `package bulk; type Pool[T any] struct{}; func (*Pool[T]) Len() {}; func New() {}`)), "bulk exports 3 functions, methods and types, at most 2"},
		{"good surface", sample.checkSurface(source("bulk/a.go", `package bulk; type ( Pool struct{}; p struct{} ); func New() {}; func f() {}; func (p) String() {}; func (Pool) f() {}; const Max = 1`)), ""},
		{"surface without a promise", sample.checkSurface(source("world/a.go", `package world; func A() {}; func B() {}; func C() {}`)), ""},

		{"moved function", checkPlaces(places("`bulk/a.go`: `Pool.At`, `Free`"), source("bulk/a.go", `package bulk; func (p *Pool) At() {}; func (p *Pool) Free() {}`)), `"bulk/a.go" does not declare Free`},
		{"name without a file", checkPlaces(places("`Free`"), source("bulk/a.go", `package bulk; func Free() {}`)), `"" does not declare Free`},
		{"no places", checkPlaces(places(""), &tree{}), "no table of places"},
		{"good places", checkPlaces(places("`bulk/a.go`: `Pool.At`, `Max`"), source("bulk/a.go", `package bulk; const Max = 1; func (p *Pool) At() {}`)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				require.Empty(t, c.got)
				return
			}
			require.Len(t, c.got, 1)
			require.Contains(t, c.got[0], c.want)
		})
	}
}

// benchMod is a go.mod of BenchModule with an additional line. benchModWith adds a module at
// dir.
func benchMod(line string) fstest.MapFS {
	text := "module " + sample.Module + "/" + sample.BenchModule + "\n\nreplace " + sample.Module + " => ../..\n" + line + "\n"
	return fstest.MapFS{sample.BenchModule + "/go.mod": {Data: []byte(text)}}
}

func benchModWith(dir string) fstest.MapFS {
	m := benchMod("")
	m[dir+"/go.mod"] = &fstest.MapFile{}
	return m
}

// places is an ARCHITECTURE.md with one row in its table of places.
func places(row string) fstest.MapFS {
	return fstest.MapFS{"ARCHITECTURE.md": {Data: []byte("# A\n\n## Where is\n\n| a | " + row + " |\n\n## B\n`C`\n")}}
}

// goMod is a go.mod that keeps all pins, with an additional line at the end, which overrides
// them.
func goMod(line string) fstest.MapFS {
	text := "module " + sample.Module + "\n\ngo 1.26\n\nrequire (\n"
	for _, m := range table(sample.Modules) {
		if len(m) == 2 {
			text += "\t" + m[0] + " " + m[1] + "\n"
		}
	}
	return fstest.MapFS{"go.mod": {Data: []byte(text + ")\n" + line + "\n")}}
}

func TestRulesAreSound(t *testing.T) {
	require.Empty(t, sample.checkRules())
	for graph, want := range map[string]string{
		"a b\nb a":  "import cycle",
		"a nothing": "which is nothing",
	} {
		r := *sample
		r.Graph, r.Pure, r.Surface = graph, nil, ""
		found := r.checkRules()
		require.Len(t, found, 1)
		require.Contains(t, found[0], want)
	}
}

func TestCheckRunsAll(t *testing.T) {
	found := map[string]int{}
	for _, r := range sample.Check(fstest.MapFS{
		"bulk/a.go": {Data: []byte("package bulk\n\n// Sent anew.\nfunc f(max int) { if max++; max > 1 {} }\n")},
		"stray.txt": {Data: []byte("from modules.corp.example")},
	}, "https://modules.corp.example") {
		found[r.Check] = len(r.Complaints)
	}
	for check, want := range map[string]int{"conditions": 1, "identifiers": 1, "prose": 1, "package docs": 1, "top level": 1, "foreign words": 1, "imports": 0} {
		require.Equal(t, want, found[check], check)
	}
}
