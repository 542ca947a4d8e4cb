package replication

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// The parts of a Viewer own their fields: the methods of Viewer write none of these fields,
// not even through an alias.
func TestViewerWritesNoFieldOfItsParts(t *testing.T) {
	entries := must.Get(os.ReadDir("."))
	methods := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		writes, n := writesOfParts(e.Name(), nil)
		require.Empty(t, writes)
		methods += n
	}
	require.Greater(t, methods, 50)

	writes, _ := writesOfParts("sample.go", `package p
		func (v *Viewer) m() {
			d, s := &v.datagrams, v.simulation
			v.resync = true // its own
			d.list[0] = nil
			s.tick++
			v.delivery.sent.newest = 1
		}`)
	require.Len(t, writes, 3)
}

// writesOfParts returns the places where methods of Viewer write fields of its parts, and
// the number of Viewer's methods in a file. If source is nil, it reads the file.
func writesOfParts(name string, source any) (writes []string, methods int) {
	fset := token.NewFileSet()
	f := must.Get(parser.ParseFile(fset, name, source, parser.SkipObjectResolution))
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || !isViewer(fn.Recv.List[0].Type) {
			continue
		}
		methods++
		depths := map[string]int{fn.Recv.List[0].Names[0].Name: 0} // selectors from the receiver, by name
		check := func(to ast.Expr) {
			_, local := to.(*ast.Ident)
			if depth, ok := depthOf(to, depths); ok && depth > 1 && !local {
				writes = append(writes, fset.Position(to.Pos()).String())
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IncDecStmt:
				check(n.X)
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					if n.Tok != token.DEFINE {
						check(to)
					} else if depth, ok := depthOf(n.Rhs[min(i, len(n.Rhs)-1)], depths); ok && depth > 0 {
						depths[to.(*ast.Ident).Name] = depth
					}
				}
			}
			return true
		})
	}
	return writes, methods
}

func isViewer(t ast.Expr) bool {
	star, ok := t.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	return ok && name.Name == "Viewer"
}

// depthOf returns the number of selectors that lead from a receiver to e; ok is false if
// none do.
func depthOf(e ast.Expr, depths map[string]int) (depth int, ok bool) {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			from, ok := depths[x.Name]
			return depth + from, ok
		case *ast.SelectorExpr:
			depth++
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.UnaryExpr:
			e = x.X
		default:
			return 0, false
		}
	}
}
