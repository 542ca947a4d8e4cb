// Package worldd_test holds the rules of the project as tests: the import graph, banned
// calls, file sizes. The rules are the data at the top of this file. A change that needs another rule changes the rule,
// and says why in its commit; nobody edits the checkers to get a build through.
package worldd_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const module = "github.com/worldd/worldd"

// graph: a package, then everything that it may import besides the standard
// library and internal/invariants. Test files are free. A package that is not
// listed may not exist. C is cgo.
const graph = `
internal/address
internal/commandline internal/regularfile internal/spelling kong
internal/bitio
internal/rowcodec   internal/bitio replication/wire replication/schema
internal/rowtrain   internal/bitio internal/rowcodec replication/schema
internal/rowtest    bulk internal/bitio internal/rowcodec replication/schema
internal/invariants
internal/printable
internal/mutate
internal/simtest
internal/browsertest
internal/fault
internal/fault/overlay internal/fault
internal/cpu        x/sys
internal/spelling
internal/atomicfile natefinch
internal/regularfile
internal/vectors    bulk client replication/wire replication/schema world/motion
internal/scenes/steering replication/schema
internal/scenes/messages bulk internal/scenes/steering replication/schema
internal/scenes     bulk field internal/scenes/messages internal/scenes/steering internal/regularfile internal/spelling world yaml
internal/scenes/rules internal/scenes internal/scenes/messages internal/scenes/steering replication/schema replication/wire server world
internal/fieldrender field x/image

internal/bench/codec          bulk replication/wire internal/bitio internal/rowcodec internal/rowtrain replication/schema
internal/bench/quic           quic-go
internal/bench/peers          client msgpack quic-go replication replication/schema server websocket world x/sys/unix
internal/bench/field
internal/bench/field/fused    C
internal/bench/field/fastmath C internal/bench/field/fused

bulk                internal/cpu x/sys
field               internal/cpu internal/spelling x/sys
world/motion        bulk field
world               bulk field world/motion xxhash zstd
replication/wire    bulk msgpack internal/bitio internal/printable
replication/schema  bulk internal/bitio internal/spelling replication/wire
replication         bulk world world/motion field replication/wire internal/bitio internal/rowcodec replication/schema
server/token        paseto flock internal/atomicfile internal/regularfile
server/session      bulk world replication replication/wire x/time replication/schema
internal/quicserve  replication/wire server/session internal/atomicfile internal/regularfile quic-go webtransport zap x/time
internal/admin      internal/cpu internal/printable internal/quicserve replication replication/wire server/session world hdrhistogram prometheus zap replication/schema
server              internal/address internal/admin internal/printable internal/quicserve replication replication/schema replication/wire server/imagefile server/session world hdrhistogram x/time zap
client/ts/bundle    esbuild
client/internal/work   replication/wire
client/internal/bodies bulk field client/internal/work internal/bitio replication/schema replication/wire world/motion
client              bulk client/internal/bodies client/internal/work world/motion replication/wire quic-go zap internal/address internal/bitio internal/printable internal/rowcodec replication/schema
loadtest/rig        client internal/simtest replication/wire server server/session
loadtest/bot        bulk client internal/scenes/messages internal/scenes/steering replication/wire server/token internal/spelling hdrhistogram quic-go zap replication/schema
loadtest/page       internal/atomicfile loadtest/bot
loadtest/command    client internal/address internal/commandline internal/regularfile loadtest/bot loadtest/page replication/wire server/token hdrhistogram kong prommodel promtext zap
loadtest            internal/commandline loadtest/command
cmd/worldd          field internal/atomicfile internal/fieldrender internal/regularfile internal/scenes internal/scenes/messages internal/scenes/rules internal/spelling loadtest/bot replication server server/host world
server/host         client internal/address internal/atomicfile internal/bitio internal/commandline internal/cpu internal/regularfile internal/rowcodec internal/rowtrain internal/spelling loadtest/bot loadtest/command loadtest/page replication replication/schema replication/wire server server/imagefile server/session server/token world kong systemd x/term zap
server/host/examples/coins client loadtest/bot replication/schema server server/host world
server/host/examples/arena bulk client field loadtest/bot loadtest/rig replication replication/schema replication/wire server server/host world world/motion
server/imagefile    internal/atomicfile internal/regularfile world flock
`

