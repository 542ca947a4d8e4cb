// Command loadtest loads a worldd server with headless bots that roam, poke and
// check every answer they get, and says whether a handle ever lied.
//
//	go run ./loadtest --addr 127.0.0.1:4433 --insecure-dev --bots 50 --duration 30s
//
// A line a second goes to standard error, the summary to standard output. With
// --json one JSON object is all that is on standard output. The exit status is
// 0 if every bot connected, none failed and no handle lied; 1 if not, or if
// there was nobody to connect to; 2 for a wrong command line. Flags may also be
// given as WORLDD_ADDR, WORLDD_BOTS and so on; the command line wins.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/loadtest/bot"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// flags is the command line.
type flags struct {
	Addr        string        `required:"" placeholder:"HOST:PORT" help:"The server."`
	Bots        int           `default:"50" help:"How many bots."`
	Duration    time.Duration `default:"30s" help:"How long, from the first dial."`
	Seed        uint64        `default:"1" help:"Of all that bots do by chance."`
	Area        float64       `default:"80" placeholder:"METRES" help:"How far from the middle bots roam (${default} m)."`
	Fingerprint string        `xor:"trust" placeholder:"HEX" help:"SHA-256 of the server's certificate, as it prints at its start."`
	InsecureDev bool          `xor:"trust" help:"Believe whoever answers: for development on one machine."`
	JSON        bool          `name:"json" help:"Print one JSON object and nothing else."`
}

// Validate is called by kong: what it returns is shown with the usage.
func (f *flags) Validate() error {
	switch {
	case f.Bots < 1:
		return fmt.Errorf("--bots is %d, want at least 1", f.Bots)
	case f.Duration <= 0:
		return fmt.Errorf("--duration is %v, want more than 0", f.Duration)
	case !(f.Area > 0):
		return fmt.Errorf("--area is %v, want more than 0 metres", f.Area)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		// A second Ctrl-C kills; but whoever signals a process and its group
		// sends two at once.
		time.Sleep(time.Second)
		stop()
	})
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main, without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, status, ok := parse(args, stdout, stderr)
	if !ok {
		return status
	}
	live := bot.NewLive(stderr, false)
	report, err := bot.Run(ctx, bot.Config{
		Addr: f.Addr, Fingerprint: f.Fingerprint, InsecureDev: f.InsecureDev,
		Bots: f.Bots, Duration: f.Duration, Seed: f.Seed, AreaMetres: f.Area,
	}, func(p bot.Progress) { live.Row(p, nil) })
	if err == nil {
		err = write(report, f.JSON, stdout, stderr)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "loadtest:", err)
		return exitError
	case !report.OK():
		return exitError
	}
	return exitOK
}

// write prints the result. The summary is worth having in JSON mode too: on
// standard error.
func write(report *bot.Report, asJSON bool, stdout, stderr io.Writer) error {
	summary := stdout
	if asJSON {
		summary = stderr
	}
	if _, err := fmt.Fprintln(summary); err != nil {
		return err
	}
	if err := report.WriteSummary(summary, bot.IsTerminal(summary)); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(stdout).Encode(report)
	}
	return nil
}

// exit is how kong ends the program, caught by parse.
type exit int

// parse reads the command line. It returns false if there is nothing to run,
// and then the exit status.
func parse(args []string, stdout, stderr io.Writer) (f flags, status int, ok bool) {
	parser, err := kong.New(&f, kong.Name("loadtest"),
		kong.Description("Load a worldd server with bots that check that handles do not lie."),
		kong.DefaultEnvars("WORLDD"), kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exit(code)) }))
	if err != nil {
		fmt.Fprintln(stderr, "loadtest:", err)
		return f, exitError, false
	}
	defer func() {
		if r := recover(); r != nil {
			code, ours := r.(exit)
			if !ours {
				panic(r)
			}
			status, ok = int(code), false
		}
	}()
	if _, err := parser.Parse(args); err != nil {
		var wrong *kong.ParseError
		if errors.As(err, &wrong) {
			parser.Stdout = stderr
			_ = wrong.Context.PrintUsage(false)
		}
		fmt.Fprintf(stderr, "\nloadtest: %v\n", err)
		return f, exitUsage, false
	}
	return f, exitOK, true
}
