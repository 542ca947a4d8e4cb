// Package command is the command line of load tests. The program loadtest uses it, and the
// command loadtest that package host gives each game. Its names serve these programs, and may
// change in any release.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/botrun/page"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/server/token"
)

// Exit statuses.
const (
	exitOK    = commandline.OK
	exitError = commandline.Error
	exitUsage = commandline.Usage
)

// Bounds of files named by flags: the default tables have 36 KB, a key 129 bytes, the report of an hour 3 MB.
const (
	maxTablesBytes = 4 << 20
	maxKeyBytes    = 64 << 10
	maxReportBytes = 64 << 20
)

// Flags are the flags of a load test, for kong with Vars.
type Flags struct {
	Config commandline.ConfigFile `type:"path" placeholder:"FILE" help:"JSON file with values of these flags by name, as {\"bots\": 5}. The command line and the environment override it."`

	Addr        string        `required:"" placeholder:"HOST:PORT" help:"The server."`
	Addrs       []string      `placeholder:"HOST:PORT,..." help:"Further addresses of the game, such as other nodes of its cluster, for bots whose server does not answer."`
	Bots        int           `default:"50" help:"Number of bots."`
	Duration    time.Duration `default:"30s" help:"Duration of the run from the first dial."`
	Ramp        time.Duration `placeholder:"TIME" help:"Time over which the first dials are spread (default 10 ms per bot, at most half of the duration)."`
	Scenario    bot.Scenario  `default:"roam" placeholder:"NAME" help:"What bots do: idle, roam, churn (leave and come back), join-storm (four fifths come at once), hostile (every other one attacks), restless (steer in every tick)${gameScenarios} (${default})."`
	Loss        bot.Share     `placeholder:"SHARE" help:"Share of packets lost each way, as 0.05 or 5%."`
	Delay       time.Duration `placeholder:"TIME" help:"Delay added to each packet, one way."`
	Jitter      time.Duration `placeholder:"TIME" help:"Random delay on top, uniform from 0."`
	Reorder     bot.Share     `placeholder:"SHARE" help:"Share of packets held back so that later ones overtake them."`
	CutAt       time.Duration `placeholder:"TIME" help:"Time of a link outage, from the first dial."`
	CutFor      time.Duration `placeholder:"TIME" help:"Duration of the outage."`
	Simulate    bool          `default:"true" negatable:"" help:"Bots compute the bodies of exact kinds themselves, and every audit of them must agree."`
	PlainRows   bool          `help:"Bots receive every row in full, as small clients do (PROTOCOL.md, Plain rows): shows what such clients cost."`
	Probes      int           `default:"8" help:"Handles that each bot resolves after each snapshot, to find one that has changed its meaning (${default})."`
	Room        string        `placeholder:"NAME" help:"Room that bots join: {n} in it is the number of the bot, and 'match/{n/20}' puts 20 bots in each room (the server's default one)."`
	Seed        uint64        `default:"1" help:"Seed of the bots' random choices."`
	Area        float64       `default:"80" placeholder:"METRES" help:"Bots roam within this distance of the centre (${default} m)."`
	Fingerprint string        `xor:"trust" placeholder:"HEX" help:"SHA-256 of the server's certificate, which it prints at start."`
	InsecureDev bool          `xor:"trust" help:"Trust any server: for development on one machine."`
	Tables      string        `type:"path" placeholder:"FILE" help:"The server's coding tables, as written by '${serverProgram} train'."`
	TokenKey    string        `type:"path" placeholder:"FILE" help:"Secret key that signs the bots' connect tokens, as written by '${serverProgram} token new'."`
	Audience    string        `default:"${serverProgram}" placeholder:"NAME" help:"Audience of the tokens (${default})."`
	Admin       string        `placeholder:"HOST:PORT" help:"The server's admin port: adds its ticks to the report."`
	AdminToken  string        `type:"path" placeholder:"FILE" help:"Token of the admin port: the server's --admin-token."`
	Profile     string        `placeholder:"DIR" help:"Fetch the server's CPU, heap and goroutine profiles while all bots are connected (needs --admin)."`
	Fail        []string      `sep:"none" placeholder:"METRIC>NUMBER" help:"Exit with status 1 if this comes true. May be repeated."`
	FindLimit   bool          `help:"Find how many bots the server bears: from --bots on, double their number in runs of --duration until a --fail comes true, then bisect. Without --fail: late ticks, snapshots, connections lost."`
	MostBots    int           `default:"4000" placeholder:"N" help:"Most bots of --find-limit (${default})."`
	Baseline    string        `type:"path" placeholder:"FILE" help:"Compare with an earlier run: a file with its --json output."`
	HTML        string        `name:"html" placeholder:"FILE" help:"Write a page with plots."`
	JSON        bool          `name:"json" help:"Print exactly one JSON object on standard output."`

	ClientVersion string `default:"${clientVersion}" placeholder:"VERSION" help:"Version of the game that bots join with, for servers that refuse older clients (this program's)."`

	// Player plays the game. Programs set it before they parse a command line.
	Player *bot.Player `kong:"-"`

	program    string // for messages
	thresholds []botrun.Threshold
	admin      *admin
	issuer     *token.Issuer
	tables     *client.Tables
	baseline   *botrun.Baseline
}

