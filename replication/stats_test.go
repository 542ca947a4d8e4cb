package replication_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/rowtrain"
	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// TestBitsByComponent: the counters by component equal the numbers of rowtrain.Pricer
// (which inspect uses) for the same rows. Counters and datagrams agree to the bit.
func TestBitsByComponent(t *testing.T) {
	var codec *rowcodec.Codec
	var cost [wire.MaxComponents]uint64
	apart := func(row rowschema.Row, past *rowcodec.Past) {
		rowtrain.NewPricer(codec, func(component, _ string, bits int) {
			i := must.Have(codec.Schema().ByName(component))
			cost[i] += uint64(bits)
		}).Append(new(bitio.Writer), row, past)
	}
	s := newViewedWorld(t, replication.Config{EnterRadius: 100, BudgetBytesPerSecond: 1 << 20, Tables: rowcodec.DefaultTables().Sampled(apart)})
	codec = rowcodec.New(s.schema, rowcodec.DefaultTables())
	r := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		s.spawn(float32(r.IntN(40)), float32(r.IntN(40)))
	}
	var datagrams, stream, headers, snapshots, rows uint64
	for range 200 {
		for range 5 {
			h := s.world.Slots().Handle(r.Uint32N(40))
			s.world.SetPosition(h, world.Vec3{X: r.Float32() * 40, Y: 1, Z: r.Float32() * 40})
			if r.IntN(2) == 0 {
				s.link.Set(h, link{s.focus})
			}
			if r.IntN(9) == 0 {
				s.link.Remove(h)
			}
		}
		u := s.snapshot()
		stream += uint64(len(u.Stream))
		for _, d := range u.Datagrams {
			var bits bitio.Reader
			h := must.Get(wire.ParseStateHeader(d, &bits))
			if h.Rows > 0 {
				coding := wire.ReadRowCoding(&bits, h.Tick)
				for range h.Rows {
					wire.ReadRowHeader(&bits, coding, h.Tick)
				}
			}
			require.NoError(t, bits.Err())
			headers += uint64(8*len(d) - bits.Left())
			datagrams += uint64(len(d))
			rows += uint64(h.Rows)
			snapshots++
		}
		s.acknowledge(uint32(s.rep.Stats().Enters + s.rep.Stats().Leaves + s.rep.Stats().Destroys))
	}
	got := s.rep.Stats()
	require.Zero(t, got.RowsWhole, "every row has a past and is sampled")
	require.Equal(t, cost, got.StateRowBits)
	require.Positive(t, cost[1], "links change too")
	require.Equal(t, datagrams, got.StateBytes)
	coded := headers + got.StateRowBits[0] + got.StateRowBits[1]
	require.LessOrEqual(t, coded, 8*datagrams)
	require.Greater(t, coded+8*snapshots, 8*datagrams, "all but the last bits of each datagram are accounted for")
	require.Positive(t, got.EnterRowBits[0])
	require.Less(t, got.EnterRowBits[0]+got.EnterRowBits[1], 8*stream)
	require.Positive(t, s.viewer.Stats().Budget)
	require.Equal(t, replication.ViewerStats{
		Interest: len(slices.Collect(s.viewer.InterestSet())), Budget: s.viewer.Stats().Budget,
		Snapshots: snapshots, Rows: rows, RowsLost: got.RowsLost, StructureBytes: stream, StateBytes: datagrams,
	}, s.viewer.Stats())
}

// TestBitsByComponentOfManyViewers: a row counts for each viewer that is sent it, whether
// it was coded, copied or part of a copied datagram.
func TestBitsByComponentOfManyViewers(t *testing.T) {
	s := newViewedWorld(t, replication.Config{EnterRadius: 100, BudgetBytesPerSecond: 1 << 20})
	moving := s.spawn(3, 3)
	others := []*replication.Viewer{s.rep.AddViewer(s.focus), s.rep.AddViewer(moving)}
	for i := range 20 {
		s.world.SetPosition(moving, world.Vec3{X: 3 + float32(i), Y: 1, Z: 3})
		s.snapshot()
		before := s.rep.Stats()
		s.viewer.Snapshot() // again, for the same frame: nothing is new
		require.Equal(t, before.StateRowBits, s.rep.Stats().StateRowBits)
		sum := replication.ViewerStats{}
		for _, v := range append(others, s.viewer) {
			if v != s.viewer {
				v.Snapshot()
			}
			require.NoError(t, v.Acknowledge(wire.Ack{Seen: true, Newest: v.Numbers().Seq, Mask: 1<<64 - 1, Structure: 2}))
			sum.StateBytes += v.Stats().StateBytes
			sum.StructureBytes += v.Stats().StructureBytes
			sum.Rows += v.Stats().Rows
		}
		after := s.rep.Stats()
		require.Equal(t, []uint64{sum.StateBytes, sum.StructureBytes, sum.Rows}, []uint64{after.StateBytes, after.StructureBytes, after.Rows})
	}
	got := s.rep.Stats()
	require.Positive(t, got.RowsCopied)
	require.Zero(t, got.StateRowBits[0]%3, "three viewers get the same rows")
	require.Zero(t, got.EnterRowBits[0]%3)
	require.Positive(t, got.StateRowBits[0])
}
