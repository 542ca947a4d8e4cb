package session_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// teamServer is a core with visibility rules, and clients over bad links. Every entity and
// player belongs to one of two sides; only its own side sees a cloaked entity.
type teamServer struct {
	t       testing.TB
	rng     *rand.Rand
	core    *session.Core
	world   *world.World
	crate   world.KindID
	cloak   [2]*world.Component[cloak] // by side
	secret  *world.Component[secret]
	beacon  *world.Component[beacon]
	clients []*teamClient
	crowd   []bulk.Handle
	owner   map[bulk.Handle]*teamClient
}

type (
	cloak  struct{}
	secret struct{}
	beacon struct{}
)

// teamClient is a client of a teamServer, with the entities that it received.
type teamClient struct {
	stage.Linked
	server  *teamServer
	side    int
	peer    *session.Peer
	shown   map[bulk.Handle]bool        // entities that ever entered
	reasons map[bulk.Handle]wire.Reason // reasons of the last Leave
}

func newTeamServer(t testing.TB, seed uint64) *teamServer {
	w := must.Get(world.New(world.Config{Seed: seed, Gravity: -1}))
	c := &teamServer{
		t: t, rng: rand.New(rand.NewPCG(seed, 9)), owner: map[bulk.Handle]*teamClient{}, world: w,
		cloak: [2]*world.Component[cloak]{
			must.Get(world.Register[cloak](w, "cloaked by red")), must.Get(world.Register[cloak](w, "cloaked by blue")),
		},
		secret: must.Get(world.Register[secret](w, "secret")), beacon: must.Get(world.Register[beacon](w, "beacon")),
		crate: must.Get(w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}})),
	}
	c.core = must.Get(session.NewCore(session.Config{
		Random: stage.Random(1),
		WorldConfig: session.WorldConfig{
			World: w, Schema: schema.NewWithBody(), Epoch: testEpoch,
			Replication: replication.Config{EnterRadius: 30, LeaveRadius: 40, Always: c.beacon.Presence(), Private: c.secret.Presence()},
			Hooks:       session.Hooks{Join: c.join, Leave: func(s *session.Session) { w.Destroy(s.Entity()) }},
		},
	}))
	links := simtest.Conditions{Loss: 0.2, Duplicate: 0.05, Reorder: 0.1, DelayMin: 20, DelayMax: 120, ReorderExtra: 50}
	for i := range 4 {
		g := &teamClient{server: c, side: i % 2, shown: map[bulk.Handle]bool{}, reasons: map[bulk.Handle]wire.Reason{}}
		g.Linked = stage.Linked{
			Connection: simtest.NewConnection(c.rng.Uint64(), links), Unit: time.Millisecond,
			Client: must.Get(client.NewSession(client.SessionConfig{
				Schema: schema.NewWithBody(), Epoch: testEpoch, Name: []string{"red", "blue"}[i%2], Observer: client.Observer{Enter: g.entered, Leave: g.left},
			})),
			OnClose: func(code wire.Code, detail string) { require.Fail(t, "closed", "%v: %s", code, detail) },
		}
		c.clients = append(c.clients, g)
		g.peer = c.core.Open(context.Background(), "", g)
		g.Peer = g.peer
	}
	return c
}

// join hides the other side's cloaked entities from the player.
func (c *teamServer) join(s *session.Session) (world.Entity, error) {
	foe := 0
	if s.Name() == "red" {
		foe = 1
	}
	s.SetFilter(replication.Filter{Not: []bulk.BitsetView{c.cloak[foe].Presence()}})
	return c.spawn(), nil
}

func (c *teamServer) spawn() bulk.Handle {
	h := must.Get(c.world.Spawn(c.crate, c.anywhere(), world.Vec3{}))
	c.crowd = append(c.crowd, h)
	return h
}

func (c *teamServer) anywhere() world.Vec3 {
	return world.Vec3{X: (2*c.rng.Float32() - 1) * 60, Y: 1, Z: (2*c.rng.Float32() - 1) * 60}
}

func (g *teamClient) entered(e *client.Entity) {
	h := e.Handle()
	c := g.server
	if owner, secret := c.owner[h]; secret {
		require.Same(c.t, owner, g, "%v is another player's secret", h)
	}
	g.shown[h] = true
	delete(g.reasons, h)
}

func (g *teamClient) left(h bulk.Handle, why wire.Reason) {
	require.Equal(g.server.t, wire.Hidden, g.Client.Resolve(h))
	g.reasons[h] = why
}

// step runs one tick of the server and its clients.
func (c *teamServer) step() {
	for _, g := range c.clients {
		g.Now += 1000 / 60
		require.NoError(c.t, g.Serve())
	}
	c.core.Tick()
	for _, g := range c.clients {
		require.NoError(c.t, g.Play())
	}
}

func (c *teamServer) steps(n int) {
	for range n {
		c.step()
	}
}

