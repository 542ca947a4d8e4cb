package replication_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/racetest"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/simtest"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// pose is a position, relative to the parent if there is one.
type pose struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=On"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
	On       bulk.Handle `net:"ref"`
	Yaw      float32     `net:"angle,bits=12,predict=linear"`
}

// ridingWorld is a world of riders and their parents, with viewers and with replicas behind
// bad links.
type ridingWorld struct {
	t      testing.TB
	seed   uint64
	rng    *rand.Rand
	now    int64
	world  *world.World
	rep    *replication.Replicator
	schema *schema.Schema
	poses  *world.Component[pose]
	kind   world.KindID
	live   []bulk.Handle
	ends   []*end
	states map[tickOf][]uint32
}

type tickOf struct {
	tick   uint32
	handle bulk.Handle
}

// end is one viewer, its links and its replica.
type end struct {
	viewer  *replication.Viewer
	replica *appliedClient
	down    *simtest.Stream
	downD   *simtest.Link
	up      *simtest.Link
	acks    map[byte]wire.Ack // in flight, by number
	number  byte
	applied int
}

func newRidingWorld(t testing.TB, seed uint64, viewers int, links simtest.Conditions, budget int) *ridingWorld {
	skipWithoutWorkers(t, replication.Config{})
	w := must.Get(world.New(world.Config{Seed: seed}))
	c := &ridingWorld{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), world: w, states: map[tickOf][]uint32{}}
	c.poses = must.Get(world.Register[pose](w, "pose"))
	c.kind = must.Get(w.AddKind(world.Kind{Name: "thing"}))
	c.schema = schema.New()
	schema.Define[pose](c.schema, "pose")
	require.NoError(t, c.schema.Err())
	c.rep = must.Get(replication.New(w, c.schema, replication.Config{BudgetBytesPerSecond: budget}))
	for i := range uint64(viewers) {
		e := &end{
			viewer: c.rep.AddViewer(0), down: simtest.NewStream(seed+i, links),
			downD: simtest.NewLink(seed+i+100, links), up: simtest.NewLink(seed+i+200, links), acks: map[byte]wire.Ack{},
		}
		e.replica = newAppliedClient(c.t, c.rep, c.world.TickHz(), client.SessionConfig{Observer: client.Observer{Enter: c.check, Update: c.check}})
		c.ends = append(c.ends, e)
	}
	for range 40 {
		c.spawn()
	}
	return c
}

func (c *ridingWorld) spawn() {
	h := must.Get(c.world.Spawn(c.kind, world.Vec3{}, world.Vec3{}))
	p := pose{Position: [3]float32{c.rng.Float32()*100 - 50, c.rng.Float32() * 10, c.rng.Float32()*100 - 50}, Facing: [4]float32{3: 1}}
	if len(c.live) > 0 && c.rng.IntN(3) > 0 {
		p.On = c.live[c.rng.IntN(len(c.live))] // includes riders of riders, and dead parents after a while
	}
	c.poses.Set(h, p)
	c.live = append(c.live, h)
}

// move moves every entity without a parent, and its riders with it.
func (c *ridingWorld) move() {
	for i, h := range c.live {
		p := *c.poses.Get(h)
		switch on := c.poses.Get(p.On); {
		case c.rng.IntN(60) == 0:
			p.On = c.live[c.rng.IntN(len(c.live))] // handle of another parent, or of the entity itself
		case c.rng.IntN(4) == 0:
			continue
		case on != nil:
			p.Position = on.Position
			p.Position[0] += float32(i%3) + c.rng.Float32()/64
			p.Facing = on.Facing
		case i%5 > 0:
			angle := float64(c.world.Tick()) / float64(20+i)
			p.Position[0] += float32(math.Cos(angle) / 8)
			p.Position[2] += float32(math.Sin(angle) / 8)
			p.Facing = [4]float32{0, float32(math.Sin(angle / 2)), 0, float32(math.Cos(angle / 2))}
			p.Yaw = float32(angle)
			p.Lit = c.rng.IntN(30) == 0
		}
		c.poses.Set(h, p)
	}
	if c.rng.IntN(10) == 0 {
		i := c.rng.IntN(len(c.live))
		c.world.Destroy(c.live[i])
		c.live = append(c.live[:i], c.live[i+1:]...)
		c.spawn()
	}
}

