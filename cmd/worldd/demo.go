package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/scenes"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/loadtest/page"
	"github.com/worldd/worldd/server"
)

// demoCommand runs the whole path: a server in this process, bots in a child process.
type demoCommand struct {
	Bots     int           `default:"50" help:"Number of bots, at most the world's player limit."`
	Duration time.Duration `default:"60s" help:"Duration of the run from the first dial."`
	World    string        `default:"storm" placeholder:"FILE" help:"World file, or name of an embedded world: storm, calm (${default})."`
	Seed     *uint64       `placeholder:"N" help:"Seed of the world and the bots (default: the world file's)."`
	HTML     string        `name:"html" placeholder:"FILE" help:"Write a page with plots."`
	JSON     bool          `name:"json" help:"Print exactly one JSON object on standard output; the rest goes to standard error."`
}

// Validate is called by kong.
func (c *demoCommand) Validate() error {
	switch {
	case c.Bots < 1:
		return fmt.Errorf("--bots is %d, want at least 1", c.Bots)
	case c.Duration <= 0:
		return fmt.Errorf("--duration is %v, want more than 0", c.Duration)
	}
	return nil
}

// Run returns nil if every bot connected, none failed, no handle was confused and no body
// that bots computed differed from the server's.
func (c *demoCommand) Run(ctx context.Context, std streams) error {
	file, err := loadWorld(c.World)
	if err != nil {
		return err
	}
	if most := file.Limits.MaxPlayers; c.Bots > most {
		return wrongUsage{fmt.Errorf("worldd: --bots is %d, but world %s takes %s (its limits.max_players): want fewer bots, or a --world file with a higher limit, at most %d",
			c.Bots, file.Name, count(most, "player"), scenes.MaxPlayers)}
	}
	if c.Seed != nil {
		file.Seed = *c.Seed
	}
	file.Limits.ViewAgeS = 0 // its bots do not shoot
	html, err := page.Create(c.HTML)
	if err != nil {
		return err
	}
	g, config, err := host(file)
	if err != nil {
		return err
	}
	config.Listen, config.Log = "127.0.0.1:0", newLog(std.err, zapcore.WarnLevel)
	config.Web, config.AdminListen = &server.WebConfig{}, "127.0.0.1:0"
	s, err := server.Listen(config)
	if err != nil {
		return err
	}
	g.Attach(s)
	talk := std.out
	if c.JSON {
		talk = std.err
	}
	began := time.Now()
	fmt.Fprintf(talk, "worldd demo: world %s, %s for %v over QUIC on %v\n", file.Name, count(c.Bots, "bot"), c.Duration, s.Addr())
	fmt.Fprintf(talk, "watch and play it in a browser: http://%v/live\n\n", s.AdminAddr())
	report, err := c.play(ctx, s, file, std.err, bot.NewLive(talk, true))
	if err != nil {
		return err
	}
	// Bots count the rejections they receive; an answer may be lost at the end.
	confusions, recorded := g.confused()
	report.Handles.Confusions = max(report.Handles.Confusions, confusions)
	report.Confusions = append(report.Confusions, recorded...)
	unwritten := page.Finish(html, report, page.About{Addr: s.Addr().String(), Began: began})
	return cmp.Or(c.conclude(report, talk, std.out), unwritten)
}

// play runs the server while the bots play and merges both reports.
func (c *demoCommand) play(ctx context.Context, s *server.Server, file *scenes.File, stderr io.Writer, live *bot.Live) (*bot.Report, error) {
	serving, stop := context.WithCancel(context.Background()) // the server outlives the bots, also after Ctrl-C
	defer stop()
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving) }()
	child := &botsCommand{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Bots: c.Bots, Duration: c.Duration, Seed: file.Seed, Area: areaOf(file),
	}
	before := s.Report()
	var series []bot.Progress
	report, err := runChild(ctx, child, stderr, func(p bot.Progress) {
		now := s.Report()
		p.Server = serverNow(before, now)
		before = now
		series = append(series, p)
		live.Row(p)
	})
	stop()
	if err := errors.Join(err, <-served); err != nil {
		return nil, err
	}
	last := s.Report()
	report.Tick, report.World, report.Series = tickOf(last), worldOf(last), series
	return report, nil
}

// conclude prints the result and returns errFailed if it is bad.
func (c *demoCommand) conclude(report *bot.Report, talk, stdout io.Writer) error {
	fmt.Fprintln(talk)
	if err := report.WriteSummary(talk, bot.IsTerminal(talk)); err != nil {
		return err
	}
	if c.JSON {
		if err := json.NewEncoder(stdout).Encode(report); err != nil {
			return err
		}
	}
	if !report.OK() {
		return errFailed
	}
	return nil
}

// areaOf returns how far from the centre bots roam: where players appear, and at least
// as far as they see, inside the world.
func areaOf(f *scenes.File) float64 {
	area := float64(f.Interest.EnterRadius)
	if r := f.Players.Region; r != nil {
		for _, i := range []int{0, 2} {
			area = max(area, math.Abs(float64(r.Min[i])), math.Abs(float64(r.Max[i])))
		}
	}
	return min(area, float64(f.Bounds[0]), float64(f.Bounds[2]))
}
