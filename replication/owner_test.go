package replication_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// purse has owner-only fields and a public one.
type purse struct {
	Rank   uint8       `net:"bits=6"`
	Coins  int32       `net:"bits=16,owner"`
	Friend bulk.Handle `net:"ref,owner"`
}

// purseWorld is a world of purses, with viewers of some of them.
type purseWorld struct {
	t       testing.TB
	world   *world.World
	schema  *schema.Schema
	purses  *world.Component[purse]
	rep     *replication.Replicator
	trader  world.KindID
	all     []bulk.Handle
	viewers []*viewerClient
}

// viewerClient is a viewer with its client.
type viewerClient struct {
	*replication.Viewer
	replica *appliedClient
	bytes   []byte // everything sent to it
}

func newPurseWorld(t testing.TB, n, viewers int) *purseWorld {
	skipWithoutWorkers(t, replication.Config{})
	m := &purseWorld{t: t, schema: schema.New()}
	m.world = must.Get(world.New(world.Config{Seed: 1, Gravity: -1}))
	m.purses = must.Get(world.Register[purse](m.world, "purse"))
	m.trader = must.Get(m.world.AddKind(world.Kind{Name: "trader", Body: &world.BodyDef{Mass: 1, Radius: 0.5, Kinematic: true}}))
	schema.Define[schema.Body](m.schema, schema.BodyComponent)
	schema.Define[purse](m.schema, "purse")
	require.NoError(t, m.schema.Err())
	m.rep = must.Get(replication.New(m.world, m.schema, replication.Config{EnterRadius: 100, BudgetBytesPerSecond: 6_000}))
	for i := range n {
		m.all = append(m.all, m.spawn(float32(i)))
	}
	for i := range viewers {
		m.viewers = append(m.viewers, &viewerClient{
			Viewer:  m.rep.AddViewer(m.all[i]),
			replica: newAppliedClient(m.t, m.rep, m.world.TickHz(), client.SessionConfig{}),
		})
	}
	return m
}

func (m *purseWorld) spawn(x float32) bulk.Handle {
	return must.Get(m.world.Spawn(m.trader, world.Vec3{X: x, Y: 1}, world.Vec3{}))
}

// step makes a snapshot for every viewer. Datagrams arrive if arrives returns true.
func (m *purseWorld) step(arrives func() bool) {
	for {
		m.world.Step()
		m.rep.AfterStep()
		if m.rep.Due(0) {
			break
		}
	}
	m.rep.Capture()
	for _, v := range m.viewers {
		u := v.Snapshot()
		v.bytes = append(v.bytes, u.Stream...)
		require.NoError(m.t, v.replica.session.ReceiveStream(u.Stream))
		arrive := arrives() // one decision per snapshot: the owner's snapshot may take more datagrams
		for _, d := range u.Datagrams {
			v.bytes = append(v.bytes, d...)
			if arrive {
				outcome := must.Get(v.replica.ApplyState(d))
				require.Contains(m.t, []client.Outcome{client.Applied, client.Duplicate}, outcome, "or a copy")
			}
		}
		require.NoError(m.t, v.Acknowledge(v.replica.Stats().Ack))
	}
}

