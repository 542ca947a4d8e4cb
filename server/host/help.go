package host

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/worldd/worldd/internal/spelling"
)

// helpCommand prints the help of a command, or a topic of the game.
type helpCommand struct {
	Of []string `arg:"" optional:"" name:"of" placeholder:"COMMAND" help:"${helpOf}"`
}

// helpOf describes the argument of helpCommand.
func (d *Definition) helpOf() string {
	text := "A command; none: list them."
	if len(d.Topics) > 0 {
		text = "A command, or a topic: " + strings.Join(slices.Sorted(maps.Keys(d.Topics)), ", ") + "; none: list the commands."
	}
	return text
}

// run prints a topic. Everything else is the command line's own --help.
func (c *helpCommand) run(_ context.Context, p *program) error {
	if len(c.Of) == 1 {
		if text, ok := p.Topics[c.Of[0]]; ok {
			_, err := io.WriteString(p.out, text)
			return err
		}
	}
	_, status := p.parseArgs(append(slices.Clone(c.Of), "--help"))
	if len(c.Of) == 1 && status != exitOK { // the last line, since the usage before it is a screen
		if near := spelling.Nearest(c.Of[0], slices.Collect(maps.Keys(p.Topics))); near != "" {
			fmt.Fprintf(p.err, "%s: help has a topic %q\n", p.Name, near)
		}
	}
	return exitStatus(status)
}
