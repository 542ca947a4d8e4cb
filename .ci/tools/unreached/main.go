// Command unreached fails if a function that no program reaches is neither promised to users
// nor accepted. It reads the output of `deadcode -json` from standard input.
//
//	unreached POLICY_TEST.go ACCEPTED.txt
//
// Promised functions are exported by the packages that the constant surface of the policy test
// lists. Each line of the other file accepts a function: its package, its name, and a reason. A
// line fails if its function is reached or no longer exists, so that the list stays short.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io"
	"os"
	"slices"
	"strings"
)

const module = "github.com/worldd/worldd/"

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, found io.Reader) error {
	if len(args) != 2 {
		return fmt.Errorf("unreached: want the policy test and the accepted names, have %q", args)
	}
	policy, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	promised, err := promisedPackages(string(policy))
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	accepted, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	names, err := readUnreached(found)
	if err != nil {
		return err
	}
	return check(names, promised, string(accepted))
}

// promisedPackages returns the packages that the constant surface lists.
func promisedPackages(policy string) (packages []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", policy, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || spec.Names[0].Name != "surface" {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok {
			lines := constant.StringVal(constant.MakeFromLiteral(text.Value, text.Kind, 0))
			for line := range strings.Lines(lines) {
				if fields := strings.Fields(line); len(fields) > 0 {
					packages = append(packages, fields[0])
				}
			}
		}
		return false
	})
	if len(packages) == 0 {
		return nil, errors.New("no constant surface lists packages")
	}
	return packages, nil
}

// function is a function that no program reaches.
type function struct{ pkg, name, at string }

// readUnreached reads deadcode's JSON.
func readUnreached(r io.Reader) (found []function, err error) {
	var packages []struct {
		Path  string
		Funcs []struct {
			Name     string
			Position struct {
				File string
				Line int
			}
		}
	}
	if err := json.NewDecoder(r).Decode(&packages); err != nil {
		return nil, fmt.Errorf("deadcode's output: %w", err)
	}
	for _, p := range packages {
		for _, f := range p.Funcs {
			found = append(found, function{strings.TrimPrefix(p.Path, module), f.Name, fmt.Sprintf("%s:%d", f.Position.File, f.Position.Line)})
		}
	}
	return found, nil
}

// check returns the functions that are neither promised nor accepted, and the superfluous lines
// of accepted.
func check(found []function, promised []string, accepted string) error {
	lines := map[[2]string]bool{} // by package and name: whether the function is unreached
	var wrong []error
	for line := range strings.Lines(accepted) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) < 3:
			wrong = append(wrong, fmt.Errorf("accepted: %q: want a package, a function and a reason", strings.TrimSpace(line)))
		default:
			lines[[2]string{fields[0], fields[1]}] = false
		}
	}
	for _, f := range found {
		key := [2]string{f.pkg, f.name}
		if _, ok := lines[key]; ok {
			lines[key] = true
		} else if !slices.Contains(promised, f.pkg) || !isExported(f.name) {
			wrong = append(wrong, fmt.Errorf("%s: no program reaches %s: delete it, move it to the tests that call it, or accept it in .ci/unreached.txt with a reason", f.at, f.name))
		}
	}
	for key, used := range lines {
		if !used {
			wrong = append(wrong, fmt.Errorf("accepted: %s %s is reached, or gone: remove the line", key[0], key[1]))
		}
	}
	return errors.Join(wrong...)
}

// isExported reports whether users can name a function, or a method by its type.
func isExported(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}
