package client_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// rider is carried, turns, and has something of everything that is coded.
type rider struct {
	Position [3]float32 `net:"range=-256..256,step=1/512,predict=linear,parent=On"`
	Facing   [4]float32 `net:"quat,bits=9,predict=linear"`
	Lit      bool
	On       bulk.Handle `net:"ref"`
}

// spinner costs the most for the least bits: a rotation is foretold, and found to
// be as foretold.
type spinner struct {
	Facing [4]float32 `net:"quat,bits=9,predict=linear"`
}

// BenchmarkHostileDatagram reads datagrams of 1,200 bytes that are made to cost
// much: as many rows as there may be, all coded against two states that differ,
// and whatever bits, of which so many in eight are ones.
func BenchmarkHostileDatagram(b *testing.B) {
	body := wire.NewSchema()
	require.NoError(b, wire.AddComponent[wire.Body](body, "body"))
	riders := wire.NewSchema()
	require.NoError(b, wire.AddComponent[rider](riders, "rider"))
	spinners := wire.NewSchema()
	for i := range wire.MaxParts / wire.MaxRows {
		require.NoError(b, wire.AddComponent[spinner](spinners, fmt.Sprint("spinner", i)))
	}
	for _, c := range []struct {
		name   string
		schema *wire.Schema
	}{{"bodies", body}, {"riders", riders}, {"spinners", spinners}} {
		for _, ones := range []int{0, 1, 2, 4} {
			b.Run(fmt.Sprintf("%s/%d", c.name, ones), func(b *testing.B) { benchmarkHostile(b, c.schema, ones) })
		}
	}
}

func benchmarkHostile(b *testing.B, s *wire.Schema, ones int) {
	const rows, tick = wire.MaxRows, 1000
	random := rand.New(rand.NewPCG(1, 2))
	codec := wire.NewCodec(s, wire.DefaultTables())
	p := client.NewReplica(codec, 1, 1<<16, client.Observer{})
	// Everybody is entered in one state and then in another; row 0 carries.
	state := func(i uint32) wire.Row {
		var w wire.BitWriter
		var r wire.BitReader
		for {
			w.Reset(nil)
			w.Write(1<<s.Components()-1, uint(s.Components()))
			for range wire.MaxEnterBytes {
				w.Write(random.Uint64()&0xff, 8)
			}
			r.Reset(w.Bytes())
			row := wire.Row{Words: make([]uint32, s.Words())}
			if s.ReadFull(&r, &row) != nil {
				continue
			}
			if s.Carries() {
				at := s.Words() - 2
				row.Words[at], row.Words[at+1] = 0, min(i, 1)
			}
			return row
		}
	}
	var w wire.BitWriter
	var fold uint64
	structure := wire.AppendStructureHeader(nil, 1, tick-6)
	older := make([]wire.Row, rows)
	for i := range uint32(rows) {
		older[i] = state(i)
		w.Reset(nil)
		s.AppendFull(&w, older[i])
		structure = wire.AppendRecord(structure, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(i, 1), Row: w.Bytes()})
		fold = wire.Fold(fold, bulk.NewHandle(i, 1))
	}
	require.NoError(b, p.ApplyStructure(structure))
	seq := uint32(0)
	datagram := func(at uint32, n int, first uint32, usual wire.Baseline, fold uint64) {
		seq++
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: at, Structure: rows, Fold: wire.Fold16(fold), Rows: n}))
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
		outcome, err := p.ApplyState(w.Bytes())
		require.NoError(b, err)
		require.Equal(b, client.Applied, outcome)
	}
	var all [16][]byte
	for n := range all {
		datagram(tick, rows, 0, wire.Baseline{Age: 3, Gap: 3}, fold)
		d := bytes.Clone(w.Bytes())
		for len(d) < wire.MaxDatagram {
			v := byte(0)
			for i := range 8 {
				if random.IntN(8) < ones {
					v |= 1 << i
				}
			}
			d = append(d, v)
		}
		all[n] = d
	}
	for b.Loop() {
		seq++
		d := all[seq%16]
		binary.LittleEndian.PutUint32(d[7:], seq) // one that did not come before
		_, _ = p.ApplyState(d)                    // whatever it says
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

// A datagram whose rows have more components than the limit is a breach, however
// few bits they take; one that has as many as it may is read.
func TestComponentsOfADatagramAreBounded(t *testing.T) {
	s := wire.NewSchema()
	for i := range 4 {
		require.NoError(t, wire.AddComponent[health](s, fmt.Sprint("health", i)))
	}
	const tick = 100
	codec := wire.NewCodec(s, wire.DefaultTables())
	read := func(rows uint32) (client.Outcome, error) {
		p := client.NewReplica(codec, 1, 1<<16, client.Observer{})
		structure := wire.AppendStructureHeader(nil, 1, tick-1)
		row := wire.Row{Mask: 15, Words: make([]uint32, s.Words())}
		var w wire.BitWriter
		s.AppendFull(&w, row)
		var fold uint64
		for i := range rows {
			structure = wire.AppendRecord(structure, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(i, 1), Row: w.Bytes()})
			fold = wire.Fold(fold, bulk.NewHandle(i, 1))
		}
		require.NoError(t, p.ApplyStructure(structure))
		coding := wire.RowCoding{Usual: wire.Baseline{Age: 1}}
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: 1, Tick: tick, Structure: rows, Fold: wire.Fold16(fold), Rows: int(rows)}))
		wire.AppendRowCoding(&w, coding)
		for range rows {
			wire.AppendRowHeader(&w, coding, 0, coding.Usual)
		}
		for range rows {
			codec.Append(&w, row, &wire.Past{Base: row.Words, Age: 1})
		}
		return p.ApplyState(w.Bytes())
	}
	outcome, err := read(wire.MaxParts / 4)
	require.NoError(t, err)
	require.Equal(t, client.Applied, outcome)
	_, err = read(wire.MaxParts/4 + 1)
	require.ErrorIs(t, err, &wire.Error{Code: wire.BadMessage})
}
