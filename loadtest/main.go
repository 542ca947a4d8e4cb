// Command loadtest loads a worldd server with headless bots that roam, poke and
// check every answer they get, and says whether a handle ever lied.
//
//	go run ./loadtest --addr 127.0.0.1:4433 --insecure-dev --bots 50 --duration 30s
//
// A line a second goes to standard error, the summary to standard output. With
// --json one JSON object is all that is on standard output; --html writes a page
// with plots that opens without a network. --admin names the server's operator
// port, from which its ticks come, and with --profile its profiles.
//
// --scenario says what the bots do, and --loss, --delay, --jitter and --reorder
// put a bad link between each of them and the server. For a CI of one's own:
// --fail 'latency_p99_ms>50', as often as wanted, with any number of the JSON by
// its name (those of tick as tick_p99_ms) that such a run measures.
//
// The exit status is 0 if every bot connected, none failed, no handle lied and
// no --fail came true; 1 if not, or if there was nobody to connect to, or if a run
// with --fail was interrupted; 2 for a wrong command line. Flags may also be given as
// WORLDD_ADDR, WORLDD_BOTS and so on; the command line wins.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/page"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/token"
)

// Exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Bounds of the files that flags name: the default tables have 36 KB, a key 129
// bytes.
const (
	maxTablesBytes = 4 << 20
	maxKeyBytes    = 64 << 10
)

// flags is the command line.
type flags struct {
	Addr        string        `required:"" placeholder:"HOST:PORT" help:"The server."`
	Bots        int           `default:"50" help:"How many bots."`
	Duration    time.Duration `default:"30s" help:"How long, from the first dial."`
	Ramp        time.Duration `placeholder:"TIME" help:"Over how long the first dials are spread (10 ms a bot, half of the duration at most)."`
	Scenario    bot.Scenario  `default:"roam" placeholder:"NAME" help:"What bots do: idle, roam, churn (leave and come back), join-storm (four fifths come at once), hostile (every other one attacks) (${default})."`
	Loss        float64       `placeholder:"SHARE" help:"Packets lost between bot and server, each way: 0.05 is 5 %."`
	Delay       time.Duration `placeholder:"TIME" help:"How long each packet takes more, one way."`
	Jitter      time.Duration `placeholder:"TIME" help:"On top of the delay, evenly spread from 0."`
	Reorder     float64       `placeholder:"SHARE" help:"Packets held back so that later ones overtake them."`
	CutAt       time.Duration `placeholder:"TIME" help:"When the link is cut, from the first dial."`
	CutFor      time.Duration `placeholder:"TIME" help:"For how long."`
	Seed        uint64        `default:"1" help:"Of all that bots do by chance."`
	Area        float64       `default:"80" placeholder:"METRES" help:"How far from the middle bots roam (${default} m)."`
	Fingerprint string        `xor:"trust" placeholder:"HEX" help:"SHA-256 of the server's certificate, as it prints at its start."`
	InsecureDev bool          `xor:"trust" help:"Believe whoever answers: for development on one machine."`
	Tables      string        `type:"path" placeholder:"FILE" help:"Coding tables of the server's, as 'worldd train' writes them."`
	TokenKey    string        `type:"path" placeholder:"FILE" help:"Secret key to make the bots' connect tokens with, as 'worldd token new' writes it."`
	Audience    string        `default:"worldd" placeholder:"NAME" help:"What the tokens are made for (${default})."`
	Admin       string        `placeholder:"HOST:PORT" help:"The server's operator port: shows its ticks too, from the run's begin on."`
	AdminToken  string        `type:"path" placeholder:"FILE" help:"The token that the operator port asks for: the server's --admin-token."`
	Profile     string        `placeholder:"DIR" help:"Fetch the server's CPU, heap and goroutine profiles while all bots play (needs --admin)."`
	Fail        []string      `sep:"none" placeholder:"METRIC>NUMBER" help:"Exit with 1 if this came true; may be given more than once."`
	HTML        string        `name:"html" placeholder:"FILE" help:"Write a page with plots."`
	JSON        bool          `name:"json" help:"Print one JSON object and nothing else."`

	thresholds []bot.Threshold
	admin      *admin
	issuer     *token.Issuer
	tables     *wire.Tables
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
	case f.Profile != "" && f.Admin == "":
		return errors.New("--profile needs --admin: the profiles come from the operator port")
	}
	if f.AdminToken != "" && f.Admin == "" {
		return errors.New("--admin-token needs --admin, which it is for")
	}
	for _, text := range f.Fail {
		t, err := bot.ParseThreshold(text)
		if err == nil {
			err = f.measures(t)
		}
		if err != nil {
			return err
		}
		f.thresholds = append(f.thresholds, t)
	}
	if f.Tables != "" {
		text, err := regularfile.Read(f.Tables, maxTablesBytes)
		if err == nil {
			f.tables, err = wire.ParseTables(text)
		}
		if err != nil {
			return fmt.Errorf("--tables: %w", err)
		}
	}
	if f.TokenKey != "" {
		secret, err := regularfile.Read(f.TokenKey, maxKeyBytes)
		if err == nil {
			f.issuer, err = token.NewIssuer(string(secret))
		}
		if err != nil {
			return fmt.Errorf("--token-key: %w", err)
		}
	}
	var err error
	if f.Admin != "" {
		f.admin, err = newAdmin(f.Admin, f.AdminToken)
	}
	return errors.Join(err, f.config().Validate())
}

