package host

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/spelling"
)

// warnOfVariables reports variables that set no flag but resemble one. Otherwise a misspelled
// variable would go unnoticed.
func (p *program) warnOfVariables(app *kong.Application) error {
	var known []string
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			for _, name := range flag.Envs {
				known = append(known, strings.TrimPrefix(name, p.variables()))
			}
		}
		return next(nil)
	})
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(name, p.variables())
		if near := spelling.Nearest(word, known); ours && near != "" && near != word {
			fmt.Fprintf(p.err, "%s: %s sets nothing; did you mean %s%s?\n", p.Name, name, p.variables(), near)
		}
	}
	return err
}
