// Command worldd is the dedicated server and its tools.
//
//	worldd serve --listen 127.0.0.1:4433 --world storm    host a world
//	worldd demo --bots 50 --duration 60s                  run a server and bots that check it
//	worldd check my-world.yaml                            report mistakes in a world file
//	worldd replay my.recording                            replay a recording and compare
//	worldd train my.recording --out my.tables             train coding tables
//	worldd inspect my.recording                           report the size of fields
//	worldd effect check|render|fmt|explain|hash FILE      mistakes in effects, pictures
//	worldd schema --lang json storm                       print the schema that clients receive
//	worldd watch 127.0.0.1:4433 --insecure-dev            show what a server sends, by name
//	worldd token new|issue                                create keys and users' tokens
//	worldd version
//
// A world is an embedded one, "storm" or "calm", or a file. Flags may also be set in
// the environment, as WORLDD_LISTEN, WORLDD_WORLD and so on (empty ones are ignored),
// and some in the world file. Flags override the environment, which overrides the
// file, which overrides the defaults.
//
//	flags, WORLDD_* ──► serve ──► scenes.Load, Build ──► game ──► server.Server ══ QUIC
//	                    demo  ──► the same, on a free loopback port
//	                      └─ stdin, stdout ─► worldd bots (a child process) ══ QUIC ══►
//
// On SIGHUP, serve reloads the limits of the world file, the certificate, the token
// keys, and the admin port's access. An invalid file is logged and changes nothing.
// SIGTERM and SIGINT stop it after notifying all clients.
//
// Exit status: 0 for success, which for demo means that every bot connected, none
// failed and no handle was confused; 1 for failure, and for an invalid effect; 2 for
// a wrong command line or world file, in which case nothing was started.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/regularfile"
)

// Exit statuses.
const (
	exitOK    = commandline.OK
	exitError = commandline.Error
	exitUsage = commandline.Usage
)

// commands is the command line.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Host a world until SIGINT or SIGTERM."`
	Demo    demoCommand    `cmd:"" help:"Run a server and bots that load and check it, and report the result."`
	Check   checkCommand   `cmd:"" help:"Report mistakes in a world file, by line and column, and expensive effects."`
	Replay  replayCommand  `cmd:"" help:"Replay a recording and report the first tick that differs."`
	Train   trainCommand   `cmd:"" help:"Make coding tables from a recording."`
	Effect  effectCommand  `cmd:"" help:"Check and draw effects: for their authors."`
	Inspect inspectCommand `cmd:"" help:"Report the size in bits of a recorded world's fields."`
	Schema  schemaCommand  `cmd:"" help:"Print the schema that clients of a world or a running server receive."`
	Watch   watchCommand   `cmd:"" help:"Show the entities that a running server sends, by name, until SIGINT."`
	Token   tokenCommand   `cmd:"" help:"Create keys, and connect tokens for users."`
	Version versionCommand `cmd:"" help:"Print the version."`
	Bots    botsCommand    `cmd:"" hidden:"" help:"The demo's child process."`
}

// streams are a command's standard streams. The outputs must be safe for concurrent
// use, as files are.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// command is implemented by every command. An error is printed in one piece; the exit
// status is 1, or 2 for a wrongUsage or a path that names no regular file.
type command interface {
	Run(ctx context.Context, std streams) error
}

// wrongUsage is a mistake in the command line or in a world file.
type wrongUsage struct{ error }

func (w wrongUsage) Unwrap() error { return w.error }

// errFailed ends a command that has already printed its failures.
var errFailed = errors.New("failed")

const (
	// gcSwitch is the Go runtime's.
	gcSwitch = "GOGC"
	// gcPercent lets the heap grow by half of its live part between collections, where
	// Go's default is as much again: ticks produce no garbage and the transport little
	// (RATIONALE.md).
	gcPercent = 50
)

// gsoSwitch is quic-go's; it is read when a socket is opened.
const gsoSwitch = "QUIC_GO_DISABLE_GSO"

func main() {
	if _, set := os.LookupEnv(gsoSwitch); !set {
		// A snapshot is one or two packets: segmentation would gain nothing, and its
		// buffers take 20 KB per session (RATIONALE.md).
		_ = os.Setenv(gsoSwitch, "true") // cannot fail for this name
	}
	if _, set := os.LookupEnv(gcSwitch); !set {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(commandline.Interruptible(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run is main without the process around it.
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
	if errors.Is(err, regularfile.ErrNotRegular) { // named on the command line
		return exitUsage
	}
	return exitError
}

// parse reads the command line. If there is nothing to run, it returns nil and the exit
// status.
func parse(args []string, std streams) (c command, status int) {
	parsed, status := commandline.Parse(&commands{}, "worldd", "An authoritative world server.", args, std.out, std.err)
	if parsed == nil {
		return nil, status
	}
	if !parsed.Selected().Hidden { // the demo's parent has done so
		if err := warnOfVariables(parsed.Model, std.err); err != nil {
			fmt.Fprintln(std.err, "worldd:", err)
			return nil, exitError
		}
	}
	c, ok := parsed.Selected().Target.Addr().Interface().(command)
	if !ok {
		fmt.Fprintf(std.err, "worldd: %s is not a command\n", parsed.Command())
		return nil, exitError
	}
	return c, exitOK
}
