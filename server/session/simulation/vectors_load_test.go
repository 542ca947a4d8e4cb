package simulation

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// heavyTick is the tick in which the crowd entered.
const heavyTick = 50

// crowd is a set of entities in consecutive slots, for datagrams with the maximal load.
type crowd struct {
	t      *testing.T
	schema *schema.Schema
	codec  *rowcodec.Codec
	rows   []rowschema.Row
}

// newCrowd returns a crowd of 18 rows with all components, 7 with a purse, 2 with none, one
// with a ride, and one with lamps. Their loads are 69, 4, 2, 10 and 9 each.
func newCrowd(t *testing.T) *crowd {
	s := vectorSchemas(t)[2]
	k := &crowd{t: t, schema: s, codec: rowcodec.New(s, rowcodec.DefaultTables())}
	for _, kind := range []struct {
		number, load int
		mask         uint32
	}{
		{18, 69, vectors.HeavyLamps | vectors.HeavyLimbs | vectors.HeavyRide},
		{7, 4, vectors.HeavyPurse},
		{2, 2, 0},
		{1, 10, vectors.HeavyRide},
		{1, 9, vectors.HeavyLamps},
	} {
		for range kind.number {
			row := rowschema.Row{Mask: kind.mask, Values: make([]uint32, s.Values())}
			require.Equal(t, kind.load, rowschema.New(s).Load(row.Mask))
			if n := uint32(len(k.rows)); row.Mask&vectors.HeavyPurse != 0 {
				row.Values[s.Values()-1] = 10 * n
			} else if row.Mask&vectors.HeavyLamps != 0 {
				row.Values[n] = 1
			}
			k.rows = append(k.rows, row)
		}
	}
	return k
}

func (k *crowd) handle(slot int) bulk.Handle { return bulk.NewHandle(uint32(slot), hostileFloor) }

// entered returns the Structure message in which all entities enter.
func (k *crowd) entered() []byte {
	body := wire.AppendStructureHeader(nil, 1, heavyTick)
	for slot, row := range k.rows {
		var w bitio.Writer
		rowschema.New(k.schema).AppendFull(&w, row)
		body = wire.AppendRecord(body, wire.Record{Op: wire.OpEnter, Handle: k.handle(slot), Kind: 1, Row: w.Bytes()})
	}
	return wire.AppendFrame(nil, wire.TypeStructure, body)
}

// datagram returns a datagram with the rows of some slots, and its load. The first row is
// coded in full. Purses contain one coin more than when they entered.
func (k *crowd) datagram(seq uint32, slots []int) (d []byte, load int) {
	const age = 3
	h := wire.StateHeader{Seq: seq, Tick: heavyTick + age, Structure: uint32(len(k.rows)), Rows: len(slots)}
	var fold uint64
	for _, slot := range slots {
		fold = wire.Fold(fold, k.handle(slot))
		load += rowschema.New(k.schema).Load(k.rows[slot].Mask)
	}
	h.Fold = wire.Fold16(fold)
	coding := wire.RowCoding{Usual: wire.Baseline{Age: age}}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, h))
	wire.AppendRowCoding(&w, coding)
	next := 0
	for i, slot := range slots {
		baseline := coding.Usual
		if i == 0 {
			baseline = wire.Baseline{}
		}
		wire.AppendRowHeader(&w, coding, uint32(slot-next), baseline)
		next = slot + 1
	}
	for i, slot := range slots {
		row, past := k.rows[slot], &rowcodec.Past{Base: k.rows[slot].Values, Age: age}
		if row.Mask&vectors.HeavyPurse != 0 {
			row.Values = slices.Clone(row.Values)
			row.Values[len(row.Values)-1]++
		}
		if i == 0 {
			past = nil
		}
		k.codec.Append(&w, row, past)
	}
	d = w.Bytes()
	require.LessOrEqual(k.t, len(d), wire.MaxDatagram)
	return d, load
}

