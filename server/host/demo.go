package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/botrun/page"
	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/printable"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
)

// demoCommand runs a server in this process and bots in a child process.
type demoCommand struct {
	worldFlags
	nodesFlags

	Config commandline.ConfigFile `type:"path" placeholder:"FILE" help:"JSON file with values of these flags by name, as {\"bots\": 5}. The command line and the environment override it."`

	Bots     int           `default:"50" help:"Number of bots, at most the player limit of the world, or of each room."`
	Duration time.Duration `placeholder:"TIME" help:"Duration of the run from the first dial (default 60s; on a terminal until Ctrl-C)."`
	Seed     *uint64       `placeholder:"N" help:"Seed of the world and the bots (default: the world's own)."`
	HTML     string        `name:"html" placeholder:"FILE" help:"Write a page with plots."`
	JSON     bool          `name:"json" help:"Print exactly one JSON object on standard output; the rest goes to standard error."`
}

// Validate is called by kong.
func (c *demoCommand) Validate() error {
	switch {
	case c.Bots < 1:
		return fmt.Errorf("--bots is %d, want at least 1", c.Bots)
	case c.Duration < 0:
		return fmt.Errorf("--duration is %v, want more than 0", c.Duration)
	case c.Nodes > 0 && c.HTML != "":
		return errors.New("--html and --nodes exclude each other: the page has the figures of one server")
	}
	return c.nodesFlags.checkFlags()
}

const (
	demoDuration = time.Minute
	longestDemo  = 24 * time.Hour // of a demo that somebody watches
)

// setDuration sets the duration if no flag does, and returns it as text.
func (c *demoCommand) setDuration(talk io.Writer) string {
	switch {
	case c.Duration > 0:
	case commandline.IsTerminal(talk):
		c.Duration = longestDemo
		return "until Ctrl-C"
	default:
		c.Duration = demoDuration
	}
	return fmt.Sprintf("for %v", c.Duration)
}

// run returns nil if every bot connected, none failed, no handle was confused and no body
// that bots computed differed from the server's.
func (c *demoCommand) run(ctx context.Context, p *program) error {
	outliveReaders()
	if c.Nodes > 0 {
		return c.runNodes(ctx, p)
	}
	hosted, err := c.hostDemo(p)
	if err != nil {
		return err
	}
	html, err := page.Create(c.HTML)
	if err != nil {
		return err
	}
	defer html.Discard()
	config := hosted.config
	config.Listen, config.Log = "127.0.0.1:0", newLog(p.err, zapcore.WarnLevel)
	defer func() { _ = config.Log.Sync() }()
	config.Web, config.AdminListen = &server.WebConfig{}, "127.0.0.1:0"
	s, err := server.Listen(config)
	if err != nil {
		return err
	}
	hosted.attach(s.Room())
	talk := p.out
	if c.JSON {
		talk = p.err
	}
	began := time.Now()
	fmt.Fprintf(talk, "%s demo: %s, %s %s over QUIC on %v\n", p.Name, printable.Text(hosted.title), countOf(c.Bots, "bot", "bots"), c.setDuration(talk), s.Addr())
	fmt.Fprintf(talk, "watch and play it in a browser: http://%v/live?demo\n\n", s.AdminAddr())
	report, err := c.playBots(ctx, p, s, hosted, botrun.NewLive(talk, true))
	if err != nil {
		return err
	}
	// Bots count the rejections that they receive, but an answer may be lost at the end.
	confusions, recorded := hosted.confused()
	report.Handles.Confusions = max(report.Handles.Confusions, confusions)
	report.Confusions = append(report.Confusions, recorded...)
	report.Machine = botrun.Machine()
	unwritten := html.Finish(report, page.About{Addr: s.Addr().String(), Began: began})
	failed := c.writeResult(report, talk, p.out)
	return cmp.Or(unwritten, failed) // failed has been printed, unwritten has not
}

// hostDemo makes the world to play in, or the rooms.
func (c *demoCommand) hostDemo(p *program) (*hosting, error) {
	o := Options{World: c.worldName(), Seed: c.Seed, Demo: true}
	if p.Rooms != nil {
		if err := c.checkFits(p, o); err != nil {
			return nil, err
		}
		rooms, _ := p.hostRooms(o, func(*server.WorldConfig) {}, recordFlags{}, zap.NewNop())
		rooms.config.Rooms.MaxSessions = max(c.Bots, session.DefaultMaxSessions)
		return rooms, nil
	}
	g, err := p.buildInstance(o)
	if err != nil {
		return nil, err
	}
	return p.hostInstance(g), g.checkPlayers("--bots", c.Bots)
}

// checkFits returns an error if the game lacks a room of the bots, or a room takes fewer of
// them.
func (c *demoCommand) checkFits(p *program, o Options) error {
	if c.roomName() == "" {
		return usageError("--room is missing: this game has no default room")
	}
	bots, limits := map[string]int{}, map[string]int{} // by room, by kind
	for n := range c.Bots {
		name, err := botrun.Config{Room: c.roomName()}.RoomOf(n)
		if err != nil {
			return usageError("--room: %w", err)
		}
		if o.Room, err = p.anyRoom(name); err != nil {
			return err
		}
		k := p.Rooms.Kinds[o.Room.Kind]
		most, made := limits[o.Room.Kind]
		if !made {
			g, err := p.buildInstance(o)
			if err != nil {
				return err
			}
			g.World.Close()
			most = cmp.Or(k.MaxSessions, g.MaxSessions, session.DefaultMaxSessions)
			limits[o.Room.Kind] = most
		}
		bots[name]++
		if bots[name] > most {
			return usageError("--bots is %d, but room %s takes %s: want fewer, or more rooms, as by --room '%s/{n/%d}'", c.Bots, name, countOf(most, "player", "players"), o.Room.Kind, most)
		}
	}
	return nil
}

// playBots runs the server while the bots play and merges both reports.
func (c *demoCommand) playBots(ctx context.Context, p *program, s *server.Server, h *hosting, live *botrun.Live) (*botrun.Report, error) {
	serving, stop := context.WithCancel(context.Background()) // the server outlives the bots, even after Ctrl-C
	defer stop()
	if err := p.attachServer(serving, s); err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(serving) }()
	child := &botsCommand{
		Addr: s.Addr().String(), Fingerprint: s.Fingerprint(), Bots: c.Bots, Duration: c.Duration, Seed: Options{Seed: c.Seed}.SeedOr(h.seed), Area: h.areaMetres, Room: c.roomName(),
	}
	before := s.Report()
	var series []botrun.Progress
	report, err := runChild(ctx, child, p.err, func(p botrun.Progress) {
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

// writeResult prints the result and returns ErrFailed if it is bad.
func (c *demoCommand) writeResult(report *botrun.Report, talk, stdout io.Writer) error {
	fmt.Fprintln(talk)
	if err := report.WriteSummary(talk, commandline.IsTerminal(talk)); err != nil {
		return err
	}
	if c.JSON {
		if err := printable.WriteJSON(stdout, report, ""); err != nil {
			return err
		}
	}
	if !report.Passed() {
		return ErrFailed
	}
	return nil
}
