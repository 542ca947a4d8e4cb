package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/spelling"
)

// variables is how the names of the environment's flags begin.
const variables = "WORLDD_"

// dropEmpty takes empty variables out of the environment: it is how somebody who
// starts a container, or a unit, undoes what its maker has set there.
func dropEmpty() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, variables) {
			_ = os.Unsetenv(name) // never fails for a name that is there
		}
	}
}

// warnOfVariables names variables that are no flag's and nearly one's: nobody else
// would say that they set nothing.
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
