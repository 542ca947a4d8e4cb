//go:build unix

package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/internal/scenes/steering"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// seen is an entity in a view; test/browser/witness.ts documents the fields.
type seen struct {
	Handle   string `json:"h"`
	Kind     uint32 `json:"k"`
	Mask     uint32 `json:"m"`
	Tick     uint32 `json:"t"`
	Row      uint32 `json:"r"`
	BodyTick uint32 `json:"x"`
	Body     uint32 `json:"b"`
	Name     string `json:"n"`
}

// view has the entities that a client saw in one tick, and for each held handle the first
// letter of its verdict.
type view struct {
	Tick     uint32
	Verdicts string
	Entities []seen
}

// testimony has the views of a session, and the handles that the server showed it.
type testimony struct {
	Views []view
	Held  []string
}

// witness is a Go client that records what it sees.
type witness struct {
	testimony
	client *client.Client
	name   client.Component[messages.Name]
	held   []bulk.Handle
	known  map[bulk.Handle]bool
	values []uint32
}

// watch joins a server and plays until ctx is done. Then it sends what it saw on the channel.
func watch(ctx context.Context, t *testing.T, o liveOptions, name string) <-chan testimony {
	declared := schema.New()
	schema.Define[messages.Name](declared, "name")
	schema.DefineInput[steering.Stick](declared)
	require.NoError(t, declared.Err())
	w := &witness{known: map[bulk.Handle]bool{}}
	var err error
	w.name, err = client.ComponentOf[messages.Name](declared, "name")
	require.NoError(t, err)
	w.client, err = client.Dial(ctx, client.Config{Addr: o.address, Fingerprint: o.fingerprint, Schema: declared, Name: name, Simulate: true, Observer: client.Observer{Enter: w.enter}})
	require.NoError(t, err)
	result := make(chan testimony, 1)
	go func() {
		defer close(result)
		defer func() { _ = w.client.Close() }()
		for w.client.Wait(ctx) == nil {
			tick := w.client.Replica().Tick()
			sin, cos := math.Sincos(float64(tick) / 60)
			_, steered := w.client.SetInputValue(&steering.Stick{X: int8(127 * cos), Z: int8(127 * sin)})
			if err := w.client.Update(); err != nil || steered != nil {
				t.Errorf("%s: %v, %v", name, err, steered)
				return
			}
			w.record()
		}
		for _, h := range w.held {
			w.Held = append(w.Held, h.String())
		}
		result <- w.testimony
	}()
	return result
}

func (w *witness) enter(e *client.Entity) {
	if h := e.Handle(); !w.known[h] {
		w.known[h] = true
		w.held = append(w.held, h)
	}
}

// record records a view if the replica has exactly what the server showed in the tick of a
// snapshot.
func (w *witness) record() {
	r := w.client.Replica()
	if r.Stats().Ack.Structure != r.Stats().SnapshotStructure || r.Tick()%2 != 0 || len(w.Views) > 0 && r.Tick() <= w.Views[len(w.Views)-1].Tick {
		return
	}
	v := view{Tick: r.Tick()}
	for _, h := range w.held {
		v.Verdicts += string(map[wire.Verdict]byte{wire.Live: 'L', wire.Hidden: 'H', wire.Stale: 'S', wire.Pending: 'P'}[r.Resolve(h)])
	}
	for e := range r.All() {
		v.Entities = append(v.Entities, w.see(e))
	}
	w.Views = append(w.Views, v)
}

func (w *witness) see(e *client.Entity) seen {
	s := seen{Handle: e.Handle().String(), Kind: e.Kind(), Mask: e.Mask(), Tick: e.Tick()}
	w.values = e.AppendValues(w.values[:0])
	s.Row = digest(w.values...)
	if n, ok := w.name.Get(e); ok {
		s.Name = n.Text
	}
	if b, tick, ok := e.Exact(); ok {
		awake := uint32(0)
		if b.Awake {
			awake = 1
		}
		s.BodyTick = tick
		s.Body = digest(
			math.Float32bits(b.Position.X), math.Float32bits(b.Position.Y), math.Float32bits(b.Position.Z),
			math.Float32bits(b.Velocity.X), math.Float32bits(b.Velocity.Y), math.Float32bits(b.Velocity.Z), awake, b.Rest,
		)
	}
	return s
}

func digest(values ...uint32) (x uint32) {
	for _, v := range values {
		x = (x ^ v) * 0x9e3779b1
		x ^= x >> 15
	}
	return x
}

// comparison compares the testimonies of two clients of one world, and counts what it compared.
type comparison struct {
	Bodies, Rows     int // states of the same entity at the same tick
	Views, Entities  int // views of the same tick, and entities in both
	Verdicts, Graves int // verdicts on handles that both hold, and Stale ones among them

	different []string
}

