package client_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/field"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

func floats(numbers ...float32) (f wire.Floats) {
	for _, x := range numbers {
		f = binary.LittleEndian.AppendUint32(f, math.Float32bits(x))
	}
	return f
}

// newManyBodies returns a client with 250 bodies in the air, a wind everywhere, and the storm's
// whirl and four of its explosions. These move elsewhere, or if around is set around all
// bodies. They are weak, so that the bodies stay in place.
func newManyBodies(t testing.TB, around bool) *exactServer {
	m := newExactServer(t, client.SessionConfig{})
	records := [][]byte{
		wire.Program{Code: programOf("effect breeze\neverywhere\noutput += (3 * sin(position.z * 0.1 + time), 0, 2 * sin(time))\n")}.Append(nil),
	}
	for i, name := range []string{"whirl", "explosion"} {
		text := must.Have(field.Shipped(name))
		records = append(records, wire.Program{Number: uint8(1 + i), Code: programOf(text)}.Append(nil))
	}
	records = append(records, wire.EffectAdded{Effect: bulk.NewHandle(0, 1), Age: 1}.Append(nil))
	for i := range uint32(5) {
		e := wire.EffectAdded{Effect: bulk.NewHandle(1+i, 1), Program: 2, Mode: 1, Age: 1, Params: floats(0.01, 0.5, 12, 60), Path: wire.Path{
			Form: wire.PathOrbit, Center: [3]float32{400 + float32(i)*100, 100, 0}, Axes: [2][3]float32{{3}, {0, 0, 3}}, Rate: 1 << 24,
		}}
		if i == 0 {
			e.Program, e.Mode, e.Params, e.Path.Center[1] = 1, 0, floats(0.01, 0.01, 0.01, 16, 40), 85
		}
		if around {
			e.Path.Center[0] = 0
		}
		records = append(records, e.Append(nil))
	}
	for i := range uint32(250) {
		x := float32(i) * 3
		if around {
			x = float32(i)/32 - 9
		}
		records = append(records, m.enter(h(i, 1), 0, floating(x), 0))
	}
	require.NoError(t, m.send(10, records...))
	for tick := uint32(12); tick < 400; tick += 3 {
		m.snapshot(tick)
	}
	return m
}

// BenchmarkBodies computes 250 awake bodies for a snapshot of three ticks, with a wind alone
// in reach, or with six effects.
func BenchmarkBodies(b *testing.B) {
	b.Run("wind", func(b *testing.B) { benchmarkBodies(b, false) })
	b.Run("six", func(b *testing.B) { benchmarkBodies(b, true) })
}

func benchmarkBodies(b *testing.B, around bool) {
	m := newManyBodies(b, around)
	tick := uint32(400)
	for b.Loop() {
		tick += 3
		m.seq++
		d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: m.seq, Tick: tick, Structure: m.number, Complete: true})
		must.Get(m.session.ReceiveDatagram(d, 0))
	}
	n := m.session.Stats().Replica.Motion
	require.Zero(b, n.Overruns)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/tick")
	b.ReportMetric(float64(n.Steps)/float64(tick-10), "awake")
	inside := 0
	for i := range uint32(250) {
		s, _ := m.exact(h(i, 1))
		if at := s.Position; math.Abs(float64(at.X)) < 9 && math.Abs(float64(at.Z)) < 9 && math.Abs(float64(at.Y)-100) < 12 {
			inside++
		}
	}
	b.ReportMetric(float64(inside), "inside")
}

// BenchmarkBodiesOfMany is BenchmarkBodies of 64 clients in turn, as in a load generator: the
// memory of a client is not in the caches when its snapshot arrives.
func BenchmarkBodiesOfMany(b *testing.B) {
	fleets := make([]*exactServer, 64)
	for i := range fleets {
		fleets[i] = newManyBodies(b, false)
	}
	tick := uint32(400)
	for n := 0; b.Loop(); n++ {
		if n%len(fleets) == 0 {
			tick += 3
		}
		m := fleets[n%len(fleets)]
		m.seq++
		d := wire.AppendStateHeader(nil, wire.StateHeader{Seq: m.seq, Tick: tick, Structure: m.number, Complete: true})
		must.Get(m.session.ReceiveDatagram(d, 0))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/tick")
}
