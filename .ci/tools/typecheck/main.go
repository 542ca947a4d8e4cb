// Command typecheck checks the types of packages and of their tests for other platforms, from
// source. Unlike go vet it compiles no dependency, which would take a minute for each platform. Of
// packages outside the current folder it reads declarations, and no bodies of functions.
//
//	typecheck GOOS/GOARCH[,GOOS/GOARCH...] PACKAGE...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := check(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
}

func check(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("want GOOS/GOARCH and packages, have %q", args)
	}
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	parsed := files{folder: folder + string(filepath.Separator), byName: map[string]func() (*ast.File, error){}}
	fset := token.NewFileSet()
	for platform := range strings.SplitSeq(args[0], ",") {
		goos, goarch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("platform %q, want GOOS/GOARCH", platform)
		}
		config := &packages.Config{
			Mode:      packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
			Tests:     true,
			Env:       append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
			Fset:      fset,
			ParseFile: parsed.parse,
		}
		list, err := packages.Load(config, args[1:]...)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("%s matches no package", strings.Join(args[1:], " "))
		}
		wrong := 0
		for _, p := range list { // without their dependencies, which lack bodies
			if strings.HasSuffix(p.PkgPath, ".test") {
				continue // the main package that go test generates, in the build cache
			}
			for _, e := range p.Errors {
				fmt.Fprintln(os.Stderr, e)
				wrong++
			}
		}
		if wrong > 0 {
			return fmt.Errorf("%d errors for %s", wrong, platform)
		}
	}
	return nil
}

// files holds syntax trees, which the platforms share.
type files struct {
	folder string // files elsewhere have no bodies of functions
	mu     sync.Mutex
	byName map[string]func() (*ast.File, error)
}

// parse returns the syntax tree of a file. Types need neither comments nor resolved identifiers.
func (f *files) parse(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
	f.mu.Lock()
	once, found := f.byName[name]
	if !found {
		once = sync.OnceValues(func() (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, source, parser.AllErrors|parser.SkipObjectResolution)
			if err == nil && !strings.HasPrefix(name, f.folder) {
				for _, d := range file.Decls {
					if function, ok := d.(*ast.FuncDecl); ok {
						function.Body = nil
					}
				}
			}
			return file, err
		})
		f.byName[name] = once
	}
	f.mu.Unlock()
	return once()
}
