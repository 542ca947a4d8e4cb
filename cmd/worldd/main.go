// Command worldd is the dedicated server, and what belongs around it.
//
//	worldd serve --listen 127.0.0.1:4433 --world storm    host a world
//	worldd demo --bots 50 --duration 60s                  a server, and bots that load and check it
//	worldd check my-world.yaml                            say what is wrong with a world file
//	worldd replay my.recording                            repeat what a server did, and compare
//	worldd train my.recording --out my.tables             make coding tables of it
//	worldd inspect my.recording                           say which fields cost how many bits
//	worldd effect check|render|fmt|explain|hash FILE      for authors of effects: mistakes, pictures
//	worldd token new|issue                                keys, and tokens for users who may join
//	worldd version
//
// A world is one of the embedded ones, "storm" and "calm", or a file. What a
// flag sets may also come from the environment, as WORLDD_LISTEN, WORLDD_WORLD
// and so on (an empty one counts as none), and some of it from the world file: flags
// win over the environment, the environment over the file, the file over defaults.
//
//	flags, WORLDD_* ──► serve ──► scenes.Load, Build ──► game ──► server.Server ══ QUIC
//	                    demo  ──► the same, on a free loopback port
//	                      └─ stdin, stdout ─► worldd bots (a child process) ══ QUIC ══►
//
// SIGHUP has serve read again: the limits of the world file, the certificate, the token
// keys, and who may use the admin port. A file that is wrong is logged and changes
// nothing. SIGTERM and SIGINT end it, after a goodbye to all clients.
//
// Exit status: 0 when all went well, which in demo means that every bot
// connected, none failed and no handle lied; 1 when not, and for a wrong effect;
// 2 for a wrong command line or a wrong world file, and then nothing was started.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// commands is the command line.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Host a world until SIGINT or SIGTERM."`
	Demo    demoCommand    `cmd:"" help:"Start a server and bots that load and check it; show what they find."`
	Check   checkCommand   `cmd:"" help:"Say what is wrong with a world file, by line and column, and which effects may take too long."`
	Replay  replayCommand  `cmd:"" help:"Repeat a recording and name the first tick that differs."`
	Train   trainCommand   `cmd:"" help:"Make coding tables from a recording."`
	Effect  effectCommand  `cmd:"" help:"Check and draw effects: for their authors."`
	Inspect inspectCommand `cmd:"" help:"Say which fields of a recorded world cost how many bits."`
	Token   tokenCommand   `cmd:"" help:"Make keys, and connect tokens for users."`
	Version versionCommand `cmd:"" help:"Print the version."`
	Bots    botsCommand    `cmd:"" hidden:"" help:"The demo's child process."`
}

// streams are a command's standard input and outputs. The outputs may be
// written to by several goroutines, as files may.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is what each command is. An error is printed in one piece; its exit
// status is 1, or 2 for a wrongUsage.
type command interface {
	Run(ctx context.Context, std streams) error
}

// wrongUsage is a mistake in the command line or in a world file.
type wrongUsage struct{ error }

func (w wrongUsage) Unwrap() error { return w.error }

// errFailed ends a command whose output has said already what failed.
var errFailed = errors.New("failed")

const (
	// gcSwitch is Go's own.
	gcSwitch = "GOGC"
	// gcPercent has the heap grow by half of what lives between two collections,
	// where Go's default is as much again: a tick makes no garbage and the
	// transport little (RATIONALE.md).
	gcPercent = 50
)

// gsoSwitch is quic-go's, read from the environment when a socket is opened.
const gsoSwitch = "QUIC_GO_DISABLE_GSO"

func main() {
	if _, set := os.LookupEnv(gsoSwitch); !set {
		// A snapshot is a packet or two, so there is nothing to segment, and the
		// buffers for it are 20 KB a session (RATIONALE.md).
		_ = os.Setenv(gsoSwitch, "true") // never fails for such a name
	}
	if _, set := os.LookupEnv(gcSwitch); !set {
		debug.SetGCPercent(gcPercent)
	}
	dropEmpty()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		// A second Ctrl-C kills; but whoever signals a process and its group
		// sends two at once.
		time.Sleep(time.Second)
		stop()
	})
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is main, without the process around it.
func run(ctx context.Context, args []string, std streams) int {
	c, status := parse(args, std)
	if c == nil {
		return status
	}
	err := c.Run(ctx, std)
	var wrong wrongUsage
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFailed):
		return exitError
	case errors.As(err, &wrong):
		fmt.Fprintln(std.err, err)
		return exitUsage
	}
	fmt.Fprintln(std.err, "worldd:", err)
	return exitError
}

// exit is how kong ends the program, caught by parse.
type exit int

// parse reads the command line. It returns nil if there is nothing to run, and
// then the exit status.
func parse(args []string, std streams) (c command, status int) {
	var all commands
	parser, err := kong.New(&all, kong.Name("worldd"), kong.Description("An authoritative world server."),
		kong.DefaultEnvars("WORLDD"), kong.Writers(std.out, std.err), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		fmt.Fprintln(std.err, "worldd:", err)
		return nil, exitError
	}
	defer func() {
		if r := recover(); r != nil {
			code, ours := r.(exit)
			if !ours {
				panic(r)
			}
			c, status = nil, int(code)
		}
	}()
	parsed, err := parser.Parse(args)
	if err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			parser.Stdout = std.err
			_ = wrong.Context.PrintUsage(len(args) > 0) // in short, or the mistake is lost below a page of flags
		}
		fmt.Fprintf(std.err, "\nworldd: %v\n", err)
		return nil, exitUsage
	}
	if !parsed.Selected().Hidden { // the demo has said so already
		if err := warnOfVariables(parser.Model, std.err); err != nil {
			fmt.Fprintln(std.err, "worldd:", err)
			return nil, exitError
		}
	}
	c, ok := parsed.Selected().Target.Addr().Interface().(command)
	if !ok {
		fmt.Fprintf(std.err, "worldd: %s is no command\n", parsed.Command())
		return nil, exitError
	}
	return c, exitOK
}
