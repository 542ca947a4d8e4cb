package cookbook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/loadtest/rig"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/host"
	"github.com/worldd/worldd/world"
)

var shop = schema.NewWithBody()

var (
	items       = schema.Define[Item](shop, "item")
	inventories = schema.Define[Inventory](shop, "inventory")
	taking      = schema.DefineCommand[Take](shop, "take")
	dropping    = schema.DefineCommand[Drop](shop, "drop")
)

// Item is on each thing that lies about.
type Item struct {
	Kind uint8 `net:"enum=4"`
}

// Inventory is on each avatar, and only its player receives it. It holds kinds, no handles: a thing that
// somebody carries is no entity.
type Inventory struct {
	Items [8]uint8 `net:"enum=4,owner"` // 0: free
}

type (
	Take struct{} // the target of the command
	Drop struct{ Slot uint8 }
)

type shopGame struct {
	world       *world.World
	items       *world.Component[Item]
	inventories *world.Component[Inventory]
	thing       world.KindID
}

// take moves a thing into the inventory of a player who stands beside it.
func (g *shopGame) take(s *server.Session, thing world.Entity, _ Take) error {
	item, inventory := g.items.Get(thing), g.inventories.Mut(s.Entity())
	here, _ := g.world.Position(s.Entity())
	there, _ := g.world.Position(thing)
	if item == nil || there.Sub(here).Len() > 2 {
		return &server.Rejection{Text: "out of reach"}
	}
	for i, kind := range inventory.Items {
		if kind == 0 {
			inventory.Items[i] = item.Kind
			g.world.Destroy(thing)
			return nil
		}
	}
	return &server.Rejection{Text: "your hands are full"}
}

// drop puts a thing on the ground. Nothing changes if the world is full.
func (g *shopGame) drop(s *server.Session, _ world.Entity, d Drop) error {
	inventory := g.inventories.Mut(s.Entity())
	if int(d.Slot) >= len(inventory.Items) || inventory.Items[d.Slot] == 0 {
		return &server.Rejection{Text: "there is nothing to drop"}
	}
	here, _ := g.world.Position(s.Entity())
	thing, err := g.world.Spawn(g.thing, here, world.Vec3{})
	if err != nil {
		return err
	}
	g.items.Set(thing, Item{inventory.Items[d.Slot]})
	inventory.Items[d.Slot] = 0
	return nil
}

func newShop(t *testing.T) (*shopGame, server.WorldConfig) {
	w, err := world.New(world.Config{Seed: 1})
	require.NoError(t, err)
	avatar := host.Must(w.AddKind(world.Kind{Name: "avatar", Body: &world.BodyDef{Kinematic: true}}))
	g := &shopGame{
		world: w, items: host.Must(server.Register(w, items)), inventories: host.Must(server.Register(w, inventories, avatar)),
		thing: host.Must(w.AddKind(world.Kind{Name: "thing", Body: &world.BodyDef{Kinematic: true}})),
	}
	return g, server.WorldConfig{World: w, Schema: shop, Hooks: server.Hooks{
		Join:     func(*server.Session) (world.Entity, error) { return w.Spawn(avatar, world.Vec3{}, world.Vec3{}) },
		Leave:    func(s *server.Session) { w.Destroy(s.Entity()) },
		Commands: []server.Command{server.OnCommand(taking, g.take), server.OnCommand(dropping, g.drop)},
	}}
}

// Of two players who take a thing at once, one gets it. The other does not see what the first has.
func TestInventory(t *testing.T) {
	g, c := newShop(t)
	potion := host.Must(g.world.Spawn(g.thing, world.Vec3{X: 1}, world.Vec3{}))
	g.items.Set(potion, Item{3})
	far := host.Must(g.world.Spawn(g.thing, world.Vec3{X: 9}, world.Vec3{}))
	g.items.Set(far, Item{2})
	r, players := newRig(t, c, "ann", "bob")
	ann, bob := players[0], players[1]

	first := host.Must(client.Do(ann, taking, potion, Take{}))
	second := host.Must(client.Do(bob, taking, potion, Take{}))
	require.NoError(t, r.RunFor(time.Second))
	require.NoError(t, answer(first))
	require.Error(t, answer(second), "it is gone")
	carried := func(viewer *rig.Client) Inventory {
		v, _ := client.Of(inventories).Get(viewer.Replica().Entity(ann.Controlled()))
		return v
	}
	require.EqualValues(t, 3, carried(ann).Items[0])
	require.Zero(t, carried(bob))

	reached := host.Must(client.Do(bob, taking, far, Take{}))
	empty := host.Must(client.Do(bob, dropping, 0, Drop{7}))
	dropped := host.Must(client.Do(ann, dropping, 0, Drop{0}))
	require.NoError(t, r.RunFor(time.Second))
	require.ErrorContains(t, answer(reached), "out of reach")
	require.ErrorContains(t, answer(empty), "nothing to drop")
	require.NoError(t, answer(dropped))
	require.Zero(t, carried(ann))
	require.Equal(t, 2, g.items.Presence().Count())
}

// answer returns the server's answer, which has come.
func answer(f *client.Future) error {
	r, _ := f.Poll()
	return r.Err
}
