package client_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/alloctest"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// BenchmarkApplyState measures a datagram of 64 moving bodies, coded against the states
// three and six ticks back, with a game that reads each of them in Update. Setting up the
// replica is not measured. The benchmark adds up each datagram's least time and reports
// the sum per row.
func BenchmarkApplyState(b *testing.B) { benchmarkApplyState(b, nil) }

// BenchmarkApplyStateCold is BenchmarkApplyState for a client whose game evicts the caches
// between snapshots: it touches 32 MiB.
func BenchmarkApplyStateCold(b *testing.B) { benchmarkApplyState(b, make([]uint64, 4<<20)) }

// benchmarkApplyState writes to each cache line of game before each datagram.
func benchmarkApplyState(b *testing.B, game []uint64) {
	m := newMotion(b)
	var least [motionTicks]time.Duration
	bits, rounds := 0, 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		replica := m.warmReplica(b)
		b.StartTimer()
		for tick := motionWarm; tick < motionTicks; tick++ {
			for i := 0; i < len(game); i += 8 {
				game[i]++
			}
			from := time.Now()
			outcome, err := replica.ApplyState(m.datagrams[tick])
			took := time.Since(from)
			if err != nil || outcome != client.Applied {
				b.Fatalf("tick %d: %v, %v", tick, outcome, err)
			}
			if rounds == 0 || took < least[tick] {
				least[tick] = took
			}
			bits += 8 * len(m.datagrams[tick])
		}
		rounds++
	}
	var all time.Duration
	for _, took := range least {
		all += took
	}
	const rows = motionRows * (motionTicks - motionWarm)
	b.ReportMetric(float64(all.Nanoseconds())/rows, "ns/row")
	b.ReportMetric(float64(bits)/float64(rounds*rows), "bits/row")
}

func TestApplyStateAllocatesNothing(t *testing.T) {
	m := newMotion(t)
	replica := m.warmReplica(t)
	const runs = motionTicks - motionWarm - 1 // AllocsPerRun makes one call more
	tick := motionWarm
	alloctest.RequireNone(t, 0, runs, func() {
		outcome, err := replica.ApplyState(m.datagrams[tick])
		if err != nil || outcome != client.Applied {
			t.Fatalf("tick %d: %v, %v", tick, outcome, err)
		}
		tick++
	})
	require.Equal(t, motionTicks, tick)
}

const (
	motionRows  = 64
	motionTicks = 100
	motionAge   = 3  // ticks between a row and its baseline, and between the baselines
	motionWarm  = 12 // first tick measured: replica buffers and state histories have grown
)

// motion is the server's side of 64 moving bodies: their Enters, and a datagram for each
// tick from 1 on.
type motion struct {
	codec     *rowcodec.Codec
	bodies    client.Component[schema.Body]
	enter     []byte
	datagrams [motionTicks][]byte
	sum       float32
}

// warmReplica returns a replica that has applied the datagrams before motionWarm.
func (m *motion) warmReplica(tb testing.TB) *client.Applier {
	replica := client.NewApplier(m.codec, 1, motionRows, client.Observer{Update: func(e *client.Entity) {
		body, _ := m.bodies.Get(e)
		m.sum += body.Position[0]
	}})
	require.NoError(tb, replica.ApplyStructure(m.enter))
	for _, datagram := range m.datagrams[1:motionWarm] {
		outcome := must.Get(replica.ApplyState(datagram))
		require.Equal(tb, client.Applied, outcome)
	}
	return replica
}

func newMotion(tb testing.TB) *motion {
	s := schema.New()
	schema.Define[schema.Body](s, "body")
	require.NoError(tb, s.Err())
	m := &motion{codec: rowcodec.New(s, rowcodec.DefaultTables())}
	m.bodies = must.Get(client.ComponentOf[schema.Body](s, "body"))

	states := m.states()
	var fold uint64
	m.enter = wire.AppendStructureHeader(nil, 1, 1)
	for i := range motionRows {
		h := bulk.NewHandle(uint32(i), 1)
		fold = wire.Fold(fold, h)
		var w bitio.Writer
		rowschema.New(s).AppendFull(&w, rowschema.Row{Mask: 1, Values: states[0][i]})
		m.enter = wire.AppendRecord(m.enter, wire.Record{Op: wire.OpEnter, Handle: h, Row: w.Bytes()})
	}
	for tick := 1; tick < motionTicks; tick++ {
		m.datagrams[tick] = m.datagram(states, tick, wire.Fold16(fold))
		require.LessOrEqual(tb, len(m.datagrams[tick]), wire.MaxDatagram)
	}
	return m
}

// states plays all ticks and returns the quantised states of each.
func (m *motion) states() *[motionTicks][motionRows][]uint32 {
	s := m.codec.Schema()
	random := rand.New(rand.NewPCG(1, 2))
	var now [motionRows]schema.Body
	for i := range now {
		for axis := range 3 {
			now[i].Position[axis], now[i].Velocity[axis] = 100*random.Float32(), 6*random.Float32()-3
		}
	}
	states, bodies := new([motionTicks][motionRows][]uint32), rowschema.New(s).Component(0)
	for tick := range states {
		for i := range now {
			for axis := range 3 {
				now[i].Velocity[axis] += random.Float32()/2 - 0.25
				now[i].Position[axis] += now[i].Velocity[axis] / 60
			}
			states[tick][i] = make([]uint32, s.Values())
			bodies.Quantise(&now[i], states[tick][i])
		}
	}
	return states
}

// datagram codes all rows against the states motionAge and twice motionAge ticks earlier, if
// they exist.
func (m *motion) datagram(states *[motionTicks][motionRows][]uint32, tick int, fold uint16) []byte {
	coding := wire.RowCoding{}
	past := rowcodec.Past{}
	if base := tick - motionAge; base >= 1 {
		coding.Usual.Age, past.Age = motionAge, motionAge
		if base > motionAge {
			coding.Usual.Gap, past.Gap = motionAge, motionAge
		}
	}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
		Seq: uint32(tick), Tick: uint32(tick + 1), Structure: motionRows, Fold: fold, Rows: motionRows,
	}))
	wire.AppendRowCoding(&w, coding)
	for range motionRows {
		wire.AppendRowHeader(&w, coding, 0, coding.Usual)
	}
	for i := range motionRows {
		row := rowschema.Row{Mask: 1, Values: states[tick][i]}
		if past.Age == 0 {
			m.codec.Append(&w, row, nil)
			continue
		}
		past.Base = states[tick-motionAge][i]
		if past.Gap > 0 {
			past.Older = states[tick-2*motionAge][i]
		}
		m.codec.Append(&w, row, &past)
	}
	return w.Bytes()
}