// Validate is called by kong, which shows the error with the usage.
func (f *Flags) Validate() error {
	switch {
	case f.Addr == "":
		return errors.New("--addr HOST:PORT is missing: the server to load")
	case f.Bots < 1:
		return fmt.Errorf("--bots is %d, want at least 1", f.Bots)
	case f.Duration <= 0:
		return fmt.Errorf("--duration is %v, want more than 0", f.Duration)
	case f.Probes < 1:
		return fmt.Errorf("--probes is %d, want at least 1", f.Probes)
	case !(f.Area > 0):
		return fmt.Errorf("--area is %v, want more than 0 metres", f.Area)
	case f.FindLimit && (f.HTML != "" || f.Profile != "" || f.Baseline != ""):
		return errors.New("--find-limit plays many runs: --html, --profile and --baseline are for one")
	case f.FindLimit && f.MostBots < f.Bots:
		return fmt.Errorf("--most-bots is %d, want at least the %d of --bots", f.MostBots, f.Bots)
	case f.Profile != "" && f.Admin == "":
		return errors.New("--profile needs --admin: profiles come from the admin port")
	}
	if f.AdminToken != "" && f.Admin == "" {
		return errors.New("--admin-token needs --admin")
	}
	f.thresholds = nil // kong validates embedded flags twice
	for _, text := range f.Fail {
		t, err := botrun.ParseThreshold(text, f.Player.Metrics...)
		if err == nil {
			err = f.checkMetric(t)
		}
		if err != nil {
			return err
		}
		f.thresholds = append(f.thresholds, t)
	}
	if f.Tables != "" {
		text, err := regularfile.Read(f.Tables, maxTablesBytes)
		if err == nil {
			f.tables, err = client.ParseTables(text)
		}
		if err != nil {
			return fmt.Errorf("--tables: %w", err)
		}
	}
	if f.Baseline != "" {
		text, err := regularfile.Read(f.Baseline, maxReportBytes)
		if err == nil {
			f.baseline, err = botrun.ParseBaseline(f.Baseline, text)
		}
		if err != nil {
			return fmt.Errorf("--baseline: %w", err)
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
	return errors.Join(err, f.botConfig().Validate())
}

// checkMetric returns an error if the run does not measure t's metric: such a threshold would
// always be crossed.
func (f *Flags) checkMetric(t botrun.Threshold) error {
	v := 0.0
	in := func(r botrun.Report) bool {
		_, measured := t.Crossed(&r)
		return measured != nil
	}
	for _, m := range f.Player.Metrics {
		if m.Scenario != "" && m.Scenario != f.Scenario && slices.Contains(m.Names(), t.Metric) {
			return fmt.Errorf("threshold %q cannot be measured: needs --scenario %s", t, m.Scenario)
		}
	}
	lacks := ""
	switch {
	case in(botrun.Report{}), f.countsInGame(t), f.Simulate && in(botrun.Report{Motion: &botrun.Motion{}}):
	case f.Admin == "" && in(botrun.Report{Tick: &botrun.Tick{}, Cost: &botrun.Cost{}}):
		lacks = "needs --admin: only the server measures it"
	case in(botrun.Report{Motion: &botrun.Motion{}}):
		lacks = "needs --simulate"
	case f.Scenario != bot.JoinStorm && in(botrun.Report{Storm: &botrun.Storm{DeliveredRatio: &v, AllInS: &v}}):
		lacks = "needs --scenario join-storm"
	case f.Scenario != bot.Hostile && in(botrun.Report{Attacks: &botrun.Attacks{}}):
		lacks = "needs --scenario hostile"
	case in(botrun.Report{World: &botrun.World{}}):
		lacks = "only worldd demo measures it"
	}
	if lacks != "" {
		return fmt.Errorf("threshold %q cannot be measured: %s", t, lacks)
	}
	return nil
}

// countsInGame reports whether t is about a metric of the game.
func (f *Flags) countsInGame(t botrun.Threshold) bool {
	return slices.ContainsFunc(f.Player.Metrics, func(m bot.Metric) bool { return slices.Contains(m.Names(), t.Metric) })
}

func (f *Flags) botConfig() botrun.Config {
	player := *f.Player
	player.Version = cmp.Or(f.ClientVersion, player.Version)
	return botrun.Config{
		Addr: f.Addr, Addrs: f.Addrs, Fingerprint: f.Fingerprint, InsecureDev: f.InsecureDev,
		Bots: f.Bots, Duration: f.Duration, Ramp: f.Ramp, Scenario: f.Scenario, Ordinary: !f.Simulate, PlainRows: f.PlainRows,
		Link: botrun.Link{Loss: float64(f.Loss), Delay: f.Delay, Jitter: f.Jitter, Reorder: float64(f.Reorder), CutAt: f.CutAt, CutFor: f.CutFor},
		Seed: f.Seed, Room: f.Room, AreaMetres: f.Area, Probes: f.Probes, Player: &player, Tables: f.tables, Issuer: f.issuer, Audience: f.Audience,
	}
}

// Vars returns the variables of the tags of Flags: which program is the server's, and the scenarios
// and the version of its game.
func Vars(server string, player *bot.Player) kong.Vars {
	further := ""
	for _, s := range player.Scenarios {
		further += ", " + string(s)
	}
	return kong.Vars{"serverProgram": server, "gameScenarios": further, "clientVersion": player.Version}
}

// Main runs a command line of the program loadtest with bots of player, and returns the exit status.
func Main(ctx context.Context, player *bot.Player, args []string, stdout, stderr io.Writer) int {
	f := Flags{Player: player}
	about := commandline.Program{Name: "loadtest", Description: "Load a worldd server with bots that check every handle, name and event.", Variables: "WORLDD_"}
	parsed, status := commandline.Parse(&f, about, args, stdout, stderr, Vars("worldd", player))
	if parsed == nil {
		return status
	}
	return f.Run(ctx, "loadtest", stdout, stderr)
}

// Run plays with bots of the game, and returns the exit status. Messages begin with the name of
// the program.
func (f *Flags) Run(ctx context.Context, program string, stdout, stderr io.Writer) int {
	f.program = program
	html, err := page.Create(f.HTML)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", f.program, err)
		return exitError
	}
	defer html.Discard()
	if f.Profile != "" { // fail before the run, as with the page
		if err := os.MkdirAll(f.Profile, 0o755); err != nil {
			fmt.Fprintf(stderr, "%s: cannot write the profiles: %v\n", f.program, err)
			return exitError
		}
	}
	if f.TokenKey != "" && regularfile.WorldReadable(f.TokenKey) {
		fmt.Fprintf(stderr, "%s: warning: every user of this machine can read the secret key %s: run chmod o-r on it\n", f.program, f.TokenKey)
	}
	if f.FindLimit {
		return f.runLimit(ctx, stdout, stderr)
	}
	began := time.Now()
	report, err := f.playBots(ctx, stderr)
	if report != nil { // even if something else failed
		report.Machine, report.Baseline = botrun.Machine(), f.baseline
		unwritten := html.Finish(report, page.About{Addr: f.Addr, Link: f.botConfig().Link, Began: began, Thresholds: f.thresholds})
		err = errors.Join(err, f.writeReport(report, stdout, stderr), unwritten)
	}
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "%s: %s\n", f.program, printable.Lines(err.Error()))
		return exitError
	case report.Interrupted && len(f.thresholds) > 0:
		fmt.Fprintf(stderr, "%s: interrupted: --fail could not be evaluated\n", f.program)
		return exitError
	case !report.Passed(f.thresholds...):
		return exitError
	}
	return exitOK
}

