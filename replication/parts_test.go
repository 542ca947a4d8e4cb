package replication

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// The parts of a Viewer own their fields, and so do the parts of these: nothing writes a field but the
// methods of its type, and what makes a value of it.
func TestOnlyPartsWriteTheirFields(t *testing.T) {
	entries := must.Get(os.ReadDir("."))
	fset := token.NewFileSet()
	var files []*ast.File
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			files = append(files, must.Get(parser.ParseFile(fset, e.Name(), nil, parser.SkipObjectResolution)))
		}
	}
	p := newPartsOf(fset, files)
	require.Empty(t, p.foreignWrites())
	var names []string
	for part := range p.parts {
		names = append(names, part.Obj().Name())
	}
	require.Subset(t, names, []string{"interest", "boundary", "ownedSet", "members", "knowledge", "outbox", "structure", "eventQueue", "datagrams", "delivery", "sentLog", "simulation"})
}

func TestForeignWritesOfASample(t *testing.T) {
	fset := token.NewFileSet()
	f := must.Get(parser.ParseFile(fset, "sample.go", `package p
		type Viewer struct { part part; pointer *pointer; set set; resync bool }
		type part struct { inner inner; list []int; n int; plain struct{ n int } }
		type inner struct { n int }
		type pointer struct { n int }
		func (i *inner) m() { i.n = 1 }
		func (p *part) m(others []*part) {
			p.n, p.list[0], p.plain.n = 1, 2, 3
			others[0].n++
			p.inner.n = 1 // of inner
		}
		func (p *pointer) m() { p.n++ }
		func (v *Viewer) m() {
			d, s := &v.part, v.pointer
			v.resync = true
			d.list[0] = 0 // of part
			s.n++ // of pointer
			n := &d.n
			*n = 1 // of part
			v.part = part{n: 2} // made, not written
		}
		type element struct { n int }
		func (e *element) set() { e.n = 1 }
		func (e element) get() int { return e.n }
		type set struct { elements []element; inner inner }
		func (s *set) m() { s.elements[0].set(); s.inner.m() }
		func (v *Viewer) n(s *set) {
			e := &v.set.elements[0]
			e.set() // of set
			v.set.inner.m() // of set
			v.set.m()
			s.m()
			_ = e.get()
		}
		func free(v *Viewer, p part) {
			v.part.n = 1 // of part
			p.plain.n = 1 // of part
			for v.part.n = range 3 { // of part
			}
		}`, parser.SkipObjectResolution|parser.ParseComments))
	var want []string
	for _, c := range f.Comments {
		if strings.HasPrefix(c.Text(), "of ") {
			want = append(want, fset.Position(c.Pos()).String()[:len("sample.go:00")])
		}
	}
	var got []string
	for _, at := range newPartsOf(fset, []*ast.File{f}).foreignWrites() {
		got = append(got, at[:len("sample.go:00")])
	}
	require.ElementsMatch(t, want, got)
}

// partsOf finds the parts of type Viewer in a package: the types of its fields, and of their fields, that have methods.
type partsOf struct {
	fset     *token.FileSet
	files    []*ast.File
	info     types.Info
	parts    map[*types.Named]bool
	mutators map[types.Object]bool         // methods that write fields of their receiver
	aliases  map[types.Object]*types.Named // local variables that point into a field of a part
}

func newPartsOf(fset *token.FileSet, files []*ast.File) *partsOf {
	p := &partsOf{fset: fset, files: files, parts: map[*types.Named]bool{}, mutators: map[types.Object]bool{}, aliases: map[types.Object]*types.Named{}, info: types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	c := types.Config{Error: func(error) {}} // imports stay unknown: parts are of this package
	pkg, _ := c.Check("p", fset, files, &p.info)
	p.addParts(pkg.Scope().Lookup("Viewer").Type())
	for found := true; found; {
		found = p.addMutators()
	}
	return p
}

// addParts adds the parts of a type.
func (p *partsOf) addParts(of types.Type) {
	s := of.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		named := namedOf(s.Field(i).Type())
		if named == nil || p.parts[named] || named.NumMethods() == 0 || named.Obj().Exported() {
			continue
		}
		if _, ok := named.Underlying().(*types.Struct); ok {
			p.parts[named] = true
			p.addParts(named)
		}
	}
}

