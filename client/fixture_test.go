package client_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

type health struct {
	Points uint16 `net:"bits=10"`
}

type friend struct {
	Is bulk.Handle `net:"ref"`
}

// replicaServer plays the server to a replica, by hand.
type replicaServer struct {
	t       testing.TB
	schema  *schema.Schema
	codec   *rowcodec.Codec
	replica *client.Applier
	health  client.Component[health]
	number  uint32 // structure records sent
	heard   []string
	watch   func() // called for each Update
}

// structureOf returns the structure number of a Welcome to s.
func structureOf(s *client.Session, resumed uint8) uint32 {
	if resumed == 0 {
		return 0
	}
	return s.Replica().Stats().Ack.Structure
}

func newReplicaServer(t testing.TB, floor, maxSlots uint32) *replicaServer {
	p := &replicaServer{t: t, schema: schema.New(), watch: func() {}}
	schema.Define[health](p.schema, "health")
	schema.Define[friend](p.schema, "friend")
	require.NoError(t, p.schema.Err())
	p.codec = rowcodec.New(p.schema, rowcodec.DefaultTables())
	p.replica = client.NewApplier(p.codec, floor, maxSlots, client.Observer{
		Enter: func(e *client.Entity) { p.heard = append(p.heard, "enter "+e.Handle().String()) },
		Update: func(e *client.Entity) {
			p.heard = append(p.heard, "update "+e.Handle().String())
			p.watch()
		},
		Leave: func(h bulk.Handle, _ wire.Reason) { p.heard = append(p.heard, "leave "+h.String()) },
		Destroy: func(h bulk.Handle, _ uint8) {
			p.heard = append(p.heard, "destroy "+h.String())
			require.Equal(t, wire.Stale, p.replica.Resolve(h), "a callback may look it up")
			require.Nil(t, p.replica.Entity(h))
		},
	})
	p.health = must.Get(client.ComponentOf[health](p.schema, "health"))
	return p
}

// row returns the row of an entity with health points and no friend.
func row(points uint32) rowschema.Row { return rowschema.Row{Mask: 1, Values: []uint32{points, 0, 0}} }

func (p *replicaServer) enter(h bulk.Handle, points uint32) wire.Record {
	r := stage.Enter(p.schema, h, row(points))
	r.Kind = 3
	return r
}

func leave(h bulk.Handle) wire.Record {
	return wire.Record{Op: wire.OpLeave, Reason: wire.LeftInterest, Handle: h}
}

func destroy(h bulk.Handle) wire.Record {
	return wire.Record{Op: wire.OpDestroy, Handle: h}
}

// structure returns the body of a message with the next records.
func (p *replicaServer) structure(records ...wire.Record) []byte {
	ticks := uint32(0)
	if p.number == 0 {
		ticks = enterTick
	}
	p.number += uint32(len(records))
	return stage.Structure(p.number+1-uint32(len(records)), ticks, records...)
}

func (p *replicaServer) send(records ...wire.Record) {
	require.NoError(p.t, p.replica.ApplyStructure(p.structure(records...)))
}

// update is one row of a datagram.
type update struct {
	h         bulk.Handle
	age       uint32 // in snapshots, a tick apart here; or whole, or entered
	now, base uint32
	gap       uint32
	older     uint32
}

const (
	whole     = 0
	entered   = 1 << 16
	enterTick = 10
)

// state returns a datagram of updates in ascending slots.
func (p *replicaServer) state(seq, structure uint32, updates ...update) []byte {
	tick := 100 + seq
	var fold uint64
	for _, u := range updates {
		fold = wire.Fold(fold, u.h)
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
		Seq: seq, Tick: tick, Structure: structure, Fold: wire.Fold16(fold), Rows: len(updates),
	}))
	if len(updates) > 0 {
		wire.AppendRowCoding(&w, wire.RowCoding{})
	}
	slot := uint32(0)
	for i, u := range updates {
		if u.age == entered {
			updates[i].age = tick - enterTick
		}
		wire.AppendRowHeader(&w, wire.RowCoding{}, u.h.Index()-slot, wire.Baseline{Age: updates[i].age, Gap: u.gap})
		slot = u.h.Index() + 1
	}
	for _, u := range updates {
		var past *rowcodec.Past
		if u.age != whole {
			past = &rowcodec.Past{Base: row(u.base).Values, Age: u.age}
		}
		if u.gap != 0 {
			past.Gap, past.Older = u.gap, row(u.older).Values
		}
		p.codec.Append(&w, row(u.now), past)
	}
	return w.Bytes()
}

func (p *replicaServer) apply(want client.Outcome, d []byte) {
	p.t.Helper()
	got := must.Get(p.replica.ApplyState(d))
	require.Equal(p.t, want, got)
}

func (p *replicaServer) points(h bulk.Handle) int {
	e := p.replica.Entity(h)
	if e == nil {
		return -1
	}
	return int(must.Have(p.health.Get(e)).Points)
}

func (p *replicaServer) wantHeard(want ...string) {
	p.t.Helper()
	require.Equal(p.t, want, p.heard)
	p.heard = nil
}