// modules: the third parties by the names used above, and the version for those
// that must not move without a decision (RATIONALE.md says what breaks).
const modules = `
esbuild      github.com/evanw/esbuild
flock        github.com/gofrs/flock
hdrhistogram github.com/HdrHistogram/hdrhistogram-go
kong         github.com/alecthomas/kong
natefinch    github.com/natefinch/atomic
msgpack      github.com/vmihailenco/msgpack/v5         v5.3.6
paseto       aidanwoods.dev/go-paseto
prometheus   github.com/prometheus/client_golang
promtext     github.com/prometheus/common
prommodel    github.com/prometheus/client_model/go
quic-go      github.com/quic-go/quic-go                v0.64.1
systemd      github.com/coreos/go-systemd/v22/daemon
websocket    github.com/coder/websocket
webtransport github.com/quic-go/webtransport-go        v0.13.0
x/image      golang.org/x/image
x/sys        golang.org/x/sys/cpu
x/sys/unix   golang.org/x/sys/unix
x/term       golang.org/x/term
x/time       golang.org/x/time/rate
yaml         github.com/goccy/go-yaml
xxhash       github.com/cespare/xxhash/v2
zap          go.uber.org/zap
zstd         github.com/klauspost/compress/zstd
`

// benchModule holds the yardsticks: a module of its own, under the same rules, that
// nothing outside of it imports.
const benchModule = "internal/bench"

// toolModules are modules of one command each, which builds what is not Go.
var toolModules = []string{"client/ts/bundle"}

// pure: packages to which time, randomness and the link are arguments.
var pure = []string{"bulk", "field", "world/motion", "world", "replication", "replication/wire", "server/session", "loadtest/rig", "internal/bitio", "internal/rowcodec", "internal/rowtrain", "replication/schema"}