// playBots runs the bots and samples the server if --admin is given.
func (f *Flags) playBots(ctx context.Context, stderr io.Writer) (*botrun.Report, error) {
	live := botrun.NewLive(stderr, f.admin != nil)
	if f.admin != nil {
		if _, err := f.admin.serverNowWithin(ctx, firstAnswer); err != nil { // fail before the run
			return nil, err
		}
		defer http.DefaultClient.CloseIdleConnections()
	}
	began := time.Now()
	profiling, stopProfiling := context.WithCancel(ctx)
	defer stopProfiling()
	profiled := f.startProfiles(profiling)
	var plateau meters // at its start
	report, err := botrun.Run(ctx, f.botConfig(), func(p *botrun.Progress) {
		if f.admin != nil {
			p.Server, _ = f.admin.serverNowWithin(ctx, sampleAnswer) // a missing answer leaves a gap in the plot
			if plateau.asked.IsZero() && p.ElapsedS >= f.botConfig().RampEnd().Seconds() {
				plateau = f.admin.meters
			}
		}
		live.Row(*p)
	})
	if time.Since(began) < f.Duration {
		stopProfiling() // profiles without load are useless
	}
	if report != nil && f.admin != nil {
		report.Tick = f.admin.ticks.newReport()
		report.Cost = costOf(plateau, f.admin.meters)
	}
	return report, errors.Join(err, profiled())
}

// startProfiles fetches profiles in the background from the end of the ramp until ctx ends. The
// returned function waits for them.
func (f *Flags) startProfiles(ctx context.Context) func() error {
	if f.Profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		ramp := f.botConfig().RampEnd()
		select {
		case <-ctx.Done():
			done <- nil // interrupted before the plateau
		case <-time.After(ramp):
			err := f.admin.saveProfiles(ctx, f.Profile, f.Duration-ramp)
			if ctx.Err() != nil {
				err = nil // interrupted
			}
			done <- err
		}
	}()
	return func() error { return <-done }
}

// writeReport prints the result. With --json, the summary goes to standard error.
func (f *Flags) writeReport(report *botrun.Report, stdout, stderr io.Writer) error {
	summary := stdout
	if f.JSON {
		summary = stderr
	}
	if _, err := fmt.Fprintln(summary); err != nil {
		return err
	}
	if err := report.WriteSummary(summary, commandline.IsTerminal(summary), f.thresholds...); err != nil {
		return err
	}
	if f.HTML != "" {
		fmt.Fprintf(summary, "\n  page       %s\n", f.HTML)
	}
	if f.JSON {
		return printable.WriteJSON(stdout, report, "")
	}
	return nil
}
