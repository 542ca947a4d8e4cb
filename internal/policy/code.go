package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// checkConditions refuses if initialisers that mutate. It allows := and an assignment to the
// err or ok that the condition tests.
func checkConditions(t *tree) (complaints []string) {
	for _, f := range t.all {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.IfStmt); ok && mutates(s) {
				complaints = append(complaints, fmt.Sprintf("%s: the if initialiser hides a mutation: give it its own line", f.fset.Position(s.Pos())))
			}
			return true
		})
	}
	return complaints
}

func mutates(s *ast.IfStmt) bool {
	assign, ok := s.Init.(*ast.AssignStmt)
	if !ok {
		return s.Init != nil
	}
	if assign.Tok == token.DEFINE {
		return false
	}
	yield, ok := assign.Lhs[len(assign.Lhs)-1].(*ast.Ident)
	if !ok || assign.Tok != token.ASSIGN || yield.Name != "err" && yield.Name != "ok" {
		return true
	}
	tested := false
	ast.Inspect(s.Cond, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		tested = tested || ok && id.Name == yield.Name
		return true
	})
	return !tested
}

var predeclared = strings.Fields(`any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64
	rune string uint uint8 uint16 uint32 uint64 uintptr true false iota nil
	append cap clear close complex copy delete imag len make max min new panic print println real recover`)

var namePart = regexp.MustCompile(`[A-Z]*[a-z]*`)

// checkIdentifiers refuses declarations that shadow a predeclared name or contain a private
// word.
func (r *Rules) checkIdentifiers(t *tree) (complaints []string) {
	for _, f := range t.all {
		inspectDeclared(f.ast, func(id *ast.Ident, member bool) {
			at := f.fset.Position(id.Pos())
			if !member && slices.Contains(predeclared, id.Name) {
				complaints = append(complaints, fmt.Sprintf("%s: %s shadows the predeclared name", at, id.Name))
			}
			for _, word := range namePart.FindAllString(id.Name, -1) {
				if slices.Contains(r.PrivateWords, strings.ToLower(word)) {
					complaints = append(complaints, fmt.Sprintf("%s: %s: use the standard term", at, id.Name))
				}
			}
		})
	}
	return complaints
}

// inspectDeclared calls visit for every declared name. Members are fields and methods, which
// shadow nothing.
func inspectDeclared(f *ast.File, visit func(id *ast.Ident, member bool)) {
	fields := func(list *ast.FieldList, member bool) {
		if list == nil {
			return
		}
		for _, field := range list.List {
			for _, id := range field.Names {
				visit(id, member)
			}
		}
	}
	variables := func(tok token.Token, list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok && tok == token.DEFINE {
				visit(id, false)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			visit(n.Name, n.Recv != nil)
			fields(n.Recv, false)
		case *ast.FuncType:
			fields(n.TypeParams, false)
			fields(n.Params, false)
			fields(n.Results, false)
		case *ast.StructType:
			fields(n.Fields, true)
		case *ast.InterfaceType:
			fields(n.Methods, true)
		case *ast.TypeSpec:
			visit(n.Name, false)
			fields(n.TypeParams, false)
		case *ast.ValueSpec:
			for _, id := range n.Names {
				visit(id, false)
			}
		case *ast.AssignStmt:
			variables(n.Tok, n.Lhs...)
		case *ast.RangeStmt:
			variables(n.Tok, n.Key, n.Value)
		}
		return true
	})
}

// checkSizes bounds the lines of hand-written files.
func (r *Rules) checkSizes(t *tree) (complaints []string) {
	check := func(p string, lines int) {
		most := r.MaxLines[path.Ext(p)]
		if most > 0 && lines > most {
			complaints = append(complaints, fmt.Sprintf("%s: %d lines, at most %d", p, lines, most))
		}
	}
	for _, p := range t.packages {
		for _, f := range p.files {
			if !ast.IsGenerated(f.ast) {
				check(f.path, f.lines)
			}
		}
	}
	for _, f := range t.texts {
		if !isGeneratedText(f.content) {
			check(f.path, strings.Count(f.content, "\n"))
		}
	}
	return complaints
}
