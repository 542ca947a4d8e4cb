package client_test

import (
	"math/rand/v2"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// BenchmarkApplyState measures a datagram of 64 moving bodies, coded against the states
// three and six ticks back, with a game that reads each of them in Update. It reports
// the sum of the least times of each datagram, per row.
func BenchmarkApplyState(b *testing.B) { benchmarkApplyState(b, nil) }

// BenchmarkApplyStateCold is BenchmarkApplyState for one client whose game evicts the
// caches between snapshots: it touches 32 MiB of its own.
func BenchmarkApplyStateCold(b *testing.B) { benchmarkApplyState(b, make([]uint64, 4<<20)) }

// benchmarkApplyState writes to each cache line of game before each datagram.
func benchmarkApplyState(b *testing.B, game []uint64) {
	const rows, ticks, age = 64, 100, 3
	s := schema.New()
	require.NoError(b, schema.Add[schema.Body](s, "body"))
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	bodies, err := client.ComponentOf[schema.Body](s, "body")
	require.NoError(b, err)

	random := rand.New(rand.NewPCG(1, 2))
	var now [rows]schema.Body
	var states [ticks][rows][]uint32
	for i := range now {
		for axis := range 3 {
			now[i].Position[axis], now[i].Velocity[axis] = 100*random.Float32(), 6*random.Float32()-3
		}
	}
	for tick := range states {
		for i := range now {
			for axis := range 3 {
				now[i].Velocity[axis] += random.Float32()/2 - 0.25
				now[i].Position[axis] += now[i].Velocity[axis] / 60
			}
			states[tick][i] = make([]uint32, s.Words())
			s.Quantise(0, unsafe.Pointer(&now[i]), states[tick][i])
		}
	}

	var fold uint64
	enter := wire.AppendStructureHeader(nil, 1, 1)
	for i := range rows {
		h := bulk.NewHandle(uint32(i), 1)
		fold = wire.Fold(fold, h)
		var w bitio.Writer
		s.AppendFull(&w, schema.Row{Mask: 1, Words: states[0][i]})
		enter = wire.AppendRecord(enter, wire.Record{Op: wire.OpEnter, Handle: h, Row: w.Bytes()})
	}
	var datagrams [ticks][]byte
	for tick := 1; tick < ticks; tick++ {
		coding := wire.RowCoding{}
		past := rowcodec.Past{}
		if base := tick - age; base >= 1 {
			coding.Usual.Age, past.Age = age, age
			if base > age {
				coding.Usual.Gap, past.Gap = age, age
			}
		}
		var w bitio.Writer
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{
			Seq: uint32(tick), Tick: uint32(tick + 1), Structure: rows, Fold: wire.Fold16(fold), Rows: rows,
		}))
		wire.AppendRowCoding(&w, coding)
		for range rows {
			wire.AppendRowHeader(&w, coding, 0, coding.Usual)
		}
		for i := range rows {
			row := schema.Row{Mask: 1, Words: states[tick][i]}
			if past.Age == 0 {
				codec.Append(&w, row, nil)
				continue
			}
			past.Base = states[tick-age][i]
			if past.Gap > 0 {
				past.Older = states[tick-2*age][i]
			}
			codec.Append(&w, row, &past)
		}
		datagrams[tick] = w.Bytes()
		require.LessOrEqual(b, len(datagrams[tick]), wire.MaxDatagram)
	}

	var least [ticks]time.Duration
	var sum float32
	bits, rounds := 0, 0
	for b.Loop() {
		replica := client.NewApplier(codec, 1, rows, client.Observer{Update: func(e *client.Entity) {
			body, _ := bodies.Get(e)
			sum += body.Position[0]
		}})
		require.NoError(b, replica.ApplyStructure(enter))
		for tick := 1; tick < ticks; tick++ {
			for i := 0; i < len(game); i += 8 {
				game[i]++
			}
			from := time.Now()
			outcome, err := replica.ApplyState(datagrams[tick])
			took := time.Since(from)
			if err != nil || outcome != client.Applied {
				b.Fatalf("tick %d: %v, %v", tick, outcome, err)
			}
			if rounds == 0 || took < least[tick] {
				least[tick] = took
			}
			bits += 8 * len(datagrams[tick])
		}
		rounds++
	}
	var all time.Duration
	for _, took := range least {
		all += took
	}
	b.ReportMetric(float64(all.Nanoseconds())/(rows*(ticks-1)), "ns/row")
	b.ReportMetric(float64(bits)/float64(rounds*rows*(ticks-1)), "bits/row")
}
