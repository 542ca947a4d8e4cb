package client_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// identity identifies entities, as for bots.
type identity struct {
	Value uint64
	Mark  uint16 `net:"always"`
}

// crowd is the server's side of a busy view: entities that move or sleep, enter and leave, and
// the states sent for them.
type crowd struct {
	schema    *schema.Schema
	codec     *rowcodec.Codec
	random    *rand.Rand
	tick      uint32
	seq       uint32
	structure uint32
	told      uint32 // tick of the newest Structure message
	shown     []*crowded
	hidden    []bulk.Handle
	newest    [crowdSlots]uint32 // generations
	used      [crowdSlots]bool
}

// crowded is an entity of a crowd.
type crowded struct {
	h      bulk.Handle
	sleeps bool
	body   schema.Body
	values []uint32
	sent   []sentState
}

type sentState struct {
	tick   uint32
	values []uint32
}

const (
	crowdSlots    = 4000
	crowdShown    = 230
	crowdRows     = 27 // in a snapshot
	crowdInterval = 3  // ticks between snapshots
	crowdLag      = 2  // snapshots not acknowledged yet
)

func newCrowd(b *testing.B) *crowd {
	c := &crowd{schema: schema.New(), random: rand.New(rand.NewPCG(1, 2)), tick: 100}
	schema.Define[schema.Body](c.schema, "body")
	schema.Define[identity](c.schema, "identity")
	require.NoError(b, c.schema.Err())
	c.codec = rowcodec.New(c.schema, rowcodec.DefaultTables())
	return c
}

// beginStructure begins a Structure message of the present tick.
func (c *crowd) beginStructure() []byte {
	ticks := c.tick - c.told
	c.told = c.tick
	return wire.AppendStructureHeader(nil, c.structure+1, ticks)
}

// enter adds Enters of n entities, every fourth of which sleeps.
func (c *crowd) enter(message []byte, n int) []byte {
	var w bitio.Writer
	for range n {
		slot := c.random.Uint32N(crowdSlots)
		for c.used[slot] {
			slot = c.random.Uint32N(crowdSlots)
		}
		c.used[slot] = true
		c.newest[slot] = max(c.newest[slot]+2, 1) | 1
		e := &crowded{h: bulk.NewHandle(slot, c.newest[slot]), sleeps: c.random.IntN(4) == 0, values: make([]uint32, c.schema.Values())}
		for axis := range 3 {
			e.body.Position[axis], e.body.Velocity[axis] = 100*c.random.Float32(), 6*c.random.Float32()-3
		}
		id := identity{Value: uint64(e.h), Mark: uint16(slot)}
		rowschema.New(c.schema).Component(0).Quantise(&e.body, e.values)
		rowschema.New(c.schema).Component(1).Quantise(&id, e.values[c.schema.Components()[1].Offset:])
		e.sent = []sentState{{c.tick, slices.Clone(e.values)}}
		w.Reset(nil)
		rowschema.New(c.schema).AppendFull(&w, rowschema.Row{Mask: 3, Values: e.values})
		message = wire.AppendRecord(message, wire.Record{Op: wire.OpEnter, Handle: e.h, Row: w.Bytes()})
		c.shown = append(c.shown, e)
		c.structure++
	}
	return message
}

// exit adds a Leave or a Destroy of an entity in view.
func (c *crowd) exit(message []byte, dies bool) []byte {
	i := c.random.IntN(len(c.shown))
	h := c.shown[i].h
	c.shown = slices.Delete(c.shown, i, i+1)
	c.structure++
	if dies {
		c.used[h.Index()] = false
		return wire.AppendRecord(message, destroy(h))
	}
	c.hidden = append(c.hidden, h)
	return wire.AppendRecord(message, leave(h))
}

// change returns a Structure message of 4 records: one dies in view, one leaves, two enter.
func (c *crowd) change() []byte {
	message := c.beginStructure()
	message = c.exit(message, true)
	message = c.exit(message, false)
	return c.enter(message, 2)
}

// move plays a tick and returns the entities to send, by slot.
func (c *crowd) move() []*crowded {
	var moved []*crowded
	for _, e := range c.shown {
		if e.sleeps || e.sent[len(e.sent)-1].tick == c.tick {
			continue
		}
		for axis := range 3 {
			e.body.Velocity[axis] += c.random.Float32()/2 - 0.25
			e.body.Position[axis] += crowdInterval * e.body.Velocity[axis] / 60
		}
		rowschema.New(c.schema).Component(0).Quantise(&e.body, e.values)
		moved = append(moved, e)
	}
	c.random.Shuffle(len(moved), func(i, j int) { moved[i], moved[j] = moved[j], moved[i] })
	moved = moved[:crowdRows]
	slices.SortFunc(moved, func(a, b *crowded) int { return int(a.h.Index()) - int(b.h.Index()) })
	return moved
}

