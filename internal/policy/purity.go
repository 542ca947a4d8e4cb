package policy

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// wallClock lists the methods of time.Time that read the wall clock, which may be set while the
// program runs. Everything else in package time compares results of time.Now by the monotonic clock.
var wallClock = []string{"UTC", "Local", "Unix", "UnixMilli", "UnixMicro", "UnixNano", "GobEncode", "MarshalBinary", "MarshalJSON", "MarshalText"}

// checkPure finds clocks, global randomness and sockets in pure packages, under any import
// name, called or only mentioned.
func (r *Rules) checkPure(t *tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.Contains(r.Pure, p.dir) {
			continue
		}
		for _, f := range p.files {
			complaints = append(complaints, r.impurities(f)...)
		}
	}
	return complaints
}

func (r *Rules) impurities(f file) (complaints []string) {
	complain := func(at token.Pos, what string) {
		complaints = append(complaints, fmt.Sprintf("%s: %s: it is an argument here", f.fset.Position(at), what))
	}
	for _, spec := range f.ast.Imports {
		target := unquote(spec)
		names, watched := r.Banned[target]
		if watched && (names == nil || spec.Name != nil && spec.Name.Name == ".") {
			complain(spec.Pos(), "import of "+strconv.Quote(target))
		}
	}
	eachUse(f, func(at token.Pos, target, name string) {
		if names := r.Banned[target]; names != nil && isBanned(names, name) {
			complain(at, target+"."+name)
		}
	})
	return complaints
}

// eachUse calls found for each name of an imported package that f mentions.
func eachUse(f file, found func(at token.Pos, target, name string)) {
	imported := map[string]string{} // name in this file -> import path
	for _, spec := range f.ast.Imports {
		target := unquote(spec)
		name := path.Base(strings.TrimSuffix(target, "/v2"))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = target
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		// An identifier with an object is a local variable, not the import.
		x, ok := selector.X.(*ast.Ident)
		if !ok || x.Obj != nil || imported[x.Name] == "" {
			return true
		}
		found(selector.Pos(), imported[x.Name], selector.Sel.Name)
		return true
	})
}

// checkSequential refuses racetest.SkipSequential, which counts the goroutines of the process, in packages that open
// connections or start timers: the goroutines of one test may still start during the next.
func (r *Rules) checkSequential(t *tree) (complaints []string) {
	counting, disturbed := map[string]token.Position{}, map[string]bool{} // by directory
	for _, f := range t.all {
		dir := path.Dir(f.path)
		for _, spec := range f.ast.Imports {
			switch unquote(spec) {
			case r.Module + "/internal/loopback", r.Module + "/loadtest/rig", "github.com/quic-go/quic-go":
				disturbed[dir] = true
			}
		}
		eachUse(f, func(at token.Pos, target, name string) {
			switch {
			case target == "time" && name == "AfterFunc":
				disturbed[dir] = true
			case target == r.Module+"/internal/racetest" && name == "SkipSequential":
				counting[dir] = f.fset.Position(at)
			}
		})
	}
	for _, dir := range slices.Sorted(maps.Keys(counting)) {
		if disturbed[dir] {
			complaints = append(complaints, fmt.Sprintf("%s: goroutines of another test may start meanwhile: use SkipUnchecked", counting[dir]))
		}
	}
	return complaints
}

func isBanned(rule []string, name string) bool {
	if strings.HasPrefix(rule[0], "!") {
		return !slices.Contains(rule, "!"+name)
	}
	return slices.Contains(rule, name)
}

// checkWallClocks finds uses of the wall clock.
func (r *Rules) checkWallClocks(t *tree) (complaints []string) {
	for _, p := range t.packages {
		if !slices.Contains(r.OnTime, p.dir) {
			continue
		}
		for _, f := range p.files {
			if slices.Contains(r.WallClocks, f.path) {
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