// step runs one tick of the world, the viewers and the replicas.
func (c *ridingWorld) step() {
	c.now += 16
	for _, e := range c.ends {
		for _, d := range e.up.Receive(c.now) {
			require.NoError(c.t, e.viewer.Acknowledge(e.acks[d[0]]))
		}
	}
	c.move()
	c.world.Step()
	c.rep.AfterStep()
	if c.rep.Due(0) {
		c.rep.Capture()
		for _, h := range c.live {
			p := *c.poses.Get(h)
			values := make([]uint32, c.schema.Values())
			rowschema.New(c.schema).Component(0).Quantise(&p, values)
			c.states[tickOf{uint32(c.world.Tick()), h}] = values
		}
		for _, e := range c.ends {
			if c.rng.IntN(30) == 0 {
				e.viewer.Resync() // every row starts over
			}
			u := e.viewer.Snapshot()
			e.down.Send(c.now, u.Stream)
			for _, d := range u.Datagrams {
				e.downD.Send(c.now, append([]byte(nil), d...))
			}
		}
	}
	for _, e := range c.ends {
		c.receive(e)
	}
}

func (c *ridingWorld) receive(e *end) {
	require.NoError(c.t, e.replica.session.ReceiveStream(e.down.Receive(c.now)), c.where())
	for _, d := range e.downD.Receive(c.now) {
		outcome, err := e.replica.ApplyState(d)
		require.NoError(c.t, err, c.where())
		require.NotEqual(c.t, client.Faulty, outcome, c.where())
		if outcome == client.Applied {
			e.applied++
		}
		e.number++
		e.acks[e.number] = e.replica.Stats().Ack
		e.up.Send(c.now, []byte{e.number})
	}
}

func (c *ridingWorld) where() string { return fmt.Sprintf("seed %d, tick %d", c.seed, c.world.Tick()) }

// check compares an entity with the server's state of that tick.
func (c *ridingWorld) check(e *client.Entity) {
	require.Equal(c.t, c.states[tickOf{e.Tick(), e.Handle()}], e.AppendValues(nil), "%v of tick %d; %s", e.Handle(), e.Tick(), c.where())
}

// TestReplicasFollow compares replicas with the server while links disturb datagrams
// and acknowledgements: rows with one baseline, with two, with none, and anchored to
// parents that come and go, leave and are replaced.
func TestReplicasFollow(t *testing.T) {
	racetest.SkipSequential(t)
	var total replication.Stats
	for seed := range uint64(20) {
		links := simtest.Conditions{
			Loss: float64(seed%4) * 0.04, Duplicate: float64(seed%3) * 0.1, Reorder: float64(seed%2) * 0.2,
			DelayMin: int64(seed % 5 * 20), DelayMax: int64(seed % 5 * 40), ReorderExtra: 100,
		}
		c := newRidingWorld(t, seed, 3, links, []int{6_000, 20_000, 64_000}[seed%3])
		for range 250 {
			c.step()
		}
		for i, e := range c.ends {
			require.Greater(t, e.applied, 10, "viewer %d applied little; %s", i, c.where())
		}
		s := c.rep.Stats()
		total.Rows += s.Rows
		total.RowsAnchored += s.RowsAnchored
		total.RowsCopied += s.RowsCopied
		total.RowsWhole += s.RowsWhole
	}
	require.Greater(t, total.RowsAnchored, total.Rows/50, "few rows were anchored")
	require.Greater(t, total.RowsCopied, total.Rows/10, "few rows were shared by viewers")
	require.NotZero(t, total.RowsWhole, "no row was ever sent without a baseline")
	t.Logf("%d rows: %d anchored, %d copied, %d whole", total.Rows, total.RowsAnchored, total.RowsCopied, total.RowsWhole)
}
