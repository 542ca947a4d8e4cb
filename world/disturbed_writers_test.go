package world

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// writers are the functions of this package that change a body's position, velocity, awake
// state or rest timer. The value says why the change is motion, or names the reported cause
// (see Clean bodies in the package comment). A new writer needs a cause, a test in
// disturbed_test.go, and a line here.
var writers = map[string]string{
	"bodies.requestWake":               "of the callers",
	"bodies.requestSleep":              "of the callers",
	"World.addBody":                    "C1",
	"World.SetPosition":                "C2",
	"World.SetVelocity":                "C2",
	"World.Impulse":                    "C2, by SetVelocity",
	"World.Wake":                       "C3",
	"World.Sleep":                      "C3",
	"World.writeBack":                  "C4: the body is in the list of contacts",
	"World.findContacts":               "C4: a sleeper that is hit is in the list of contacts",
	"World.confine":                    "none: the body is destroyed in the same step",
	"World.requestGroupWake":           "C5, and of the callers for the first body",
	"World.requestWake":                "of the callers",
	"World.removeBody":                 "C5: the body itself is gone",
	"World.requestSleep":               "of the callers",
	"World.requestSleepOfRested":       "motion",
	"World.findStill":                  "motion, or C6",
	"World.requestSleepOfRestedGroups": "C4: the body is in the list of contacts",
	"World.moveBody":                   "C6: awake bodies",
	"World.rejectNonFinite":            "C7",
	"bodies.restore":                   "C8",
	"World.wakeByForce":                "motion, or C9",
	"World.moveBlock":                  "motion, or C6",
	"World.replaceRow":                 "none: a row moves",
	"Replay.Next":                      "none of its own: steps",
	"JournalReplay.Apply":              "none of its own: steps",
	"callDecoder.applyOp":              "none of its own: calls",
	"bodies.truncate":                  "none: rows of no body",
}

// changing are the names of methods that change a body.
var changing = []string{
	"SetPosition", "SetVelocity", "FallAsleep", "CountRest", "FindStill", "FindUnchanging", "Step", "Accelerate",
	"requestAwake", "requestWake", "requestSleep", "requestGroupWake",
}

func TestWritersOfBodies(t *testing.T) {
	found := map[string]bool{}
	sources := os.DirFS(".")
	files := must.Get(fs.Glob(sources, "*.go"))
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text := must.Get(fs.ReadFile(sources, name))
		file := must.Get(parser.ParseFile(token.NewFileSet(), name, text, 0))
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil && writes(f.Body) {
				found[nameOf(f)] = true
			}
		}
	}
	require.Equal(t, slices.Sorted(maps.Keys(writers)), slices.Sorted(maps.Keys(found)))
}

// writes reports whether a function changes a column of bodies, or calls a function that
// does.
func writes(body ast.Node) (does bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(changing, s.Sel.Name) {
				does = true
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				does = does || isColumn(to)
			}
		case *ast.IncDecStmt:
			does = does || isColumn(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND && isColumn(n.X) {
				if _, whole := n.X.(*ast.SelectorExpr); !whole {
					does = true
				}
			}
		}
		return true
	})
	return does
}

// isColumn reports whether x is Rest, or X, Y or Z of Pos or Vel, or an element of one.
func isColumn(x ast.Expr) bool {
	if i, ok := x.(*ast.IndexExpr); ok {
		x = i.X
	}
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if s.Sel.Name == "Rest" || s.Sel.Name == "Pos" || s.Sel.Name == "Vel" {
		return true
	}
	of, ok := s.X.(*ast.SelectorExpr)
	return ok && (of.Sel.Name == "Pos" || of.Sel.Name == "Vel")
}

func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	if g, ok := of.(*ast.IndexExpr); ok {
		of = g.X
	}
	return of.(*ast.Ident).Name + "." + f.Name.Name
}
