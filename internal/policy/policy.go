// Package policy checks the sources of a project against its rules: the import graph, banned
// calls, pinned versions, file sizes, forms of code and of prose. The caller supplies the rules
// as data. Only tests use it.
package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Rules are the rules of one project.
type Rules struct {
	Module   string // import path of the root module
	Language string // version of Go, such as 1.26

	// Graph has a line for each package: its directory, then the packages that it may import
	// besides the standard library and Everywhere. Test files may import all. A package without
	// a line may not exist. C is cgo.
	Graph      string
	Everywhere string
	// Modules has a line for each third-party module: its name in Graph, an import path, and a
	// version if changing that needs a decision.
	Modules string

	BenchModule string   // directory of a module under the same rules, which nothing else imports
	ToolModules []string // modules of one command each

	// Independent has a line for each set of files, tests included, that must not depend on the
	// module: the beginning of their paths, and the names of the module that they may still
	// use.
	Independent string

	Pure   []string            // packages to which time, randomness and the link are arguments
	Banned map[string][]string // in Pure, by import path: banned names, or with a leading ! the only allowed ones; nil bans the package
	// OnTime are packages that measure time, and must not depend on the wall clock, which can
	// be set. WallClocks are files in them that may.
	OnTime     []string
	WallClocks []string

	// Surface has a line for each package whose names are promised to users: its directory, and
	// a bound on the functions, methods and types that it exports.
	Surface string

	TopLevel []string       // what may lie in the root, besides *.md
	MaxLines map[string]int // of a hand-written file, by extension

	Wording      string         // a line for each construction that prose avoids: a name and a regular expression
	Quotations   []string       // "FILE: TEXT" to which Wording and sentence lengths do not apply
	PageWords    map[string]int // bound on the words of a page
	MaxSentence  map[string]int // bound on the words of a sentence, by extension of the file
	PrivateWords []string       // words that identifiers avoid, since a standard term exists
}

// Result holds the findings of one check.
type Result struct {
	Check      string
	Complaints []string
}

// Check returns the results of all checks of the project in fsys. proxies is the value of
// GOPROXY: no file may name its hosts.
func (r *Rules) Check(fsys fs.FS, proxies string) []Result {
	t := load(fsys)
	return []Result{
		{"sources parse", t.broken},
		{"sound rules", r.checkRules()},
		{"imports", r.checkImports(t)},
		{"independence", r.checkIndependence(t)},
		{"package docs", checkDocs(t)},
		{"clocks and dice", r.checkPure(t)},
		{"wall clocks", r.checkWallClocks(t)},
		{"sequential tests", r.checkSequential(t)},
		{"file sizes", r.checkSizes(t)},
		{"names", checkNames(t)},
		{"conditions", checkConditions(t)},
		{"identifiers", r.checkIdentifiers(t)},
		{"prose", r.checkProse(t)},
		{"top level", r.checkTopLevel(fsys)},
		{"foreign words", checkForeign(fsys, packageHosts(proxies))},
		{"pinned versions", r.checkPins(fsys)},
		{"bench module", r.checkBench(fsys, t)},
		{"unsafe pointers", checkUnsafe(t)},
		{"surface", r.checkSurface(t)},
		{"places", checkPlaces(fsys, t)},
	}
}

// A tree is the text of a project, for all build tags and platforms.
type tree struct {
	packages []*source // without tests, tools and generators
	all      []file    // all Go files
	texts    []text    // Markdown and TypeScript
	broken   []string  // files that do not parse
}

type source struct {
	dir   string
	files []file
}

type file struct {
	path  string
	lines int
	fset  *token.FileSet
	ast   *ast.File
}

type text struct {
	path, content string
}

// load reads all sources except testdata and installed packages. Directories that begin with a
// dot or an underscore hold modules of tools and generators: they are in all, but not in
// packages.
func load(fsys fs.FS) *tree {
	t := &tree{}
	packages := map[string]*source{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", "testdata", "node_modules", "dist", "build"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains([]string{".go", ".md", ".ts"}, path.Ext(p)):
			return nil
		}
		content, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		if path.Ext(p) != ".go" {
			t.texts = append(t.texts, text{p, string(content)})
			return nil
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, p, content, parser.ParseComments)
		if err != nil {
			t.broken = append(t.broken, err.Error())
			return nil
		}
		f := file{path: p, lines: strings.Count(string(content), "\n"), fset: fset, ast: parsed}
		t.all = append(t.all, f)
		if strings.HasSuffix(p, "_test.go") || strings.HasPrefix(p, ".") || strings.Contains(p, "/_") || strings.Contains(p, "/.") {
			return nil
		}
		dir := path.Dir(p)
		if packages[dir] == nil {
			packages[dir] = &source{dir: dir}
			t.packages = append(t.packages, packages[dir])
		}
		packages[dir].files = append(packages[dir].files, f)
		return nil
	})
	if err != nil {
		t.broken = append(t.broken, err.Error())
	}
	return t
}

// checkRules finds unknown names in the rules and cycles in the graph.
func (r *Rules) checkRules() (complaints []string) {
	packages, third := table(r.Graph), table(r.Modules)
	done := map[string]bool{}
	var visit func(p string, above []string)
	visit = func(p string, above []string) {
		if slices.Contains(above, p) {
			complaints = append(complaints, p+": import cycle")
			return
		}
		for _, q := range packages[p] {
			switch {
			case done[p] || q == "C":
			case packages[q] != nil:
				visit(q, append(above, p))
			case third[q] == nil:
				complaints = append(complaints, p+": may import "+q+", which is nothing")
			}
		}
		done[p] = true
	}
	for p := range packages {
		visit(p, nil)
	}
	for _, p := range r.Pure {
		if packages[p] == nil {
			complaints = append(complaints, p+": pure, but not in the graph")
		}
	}
	for p := range table(r.Surface) {
		if packages[p] == nil {
			complaints = append(complaints, p+": promised, but not in the graph")
		}
	}
	return complaints
}