// TestOwnerFieldsStayPrivate (R7): two worlds differ only in the values of owner-only
// fields and in how often these change. Viewers that own none of the entities are sent the
// same bytes, whatever the link loses.
func TestOwnerFieldsStayPrivate(t *testing.T) {
	const traders, viewers, owner = 40, 3, 2
	play := func(secret bool) *purseWorld {
		m := newPurseWorld(t, traders, viewers)
		hoard, friend := m.all[traders-1], m.spawn(500)
		m.viewers[owner].Own(hoard)
		r, hidden := rand.New(rand.NewPCG(7, 7)), rand.New(rand.NewPCG(8, 8))
		for range 400 {
			if r.IntN(20) == 0 {
				m.world.Destroy(friend)
				friend = m.spawn(500)
			}
			for i := range 3 {
				h := m.all[viewers+r.IntN(traders-viewers)]
				p := m.purses.Get(h)
				next := purse{Rank: uint8(r.IntN(64))}
				if p != nil {
					next.Coins, next.Friend = p.Coins, p.Friend
				}
				if r.IntN(4) != 0 {
					m.purses.Set(h, next)
				}
				if i == 0 && r.IntN(8) == 0 {
					m.world.SetPosition(h, world.Vec3{X: r.Float32() * 50, Y: 1, Z: r.Float32() * 50})
				}
				if r.IntN(40) == 0 {
					m.purses.Remove(h)
				}
			}
			for range 30 {
				h := m.all[viewers+hidden.IntN(traders-viewers)]
				if p := m.purses.Get(h); secret && p != nil {
					p := *p
					p.Coins = hidden.Int32N(30_000)
					if hidden.IntN(3) == 0 {
						p.Friend = friend // out of view, and dead before long
					}
					m.purses.Set(h, p)
				}
			}
			m.step(func() bool { return r.IntN(5) != 0 })
		}
		for range 40 { // until everything has arrived
			m.step(func() bool { return true })
		}
		return m
	}
	with, without := play(true), play(false)
	for i := range owner {
		require.Equal(t, without.viewers[i].bytes, with.viewers[i].bytes, "viewer %d owns none of them", i)
	}
	require.NotEqual(t, without.viewers[owner].bytes, with.viewers[owner].bytes)
	c := must.Get(client.ComponentOf[purse](with.schema, "purse"))
	held := 0
	for i, v := range with.viewers {
		for e := range v.replica.All() {
			owns := e.Handle() == with.all[i] || i == owner && e.Handle() == with.all[traders-1]
			require.Equal(t, owns, e.Owned())
			got, ok := c.Get(e)
			want := with.purses.Get(e.Handle())
			require.Equal(t, want != nil, ok)
			if !ok {
				continue
			}
			if owns && want.Coins > 0 {
				held++
			}
			if !owns {
				require.Equal(t, purse{Rank: want.Rank}, got)
			} else {
				require.Equal(t, *want, got)
			}
		}
	}
	require.Positive(t, held, "no owner had anything")
}

// TestOwnershipChangesByEntering (R7): a change of ownership starts the row over. The
// client forgets the owner-only fields, and is sent no more of them.
func TestOwnershipChangesByEntering(t *testing.T) {
	m := newPurseWorld(t, 3, 1)
	v, h := m.viewers[0], m.all[2]
	always := func() bool { return true }
	m.purses.Set(h, purse{Rank: 3, Coins: 1000})
	c := must.Get(client.ComponentOf[purse](m.schema, "purse"))
	see := func() (purse, bool) {
		m.step(always)
		e := v.replica.Entity(h)
		require.NotNil(t, e)
		p := must.Have(c.Get(e))
		return p, e.Owned()
	}
	enters := func() uint64 { return v.replica.Stats().Enters }

	p, owned := see()
	require.Equal(t, purse{Rank: 3}, p)
	require.False(t, owned)
	before := enters()
	v.Own(h)
	p, owned = see()
	require.Equal(t, purse{Rank: 3, Coins: 1000}, p)
	require.True(t, owned)
	require.Equal(t, before+1, enters())

	m.purses.Set(h, purse{Rank: 3, Coins: 1200}) // sent in a datagram
	p, _ = see()
	require.Equal(t, int32(1200), p.Coins)
	v.SetFocus(h) // owned already
	v.Disown(h)   // it stays owned as the focus
	p, owned = see()
	require.Equal(t, int32(1200), p.Coins)
	require.True(t, owned)
	require.Equal(t, before+2, enters(), "the former focus is no longer owned")

	v.SetFocus(m.all[0])
	m.purses.Set(h, purse{Rank: 4, Coins: 77})
	p, owned = see()
	require.Equal(t, purse{Rank: 4}, p)
	require.False(t, owned)
	require.Equal(t, before+4, enters())

	v.Own(h)
	v.Disown(h)
	v.Own(m.all[0]) // owned already
	must.Lack(see())
	require.LessOrEqual(t, enters(), before+5)
	require.False(t, v.replica.Entity(h).Owned())
}

// TestForgedHandleIsNotOwned (R7): a viewer that was given a handle before it was
// issued neither owns it later nor views the world from it.
func TestForgedHandleIsNotOwned(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	near, far := s.spawn(1, 0), s.spawn(100, 0)
	next := bulk.NewHandle(far.Index(), far.Generation()+2)
	s.viewer.Own(next)
	s.snapshot()
	s.viewer.SetFocus(next)
	require.False(t, s.viewer.Owns(next))
	s.world.Destroy(far)
	s.snapshot()
	require.Equal(t, next, s.spawn(100, 0))
	s.snapshot()
	require.False(t, s.viewer.Owns(next))
	require.Equal(t, wire.Pending, s.viewer.Resolve(next))
	require.Equal(t, wire.Live, s.viewer.Resolve(near), "the viewer keeps its centre")
}