type moment struct {
	handle string
	tick   uint32
}

func (c *comparison) equal(what string, page, own any) {
	if page != own {
		c.different = append(c.different, fmt.Sprintf("%s: %v in the page, %v here", what, page, own))
	}
}

// states compares states of the same tick, whenever the clients received them.
func (c *comparison) states(page, own testimony) {
	bodies, rows := map[moment]uint32{}, map[moment]uint32{}
	for _, v := range own.Views {
		for _, e := range v.Entities {
			rows[moment{e.Handle, e.Tick}] = e.Row
			if e.BodyTick != 0 {
				bodies[moment{e.Handle, e.BodyTick}] = e.Body
			}
		}
	}
	counted := map[moment]bool{}
	for _, v := range page.Views {
		for _, e := range v.Entities {
			if d, ok := bodies[moment{e.Handle, e.BodyTick}]; ok {
				c.Bodies++
				c.equal(fmt.Sprintf("body of %s in tick %d", e.Handle, e.BodyTick), e.Body, d)
			}
			at := moment{e.Handle, e.Tick}
			if d, ok := rows[at]; ok && !counted[at] {
				counted[at] = true
				c.Rows++
				c.equal(fmt.Sprintf("row of %s of tick %d", e.Handle, e.Tick), e.Row, d)
			}
		}
	}
}

// views compares the views of the same ticks.
func (c *comparison) views(page, own testimony) {
	for _, p := range page.Views {
		i, ok := slices.BinarySearchFunc(own.Views, p.Tick, func(v view, tick uint32) int { return int(v.Tick) - int(tick) })
		if !ok {
			continue
		}
		c.Views++
		mine := map[string]seen{}
		for _, e := range own.Views[i].Entities {
			mine[e.Handle] = e
		}
		for _, e := range p.Entities {
			o, ok := mine[e.Handle]
			if !ok {
				continue
			}
			c.Entities++
			what := fmt.Sprintf("%s in tick %d: ", e.Handle, p.Tick)
			c.equal(what+"kind, components and name", [3]any{e.Kind, e.Mask, e.Name}, [3]any{o.Kind, o.Mask, o.Name})
			c.equal(what+"is computed, and tick", e.BodyTick, o.BodyTick)
		}
		c.verdicts(p, own.Views[i], page.Held, own.Held)
	}
}

// verdicts compares which handles that both clients hold are dead, and checks that the live
// ones are those in view.
func (c *comparison) verdicts(p, o view, held, mine []string) {
	dead := map[string]bool{}
	for i, v := range []byte(o.Verdicts) {
		dead[mine[i]] = v == 'S'
	}
	inView := map[string]bool{}
	for _, e := range p.Entities {
		inView[e.Handle] = true
	}
	for i, v := range []byte(p.Verdicts) {
		what := fmt.Sprintf("%s in tick %d: ", held[i], p.Tick)
		c.equal(what+"is live", v == 'L', inView[held[i]])
		if v != 'L' && v != 'H' && v != 'S' {
			c.different = append(c.different, what+"verdict "+string(v))
		}
		if d, ok := dead[held[i]]; ok {
			c.Verdicts++
			c.equal(what+"is dead", v == 'S', d)
			if d {
				c.Graves++
			}
		}
	}
}

// compare requires that a page saw the same world as Go clients at the same time.
func compare(t *testing.T, page testimony, own []testimony) {
	var c comparison
	for _, o := range own {
		c.states(page, o)
		c.views(page, o)
	}
	t.Logf("%d bodies, %d rows; %d views with %d entities; %d verdicts, %d of them stale", c.Bodies, c.Rows, c.Views, c.Entities, c.Verdicts, c.Graves)
	require.Empty(t, c.different[:min(len(c.different), 20)], "%d differences", len(c.different))
	require.Greater(t, c.Bodies, 1000)
	require.Greater(t, c.Rows, 1000)
	require.Greater(t, c.Views, 10, "on a busy machine the clients receive snapshots of different ticks")
	require.Greater(t, c.Entities, 1000)
	require.Greater(t, c.Verdicts, 1000)
	require.Greater(t, c.Graves, 100)
}

// together runs three Go clients at the same time as the pages; between them they receive
// snapshots of all ticks. The function that it returns ends them and returns what they saw.
func together(t *testing.T, o liveOptions) func() []testimony {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(stop)
	var results []<-chan testimony
	for _, name := range []string{"ada", "bob", "eve"} {
		results = append(results, watch(ctx, t, o, name))
	}
	return func() (all []testimony) {
		stop()
		for _, r := range results {
			all = append(all, <-r)
		}
		return all
	}
}