// banned, in pure packages, by import path: the names that may not be used, or
// with a leading "!" the only ones that may. None means the whole package.
var banned = map[string][]string{
	"time":         {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"},
	"context":      {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"math/rand":    {"!New", "!NewSource", "!NewZipf", "!Rand", "!Source", "!Source64", "!Zipf"},
	"math/rand/v2": {"!New", "!NewPCG", "!NewChaCha8", "!NewZipf", "!Rand", "!Source", "!PCG", "!ChaCha8", "!Zipf"},
	"crypto/rand":  nil,
	"net":          nil,
}

// wallClock: the methods of time.Time that lead to what the wall clock says, which
// somebody may set while the program runs. All else in time compares what time.Now
// returns by the clock that nobody sets.
var wallClock = []string{"UTC", "Local", "Unix", "UnixMilli", "UnixMicro", "UnixNano", "GobEncode", "MarshalBinary", "MarshalJSON", "MarshalText"}

// onTime: packages that tell time, and must not care if the wall clock is set; with
// the files that are to: names of files, and whether certificates and tokens are
// good, which is other machines' time too (server/token).
var (
	onTime     = []string{"internal/admin", "internal/quicserve", "server", "client", "loadtest/command", "loadtest/bot", "server/host", "cmd/worldd"}
	wallClocks = []string{"internal/quicserve/qlog.go"}
)

// names that say nothing about what is inside.
var emptyNames = []string{"common", "helper", "helpers", "misc", "util", "utils"}

// topLevel is everything that may lie in the root, besides *.md.
var topLevel = []string{
	".ci", ".git", ".gitignore", "LICENSE", "go.mod", "go.sum", "policy_test.go",
	"bulk", "client", "cmd", "field", "internal", "loadtest", "replication", "server", "world",
}

// maxLines bounds a hand-written file. Aim at 80 to 400.
const maxLines = 800

// foreign finds what belongs to somebody's machine and not to the project:
// absolute home and workplace paths, and hosts that serve packages. It is put
// together from pieces so that this file does not contain what it looks for.
var foreign = regexp.MustCompile(strings.Join([]string{
	`(^|[^\w.\-/:])/(` + `work|root|home|Users)/\w`,
	`\b[A-Z]:\\+` + `Users\\`,
	`\b(proxy|sum)\.` + `golang\.org\b`,
	`\bgo` + `proxy\.(io|cn)\b`,
	`\b` + `registry\.npmjs\.`,
}, "|"))

func TestPolicy(t *testing.T) {
	root := os.DirFS(".")
	tree := load(root)
	for _, c := range []struct {
		name  string
		check func() []string
	}{
		{"sources parse", func() []string { return tree.broken }},
		{"imports", func() []string { return checkImports(tree) }},
		{"package docs", func() []string { return checkDocs(tree) }},
		{"clocks and dice", func() []string { return checkPure(tree) }},
		{"wall clocks", func() []string { return checkWallClocks(tree) }},
		{"file sizes", func() []string { return checkSizes(tree) }},
		{"names", func() []string { return checkNames(tree) }},
		{"top level", func() []string { return checkTopLevel(root) }},
		{"foreign words", func() []string { return checkForeign(root, packageHosts(os.Getenv("GOPROXY"))) }},
		{"pinned versions", func() []string { return checkPins(root) }},
		{"bench module", func() []string { return checkBench(root, tree) }},
		{"unsafe pointers", func() []string { return checkUnsafe(tree) }},
		{"places", func() []string { return checkPlaces(root, tree) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, complaint := range c.check() {
				t.Error(complaint)
			}
		})
	}
}

// A tree is every package of the module and of benchModule as the checkers see it:
// all build tags and platforms at once, test files apart.
type tree struct {
	packages []*source
	broken   []string // files that do not parse
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

// load parses all non-test Go files. It leaves out testdata and directories that
// begin with a dot or an underscore: the modules of tools and generators are there.
// All other modules in the tree are held to the same rules.
func load(fsys fs.FS) tree {
	var t tree
	packages := map[string]*source{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." {
			if d.Name() == "testdata" || d.Name() == "node_modules" || strings.ContainsAny(d.Name()[:1], "._") {
				return fs.SkipDir
			}
		}
		if d.IsDir() || path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			t.broken = append(t.broken, err.Error())
			return nil
		}
		dir := path.Dir(p)
		if packages[dir] == nil {
			packages[dir] = &source{dir: dir}
			t.packages = append(t.packages, packages[dir])
		}
		packages[dir].files = append(packages[dir].files, file{
			path: p, lines: strings.Count(string(text), "\n"), fset: fset, ast: f,
		})
		return nil
	})
	if err != nil {
		t.broken = append(t.broken, err.Error())
	}
	return t
}

// checkImports compares every import with graph.
func checkImports(t tree) (complaints []string) {
	allowed := table(graph)
	paths := map[string]string{}
	for name, fields := range table(modules) {
		paths[name] = fields[0]
	}
	for _, p := range t.packages {
		names, listed := allowed[p.dir]
		if !listed {
			complaints = append(complaints, p.dir+": package is not in the graph")
			continue
		}
		for _, f := range p.files {
			for _, spec := range f.ast.Imports {
				target := unquote(spec)
				if !mayImport(names, paths, target) {
					complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", f.path, p.dir, target))
				}
			}
		}
	}
	return complaints
}

func mayImport(allowed []string, paths map[string]string, target string) bool {
	first, _, _ := strings.Cut(target, "/")
	if !strings.Contains(first, ".") {
		return target != "C" || slices.Contains(allowed, target) // the standard library; cgo where it says so
	}
	if own, ok := strings.CutPrefix(target, module+"/"); ok {
		return own == "internal/invariants" || slices.Contains(allowed, own)
	}
	return slices.ContainsFunc(allowed, func(name string) bool {
		p := paths[name]
		return p != "" && (target == p || strings.HasPrefix(target, p+"/"))
	})
}

// checkDocs wants a package comment in one file of each package at least.
func checkDocs(t tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.ContainsFunc(p.files, func(f file) bool { return f.ast.Doc != nil && f.ast.Doc.Text() != "" }) {
			complaints = append(complaints, p.dir+": no package comment")
		}
	}
	return complaints
}

// checkPure looks for clocks, global randomness and sockets in pure packages,
// whatever name they were imported under, called or only mentioned.
func checkPure(t tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.Contains(pure, p.dir) {
			continue
		}
		for _, f := range p.files {
			complaints = append(complaints, impurities(f)...)
		}
	}
	return complaints
}

