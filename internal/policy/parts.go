package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Parts are the types that a package composes of others: a part is an unexported struct with
// methods, which is the type of a field of a root or of a part. A part owns its fields: only its
// methods write them. A composite literal may set them.
type Parts struct {
	Dir   string   // of the package
	Roots []string // names of types
	// Offered names parts whose methods any function may call: the part that contains them would
	// only forward the calls.
	Offered []string
}

// Check returns the names of the parts, and where a field of one is written outside of its
// methods.
func (p Parts) Check() (parts, complaints []string, err error) {
	files, err := os.ReadDir(p.Dir)
	if err != nil {
		return nil, nil, err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, f.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		parsed = append(parsed, file)
	}
	found, err := p.partsOf(fset, parsed)
	if err != nil {
		return nil, nil, err
	}
	for part := range found.parts {
		parts = append(parts, part.Obj().Name())
	}
	return parts, found.foreignWrites(), nil
}

// partsOf are the parts in the files of a package.
type partsOf struct {
	offered  []string
	fset     *token.FileSet
	files    []*ast.File
	info     types.Info
	parts    map[*types.Named]bool
	mutators map[types.Object]bool         // methods that write fields of their receiver
	aliases  map[types.Object]*types.Named // local variables that point into a field of a part
	roots    map[types.Object]types.Object // the variables through which aliases were reached
}

func (c Parts) partsOf(fset *token.FileSet, files []*ast.File) (*partsOf, error) {
	p := &partsOf{offered: c.Offered, fset: fset, files: files, parts: map[*types.Named]bool{}, mutators: map[types.Object]bool{}, aliases: map[types.Object]*types.Named{}, roots: map[types.Object]types.Object{}, info: types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}
	config := types.Config{Error: func(error) {}} // imports stay unknown: parts are of this package
	pkg, _ := config.Check("p", fset, files, &p.info)
	for _, name := range c.Roots {
		root, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			return nil, fmt.Errorf("policy: %s has no type %s", c.Dir, name)
		}
		p.addParts(root.Type())
	}
	for found := true; found; {
		found = p.addMutators()
	}
	return p, nil
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
			root, ok := rootOf(to).(*ast.Ident)
			if ok && root != to && (p.info.Uses[root] == receiver || p.roots[p.info.Uses[root]] == receiver) {
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
				} else if from := p.pointedTo(n.Rhs[min(i, len(n.Rhs)-1)]); from != nil {
					p.addAlias(p.info.Defs[to.(*ast.Ident)], from)
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

// pointedTo returns what e points to: the operand of &, or e itself if it is a call of a part's
// method that returns a pointer. Otherwise it returns nil.
func (p *partsOf) pointedTo(e ast.Expr) ast.Expr {
	if and, ok := e.(*ast.UnaryExpr); ok && and.Op == token.AND {
		return and.X
	}
	if call, ok := e.(*ast.CallExpr); ok && p.partCalled(call) != nil {
		if _, pointer := p.info.TypeOf(e).(*types.Pointer); pointer {
			return e
		}
	}
	return nil
}

// partCalled returns the part of which a method is called, or nil.
func (p *partsOf) partCalled(call *ast.CallExpr) *types.Named {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || p.info.Selections[method] == nil {
		return nil
	}
	if named := namedOf(p.info.Selections[method].Recv()); p.parts[named] {
		return named
	}
	return nil
}

// addAlias records that a variable points into from.
func (p *partsOf) addAlias(variable types.Object, from ast.Expr) {
	if part := p.partWritten(from); part != nil {
		p.aliases[variable] = part
	}
	if root, ok := rootOf(from).(*ast.Ident); ok {
		p.roots[variable] = p.info.Uses[root]
	}
}

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
			if call && slices.Contains(p.offered, namedOf(p.info.TypeOf(to)).Obj().Name()) {
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
				if named := holderOf(s); p.parts[named] {
					return named
				}
			}
		case *ast.CallExpr:
			if part := p.partCalled(x); part != nil {
				return part
			}
		}
		inner := innerOf(e)
		if inner == nil {
			return nil
		}
		e = inner
	}
}

// holderOf returns the named type that declares the selected field, which may be embedded in the
// operand's.
func holderOf(s *types.Selection) *types.Named {
	named := namedOf(s.Recv())
	for _, i := range s.Index()[:len(s.Index())-1] {
		named = namedOf(named.Underlying().(*types.Struct).Field(i).Type())
	}
	return named
}

// rootOf returns what is left of e without selectors, indexes and method calls.
func rootOf(e ast.Expr) ast.Expr {
	for inner := innerOf(e); inner != nil; inner = innerOf(e) {
		e = inner
	}
	return e
}

// innerOf returns the operand of a selector, an index, a slice, a pointer, parentheses or a
// method call, or nil.
func innerOf(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.CallExpr:
		if method, ok := x.Fun.(*ast.SelectorExpr); ok {
			return method.X
		}
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
