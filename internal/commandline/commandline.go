// Package commandline parses the command lines of the project's programs with kong. Flags may
// also be set in the environment. Empty variables are ignored: a CI passes unset variables as
// empty ones, and an empty variable overrides one of a container image or a unit.
package commandline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/printable"
)

// Program describes a program in its help and messages.
type Program struct {
	Name, Description string
	Variables         string // prefix of the environment variables of its flags
}

// Exit statuses.
const (
	OK    = 0
	Error = 1
	Usage = 2
)

// Interruptible returns a context that ends with SIGINT or SIGTERM. A second signal kills the
// process, unless it comes within a second: signalling a process and its group sends two
// signals at once.
func Interruptible() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		time.Sleep(time.Second)
		stop()
	})
	return ctx
}

// exit is kong's request to end the program. Parse recovers it.
type exit int

// Parse parses args into target, a struct with kong's tags, which may use vars. If there is
// nothing to run, it prints the help or the error, and returns nil and the exit status. It
// removes empty variables of the program from the environment.
func Parse(target any, p Program, args []string, stdout, stderr io.Writer, vars kong.Vars) (parsed *kong.Context, status int) {
	dropEmpty(p.Variables)
	parser, err := kong.New(target, kong.Name(p.Name), kong.Description(p.Description), kong.Writers(stdout, stderr), vars,
		kong.DefaultEnvars(strings.TrimSuffix(p.Variables, "_")), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return nil, Error
	}
	defer func() {
		if r := recover(); r != nil {
			code, ours := r.(exit)
			if !ours {
				panic(r)
			}
			parsed, status = nil, int(code)
		}
	}()
	parsed, err = parser.Parse(args)
	if err == nil {
		return parsed, OK
	}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		parser.Stdout = stderr
		short := len(args) > 0 // a full page would hide the error
		_ = kong.DefaultHelpPrinter(kong.HelpOptions{
			Summary: short, Compact: short, NoExpandSubcommands: short, ValueFormatter: kong.DefaultHelpValueFormatter,
		}, wrong.Context)
	}
	fmt.Fprintf(stderr, "\n%s: %s\n", p.Name, printable.Lines(err.Error()))
	return nil, Usage
}

func dropEmpty(variables string) {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, variables) {
			_ = os.Unsetenv(name) // cannot fail: the name exists
		}
	}
}