func impurities(f file) (complaints []string) {
	complain := func(at token.Pos, what string) {
		complaints = append(complaints, fmt.Sprintf("%s: %s: it is an argument here", f.fset.Position(at), what))
	}
	imported := map[string]string{} // name in this file -> import path
	for _, spec := range f.ast.Imports {
		target := unquote(spec)
		names, watched := banned[target]
		if !watched {
			continue
		}
		name := path.Base(strings.TrimSuffix(target, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if names == nil || name == "." {
			complain(spec.Pos(), "import of "+strconv.Quote(target))
			continue
		}
		imported[name] = target
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier with an object is a local of that name, not the import.
		x, ok := selector.X.(*ast.Ident)
		if !ok || x.Obj != nil || imported[x.Name] == "" {
			return true
		}
		if target := imported[x.Name]; isBanned(banned[target], selector.Sel.Name) {
			complain(selector.Pos(), target+"."+selector.Sel.Name)
		}
		return true
	})
	return complaints
}

func isBanned(rule []string, name string) bool {
	if strings.HasPrefix(rule[0], "!") {
		return !slices.Contains(rule, "!"+name)
	}
	return slices.Contains(rule, name)
}

// checkWallClocks finds uses of the wall clock.
func checkWallClocks(t tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.Contains(onTime, p.dir) {
			continue
		}
		for _, f := range p.files {
			if slices.Contains(wallClocks, f.path) {
				continue
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				selector, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				x, of := selector.X.(*ast.Ident)
				stripped := selector.Sel.Name == "Round" && len(call.Args) == 1 && isZero(call.Args[0]) // t.Round(0)
				if stripped || slices.Contains(wallClock, selector.Sel.Name) && !(of && x.Name == "time") {
					complaints = append(complaints, fmt.Sprintf("%s: %s: the wall clock may be set at any time", f.fset.Position(call.Pos()), selector.Sel.Name))
				}
				return true
			})
		}
	}
	return complaints
}

func isZero(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	return ok && literal.Value == "0"
}

// checkSizes bounds hand-written files; generated ones say so in their head.
func checkSizes(t tree) (complaints []string) {
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.lines > maxLines && !ast.IsGenerated(f.ast) {
				complaints = append(complaints, fmt.Sprintf("%s: %d lines, at most %d", f.path, f.lines, maxLines))
			}
		}
	}
	return complaints
}

// checkNames refuses packages that are named for nothing in particular.
func checkNames(t tree) (complaints []string) {
	for _, p := range t.packages {
		names := append(strings.Split(p.dir, "/"), p.files[0].ast.Name.Name)
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(emptyNames, n) }) {
			complaints = append(complaints, p.dir+": name it for what it does")
		}
	}
	return complaints
}

// checkTopLevel refuses anything in the root that is not in topLevel, except
// what git would not carry anyway: a binary built there, a profile.
func checkTopLevel(fsys fs.FS) (complaints []string) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return []string{err.Error()}
	}
	ignored, _ := fs.ReadFile(fsys, ".gitignore")
	for _, e := range entries {
		leftOver := slices.ContainsFunc(strings.Fields(string(ignored)), func(pattern string) bool {
			match, _ := path.Match(strings.Trim(pattern, "/"), e.Name())
			return match
		})
		prose := !e.IsDir() && path.Ext(e.Name()) == ".md"
		if !prose && !leftOver && !slices.Contains(topLevel, e.Name()) {
			complaints = append(complaints, e.Name()+": not a top-level name of this project")
		}
	}
	return complaints
}

// checkForeign reads every text file for what foreign finds, and for hosts.
func checkForeign(fsys fs.FS, hosts []string) (complaints []string) {
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !d.Type().IsRegular() || d.Name() == ".git" { // a file in a worktree
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil || slices.Contains(text, 0) { // binary
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			found := foreign.FindString(line)
			for _, h := range hosts {
				if strings.Contains(line, h) {
					found = cmp.Or(found, h)
				}
			}
			if found != "" {
				complaints = append(complaints, fmt.Sprintf("%s:%d: names %q", p, i+1, strings.TrimSpace(found)))
			}
		}
		return nil
	})
	if err != nil {
		complaints = append(complaints, err.Error())
	}
	return complaints
}

