package policy

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// checkDocs checks that each package has a package comment in at least one file.
func checkDocs(t *tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.ContainsFunc(p.files, func(f file) bool { return f.ast.Doc != nil && f.ast.Doc.Text() != "" }) {
			complaints = append(complaints, p.dir+": no package comment")
		}
	}
	return complaints
}

// emptyNames are package names that do not describe their content.
var emptyNames = []string{"common", "helper", "helpers", "misc", "util", "utils"}

// checkNames refuses packages with such names.
func checkNames(t *tree) (complaints []string) {
	for _, p := range t.packages {
		names := append(strings.Split(p.dir, "/"), p.files[0].ast.Name.Name)
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(emptyNames, n) }) {
			complaints = append(complaints, p.dir+": name it for what it does")
		}
	}
	return complaints
}

// checkUnsafe refuses exported functions and methods that take or return an unsafe.Pointer, in
// packages that others can import.
func checkUnsafe(t *tree) (complaints []string) {
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

// checkSurface counts the exported names of each package of Surface: functions, methods of
// exported types, and types.
func (r *Rules) checkSurface(t *tree) (complaints []string) {
	limits := table(r.Surface)
	for _, p := range t.packages {
		if limits[p.dir] == nil {
			continue
		}
		exported := 0
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				exported += countExported(d)
			}
		}
		if limit, err := strconv.Atoi(limits[p.dir][0]); err != nil || exported > limit {
			complaints = append(complaints, fmt.Sprintf("%s exports %d functions, methods and types, at most %s: "+
				"unexport what users do not need, or raise the number and say why", p.dir, exported, limits[p.dir][0]))
		}
	}
	return complaints
}

func countExported(d ast.Decl) (n int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"))) {
			return 1
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
				n++
			}
		}
	}
	return n
}