// measures is an error if such a run does not measure what t asks for: t would be
// crossed for that alone, and nobody needs a run to know.
func (f *flags) measures(t bot.Threshold) error {
	v := 0.0
	in := func(r bot.Report) bool {
		_, measured := t.Crossed(&r)
		return measured != nil
	}
	lacks := ""
	switch {
	case in(bot.Report{}):
	case f.Admin == "" && in(bot.Report{Tick: &bot.Tick{}, Cost: &bot.Cost{}}):
		lacks = "it needs --admin: the server alone knows it"
	case f.Scenario != bot.JoinStorm && in(bot.Report{Storm: &bot.Storm{DeliveredRatio: &v, AllInS: &v}}):
		lacks = "it is of --scenario join-storm"
	case f.Scenario != bot.Hostile && in(bot.Report{Attacks: &bot.Attacks{}}):
		lacks = "it is of --scenario hostile"
	case in(bot.Report{World: &bot.World{}}):
		lacks = "only worldd demo sees into the world"
	}
	if lacks != "" {
		return fmt.Errorf("threshold %q cannot be measured: %s", t, lacks)
	}
	return nil
}

func (f *flags) config() bot.Config {
	return bot.Config{
		Addr: f.Addr, Fingerprint: f.Fingerprint, InsecureDev: f.InsecureDev,
		Bots: f.Bots, Duration: f.Duration, Ramp: f.Ramp, Scenario: f.Scenario,
		Link: bot.Link{Loss: f.Loss, Delay: f.Delay, Jitter: f.Jitter, Reorder: f.Reorder, CutAt: f.CutAt, CutFor: f.CutFor},
		Seed: f.Seed, AreaMetres: f.Area, Tables: f.tables, Issuer: f.issuer, Audience: f.Audience,
	}
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
	dropEmpty()
	f, status, ok := parse(args, stdout, stderr)
	if !ok {
		return status
	}
	html, err := page.Create(f.HTML)
	if err != nil {
		fmt.Fprintln(stderr, "loadtest:", err)
		return exitError
	}
	if f.Profile != "" { // better known now than after the run, as with the page
		if err := os.MkdirAll(f.Profile, 0o755); err != nil {
			fmt.Fprintln(stderr, "loadtest: the profiles cannot be written:", err)
			return exitError
		}
	}
	if f.TokenKey != "" && regularfile.WorldReadable(f.TokenKey) {
		fmt.Fprintf(stderr, "loadtest: warning: every user of this machine can read the secret key %s: run chmod o-r on it\n", f.TokenKey)
	}
	began := time.Now()
	report, err := f.play(ctx, stderr)
	if report != nil { // whatever else went wrong
		unwritten := page.Finish(html, report, page.About{Addr: f.Addr, Link: f.config().Link, Began: began, Thresholds: f.thresholds})
		err = errors.Join(err, f.write(report, stdout, stderr), unwritten)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "loadtest:", err)
		return exitError
	case report.Undecided(f.thresholds):
		fmt.Fprintln(stderr, "loadtest: interrupted, so that nobody knows what --fail asks")
		return exitError
	case !report.Passed(f.thresholds):
		return exitError
	}
	return exitOK
}