// TestViewpointIsNotOwned (R7): a viewer does not own its viewpoint, and does not see it if
// a rule hides it.
func TestViewpointIsNotOwned(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	own, leader, near := s.spawn(1, 0), s.spawn(100, 0), s.spawn(103, 0)
	s.viewer.SetFocus(own)
	s.viewer.SetViewpoint(leader)
	s.snapshot()
	for _, h := range []bulk.Handle{own, leader, near} {
		require.Equal(t, wire.Live, s.viewer.Resolve(h))
	}
	require.True(t, s.viewer.Owns(own))
	require.False(t, s.viewer.Owns(leader))
	require.EqualValues(t, 100, s.viewer.Viewpoint().X)
	var hidden bulk.Bitset
	hidden.Set(leader.Index())
	s.viewer.SetFilter(replication.Filter{Not: []bulk.BitsetView{hidden.View()}})
	s.snapshot()
	require.Equal(t, wire.Hidden, s.viewer.Resolve(leader))
	require.Equal(t, wire.Live, s.viewer.Resolve(near))
	s.viewer.SetViewpoint(0)
	s.snapshot()
	require.Equal(t, wire.Hidden, s.viewer.Resolve(near))
	require.EqualValues(t, 1, s.viewer.Viewpoint().X)
}

// TestOwnedEntersAtOnce: in a still world, an entity enters as soon as it is owned,
// whatever the members' slots are.
func TestOwnedEntersAtOnce(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 10, LeaveRadius: 20})
	var all []bulk.Handle
	for slot := 1; slot < 256; slot++ {
		x := float32(100)
		if slot/64 == 2 {
			x = 1 // this word holds members, and the focus
		}
		all = append(all, s.spawn(x, 0))
	}
	for s.viewer.Stats().Interest < 65 {
		s.snapshot()
		s.acknowledge(uint32(s.viewer.Stats().Interest))
	}
	for range 100 { // until all sleep
		require.Empty(t, records(t, s.snapshot()))
	}
	for i, slot := range []uint32{1, 70, 127, 192, 255} {
		h := all[slot-1]
		require.Equal(t, slot, h.Index())
		s.viewer.Own(h)
		require.Len(t, records(t, s.snapshot()), 1)
		require.Equal(t, wire.Live, s.viewer.Resolve(h))
		require.Equal(t, 65+i+1, s.viewer.Stats().Interest)
	}
}

// TestOwnedRiderAfterALongAbsence: owner-only fields may keep changing while the common
// row is idle and its past states are dropped. A viewer that returns then receives a
// rider and its parent coded from states that only the owners' histories hold.
func TestOwnedRiderAfterALongAbsence(t *testing.T) {
	w := must.Get(world.New(world.Config{Seed: 1}))
	poses, purses := register[pose](w, "pose"), register[purse](w, "purse")
	kind := must.Get(w.AddKind(world.Kind{Name: "rider"}))
	s := schema.New()
	schema.Define[pose](s, "pose")
	schema.Define[purse](s, "purse")
	require.NoError(t, s.Err())
	rep := must.Get(replication.New(w, s, replication.Config{SnapshotHz: 60}))
	spawn := func() bulk.Handle {
		h := must.Get(w.Spawn(kind, world.Vec3{}, world.Vec3{}))
		purses.Set(h, purse{Coins: 1})
		return h
	}
	rider, cart := spawn(), spawn()
	v := rep.AddViewer(rider)
	v.Own(cart)
	c := &viewerClient{Viewer: v, replica: newAppliedClient(t, rep, w.TickHz(), client.SessionConfig{})}
	m := &purseWorld{t: t, world: w, schema: s, rep: rep}
	ride := func(x float32) {
		poses.Set(rider, pose{Position: [3]float32{x, 1, 0}, On: cart})
		poses.Set(cart, pose{Position: [3]float32{x, 0, 0}})
	}
	always := func() bool { return true }
	m.viewers = []*viewerClient{c}
	for i := range 20 {
		ride(float32(i))
		m.step(always)
	}
	m.viewers = nil // away
	ride(30)
	for i := range 700 {
		if i%100 == 0 {
			purses.Set(rider, purse{Coins: int32(i)})
			purses.Set(cart, purse{Coins: int32(i)})
		}
		m.step(always)
	}
	m.viewers = []*viewerClient{c}
	for range 5 {
		m.step(always)
	}
	read := must.Get(client.ComponentOf[pose](s, "pose"))
	for _, h := range []bulk.Handle{rider, cart} {
		got := must.Have(read.Get(c.replica.Entity(h)))
		require.Equal(t, float32(30), got.Position[0])
	}
}
