package client_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
)

// BenchmarkHostileDatagram reads datagrams of 1,200 bytes that are made to cost
// much: as many rows as there may be, all coded, and whatever bits.
func BenchmarkHostileDatagram(b *testing.B) {
	const rows, tick = wire.MaxRows, 1000
	s := wire.NewSchema()
	require.NoError(b, wire.AddComponent[wire.Body](s, "body"))
	p := client.NewReplica(wire.NewCodec(s, wire.DefaultTables()), 1, 1<<16, client.Observer{})
	var w wire.BitWriter
	body := wire.AppendStructureHeader(nil, 1, tick-3)
	for i := range uint32(rows) {
		w.Reset(nil)
		s.AppendFull(&w, wire.Row{Mask: 1, Words: []uint32{1 << 18, 1 << 18, 1 << 18, 4096, 4096, 4096}})
		body = wire.AppendRecord(body, wire.Record{Op: wire.OpEnter, Handle: bulk.NewHandle(i, 1), Row: w.Bytes()})
	}
	require.NoError(b, p.ApplyStructure(body))
	var fold uint64
	for i := range uint32(rows) {
		fold = wire.Fold(fold, bulk.NewHandle(i, 1))
	}
	random := rand.New(rand.NewPCG(1, 2))
	seq := uint32(0)
	for b.Loop() {
		seq++
		w.Reset(wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: tick, Structure: rows, Fold: wire.Fold16(fold), Rows: rows}))
		coding := wire.RowCoding{Usual: wire.Baseline{Age: 3}}
		wire.AppendRowCoding(&w, coding)
		for range rows {
			wire.AppendRowHeader(&w, coding, 0, coding.Usual)
		}
		d := w.Bytes()
		for len(d) < wire.MaxDatagram {
			d = append(d, byte(random.Uint32()&random.Uint32())) // short symbols are mostly zeros
		}
		_, _ = p.ApplyState(d) // whatever it says
	}
}
