package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/spelling"
)

// variables is the prefix of environment variables for flags.
const variables = "WORLDD_"

// dropEmpty removes empty WORLDD_ variables from the environment: setting one to empty
// undoes what a container image or a unit has set.
func dropEmpty() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, variables) {
			_ = os.Unsetenv(name) // cannot fail: the name exists
		}
	}
}

// warnOfVariables reports variables that set no flag but resemble one: otherwise they
// would be ignored silently.
func warnOfVariables(app *kong.Application, w io.Writer) error {
	var known []string
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range flag.Envs {
				known = append(known, strings.TrimPrefix(name, variables))
			}
		}
		return next(nil)
	})
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(name, variables)
		if near := spelling.Nearest(word, known); ours && near != "" && near != word {
			fmt.Fprintf(w, "worldd: %s sets nothing; did you mean %s%s?\n", name, variables, near)
		}
	}
	return err
}