// loadCases returns the cases about the load of a datagram. The maximum load is accepted. A
// greater load is refused, however few bits the rows take.
func loadCases(t *testing.T) []vectors.Case {
	k := newCrowd(t)
	all := make([]int, len(k.rows))
	var handles []bulk.Handle
	for slot := range all {
		all[slot] = slot
		handles = append(handles, k.handle(slot))
	}
	without := func(slots ...int) []int {
		return slices.DeleteFunc(slices.Clone(all), func(slot int) bool { return slices.Contains(slots, slot) })
	}
	const foldAt = 1 + 4 + 2 + 4 + 4 + 4 + 1 + 1 // PROTOCOL.md, section 8, with an input age of one byte
	most, load := k.datagram(2, without(24, 28))
	require.Equal(t, wire.MaxLoad, load)
	above, load := k.datagram(1, without(26, 27))
	require.Equal(t, wire.MaxLoad+1, load)
	elsewhere := slices.Clone(above)
	elsewhere[foldAt] ^= 0x40
	welcome := k.welcome(64)
	var cases []vectors.Case
	add := func(name, about string, want vectors.Expect, steps ...vectors.Step) {
		c := played(t, k.schema, name, about, handles, append([]vectors.Step{welcome}, steps...))
		got := c.Steps[1].Expect
		require.Equal(t, want, vectors.Expect{Outcome: got.Outcome, Error: got.Error})
		require.Equal(t, "applied", c.Steps[len(c.Steps)-1].Expect.Outcome)
		cases = append(cases, c)
	}
	add("as heavy as may be", "the rows of a datagram are of a load of 1,280 in all", vectors.Expect{Outcome: "applied"}, datagrams(most)...)
	add("too heavy", "the rows of a datagram are of a load of 1,281: it is refused and not acknowledged; then a lighter one is taken",
		vectors.Expect{Error: "bad-message"}, datagrams(above, most)...)
	add("too heavy, wrong fold", "the same, but the fold says that other entities are meant: what it would be to read is not known",
		vectors.Expect{Outcome: "faulty"}, datagrams(elsewhere, most)...)
	return append(cases, vaultCase(t))
}

// vaultCase returns the case of rows without bits, whose fields are for owners alone. Each has a load of 6.
func vaultCase(t *testing.T) vectors.Case {
	s := must.Get(vectors.VaultSchema())
	k := &crowd{t: t, schema: s, codec: rowcodec.New(s, rowcodec.DefaultTables()), rows: make([]rowschema.Row, wire.MaxLoad/6+1)}
	var slots []int
	for slot := range k.rows {
		k.rows[slot] = rowschema.Row{Mask: 1, Values: make([]uint32, s.Values())}
		slots = append(slots, slot)
	}
	above, load := k.datagram(1, slots)
	require.Equal(t, wire.MaxLoad/6*6+6, load)
	most, _ := k.datagram(2, slots[1:])
	c := played(t, s, "owner fields are heavy", "rows of a load above 1,280 by fields that only owners receive; then one row less", []bulk.Handle{k.handle(0)},
		append([]vectors.Step{k.welcome(256)}, datagrams(above, most)...))
	require.Equal(t, "bad-message", c.Steps[1].Expect.Error)
	require.Equal(t, "applied", c.Steps[2].Expect.Outcome)
	return c
}

// welcome returns a step with the Welcome to a world of so many slots, and the Enters of all.
func (k *crowd) welcome(slots uint32) vectors.Step {
	return stream(wire.AppendMessage(nil, wire.Welcome{
		Protocol: wire.Version, Schema: k.schema.Hash(), SchemaText: k.schema.Text(), Tables: rowcodec.DefaultTables().Version(), Epoch: 9, GenerationFloor: hostileFloor, GenerationCeiling: math.MaxUint32,
		TickHz: 60, SnapshotHz: 20, MaxSlots: slots, Session: 1, Tick: heavyTick,
	}), k.entered())
}
