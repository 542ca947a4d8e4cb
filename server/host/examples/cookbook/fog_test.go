package cookbook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

const sight = 20 // metres

// Unit marks an entity that a player commands. A player has several.
type Unit struct{ Team uint8 }

// fogGame hides from each team all that no unit of the team sees.
type fogGame struct {
	world *world.World
	units *world.Component[Unit]
	unit  world.KindID
	seen  [2]bulk.Bitset // slots, by team
}

// see is a system: it fills the sets that the filters of sessions read.
func (g *fogGame) see(w *world.World) {
	for team := range g.seen {
		g.seen[team].Reset()
	}
	for e, unit := range g.units.All() {
		at, _ := w.Position(e)
		for other := range w.Within(at, sight) {
			g.seen[unit.Team].Set(other.Index())
		}
	}
}

// show lets a session see what its team sees, at any distance, and nothing else. Join calls it, and
// RestoreSession: filters do not survive a crash.
func (g *fogGame) show(s *server.Session, team uint8) {
	seen := []bulk.BitsetView{g.seen[team].View()}
	s.SetFilter(replication.Filter{Only: seen, Also: seen})
	s.SetValue(team)
}

func newFog(t *testing.T) (*fogGame, server.WorldConfig) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	g := &fogGame{
		world: w, units: host.Must(world.Register[Unit](w, "unit")),
		unit: host.Must(w.AddKind(world.Kind{Name: "unit", Body: &world.BodyDef{Kinematic: true}})),
	}
	require.NoError(t, w.AddSystem(world.After, "see", g.see))
	return g, server.WorldConfig{World: w, Schema: schema.NewWithBody(), Hooks: server.Hooks{
		Join: func(s *server.Session) (world.Entity, error) {
			g.show(s, uint8(s.ID()%2))
			return 0, nil
		},
		SaveSession: func(s *server.Session, b []byte) []byte { return append(b, s.Value().(uint8)) },
		RestoreSession: func(s *server.Session, saved []byte) error {
			g.show(s, saved[0])
			return nil
		},
	}}
}

func (g *fogGame) spawn(team uint8, x float32) world.Entity {
	e := host.Must(g.world.Spawn(g.unit, world.Vec3{X: x}, world.Vec3{}))
	g.units.Set(e, Unit{team})
	return e
}

// A team sees its units wherever they are, and an enemy once one of them sees it.
func TestFogOfWar(t *testing.T) {
	g, c := newFog(t)
	own, scout, enemy := g.spawn(1, 0), g.spawn(1, 300), g.spawn(0, 340)
	r, players := newRig(t, c, "ann")
	ann := players[0]
	require.Equal(t, []wire.Verdict{wire.Live, wire.Live, wire.Pending}, []wire.Verdict{ann.Resolve(own), ann.Resolve(scout), ann.Resolve(enemy)})
	g.world.SetPosition(scout, world.Vec3{X: 330})
	require.NoError(t, r.RunFor(time.Second))
	require.Equal(t, wire.Live, ann.Resolve(enemy))
	g.world.Destroy(scout)
	require.NoError(t, r.RunFor(time.Second))
	require.Equal(t, []wire.Verdict{wire.Stale, wire.Hidden}, []wire.Verdict{ann.Resolve(scout), ann.Resolve(enemy)})
}
