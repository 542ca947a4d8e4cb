package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// checkImports compares every import with Graph.
func (r *Rules) checkImports(t *tree) (complaints []string) {
	allowed := table(r.Graph)
	paths := map[string]string{}
	for name, fields := range table(r.Modules) {
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
				if !r.mayImport(names, paths, target) {
					complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", f.path, p.dir, target))
				}
			}
		}
	}
	return complaints
}

func (r *Rules) mayImport(allowed []string, paths map[string]string, target string) bool {
	first, _, _ := strings.Cut(target, "/")
	if !strings.Contains(first, ".") {
		return target != "C" || slices.Contains(allowed, target) // the standard library, but C only if listed
	}
	if own, ok := strings.CutPrefix(target, r.Module+"/"); ok {
		return own == r.Everywhere || slices.Contains(allowed, own)
	}
	return slices.ContainsFunc(allowed, func(name string) bool {
		p := paths[name]
		return p != "" && (target == p || strings.HasPrefix(target, p+"/"))
	})
}

// checkIndependence finds forbidden uses of the module in Independent files.
func (r *Rules) checkIndependence(t *tree) (complaints []string) {
	for prefix, allowed := range table(r.Independent) {
		n := 0
		for _, f := range t.all {
			if !strings.HasPrefix(f.path, prefix) {
				continue
			}
			n++
			for _, spec := range f.ast.Imports {
				if own, ok := strings.CutPrefix(unquote(spec), r.Module+"/"); ok && spec.Name != nil && spec.Name.Name == "." {
					complaints = append(complaints, fmt.Sprintf("%s: dot import of %s", f.path, own))
				}
			}
			eachUse(f, func(at token.Pos, target, name string) {
				if own, ok := strings.CutPrefix(target, r.Module+"/"); ok && !slices.Contains(allowed, own+"."+name) {
					complaints = append(complaints, fmt.Sprintf("%s: may not use %s.%s", f.fset.Position(at), own, name))
				}
			})
		}
		if n == 0 {
			complaints = append(complaints, prefix+": no files")
		}
	}
	return complaints
}

// checkPins compares go.mod with Modules, and refuses lines that work on one machine only.
func (r *Rules) checkPins(fsys fs.FS) (complaints []string) {
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
	if required["module"] != r.Module {
		complaints = append(complaints, "go.mod: the module is "+r.Module)
	}
	if v := required["go"]; v != r.Language && !strings.HasPrefix(v, r.Language+".") {
		complaints = append(complaints, "go.mod: the language is go "+r.Language+", not "+v)
	}
	for _, m := range table(r.Modules) {
		if len(m) == 2 && required[m[0]] != m[1] {
			complaints = append(complaints, fmt.Sprintf("go.mod: %s is pinned at %s, not %q (RATIONALE.md says why)", m[0], m[1], required[m[0]]))
		}
	}
	slices.Sort(complaints)
	return complaints
}

// checkBench checks that BenchModule is built from this tree, with the same pinned versions,
// and that it is the only module besides the root's and ToolModules. No package outside it may
// be allowed to import it, since the root's go.mod does not require it.
func (r *Rules) checkBench(fsys fs.FS, t *tree) (complaints []string) {
	for _, p := range t.packages {
		if _, err := fs.Stat(fsys, path.Join(p.dir, "go.mod")); err == nil && p.dir != "." && !slices.Contains(r.ToolModules, p.dir) {
			complaints = append(complaints, p.dir+": a module of its own must be "+r.BenchModule+" or a tool")
		}
	}
	for p, names := range table(r.Graph) {
		for _, name := range names {
			if r.inBench(name) && !r.inBench(p) {
				complaints = append(complaints, p+": allowed to import "+name+" of another module")
			}
		}
	}
	text, err := fs.ReadFile(fsys, path.Join(r.BenchModule, "go.mod"))
	if err != nil {
		return append(complaints, err.Error())
	}
	for _, line := range []string{"module " + r.Module + "/" + r.BenchModule, "replace " + r.Module + " => ../.."} {
		if !slices.Contains(strings.Split(string(text), "\n"), line) {
			complaints = append(complaints, r.BenchModule+"/go.mod: no line "+line)
		}
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		for _, m := range table(r.Modules) {
			if len(m) == 2 && len(fields) >= 2 && fields[0] == m[0] && fields[1] != m[1] {
				complaints = append(complaints, fmt.Sprintf("%s/go.mod: %s is pinned at %s, not %q", r.BenchModule, m[0], m[1], fields[1]))
			}
		}
	}
	slices.Sort(complaints)
	return complaints
}

func (r *Rules) inBench(dir string) bool { return strings.HasPrefix(dir, r.BenchModule+"/") }

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
