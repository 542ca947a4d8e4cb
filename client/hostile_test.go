package client_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
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

// rider has a parent, a rotation, and a field of every other coding.
type rider struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=On"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
	On       bulk.Handle `net:"ref"`
}

// spinner costs the most per bit: a rotation that equals its prediction.
type spinner struct {
	Facing [4]float32 `net:"quat,bits=9,predict=linear"`
}

// switches and dials have as many fields as a component may have.
type (
	switches struct {
		On [wire.MaxFieldsPerComponent]bool
	}
	dials struct {
		At [wire.MaxFieldsPerComponent]uint8
	}
)

// BenchmarkHostileDatagram reads datagrams of 1,200 bytes made to be expensive: as many rows as
// allowed, all coded against two different states, and random bits with a given share of ones.
func BenchmarkHostileDatagram(b *testing.B) {
	body := schema.New()
	schema.Define[schema.Body](body, "body")
	require.NoError(b, body.Err())
	riders := schema.New()
	schema.Define[rider](riders, "rider")
	require.NoError(b, riders.Err())
	spinners := schema.New()
	for i := range 2 {
		schema.Define[spinner](spinners, fmt.Sprint("spinner", i))
		require.NoError(b, spinners.Err())
	}
	few, many, numbers := schema.New(), schema.New(), schema.New()
	schema.Define[switches](few, "switches")
	require.NoError(b, few.Err())
	schema.Define[dials](numbers, "dials")
	require.NoError(b, numbers.Err())
	for i := range wire.MaxComponents {
		schema.Define[switches](many, fmt.Sprint("switches", i))
		require.NoError(b, many.Err())
	}
	for _, c := range []struct {
		name   string
		schema *schema.Schema
	}{{"bodies", body}, {"riders", riders}, {"spinners", spinners}, {"switches", few}, {"more switches", many}, {"dials", numbers}} {
		for _, ones := range []int{0, 1, 2, 4} {
			b.Run(fmt.Sprintf("%s/%d", c.name, ones), func(b *testing.B) { benchmarkHostile(b, c.schema, ones) })
		}
		b.Run(c.name+"/searched", func(b *testing.B) { searchHostile(b, c.schema) })
	}
}

// hostileTarget is a replica that holds the baselines of hostile datagrams.
type hostileTarget struct {
	replica *client.Applier
	random  *rand.Rand
	seq     uint32
	rows    int
	headers []byte // of a datagram with as many rows as allowed
}

// read returns how long a datagram takes.
func (v *hostileTarget) read(d []byte) time.Duration {
	v.seq++
	binary.LittleEndian.PutUint32(d[7:], v.seq) // not a duplicate
	began := time.Now()
	_, _ = v.replica.ApplyState(d) // the outcome does not matter
	return time.Since(began)
}

// datagram returns a datagram of random bits. One bit in ones is set on average.
func (v *hostileTarget) datagram(ones int) []byte {
	d := bytes.Clone(v.headers)
	for len(d) < wire.MaxDatagram {
		n := byte(0)
		for i := range 8 {
			if v.random.IntN(8) < ones {
				n |= 1 << i
			}
		}
		d = append(d, n)
	}
	return d
}

