package session_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
	"github.com/worldd/worldd/world"
)

// court is a world with visibility rules, and clients over bad links. Every entity and
// player belongs to one of two sides; only its own side sees a cloaked entity.
type court struct {
	t       testing.TB
	rng     *rand.Rand
	now     int64
	core    *session.Core
	world   *world.World
	crate   world.KindID
	cloak   [2]*world.Component[cloak] // by side
	secret  *world.Component[secret]
	beacon  *world.Component[beacon]
	players []*player
	crowd   []bulk.Handle
	owner   map[bulk.Handle]*player
}

type (
	cloak  struct{}
	secret struct{}
	beacon struct{}
)

// player is a client of the court, and what it received.
type player struct {
	court    *court
	side     int
	session  *client.Session
	server   *session.Peer
	up, down *simtest.Stream
	inputs   *simtest.Link
	states   *simtest.Link
	stamp    uint32
	shown    map[bulk.Handle]bool        // ever
	reasons  map[bulk.Handle]wire.Reason // of the last leave
}

func newCourt(t testing.TB, seed uint64) *court {
	c := &court{t: t, rng: rand.New(rand.NewPCG(seed, 9)), owner: map[bulk.Handle]*player{}}
	w, err := world.New(world.Config{Seed: seed, Gravity: -1})
	require.NoError(t, err)
	c.world = w
	c.cloak[0], err = world.Register[cloak](w, "cloaked by red")
	require.NoError(t, err)
	c.cloak[1], err = world.Register[cloak](w, "cloaked by blue")
	require.NoError(t, err)
	c.secret, err = world.Register[secret](w, "secret")
	require.NoError(t, err)
	c.beacon, err = world.Register[beacon](w, "beacon")
	require.NoError(t, err)
	c.crate, err = w.AddKind(world.Kind{Name: "crate", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}})
	require.NoError(t, err)
	schema := testSchema(t)
	c.core, err = session.NewCore(session.Config{
		Random: rand.NewChaCha8([32]byte{1}),
		WorldConfig: session.WorldConfig{
			World: w, Schema: schema, Epoch: testEpoch,
			Replication: replication.Config{EnterRadius: 30, LeaveRadius: 40, Always: c.beacon.Presence(), Private: c.secret.Presence()},
			Hooks:       session.Hooks{Join: c.join, Leave: func(s *session.Session) { w.Destroy(s.Entity()) }},
		},
	})
	require.NoError(t, err)
	links := simtest.Conditions{Loss: 0.2, Duplicate: 0.05, Reorder: 0.1, DelayMin: 20, DelayMax: 120, ReorderExtra: 50}
	for i := range 4 {
		g := &player{
			court: c, side: i % 2, shown: map[bulk.Handle]bool{}, reasons: map[bulk.Handle]wire.Reason{},
			up: simtest.NewStream(c.rng.Uint64(), links), down: simtest.NewStream(c.rng.Uint64(), links),
			inputs: simtest.NewLink(c.rng.Uint64(), links), states: simtest.NewLink(c.rng.Uint64(), links),
		}
		g.session, err = client.NewSession(client.SessionConfig{
			Schema: schema, Epoch: testEpoch, Name: []string{"red", "blue"}[i%2], Observer: client.Observer{Enter: g.entered, Leave: g.left},
		})
		require.NoError(t, err)
		c.players = append(c.players, g)
		g.server = c.core.Open(context.Background(), "", g)
	}
	return c
}

// join hides the other side's cloaked entities from the player.
func (c *court) join(s *session.Session) (world.Entity, error) {
	foe := 0
	if s.Name() == "red" {
		foe = 1
	}
	s.SetFilter(replication.Filter{Not: []bulk.BitsetView{c.cloak[foe].Presence()}})
	return c.spawn(), nil
}

func (c *court) spawn() bulk.Handle {
	h, err := c.world.Spawn(c.crate, c.anywhere(), world.Vec3{})
	require.NoError(c.t, err)
	c.crowd = append(c.crowd, h)
	return h
}

func (c *court) anywhere() world.Vec3 {
	return world.Vec3{X: (2*c.rng.Float32() - 1) * 60, Y: 1, Z: (2*c.rng.Float32() - 1) * 60}
}

func (g *player) SendStream(p []byte) bool { g.down.Send(g.court.now, p); return true }

func (*player) HasUnsent() bool { return false }

func (g *player) SendSnapshot(ds [][]byte) {
	for _, d := range ds {
		d = slices.Clone(d)
		wire.StampState(d, g.stamp, 0)
		g.states.Send(g.court.now, d)
	}
}

func (g *player) Close(code wire.Code, detail string) {
	require.Fail(g.court.t, "closed", "%v: %s", code, detail)
}

func (g *player) entered(e *client.Entity) {
	h := e.Handle()
	c := g.court
	if owner, secret := c.owner[h]; secret {
		require.Same(c.t, owner, g, "%v is another player's secret", h)
	}
	g.shown[h] = true
	delete(g.reasons, h)
}

