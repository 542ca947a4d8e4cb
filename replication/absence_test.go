package replication_test

// Viewers of a world of riders with owner-only fields stay away for any time, own and
// disown. In the end their clients' states must equal the world's.

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/invariants"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/world"
)

// ridingTraders is a purseWorld whose traders ride on each other.
type ridingTraders struct {
	*purseWorld
	rand     *rand.Rand
	poses    *world.Component[pose]
	visitors []*absentViewer
}

// absentViewer is a viewer that may be away for some snapshots.
type absentViewer struct {
	*viewerClient
	away int
}

func newRidingTraders(t *testing.T, seed uint64) *ridingTraders {
	r := &ridingTraders{purseWorld: &purseWorld{t: t, schema: schema.New()}, rand: rand.New(rand.NewPCG(seed, 1))}
	r.world = must.Get(world.New(world.Config{Seed: seed}))
	r.poses, r.purses = register[pose](r.world, "pose"), register[purse](r.world, "purse")
	r.trader = must.Get(r.world.AddKind(world.Kind{Name: "rider"}))
	schema.Define[pose](r.schema, "pose")
	schema.Define[purse](r.schema, "purse")
	require.NoError(t, r.schema.Err())
	r.rep = must.Get(replication.New(r.world, r.schema, replication.Config{
		SnapshotHz: []int{60, 30, 20, 7}[r.rand.IntN(4)], BudgetBytesPerSecond: []int{6_000, 60_000, 600_000}[r.rand.IntN(3)],
	}))
	for range 5 + r.rand.IntN(40) {
		r.all = append(r.all, r.spawn(0))
	}
	for range 3 {
		r.visitors = append(r.visitors, &absentViewer{viewerClient: &viewerClient{
			Viewer:  r.rep.AddViewer(r.anybody()),
			replica: newAppliedClient(r.t, r.rep, r.world.TickHz(), client.SessionConfig{}),
		}})
	}
	return r
}

func (r *ridingTraders) anybody() bulk.Handle { return r.all[r.rand.IntN(len(r.all))] }

// change changes one entity at random.
func (r *ridingTraders) change() {
	i := r.rand.IntN(len(r.all))
	h := r.all[i]
	switch r.rand.IntN(8) {
	case 0, 1, 2:
		p := pose{Position: [3]float32{r.rand.Float32() * 200, 1, 0}}
		if r.rand.IntN(2) == 0 {
			p.On = r.anybody()
		}
		r.poses.Set(h, p)
	case 3, 4:
		if p := r.poses.Mut(h); p != nil {
			p.Position[0]++
		}
	case 5, 6:
		r.purses.Set(h, purse{Coins: r.rand.Int32N(1000), Rank: uint8(r.rand.IntN(4)), Friend: r.anybody()})
	default:
		if r.rand.IntN(10) == 0 {
			r.purses.Remove(h)
		} else if r.rand.IntN(10) == 0 {
			r.world.Destroy(h)
			r.all[i] = r.spawn(0)
		}
	}
}

// turn makes a viewer leave, change what it owns, or do nothing.
func (r *ridingTraders) turn(g *absentViewer) {
	if r.rand.IntN(400) == 0 {
		g.away = r.rand.IntN(1200)
	}
	switch r.rand.IntN(1000) {
	case 0, 1, 2:
		g.Own(r.anybody())
	case 3, 4:
		g.Disown(r.anybody())
	case 5:
		g.SetFocus(r.anybody())
	case 6:
		g.Resync()
	}
	g.away--
}

// audit compares the state of an absentViewer's client with the world.
func (r *ridingTraders) audit(g *absentViewer, seed uint64) {
	poses := must.Get(client.ComponentOf[pose](r.schema, "pose"))
	purses := must.Get(client.ComponentOf[purse](r.schema, "purse"))
	for _, h := range r.all {
		e := g.replica.Entity(h)
		require.NotNil(r.t, e, "seed %d: %v", seed, h)
		require.Equal(r.t, g.Owns(h), e.Owned(), "seed %d: %v", seed, h)
		at, ok := poses.Get(e)
		want := r.poses.Get(h)
		require.Equal(r.t, want != nil, ok, "seed %d: %v", seed, h)
		if ok {
			require.InDelta(r.t, min(want.Position[0], 256), at.Position[0], 0.01, "seed %d: %v", seed, h)
		}
		got, ok := purses.Get(e)
		has := r.purses.Get(h)
		require.Equal(r.t, has != nil, ok, "seed %d: %v", seed, h)
		switch {
		case !ok:
		case e.Owned():
			require.Equal(r.t, *has, got, "seed %d: %v", seed, h)
		default:
			require.Equal(r.t, purse{Rank: has.Rank}, got, "seed %d: %v", seed, h)
		}
	}
}

func TestAbsences(t *testing.T) {
	racetest.SkipSequential(t)
	seeds := uint64(100)
	if testing.Short() || invariants.Audits {
		seeds = 5
	}
	for seed := range seeds {
		r := newRidingTraders(t, seed)
		loss, busy := r.rand.Float64()/2, 0
		for range 2500 {
			if r.rand.IntN(200) == 0 {
				busy = []int{0, 1, 3, 10}[r.rand.IntN(4)]
			}
			for range busy {
				r.change()
			}
			if p := r.purses.Mut(r.all[0]); p != nil && r.rand.IntN(3) == 0 {
				p.Coins = (p.Coins + 1) % 1000 // all else may be idle
			}
			r.viewers = r.viewers[:0]
			for _, g := range r.visitors {
				r.turn(g)
				if g.away < 0 {
					r.viewers = append(r.viewers, g.viewerClient)
				}
			}
			r.step(func() bool { return r.rand.Float64() >= loss })
		}
		r.viewers = r.viewers[:0]
		for _, g := range r.visitors {
			r.viewers = append(r.viewers, g.viewerClient)
		}
		for range 400 {
			r.step(func() bool { return true })
		}
		for _, g := range r.visitors {
			r.audit(g, seed)
		}
	}
}