// datagram codes rows against the newest acknowledged states.
func (c *crowd) datagram(b *testing.B, rows []*crowded) []byte {
	c.seq++
	var fold uint64
	for _, e := range rows {
		fold = wire.Fold(fold, e.h)
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
		Seq: c.seq, Tick: c.tick, Structure: c.structure, Fold: wire.Fold16(fold), Rows: len(rows),
	}))
	coding := wire.RowCoding{Usual: wire.Baseline{Age: crowdLag * crowdInterval, Gap: crowdInterval}, SkipBits: 3}
	wire.AppendRowCoding(&w, coding)
	pasts := make([]rowcodec.Past, len(rows))
	next := uint32(0)
	for i, e := range rows {
		at := len(e.sent) - 1
		for at > 0 && e.sent[at].tick+crowdLag*crowdInterval > c.tick {
			at--
		}
		p := &pasts[i]
		if e.sent[at].tick < c.tick {
			p.Base, p.Age = e.sent[at].values, c.tick-e.sent[at].tick
			if at > 0 {
				p.Older, p.Gap = e.sent[at-1].values, e.sent[at].tick-e.sent[at-1].tick
				e.sent = slices.Delete(e.sent, 0, at-1)
			}
		}
		wire.AppendRowHeader(&w, coding, e.h.Index()-next, wire.Baseline{Age: p.Age, Gap: p.Gap})
		next = e.h.Index() + 1
	}
	for i, e := range rows {
		past := &pasts[i]
		if past.Age == 0 {
			past = nil
		}
		c.codec.Append(&w, rowschema.Row{Mask: 3, Values: e.values}, past)
		e.sent = append(e.sent, sentState{c.tick, slices.Clone(e.values)})
	}
	require.LessOrEqual(b, len(w.Bytes()), wire.MaxDatagram)
	return w.Bytes()
}

// BenchmarkReplicasInTurns measures a snapshot in a load test: 100 replicas of bots in
// one process take turns, so each finds its memory cold. A game has one replica; see
// BenchmarkApplyState. A snapshot is 27 rows of 230 entities and 4 structure records. It
// reports the least and the median round, per snapshot, and the median of the rows alone,
// per row.
func BenchmarkReplicasInTurns(b *testing.B) {
	const replicas, warm = 100, 100
	c := newCrowd(b)
	identities := must.Get(client.ComponentOf[identity](c.schema, "identity"))
	var sum uint64
	look := func(e *client.Entity) {
		v, _ := identities.Get(e)
		sum += v.Value + uint64(v.Mark)
	}
	all := make([]*client.Applier, replicas)
	first := c.enter(c.beginStructure(), crowdShown)
	for i := range all {
		all[i] = client.NewApplier(c.codec, 1, crowdSlots, client.Observer{Enter: look, Update: look})
		require.NoError(b, all[i].ApplyStructure(first))
	}
	var message []byte
	var datagram []byte
	next := func() {
		c.tick += crowdInterval
		message = c.change()
		datagram = c.datagram(b, c.move())
	}
	var applying time.Duration
	turn := func(r *client.Applier) {
		must.Do(r.ApplyStructure(message))
		from := time.Now()
		outcome, err := r.ApplyState(datagram)
		applying += time.Since(from)
		if err != nil || outcome != client.Applied {
			b.Fatal(outcome, err)
		}
	}
	for range warm {
		next()
		for _, r := range all {
			turn(r)
		}
	}

	var rounds, rows []time.Duration
	began, at := time.Now(), replicas
	for b.Loop() {
		if at == replicas {
			b.StopTimer()
			next()
			began, at, applying = time.Now(), 0, 0
			b.StartTimer()
		}
		turn(all[at])
		at++
		if at == replicas {
			rounds, rows = append(rounds, time.Since(began)), append(rows, applying)
		}
	}
	if len(rounds) == 0 {
		return
	}
	slices.Sort(rounds)
	slices.Sort(rows)
	b.ReportMetric(rounds[0].Seconds()*1e6/replicas, "us/least")
	b.ReportMetric(rounds[len(rounds)/2].Seconds()*1e6/replicas, "us/median")
	b.ReportMetric(float64(rows[0].Nanoseconds())/(replicas*crowdRows), "ns/row-least")
	b.ReportMetric(float64(rows[len(rows)/2].Nanoseconds())/(replicas*crowdRows), "ns/row-median")
	b.ReportAllocs()
}