// stir moves entities and changes rules. A secret entity is secret from its first tick to
// its last: no unauthorised client may ever see it.
func (c *teamServer) stir() {
	h := c.crowd[c.rng.IntN(len(c.crowd))]
	if c.world.Status(h) != bulk.Live {
		return
	}
	switch c.rng.IntN(9) {
	case 0, 1:
		secret, g := c.spawn(), c.clients[c.rng.IntN(len(c.clients))]
		if c.rng.IntN(3) == 0 {
			c.secret.Set(secret, struct{}{})
			c.owner[secret] = g
			g.peer.Session().Own(secret)
		}
	case 2, 3:
		if side := c.cloak[c.rng.IntN(2)]; side.Presence().Has(h.Index()) {
			side.Remove(h)
		} else {
			side.Set(h, cloak{})
		}
	case 4:
		if c.beacon.Presence().Has(h.Index()) {
			c.beacon.Remove(h)
		} else {
			c.beacon.Set(h, beacon{})
		}
	case 5, 6:
		c.world.SetPosition(h, c.anywhere())
	case 7:
		for _, g := range c.clients {
			if g.peer.Session().Entity() == h {
				return
			}
		}
		c.world.Destroy(h)
	case 8:
		if !c.secret.Presence().Has(h.Index()) { // no other player may ever have received h
			c.clients[c.rng.IntN(len(c.clients))].peer.Session().Control(h)
		}
	}
}

// visible reports whether g should see h, and whether a rule hides h. h is at rest. sure is
// false between the two radii.
func (c *teamServer) visible(g *teamClient, h bulk.Handle) (show, forbidden, sure bool) {
	if h == g.peer.Session().Entity() || c.owner[h] == g {
		return true, false, true
	}
	if c.secret.Presence().Has(h.Index()) || c.cloak[1-g.side].Presence().Has(h.Index()) {
		return false, true, true
	}
	if c.beacon.Presence().Has(h.Index()) {
		return true, false, true
	}
	at, _ := c.world.Position(h)
	center, _ := c.world.Position(g.peer.Session().Entity())
	distance := at.Sub(center).Len()
	return distance <= 30, false, distance <= 30 || distance > 40
}

// TestRulesEndToEnd changes rules over bad links, and checks every client's verdicts once
// the world is quiet.
func TestRulesEndToEnd(t *testing.T) {
	seeds := shorttest.Pick[uint64](8, 2)
	hidden := map[wire.Reason]int{}
	for seed := range seeds {
		c := newTeamServer(t, seed)
		for range 60 {
			c.spawn()
		}
		c.steps(60)
		for range 300 {
			c.stir()
			c.step()
		}
		c.steps(240)
		for _, g := range c.clients {
			require.Equal(t, g.peer.Session().Entity(), g.Client.Controlled())
			for _, h := range c.crowd {
				g.judge(h)
			}
			for _, why := range g.reasons {
				hidden[why]++
			}
		}
	}
	require.NotZero(t, hidden[wire.HiddenByRule], "an entity was hidden by a rule")
	require.NotZero(t, hidden[wire.LeftInterest], "an entity left the radius")
}

// judge compares the client's verdict on h with the expected one.
func (g *teamClient) judge(h bulk.Handle) {
	c := g.server
	got := g.Client.Resolve(h)
	show, forbidden, sure := c.visible(g, h)
	switch {
	case c.world.Status(h) == bulk.Stale && g.shown[h]:
		require.Equal(c.t, wire.Stale, got, "%v died", h)
	case c.world.Status(h) == bulk.Stale:
		require.Contains(c.t, []wire.Verdict{wire.Pending, wire.Stale}, got, "%v died unseen; an earlier tenant of its slot may have been seen", h)
	case sure && show:
		require.Equal(c.t, wire.Live, got, "%v should be in view", h)
	case !g.shown[h]:
		require.Equal(c.t, wire.Pending, got, "%v was never seen", h)
	case forbidden:
		require.Equal(c.t, wire.Hidden, got, "%v is cloaked", h)
		require.Contains(c.t, g.reasons, h)
	case sure:
		require.Equal(c.t, wire.Hidden, got, "%v is far away", h)
	default:
		require.Contains(c.t, []wire.Verdict{wire.Live, wire.Hidden}, got, "%v is between the radii", h)
	}
	require.Equal(c.t, got == wire.Live, g.peer.Session().Resolve(h) == wire.Live, "%v: both ends agree", h)
}

// A player cannot target an entity that a rule hides from it.
func TestHiddenIsNoTarget(t *testing.T) {
	c := newTeamServer(t, 1)
	c.steps(60)
	g := c.clients[0]
	h := c.spawn()
	at, _ := c.world.Position(g.peer.Session().Entity())
	c.world.SetPosition(h, at)
	c.secret.Set(h, secret{})
	c.steps(60)
	require.Equal(t, wire.Pending, g.peer.Session().Resolve(h), "H2: probing for a secret reveals nothing")
	c.owner[h] = g
	g.peer.Session().Own(h)
	c.steps(60)
	require.Equal(t, wire.Live, g.peer.Session().Resolve(h))
	g.peer.Session().Disown(h)
	c.steps(60)
	require.Equal(t, wire.Hidden, g.peer.Session().Resolve(h))
	require.Equal(t, wire.HiddenByRule, g.reasons[h])
}