func (g *player) left(h bulk.Handle, why wire.Reason) {
	require.Equal(g.court.t, wire.Hidden, g.session.Resolve(h))
	g.reasons[h] = why
}

// step is one tick of the server and its clients.
func (c *court) step() {
	c.now += 1000 / 60
	for _, g := range c.players {
		if p := g.up.Receive(c.now); len(p) > 0 {
			require.NoError(c.t, g.server.ReceiveStream(p))
		}
		for _, d := range g.inputs.Receive(c.now) {
			stamp, err := g.server.ReceiveDatagram(d)
			require.NoError(c.t, err)
			g.stamp = stamp
		}
	}
	c.core.Tick()
	for _, g := range c.players {
		at := time.Duration(c.now) * time.Millisecond
		if p := g.down.Receive(c.now); len(p) > 0 {
			require.NoError(c.t, g.session.ReceiveStream(p))
		}
		for _, d := range g.states.Receive(c.now) {
			_, err := g.session.ReceiveDatagram(d, at)
			require.NoError(c.t, err)
		}
		if d := g.session.Input(at); d != nil {
			g.inputs.Send(c.now, d)
		}
		if p := g.session.TakeStream(); p != nil {
			g.up.Send(c.now, p)
		}
	}
}

// stir moves entities and changes rules. A secret entity is secret from its first tick to
// its last, so that no unauthorised client may ever have seen it.
func (c *court) stir() {
	h := c.crowd[c.rng.IntN(len(c.crowd))]
	if c.world.Status(h) != bulk.Live {
		return
	}
	switch c.rng.IntN(9) {
	case 0, 1:
		secret, g := c.spawn(), c.players[c.rng.IntN(len(c.players))]
		if c.rng.IntN(3) == 0 {
			c.secret.Set(secret, struct{}{})
			c.owner[secret] = g
			g.server.Session().Own(secret)
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
		for _, g := range c.players {
			if g.server.Session().Entity() == h {
				return
			}
		}
		c.world.Destroy(h)
	case 8:
		if !c.secret.Presence().Has(h.Index()) { // no other player may ever have received it
			c.players[c.rng.IntN(len(c.players))].server.Session().Control(h)
		}
	}
}

// visible reports whether g should see h, which is at rest, and whether a rule forbids it.
// sure is false between the two radii.
func (c *court) visible(g *player, h bulk.Handle) (show, forbidden, sure bool) {
	if h == g.server.Session().Entity() || c.owner[h] == g {
		return true, false, true
	}
	if c.secret.Presence().Has(h.Index()) || c.cloak[1-g.side].Presence().Has(h.Index()) {
		return false, true, true
	}
	if c.beacon.Presence().Has(h.Index()) {
		return true, false, true
	}
	at, _ := c.world.Position(h)
	center, _ := c.world.Position(g.server.Session().Entity())
	distance := at.Sub(center).Len()
	return distance <= 30, false, distance <= 30 || distance > 40
}

// TestRulesEndToEnd changes rules over bad links, and checks every client's verdicts once
// the world is quiet.
func TestRulesEndToEnd(t *testing.T) {
	seeds := uint64(8)
	if testing.Short() {
		seeds = 2
	}
	hidden := map[wire.Reason]int{}
	for seed := range seeds {
		c := newCourt(t, seed)
		for range 60 {
			c.spawn()
		}
		for range 60 {
			c.step()
		}
		for range 300 {
			c.stir()
			c.step()
		}
		for range 240 {
			c.step()
		}
		for _, g := range c.players {
			require.Equal(t, g.server.Session().Entity(), g.session.Controlled())
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
func (g *player) judge(h bulk.Handle) {
	c := g.court
	got := g.session.Resolve(h)
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
	require.Equal(c.t, got == wire.Live, g.server.Session().Resolve(h) == wire.Live, "%v: both ends agree", h)
}

// A player cannot target an entity that a rule hides from it.
func TestHiddenIsNoTarget(t *testing.T) {
	c := newCourt(t, 1)
	for range 60 {
		c.step()
	}
	g := c.players[0]
	h := c.spawn()
	at, _ := c.world.Position(g.server.Session().Entity())
	c.world.SetPosition(h, at)
	c.secret.Set(h, secret{})
	for range 60 {
		c.step()
	}
	require.Equal(t, wire.Pending, g.server.Session().Resolve(h), "H2: probing for a secret reveals nothing")
	c.owner[h] = g
	g.server.Session().Own(h)
	for range 60 {
		c.step()
	}
	require.Equal(t, wire.Live, g.server.Session().Resolve(h))
	g.server.Session().Disown(h)
	for range 60 {
		c.step()
	}
	require.Equal(t, wire.Hidden, g.server.Session().Resolve(h))
	require.Equal(t, wire.HiddenByRule, g.reasons[h])
}