func benchmarkHostile(b *testing.B, s *schema.Schema, ones int) {
	v := newHostileTarget(b, s)
	var all [16][]byte
	for n := range all {
		all[n] = v.datagram(ones)
	}
	var least [16]time.Duration
	for i := 0; b.Loop(); i++ {
		n := i % len(all)
		if took := v.read(all[n]); least[n] == 0 || took < least[n] {
			least[n] = took
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(v.rows), "ns/row")
	b.ReportMetric(float64(slices.Max(least[:])), "ns/worst") // of the datagrams, each in its best round
}

// searchHostile mutates a datagram and keeps mutations that make it more expensive, by
// the least time of interleaved rounds.
func searchHostile(b *testing.B, s *schema.Schema) {
	v := newHostileTarget(b, s)
	var best []byte
	contest := func(challenger []byte) {
		least := [2]time.Duration{time.Hour, time.Hour}
		for range 6 {
			for i, d := range [][]byte{best, challenger} {
				least[i] = min(least[i], v.read(d))
			}
		}
		if least[1] > least[0] {
			best = challenger
		}
	}
	for _, ones := range []int{0, 0, 1, 1, 2, 2, 3, 3, 4} {
		d := v.datagram(ones)
		if best == nil {
			best = d
		}
		contest(d)
	}
	for b.Loop() {
		d := bytes.Clone(best)
		bits := len(d) - len(v.headers)
		switch at := len(v.headers) + v.random.IntN(bits); v.random.IntN(3) {
		case 0:
			d[at] ^= 1 << v.random.IntN(8)
		case 1: // repeat a stretch
			copy(d[at:], d[len(v.headers)+v.random.IntN(bits):])
		case 2:
			other := v.datagram(v.random.IntN(4))
			copy(d[at:min(at+v.random.IntN(64), len(d))], other[at:])
		}
		contest(d)
	}
	least := time.Hour
	for range 2000 {
		least = min(least, v.read(best))
	}
	b.ReportMetric(float64(least), "ns/worst")
}

func newHostileTarget(b *testing.B, s *schema.Schema) *hostileTarget {
	const tick = 1000
	mask := uint32(1<<min(len(s.Components()), 2) - 1)
	rows := min(wire.MaxRows, wire.MaxLoad/rowschema.New(s).Load(mask))
	random := rand.New(rand.NewPCG(1, 2))
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	p := client.NewApplier(codec, 1, 1<<16, client.Observer{})
	// All entities have two states; rows 0 and 1 are parents.
	state := func(i uint32) rowschema.Row {
		var w bitio.Writer
		var r bitio.Reader
		for {
			w.Reset(nil)
			w.Write(uint64(mask), uint(len(s.Components())))
			for range wire.MaxEnterBytes {
				w.Write(random.Uint64()&0xff, 8)
			}
			r.Reset(w.Bytes())
			row := rowschema.Row{Values: make([]uint32, s.Values())}
			if rowschema.New(s).ReadFull(&r, &row) != nil {
				continue
			}
			if rowschema.New(s).HasParents() {
				at := s.Values() - 2
				row.Values[at], row.Values[at+1] = i%2, min(i/2, 1) // on either parent, alternating
			}
			return row
		}
	}
	var w bitio.Writer
	var fold uint64
	structure := wire.AppendStructureHeader(nil, 1, tick-6)
	older := make([]rowschema.Row, rows)
	for i := range uint32(rows) {
		older[i] = state(i)
		w.Reset(nil)
		rowschema.New(s).AppendFull(&w, older[i])
		structure = wire.AppendRecord(structure, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(i, 1), Row: w.Bytes()})
		fold = wire.Fold(fold, bulk.NewHandle(i, 1))
	}
	require.NoError(b, p.ApplyStructure(structure))
	seq := uint32(0)
	datagram := func(at uint32, n int, first uint32, usual wire.Baseline, fold uint64) {
		seq++
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: at, Structure: uint32(rows), Fold: wire.Fold16(fold), Rows: n}))
		coding := wire.RowCoding{Usual: usual}
		wire.AppendRowCoding(&w, coding)
		for i := range n {
			skip := uint32(0)
			if i == 0 {
				skip = first
			}
			wire.AppendRowHeader(&w, coding, skip, usual)
		}
	}
	for i := range uint32(rows) {
		datagram(tick-3, 1, i, wire.Baseline{}, wire.Fold(0, bulk.NewHandle(i, 1)))
		codec.Append(&w, state(i), nil)
		outcome := must.Get(p.ApplyState(w.Bytes()))
		require.Equal(b, client.Applied, outcome)
	}
	datagram(tick, rows, 0, wire.Baseline{Age: 3, Gap: 3}, fold)
	return &hostileTarget{replica: p, random: random, seq: seq, rows: rows, headers: bytes.Clone(w.Bytes())}
}

// A datagram above the load limit is a protocol error, even if its rows take few bits. A
// datagram at the limit is read.
func TestLoadOfADatagramIsBounded(t *testing.T) {
	s := schema.New()
	for i := range 4 {
		schema.Define[health](s, fmt.Sprint("health", i))
		require.NoError(t, s.Err())
	}
	const tick = 100
	codec := rowcodec.New(s, rowcodec.DefaultTables())
	read := func(rows uint32) (client.Outcome, error) {
		p := client.NewApplier(codec, 1, 1<<16, client.Observer{})
		structure := wire.AppendStructureHeader(nil, 1, tick-1)
		row := rowschema.Row{Mask: 15, Values: make([]uint32, s.Values())}
		var w bitio.Writer
		rowschema.New(s).AppendFull(&w, row)
		var fold uint64
		for i := range rows {
			structure = wire.AppendRecord(structure, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(i, 1), Row: w.Bytes()})
			fold = wire.Fold(fold, bulk.NewHandle(i, 1))
		}
		require.NoError(t, p.ApplyStructure(structure))
		coding := wire.RowCoding{Usual: wire.Baseline{Age: 1}}
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: tick, Structure: uint32(rows), Fold: wire.Fold16(fold), Rows: int(rows)}))
		wire.AppendRowCoding(&w, coding)
		for range rows {
			wire.AppendRowHeader(&w, coding, 0, coding.Usual)
		}
		for range rows {
			codec.Append(&w, row, &rowcodec.Past{Base: row.Values, Age: 1})
		}
		return p.ApplyState(w.Bytes())
	}
	most := uint32(wire.MaxLoad / rowschema.New(s).Load(15))
	require.Less(t, most, uint32(wire.MaxRows))
	outcome := must.Get(read(most))
	require.Equal(t, client.Applied, outcome)
	require.ErrorIs(t, must.Fail(read(most+1)), &wire.Error{Code: wire.BadMessage})
}
