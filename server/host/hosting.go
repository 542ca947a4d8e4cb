package host

import (
	"cmp"
	"context"
	"errors"

	"github.com/worldd/worldd/loadtest/bot"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
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
