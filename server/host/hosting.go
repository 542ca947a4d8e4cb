package host

import (
	"cmp"
	"context"
	"errors"
	"os"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/regularfile"
	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/session"
)

// hosting holds the subject of serve and demo: one Instance, or the rooms of a game.
type hosting struct {
	config     server.Config
	instance   *Instance // nil with rooms
	title      string
	seed       uint64
	areaMetres float64
	attach     func(*server.Room)
	confused   func() (uint64, []bot.Confusion)
	countRooms func() (all, onDemand int)
}

// hostInstance returns a hosting of one world.
func (p *program) hostInstance(g *Instance) *hosting {
	c := p.serverConfig()
	c.WorldConfig = g.WorldConfig
	return &hosting{config: c, instance: g, title: g.Title, seed: g.Seed, areaMetres: g.AreaMetres, attach: g.Attach, confused: g.Confused, countRooms: func() (int, int) { return 1, 0 }}
}

// serverConfig returns the Definition's settings for the process.
func (d *Definition) serverConfig() server.Config {
	return server.Config{
		Admit: d.Admit, OneSessionPerUser: d.OneSessionPerUser, PanicEnds: d.PanicEnds, GameName: d.Name, Versions: d.versions(),
		AdminRoutes: d.AdminRoutes, Collectors: d.Collectors, Trace: d.Trace,
	}
}

// attachServer gives the game the server, which it closes on an error.
func (d *Definition) attachServer(ctx context.Context, s *server.Server) error {
	if d.Attach == nil {
		return nil
	}
	if err := d.Attach(ctx, s); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// version returns Version with its default.
func (d *Definition) version() string { return cmp.Or(d.Version, buildVersion()) }

// versions returns Versions with its default.
func (d *Definition) versions() server.Versions {
	v := d.Versions
	if v.Game == "" && wire.CheckVersion(d.version()) == nil { // a module's may be too long
		v.Game = d.version()
	}
	return v
}

// hostConfigured makes the world to serve, or the rooms, configured by the flags.
func (c *serveCommand) hostConfigured(p *program, tables *replication.Tables, log *zap.Logger) (h *hosting, err error) {
	each := func(w *server.WorldConfig) {
		w.CommandsPerSecond = cmp.Or(c.CommandsPerSecond, w.CommandsPerSecond)
		w.CommandBurst = cmp.Or(c.CommandBurst, w.CommandBurst)
		w.Replication.Workers = max(c.Workers, w.Replication.Workers)
		w.Replication.Tables = tables
	}
	if p.Rooms != nil {
		h, err = c.hostRooms(p, each, log)
	} else {
		h, err = c.hostWorld(p, each)
	}
	if err != nil {
		return nil, err
	}
	h.config.MaxSessionsPerAddress = c.MaxSessionsPerAddress
	h.config.Versions.MinClient = cmp.Or(c.MinClient, h.config.Versions.MinClient)
	h.config.OneSessionPerUser = h.config.OneSessionPerUser || c.OneSessionPerUser
	return h, nil
}

// hostWorld makes the only world.
func (c *serveCommand) hostWorld(p *program, each func(*server.WorldConfig)) (*hosting, error) {
	g, err := p.buildInstance(Options{World: c.worldName()})
	if err != nil {
		return nil, err
	}
	if len(c.Cluster) > 0 {
		return nil, usageError("--cluster is set, but nodes share rooms, and this game has one world")
	}
	if c.Rooms != 0 {
		return nil, usageError("--rooms is set, but this game has one world")
	}
	if c.RecordRooms != 0 {
		return nil, usageError("--record-rooms is set, but this game has one world")
	}
	if c.roomImageFlags != (roomImageFlags{}) {
		return nil, usageError("--image-rooms, --image-mb or --image-prune-after is set, but this game has one world")
	}
	if err := regularfile.CheckCreate(c.Record); errors.Is(err, regularfile.ErrNotRegular) {
		return nil, err
	}
	if err := g.checkPlayers("--max-sessions", c.MaxSessions); err != nil {
		return nil, err
	}
	each(&g.WorldConfig)
	g.MaxSessions = cmp.Or(c.MaxSessions, g.MaxSessions)
	return p.hostInstance(g), nil
}

// hostRooms makes the rooms.
func (c *serveCommand) hostRooms(p *program, each func(*server.WorldConfig), log *zap.Logger) (*hosting, error) {
	if _, err := p.anyRoom(c.roomName()); err != nil {
		return nil, err
	}
	h, _ := p.hostRooms(Options{World: c.worldName()}, each, c.recordFlags, log)
	return h, c.configureRooms(h.config.Rooms)
}

// configureRooms configures the rooms by the flags, and makes the folders of images and recordings.
func (c *serveCommand) configureRooms(r *server.RoomsConfig) error {
	r.MaxRooms, r.MaxSessions, r.Default = cmp.Or(c.Rooms, r.MaxRooms), cmp.Or(c.MaxSessions, r.MaxSessions), c.roomName()
	older, err := c.roomGenerations()
	if err != nil {
		return err
	}
	r.Images = server.RoomImages{Dir: c.Image, Every: c.ImageEvery, Keep: c.ImageKeep, Journal: c.journalMode(), Older: older, Strict: c.ImageStrict}
	c.roomImageFlags.applyTo(r)
	if err := c.clusterFlags.applyTo(r); err != nil {
		return err
	}
	if c.Record != "" {
		r.FilesPerRoom++
	}
	if c.Image != "" {
		if err := os.MkdirAll(c.Image, 0o755); err != nil {
			return usageError("--image must name a folder, since this game has rooms: %w", err)
		}
	}
	if info, err := os.Stat(c.Record); err == nil && !info.IsDir() {
		return usageError("--record must name a folder, since this game has rooms, and %s is a file", c.Record)
	}
	return nil
}

// checkPlayers returns an error if the world takes fewer than n players.
func (g *Instance) checkPlayers(flag string, n int) error {
	most := cmp.Or(g.MaxSessions, session.DefaultMaxSessions)
	if n <= most {
		return nil
	}
	advice := ""
	if g.MorePlayers != "" {
		advice = ", or " + g.MorePlayers
	}
	return usageError("%s is %d, but %s takes %s: want fewer%s", flag, n, g.Title, countOf(most, "player", "players"), advice)
}
