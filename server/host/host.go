package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	loadtest "github.com/worldd/worldd/loadtest/command"
)

// Exit statuses.
const (
	exitOK    = commandline.OK
	exitError = commandline.Error
	exitUsage = commandline.Usage
)

// Streams are a command's standard streams. The outputs must be safe for concurrent use, as
// files are.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Command is implemented by a game's additional commands. An error is printed in one piece. The
// exit status is 1, or 2 for a Usage or a path that names no regular file.
type Command interface {
	Run(ctx context.Context, std Streams) error
}

// Usage is a mistake in the command line, or in a file that it names. It is printed unchanged,
// and the exit status is 2.
type Usage struct{ error }

// WrongUsage makes err a Usage.
func WrongUsage(err error) error { return Usage{err} }

func (u Usage) Unwrap() error { return u.error }

// ErrFailed ends a command that has already printed its failures.
var ErrFailed = errors.New("failed")

// misuse is a Usage that is printed after the program's name.
type misuse struct{ error }

func (m misuse) Unwrap() error { return m.error }

func usageError(format string, args ...any) error { return misuse{fmt.Errorf(format, args...)} }

// program is a Definition with the streams of its process.
type program struct {
	Definition
	in       io.Reader
	out, err io.Writer
}

// printLine prints a line after the program's name, made printable: names in files may come from
// anywhere.
func (p *program) printLine(format string, args ...any) {
	fmt.Fprintf(p.out, "%s: %s\n", p.Name, printable.Text(fmt.Sprintf(format, args...)))
}

// command is implemented by the commands of every program.
type command interface {
	run(ctx context.Context, p *program) error
}

