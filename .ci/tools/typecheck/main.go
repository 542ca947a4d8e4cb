// Command typecheck checks the types of packages and of their tests for other platforms, from
// source. Unlike go vet it compiles no dependency, which would take a minute for each platform.
//
//	typecheck GOOS/GOARCH PACKAGE...
package main

import (
	"fmt"
	"os"
	"strings"

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
	goos, goarch, ok := strings.Cut(args[0], "/")
	if !ok {
		return fmt.Errorf("platform %q, want GOOS/GOARCH", args[0])
	}
	config := &packages.Config{
		Mode:  packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesSizes,
		Tests: true,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
	}
	list, err := packages.Load(config, args[1:]...)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("%s matches no package", strings.Join(args[1:], " "))
	}
	if n := packages.PrintErrors(list); n > 0 {
		return fmt.Errorf("%d errors for %s", n, args[0])
	}
	return nil
}