// play runs the bots, and asks the server meanwhile if it may be asked.
func (f *flags) play(ctx context.Context, stderr io.Writer) (*bot.Report, error) {
	live := bot.NewLive(stderr, f.admin != nil)
	if f.admin != nil {
		if _, err := f.admin.within(ctx, firstAnswer); err != nil { // better now than after the run
			return nil, err
		}
		defer http.DefaultClient.CloseIdleConnections()
	}
	began := time.Now()
	profiling, stopProfiling := context.WithCancel(ctx)
	defer stopProfiling()
	profiled := f.profile(profiling)
	var plateau meters // at its begin
	report, err := bot.Run(ctx, f.config(), func(p *bot.Progress) {
		if f.admin != nil {
			p.Server, _ = f.admin.within(ctx, sampleAnswer) // a second without an answer is a gap in the plot
			if plateau.asked.IsZero() && p.ElapsedS >= f.config().RampEnd().Seconds() {
				plateau = f.admin.meters
			}
		}
		live.Row(*p)
	})
	if time.Since(began) < f.Duration {
		stopProfiling() // there are no bots any more to profile the server under
	}
	if report != nil && f.admin != nil {
		report.Tick = f.admin.ticks.report()
		report.Cost = costOf(plateau, f.admin.meters)
	}
	return report, errors.Join(err, profiled())
}

// profile fetches profiles in the background, from the end of the ramp on, until ctx
// ends. The function that it returns waits for them.
func (f *flags) profile(ctx context.Context) func() error {
	if f.Profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		ramp := f.config().RampEnd()
		select {
		case <-ctx.Done():
			done <- nil // interrupted before there was a plateau
		case <-time.After(ramp):
			err := f.admin.profile(ctx, f.Profile, f.Duration-ramp)
			if ctx.Err() != nil {
				err = nil // interrupted
			}
			done <- err
		}
	}()
	return func() error { return <-done }
}

// write prints the result. The summary is worth having in JSON mode too: on
// standard error.
func (f *flags) write(report *bot.Report, stdout, stderr io.Writer) error {
	summary := stdout
	if f.JSON {
		summary = stderr
	}
	if _, err := fmt.Fprintln(summary); err != nil {
		return err
	}
	if err := report.WriteSummary(summary, bot.IsTerminal(summary), f.thresholds...); err != nil {
		return err
	}
	if f.HTML != "" {
		fmt.Fprintf(summary, "\n  page       %s\n", f.HTML)
	}
	if f.JSON {
		return json.NewEncoder(stdout).Encode(report)
	}
	return nil
}

// dropEmpty takes empty variables out of the environment: a CI whose variable is not set
// hands on an empty one, which is not meant to be a flag's value. worldd does likewise.
func dropEmpty() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, "WORLDD_") {
			_ = os.Unsetenv(name) // never fails for a name that is there
		}
	}
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
			_ = wrong.Context.PrintUsage(len(args) > 0) // in short, or the mistake is lost below a page of flags
		}
		fmt.Fprintf(stderr, "\nloadtest: %v\n", err)
		return f, exitUsage, false
	}
	return f, exitOK, true
}