// namedOf returns the named type of t, which may be a pointer to it, or nil.
func namedOf(t types.Type) *types.Named {
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, _ := t.(*types.Named)
	return named
}

// addMutators adds methods that write a field of their receiver, or call mutators of it. It reports
// whether it found more.
func (p *partsOf) addMutators() (found bool) {
	p.eachFunction(func(fn *ast.FuncDecl) {
		if fn.Recv == nil || len(fn.Recv.List[0].Names) == 0 || p.mutators[p.info.Defs[fn.Name]] {
			return
		}
		receiver := p.info.Defs[fn.Recv.List[0].Names[0]]
		if _, pointer := receiver.Type().(*types.Pointer); !pointer {
			return
		}
		p.eachWrite(fn, func(to ast.Expr, _ bool) {
			if root, ok := rootOf(to).(*ast.Ident); ok && root != to && p.info.Uses[root] == receiver {
				p.mutators[p.info.Defs[fn.Name]], found = true, true
			}
		})
	})
	return found
}

func (p *partsOf) eachFunction(do func(*ast.FuncDecl)) {
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				do(fn)
			}
		}
	}
}

// eachWrite calls do with what a function assigns to, and with what it calls mutators of.
func (p *partsOf) eachWrite(fn *ast.FuncDecl, do func(to ast.Expr, call bool)) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IncDecStmt:
			do(n.X, false)
		case *ast.RangeStmt:
			for _, to := range []ast.Expr{n.Key, n.Value} {
				if to != nil && n.Tok == token.ASSIGN {
					do(to, false)
				}
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if n.Tok != token.DEFINE {
					do(to, false)
				} else if from, ok := n.Rhs[min(i, len(n.Rhs)-1)].(*ast.UnaryExpr); ok && from.Op == token.AND {
					if part := p.partWritten(from.X); part != nil {
						p.aliases[p.info.Defs[to.(*ast.Ident)]] = part
					}
				}
			}
		case *ast.CallExpr:
			if method, ok := n.Fun.(*ast.SelectorExpr); ok && p.mutators[p.info.Uses[method.Sel]] {
				do(method.X, true)
			}
		}
		return true
	})
}

// offered are the parts of a part whose methods anything may call: outbox holds them beside the budget,
// and adds nothing to what they do.
var offered = map[string]bool{"structure": true, "eventQueue": true}

// foreignWrites returns where a part's field is written outside of the part's methods.
func (p *partsOf) foreignWrites() (writes []string) {
	p.eachFunction(func(fn *ast.FuncDecl) {
		var own *types.Named
		if fn.Recv != nil {
			own = namedOf(p.info.TypeOf(fn.Recv.List[0].Type))
		}
		p.eachWrite(fn, func(to ast.Expr, call bool) {
			if _, local := to.(*ast.Ident); local && !call {
				return
			}
			if call && offered[namedOf(p.info.TypeOf(to)).Obj().Name()] {
				return
			}
			if part := p.partWritten(to); part != nil && part != own {
				writes = append(writes, p.fset.Position(to.Pos()).String()+": "+part.Obj().Name())
			}
		})
	})
	return writes
}

// partWritten returns the part, the innermost one, of which a write through e changes a field, or nil.
func (p *partsOf) partWritten(e ast.Expr) *types.Named {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return p.aliases[p.info.Uses[x]]
		case *ast.SelectorExpr:
			if s := p.info.Selections[x]; s != nil && s.Kind() == types.FieldVal {
				if named := namedOf(s.Recv()); p.parts[named] {
					return named
				}
			}
		}
		inner := innerOf(e)
		if inner == nil {
			return nil
		}
		e = inner
	}
}

// rootOf returns what is left of e without selectors and indexes.
func rootOf(e ast.Expr) ast.Expr {
	for inner := innerOf(e); inner != nil; inner = innerOf(e) {
		e = inner
	}
	return e
}

// innerOf returns the operand of a selector, an index, a slice, a pointer or parentheses, or nil.
func innerOf(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.SelectorExpr:
		return x.X
	case *ast.IndexExpr:
		return x.X
	case *ast.SliceExpr:
		return x.X
	case *ast.StarExpr:
		return x.X
	case *ast.ParenExpr:
		return x.X
	}
	return nil
}