// commands is the command line.
type commands struct {
	Serve    serveCommand    `cmd:"" help:"Host a world until SIGINT or SIGTERM."`
	Demo     demoCommand     `cmd:"" help:"Run a server and bots that check it, and report the result."`
	Loadtest loadtestCommand `cmd:"" help:"Load a running server with bots, and report what they measured."`
	Check    checkCommand    `cmd:"" help:"Report mistakes in a world, and expensive effects."`
	Replay   replayCommand   `cmd:"" help:"Replay a recording and report the first tick that differs."`
	Train    trainCommand    `cmd:"" help:"Make coding tables from a recording."`
	Inspect  inspectCommand  `cmd:"" help:"Report the size in bits of a recorded world's fields."`
	Image    imageCommand    `cmd:"" help:"Describe, check and migrate saved worlds."`
	Schema   schemaCommand   `cmd:"" help:"Print the schema of a world or a running server."`
	Watch    watchCommand    `cmd:"" help:"Show the entities that a running server sends, by name."`
	Cluster  clusterCommand  `cmd:"" help:"Show a cluster of servers."`
	Token    tokenCommand    `cmd:"" help:"Create keys, and connect tokens for users."`
	Health   healthCommand   `cmd:"" help:"Ask a server on this machine whether its world ticks."`
	Identity identityCommand `cmd:"" help:"Make or keep the file of serve --identity; print its fingerprint."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Help     helpCommand     `cmd:"" help:"Explain a command or a topic."`
	Bots     botsCommand     `cmd:"" hidden:"" help:"The demo's child process."`
	kong.Plugins
}

// worldFlags is the choice of a world: a flag, an argument, or nothing if there is one world.
type worldFlags struct{ kong.Plugins }

type worldFlag struct {
	World string `default:"${world}" placeholder:"FILE" help:"${worlds} (${default})."`
}

type worldArgument struct {
	World string `arg:"" name:"file" placeholder:"FILE" help:"${worlds}."`
}

type roomFlag struct {
	Room string `default:"${room}" placeholder:"NAME" help:"Room that is meant if none is named, KIND or KIND/ID (${default})."`
}

// roomName returns the named room, or the default one; "" if the program has no rooms.
func (f *worldFlags) roomName() string {
	for _, p := range f.Plugins {
		if p, ok := p.(*roomFlag); ok {
			return p.Room
		}
	}
	return ""
}

// newOptions returns what the flags say about the world of one room.
func (f *worldFlags) newOptions(p *program) (Options, error) {
	room, err := p.anyRoom(f.roomName())
	return Options{World: f.worldName(), Room: room}, err
}

// worldName returns the chosen world.
func (f *worldFlags) worldName() string {
	for _, p := range f.Plugins {
		switch p := p.(type) {
		case *worldFlag:
			return p.World
		case *worldArgument:
			return p.World
		}
	}
	return ""
}

func (d *Definition) newCommands() *commands {
	c := &commands{Plugins: d.Commands}
	c.Loadtest.Player = d.botPlayer()
	for _, f := range []*worldFlags{&c.Serve.worldFlags, &c.Demo.worldFlags, &c.Replay.worldFlags, &c.Train.worldFlags, &c.Inspect.worldFlags, &c.Image.Verify.worldFlags, &c.Image.Migrate.worldFlags} {
		if d.Worlds != nil {
			f.Plugins = append(f.Plugins, &worldFlag{})
		}
		if d.Rooms != nil {
			f.Plugins = append(f.Plugins, &roomFlag{})
		}
	}
	if d.Worlds != nil {
		c.Check.Plugins = kong.Plugins{&worldArgument{}}
	}
	return c
}

const (
	// gcSwitch is the Go runtime's variable.
	gcSwitch = "GOGC"
	// gcPercent lets the heap grow by half of its live part between collections; Go's default
	// lets it double. Ticks produce no garbage and the transport little (RATIONALE.md).
	gcPercent = 50
)

// gsoSwitch is quic-go's variable, which it reads when it opens a socket.
const gsoSwitch = "QUIC_GO_DISABLE_GSO"

// Main runs the program of a game by the command line of the process, and ends the process. The
// demo starts its own executable for its bots, so main must reach Main with any command line.
func Main(game Definition) {
	if _, set := os.LookupEnv(gsoSwitch); !set {
		// A snapshot is one or two packets, so segmentation gains nothing, and its buffers take
		// 20 KB per session (RATIONALE.md).
		_ = os.Setenv(gsoSwitch, "true") // cannot fail for this name
	}
	if _, set := os.LookupEnv(gcSwitch); !set {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(Run(commandline.Interruptible(), game, os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}))
}

// Run is Main without the process around it. It returns the exit status.
func Run(ctx context.Context, game Definition, args []string, std Streams) int {
	p := &program{game, std.In, std.Out, std.Err}
	if err := game.Validate(); err != nil {
		fmt.Fprintln(p.err, printable.Lines(err.Error()))
		return exitUsage
	}
	c, status := p.parseArgs(args)
	if c == nil {
		return status
	}
	err := c.run(ctx, p)
	if status, over := errors.AsType[exitStatus](err); over {
		return int(status)
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, ErrFailed):
		return exitError
	case errors.As(err, new(Usage)):
		fmt.Fprintln(p.err, printable.Lines(err.Error()))
		return exitUsage
	}
	fmt.Fprintf(p.err, "%s: %s\n", p.Name, printable.Lines(err.Error()))
	if errors.As(err, new(misuse)) || errors.Is(err, regularfile.ErrNotRegular) { // named on the command line
		return exitUsage
	}
	return exitError
}

// parseArgs reads the command line. If there is nothing to run, it returns nil and the exit
// status.
func (p *program) parseArgs(args []string) (c command, status int) {
	vars := kong.Vars{
		"name": p.Name, "variables": p.variables(), "helpOf": p.helpOf(), "world": "", "worlds": "", "room": "", "schemaOf": "HOST:PORT",
		"schemaHelp": "Address of a running server, which is joined for a moment (none: this program's game).",
	}
	maps.Copy(vars, loadtest.Vars(p.Name, p.botPlayer()))
	if w := p.Worlds; w != nil {
		vars["world"], vars["worlds"], vars["schemaOf"] = w.Default, w.Help, "FILE|HOST:PORT"
		vars["schemaHelp"] = w.Help + " (" + w.Default + "), or address of a running server, which is joined for a moment."
	}
	if r := p.Rooms; r != nil {
		vars["room"] = r.Default
	}
	about := commandline.Program{Name: p.Name, Description: p.About, Variables: p.variables()}
	parsed, status := commandline.Parse(p.newCommands(), about, args, p.out, p.err, vars)
	if parsed == nil {
		return nil, status
	}
	if !parsed.Selected().Hidden { // otherwise the demo's parent has warned
		if err := p.warnOfVariables(parsed.Model); err != nil {
			fmt.Fprintf(p.err, "%s: %v\n", p.Name, err)
			return nil, exitError
		}
	}
	switch c := parsed.Selected().Target.Addr().Interface().(type) {
	case command:
		return c, exitOK
	case Command:
		return further{c}, exitOK
	}
	fmt.Fprintf(p.err, "%s: %s is not a command\n", p.Name, parsed.Command())
	return nil, exitError
}

// further is a command of the game's own.
type further struct{ Command }

func (f further) run(ctx context.Context, p *program) error {
	return f.Run(ctx, Streams{p.in, p.out, p.err})
}