// packageHosts lists the hosts from which this machine was told to load
// packages: whatever they are, the tree must not know them.
func packageHosts(proxies string) (hosts []string) {
	for _, p := range strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == '|' }) {
		u, err := url.Parse(strings.TrimSpace(p))
		if err != nil || u.Hostname() == "" || u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") {
			continue
		}
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// checkPins compares go.mod with modules, and wants nothing in it that only
// works on one machine.
func checkPins(fsys fs.FS) (complaints []string) {
	text, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return []string{err.Error()}
	}
	required := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 0 {
			continue
		}
		if fields[0] == "replace" || fields[0] == "toolchain" || fields[0] == "tool" {
			complaints = append(complaints, "go.mod: "+fields[0]+" does not belong into what others import")
		}
		if len(fields) >= 2 {
			required[fields[0]] = fields[1]
		}
	}
	if required["module"] != module {
		complaints = append(complaints, "go.mod: the module is "+module)
	}
	if v := required["go"]; v != "1.26" && !strings.HasPrefix(v, "1.26.") {
		complaints = append(complaints, "go.mod: the language is go 1.26, not "+v)
	}
	for _, m := range table(modules) {
		if len(m) == 2 && required[m[0]] != m[1] {
			complaints = append(complaints, fmt.Sprintf("go.mod: %s is pinned at %s, not %q (RATIONALE.md says why)", m[0], m[1], required[m[0]]))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// checkBench wants benchModule to be built from this tree, with the same pinned
// versions, and to be the only module beside the root's and toolModules; and no package outside of
// it may be allowed to import it, since the root's go.mod does not require it.
func checkBench(fsys fs.FS, t tree) (complaints []string) {
	for _, p := range t.packages {
		if _, err := fs.Stat(fsys, path.Join(p.dir, "go.mod")); err == nil && p.dir != "." && !slices.Contains(toolModules, p.dir) {
			complaints = append(complaints, p.dir+": a module of its own must be "+benchModule+" or a tool")
		}
	}
	for p, names := range table(graph) {
		for _, name := range names {
			if inBench(name) && !inBench(p) {
				complaints = append(complaints, p+": allowed to import "+name+" of another module")
			}
		}
	}
	text, err := fs.ReadFile(fsys, path.Join(benchModule, "go.mod"))
	if err != nil {
		return append(complaints, err.Error())
	}
	for _, line := range []string{"module " + module + "/" + benchModule, "replace " + module + " => ../.."} {
		if !slices.Contains(strings.Split(string(text), "\n"), line) {
			complaints = append(complaints, benchModule+"/go.mod: no line "+line)
		}
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		for _, m := range table(modules) {
			if len(m) == 2 && len(fields) >= 2 && fields[0] == m[0] && fields[1] != m[1] {
				complaints = append(complaints, fmt.Sprintf("%s/go.mod: %s is pinned at %s, not %q", benchModule, m[0], m[1], fields[1]))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

// checkUnsafe wants no exported function or method of a package that others can import
// to take or return an unsafe.Pointer.
func checkUnsafe(t tree) (complaints []string) {
	for _, p := range t.packages {
		if slices.Contains(strings.Split(p.dir, "/"), "internal") {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !fn.Name.IsExported() {
					continue
				}
				ast.Inspect(fn.Type, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Pointer" && types.ExprString(s.X) == "unsafe" {
						complaints = append(complaints, fmt.Sprintf("%s: %s takes or returns an unsafe.Pointer", f.path, fn.Name.Name))
					}
					return true
				})
			}
		}
	}
	return complaints
}

// codeSpan finds what ARCHITECTURE.md names.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// checkPlaces wants the table "Where is" of ARCHITECTURE.md to name declarations, each
// in the file named before it.
func checkPlaces(fsys fs.FS, t tree) (complaints []string) {
	text, err := fs.ReadFile(fsys, "ARCHITECTURE.md")
	if err != nil {
		return []string{err.Error()}
	}
	declared := map[string][]string{}
	for _, p := range t.packages {
		for _, f := range p.files {
			declared[f.path] = declarations(f.ast)
		}
	}
	_, section, _ := strings.Cut(string(text), "\n## Where is\n")
	section, _, _ = strings.Cut(section, "\n## ")
	found := 0
	for line := range strings.Lines(section) {
		file := ""
		for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
			switch name := m[1]; {
			case strings.HasSuffix(name, ".go"):
				file = name
			case slices.Contains(declared[file], name):
				found++
			default:
				complaints = append(complaints, fmt.Sprintf("ARCHITECTURE.md: %q does not declare %s", file, name))
			}
		}
	}
	if found == 0 && len(complaints) == 0 {
		complaints = append(complaints, "ARCHITECTURE.md: no table of places")
	}
	return complaints
}

// declarations returns the names that a file declares: functions, Type.method, and
// constants, variables and types.
func declarations(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			names = append(names, name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}

func inBench(dir string) bool { return strings.HasPrefix(dir, benchModule+"/") }

// table reads lines of "key field field…".
func table(text string) map[string][]string {
	rows := map[string][]string{}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			rows[fields[0]] = fields[1:]
		}
	}
	return rows
}

func unquote(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
	return p
}

// The rules themselves: no dangling names, no cycles.
func TestPolicyRulesAreSound(t *testing.T) {
	packages, third := table(graph), table(modules)
	done := map[string]bool{}
	var visit func(p string, above []string)
	visit = func(p string, above []string) {
		require.NotContains(t, above, p, "import cycle")
		if done[p] {
			return
		}
		for _, q := range packages[p] {
			if _, own := packages[q]; own {
				visit(q, append(above, p))
				continue
			}
			if q != "C" {
				require.Contains(t, third, q, "allowed to %s", p)
			}
		}
		done[p] = true
	}
	for p := range packages {
		visit(p, nil)
	}
	for _, p := range pure {
		require.Contains(t, packages, p)
	}
}

// Every checker is shown something bad, so that silence means something.
func TestPolicyCheckersBite(t *testing.T) {
	source := func(p, text string) tree {
		return load(fstest.MapFS{p: {Data: []byte(text)}})
	}
	long := "// Package x.\npackage x\n" + strings.Repeat("\n", maxLines)

	for _, c := range []struct {
		name string
		got  []string
		want string // part of the only complaint; none if empty
	}{
		{"import up", checkImports(source("bulk/a.go", `package bulk; import _ "`+module+`/world"`)), "bulk may not import " + module + "/world"},
		{"import sideways", checkImports(source("field/a.go", `package field; import _ "`+module+`/bulk"`)), "may not import"},
		{"client of world", checkImports(source("client/a.go", `package client; import w "`+module+`/world"; var _ w.World`)), "may not import"},
		{"third party", checkImports(source("world/a.go", `package world; import _ "go.uber.org/zap"`)), "may not import go.uber.org/zap"},
		{"like a third party", checkImports(source("server/a.go", `package server; import _ "go.uber.org/zapper"`)), "may not import"},
		{"cgo", checkImports(source("bulk/a.go", `package bulk; import "C"`)), "may not import C"},
		{"unlisted package", checkImports(source("server/lobby/a.go", `package lobby`)), "not in the graph"},
		{"tagged file", checkImports(source("bulk/a_windows.go", "//go:build never\n\npackage bulk; import _ \"go.uber.org/zap\"")), "may not import"},
		{"good imports", checkImports(source("server/a.go", `package server; import ( _ "net"; _ "`+module+`/internal/invariants"; _ "`+module+`/world"; _ "go.uber.org/zap/zapcore")`)), ""},
		{"test files are free", checkImports(source("bulk/a_test.go", `package bulk; import _ "go.uber.org/zap"`)), ""},
		{"other modules obey too", checkImports(load(fstest.MapFS{
			"internal/bench/go.mod": {}, "internal/bench/codec/a.go": {Data: []byte(`package main; import _ "` + module + `/world"`)},
		})), "internal/bench/codec may not import"},
		{"tools are free", checkImports(load(fstest.MapFS{
			".ci/tools/go.mod": {}, ".ci/tools/a.go": {Data: []byte(`package main; import _ "example.com/x"`)},
			"field/_asm/go.mod": {}, "field/_asm/a.go": {Data: []byte(`package main; import _ "example.com/x"`)},
		})), ""},

		{"does not parse", source("bulk/a.go", `package`).broken, "a.go"},
		{"no doc", checkDocs(source("bulk/a.go", "// Not attached.\n\npackage bulk")), "bulk: no package comment"},
		{"doc", checkDocs(source("bulk/a.go", "// Package bulk holds.\npackage bulk")), ""},

		{"clock", checkPure(source("world/a.go", `package world; import "time"; var T = time.Now()`)), "time.Now"},
		{"clock by value", checkPure(source("world/a.go", `package world; import "time"; var f = time.Since`)), "time.Since"},
		{"clock by alias", checkPure(source("bulk/a.go", `package bulk; import clock "time"; var T = clock.Now()`)), "time.Now"},
		{"clock by dot", checkPure(source("bulk/a.go", `package bulk; import . "time"; var T = Now()`)), `import of "time"`},
		{"timer in a context", checkPure(source("server/session/a.go", `package session; import "context"; var F = context.WithTimeout`)), "context.WithTimeout"},
		{"context", checkPure(source("server/session/a.go", `package session; import "context"; var F = context.WithCancel`)), ""},
		{"global rand", checkPure(source("field/a.go", `package field; import "math/rand"; var I = rand.Intn(3)`)), "math/rand.Intn"},
		{"global rand v2", checkPure(source("replication/wire/a.go", `package wire; import r "math/rand/v2"; var I = r.N(3)`)), "math/rand/v2.N"},
		{"secret rand", checkPure(source("world/a.go", `package world; import "crypto/rand"; var R = rand.Reader`)), "crypto/rand"},
		{"socket", checkPure(source("replication/a.go", `package replication; import "net"; var _ net.Conn`)), `import of "net"`},
		{"seeded rand", checkPure(source("world/a.go", `package world; import "math/rand/v2"; var R *rand.Rand = rand.New(rand.NewPCG(1, 2))`)), ""},
		{"durations", checkPure(source("world/a.go", `package world; import "time"; const D = 2 * time.Second`)), ""},
		{"a local called time", checkPure(source("world/a.go", `package world; import _ "time"; type c struct{ Now int }; func f(time c) int { return time.Now }`)), ""},
		{"clock above the line", checkPure(source("server/a.go", `package server; import "time"; var T = time.Now()`)), ""},

		{"wall clock", checkWallClocks(source("server/a.go", `package server; import "time"; var T = time.Now().UnixNano()`)), "UnixNano"},
		{"stripped", checkWallClocks(source("client/a.go", `package client; import "time"; var T = time.Now().Round(0)`)), "Round"},
		{"the other clock", checkWallClocks(source("client/a.go", `package client; import "time"; var T, U = time.Since(time.Now()).Round(time.Second), time.Unix(0, 0)`)), ""},
		{"a file's name", checkWallClocks(source("internal/quicserve/qlog.go", `package quicserve; import "time"; var T = time.Now().UTC()`)), ""},

		{"long", checkSizes(source("bulk/a.go", long)), "lines, at most 800"},
		{"long, generated", checkSizes(source("bulk/a.go", "// Code generated by a test. DO NOT EDIT.\n\n"+long)), ""},
		{"long, test", checkSizes(source("bulk/a_test.go", long)), ""},

		{"empty name of a directory", checkNames(source("server/util/a.go", `package strings`)), "name it"},
		{"empty name of a package", checkNames(source("server/text/a.go", `package helpers`)), "name it"},
		{"full name", checkNames(source("server/a.go", `package server`)), ""},

		{"stray file", checkTopLevel(fstest.MapFS{"notes.txt": {}}), "notes.txt"},
		{"stray folder", checkTopLevel(fstest.MapFS{"pkg/a.go": {}}), "pkg"},
		{"folder like prose", checkTopLevel(fstest.MapFS{"docs.md/a.go": {}}), "docs.md"},
		{"stray beside ignored", checkTopLevel(fstest.MapFS{".gitignore": {Data: []byte("/worldd\n*.prof\n")}, "worldd": {}, "cpu.prof": {}, "x.go": {}}), "x.go"},
		{"known names", checkTopLevel(fstest.MapFS{"bulk/a.go": {}, "README.md": {}, ".ci/run": {}, "go.mod": {}}), ""},

		{"home", checkForeign(fstest.MapFS{"a.md": {Data: []byte("one\nsee /ho" + "me/ann/x")}}, nil), "a.md:2"},
		{"workplace", checkForeign(fstest.MapFS{".ci/run": {Data: []byte(`cd "/wo` + `rk/main"`)}}, nil), ".ci/run:1"},
		{"registry", checkForeign(fstest.MapFS{"a.md": {Data: []byte("GOPROXY=https://proxy." + "golang.org")}}, nil), "names"},
		{"own registry", checkForeign(fstest.MapFS{"a.md": {Data: []byte("from https://modules.corp.example/go")}}, packageHosts("https://modules.corp.example:8443/x|direct,off")), "modules.corp.example"},
		{"harmless paths", checkForeign(fstest.MapFS{"a.md": {Data: []byte("a/work/b, ./root/c, https://example.com/home/x, /healthz, 1/2")}}, packageHosts("off,http://127.0.0.1:3000,direct")), ""},
		{"binary", checkForeign(fstest.MapFS{"a.png": {Data: []byte("\x00 /ro" + "ot/x")}}, nil), ""},

		{"moved pin", checkPins(goMod("require github.com/quic-go/quic-go v0.65.0")), "pinned at v0.64.1"},
		{"replace", checkPins(goMod("replace x => ../x")), "replace"},
		{"old language", checkPins(fstest.MapFS{"go.mod": {Data: []byte(strings.Replace(string(goMod("")["go.mod"].Data), "go 1.26", "go 1.25", 1))}}), "go 1.26"},
		{"good go.mod", checkPins(goMod("")), ""},
		{"bench with another pin", checkBench(benchMod("require github.com/quic-go/quic-go v0.65.0"), tree{}), "pinned at v0.64.1"},
		{"bench of another tree", checkBench(fstest.MapFS{"internal/bench/go.mod": {Data: []byte("module " + module + "/internal/bench\n")}}, tree{}), "replace"},
		{"a third module", checkBench(benchModWith("field/gen"), source("field/gen/a.go", "package gen")), "field/gen: a module"},
		{"good bench", checkBench(benchMod("require github.com/quic-go/quic-go v0.64.1"), tree{}), ""},

		{"unsafe argument", checkUnsafe(source("bulk/a.go", `package bulk; import "unsafe"; func (p *Pool) At(x []unsafe.Pointer) {}`)), "At takes or returns"},
		{"unsafe inside", checkUnsafe(source("bulk/a.go", `package bulk; import "unsafe"; func At() { f(unsafe.Pointer(nil)) }; func f(unsafe.Pointer) {}`)), ""},
		{"unsafe in internal", checkUnsafe(source("internal/cpu/a.go", `package cpu; import "unsafe"; func At(unsafe.Pointer) {}`)), ""},

		{"moved function", checkPlaces(places("`bulk/a.go`: `Pool.At`, `Free`"), source("bulk/a.go", `package bulk; func (p *Pool) At() {}; func (p *Pool) Free() {}`)), `"bulk/a.go" does not declare Free`},
		{"name without a file", checkPlaces(places("`Free`"), source("bulk/a.go", `package bulk; func Free() {}`)), `"" does not declare Free`},
		{"no places", checkPlaces(places(""), tree{}), "no table of places"},
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

// benchMod is a go.mod of benchModule with a further line, and benchModWith one
// beside a module at dir.
func benchMod(line string) fstest.MapFS {
	text := "module " + module + "/" + benchModule + "\n\nreplace " + module + " => ../..\n" + line + "\n"
	return fstest.MapFS{benchModule + "/go.mod": {Data: []byte(text)}}
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

// goMod is a go.mod that keeps all pins; a further line comes last and wins.
func goMod(line string) fstest.MapFS {
	text := "module " + module + "\n\ngo 1.26\n\nrequire (\n"
	for _, m := range table(modules) {
		if len(m) == 2 {
			text += "\t" + m[0] + " " + m[1] + "\n"
		}
	}
	return fstest.MapFS{"go.mod": {Data: []byte(text + ")\n" + line + "\n")}}
}
