package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/spelling"
)

// warnOfVariables reports variables that set no flag but resemble one: otherwise they
// would be ignored silently.
func warnOfVariables(app *kong.Application, w io.Writer) error {
	var known []string
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range flag.Envs {
				known = append(known, strings.TrimPrefix(name, commandline.Variables))
			}
		}
		return next(nil)
	})
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(name, commandline.Variables)
		if near := spelling.Nearest(word, known); ours && near != "" && near != word {
			fmt.Fprintf(w, "worldd: %s sets nothing; did you mean %s%s?\n", name, commandline.Variables, near)
		}
	}
	return err
}
