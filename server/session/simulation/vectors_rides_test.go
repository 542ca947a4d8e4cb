package simulation

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/bitio"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/internal/vectors"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// riders are entities that ride on each other, by slot, for cases about the baselines and
// anchors of rows. A state of an entity follows from its slot and the tick.
type riders struct {
	t      *testing.T
	schema *schema.Schema
	codec  *rowcodec.Codec
	mounts []bulk.Handle // mount of each rider
	cases  []vectors.Case
}

// ridersTick is the tick in which the riders enter.
const ridersTick = 50

func newRiders(t *testing.T) *riders {
	s := vectorSchemas(t)[2]
	on := func(slot uint32) bulk.Handle { return bulk.NewHandle(slot, hostileFloor) }
	return &riders{t: t, schema: s, codec: rowcodec.New(s, rowcodec.DefaultTables()), mounts: []bulk.Handle{
		on(1), 0, // 0 rides on 1
		on(0),            // 2 rides on a rider
		on(5),            // 3 rides on an entity that cannot be ridden
		on(1) + 2<<32, 0, // 4 rides on the next tenant of slot 1
	}}
}

// plain is the slot of the entity without a ride.
const plain = 5

func (k *riders) handle(slot int) bulk.Handle { return bulk.NewHandle(uint32(slot), hostileFloor) }

// row returns the state of an entity at a tick.
func (k *riders) row(slot int, tick uint32) rowschema.Row {
	row := rowschema.Row{Mask: vectors.HeavyRide, Values: make([]uint32, k.schema.Values())}
	if slot == plain {
		row.Mask = vectors.HeavyPurse
		row.Values[k.schema.Values()-1] = tick
		return row
	}
	n, _ := k.schema.ByName("ride")
	values := row.Values[k.schema.Components()[n].Offset:]
	d := tick - ridersTick
	values[0], values[1], values[2] = 1000+100*uint32(slot)+37*d, 4000-11*d+d*d, 2000+uint32(slot)*d*5
	values[3], values[4] = k.mounts[slot].Index(), k.mounts[slot].Generation()
	return row
}

// enter returns a framed Structure message in which all or some of the entities enter, with
// their states after a tick.
func (k *riders) enter(first, ticks, tick uint32, slots ...int) []byte {
	var records [][]byte
	for _, slot := range slots {
		var w bitio.Writer
		rowschema.New(k.schema).AppendFull(&w, k.row(slot, tick))
		records = append(records, wire.AppendRecord(nil, wire.Record{Op: wire.OpEnter, Handle: k.handle(slot), Kind: 1, Row: w.Bytes()}))
	}
	return structureAt(first, ticks, records...)
}

// riderRow is a row of a datagram: age and gap 0 mean none. anchor is one more than the slot
// of the row that anchors it.
type riderRow struct {
	slot     int
	age, gap uint32
	anchor   int
}

// datagram returns a datagram of rows with their states at stateTick. The coding names the
// first row's baseline.
func (k *riders) datagram(h wire.StateHeader, stateTick uint32, rows ...riderRow) []byte {
	var fold uint64
	for _, r := range rows {
		fold = wire.Fold(fold, k.handle(r.slot))
	}
	h.Fold, h.Rows = wire.Fold16(fold), len(rows)
	coding := wire.RowCoding{SkipBits: 1, Usual: wire.Baseline{Age: rows[0].age, Gap: rows[0].gap}}
	var w bitio.Writer
	w.Reset(wire.AppendStateHeader(nil, h))
	wire.AppendRowCoding(&w, coding)
	next := 0
	for _, r := range rows {
		wire.AppendRowHeader(&w, coding, uint32(r.slot-next), wire.Baseline{Age: r.age, Gap: r.gap})
		next = r.slot + 1
	}
	for _, anchored := range [...]bool{false, true} {
		for _, r := range rows {
			if anchored == (r.anchor > 0) {
				k.codec.Append(&w, k.row(r.slot, stateTick), k.past(h.Tick, stateTick, r))
			}
		}
	}
	return w.Bytes()
}

func (k *riders) past(tick, stateTick uint32, r riderRow) *rowcodec.Past {
	if r.age == 0 {
		return nil
	}
	at := func(slot int) (base, older []uint32) {
		base = k.row(slot, tick-r.age).Values
		if r.gap != 0 {
			older = k.row(slot, tick-r.age-r.gap).Values
		}
		return base, older
	}
	past := &rowcodec.Past{Age: r.age, Gap: r.gap}
	past.Base, past.Older = at(r.slot)
	if r.anchor > 0 {
		n, _ := k.schema.ByName("ride")
		base, older := at(r.anchor - 1)
		past.Anchor = new(rowcodec.Anchor)
		k.codec.SetAnchor(past.Anchor, n, k.row(r.anchor-1, stateTick).Values, base, older)
	}
	return past
}

// all returns a row for each entity, all with the same baseline. The first row is anchored
// if there is a baseline.
func (k *riders) all(age, gap uint32) (rows []riderRow) {
	for slot := range k.mounts {
		rows = append(rows, riderRow{slot: slot, age: age, gap: gap})
	}
	if age > 0 {
		rows[0].anchor = 1 + 1
	}
	return rows
}

func (k *riders) add(name, about string, steps ...vectors.Step) {
	welcome := stream(wire.AppendMessage(nil, wire.Welcome{
		Protocol: wire.Version, Schema: k.schema.Hash(), SchemaText: k.schema.Text(), Tables: rowcodec.DefaultTables().Version(), Epoch: 9, GenerationFloor: hostileFloor, GenerationCeiling: math.MaxUint32,
		TickHz: 60, SnapshotHz: 20, MaxSlots: 64, Session: 1, Tick: ridersTick,
	}))
	var handles []bulk.Handle
	for slot := range k.mounts {
		handles = append(handles, k.handle(slot))
	}
	k.cases = append(k.cases, played(k.t, k.schema, name, about, handles, append([]vectors.Step{welcome}, steps...)))
}

// outcomes checks the outcomes of the newest case's last datagrams.
func (k *riders) outcomes(want ...string) {
	c := k.cases[len(k.cases)-1]
	var got []string
	for _, s := range c.Steps {
		if len(s.Datagram) > 0 {
			got = append(got, s.Expect.Outcome+s.Expect.Error)
		}
	}
	require.Equal(k.t, want, got[len(got)-len(want):], c.Name)
}

// rideCases returns the cases about baselines and anchors.
func rideCases(t *testing.T) []vectors.Case {
	k := newRiders(t)
	k.anchors()
	k.baselines()
	k.lives()
	k.teleports()
	return k.cases
}

func (k *riders) anchors() {
	entered := stream(k.enter(1, ridersTick, ridersTick, 0, 1, 2, 3, 4, 5))
	at := func(seq, tick uint32, rows ...riderRow) []byte {
		return k.datagram(wire.StateHeader{Seq: seq, Tick: tick, Structure: 6}, tick, rows...)
	}
	k.add("anchors", "0 is anchored to 1 if their baselines are the same; the others never are: 2 rides on a rider, 3 on an entity without the component, 4 on another tenant",
		append([]vectors.Step{entered}, datagrams(
			at(1, 53, k.all(0, 0)...),
			at(2, 56, k.all(3, 3)...),
			at(3, 59, k.all(3, 0)...),
			at(4, 62, riderRow{slot: 0, age: 3, gap: 3}, riderRow{slot: 1, age: 6, gap: 3}),
			at(5, 65, riderRow{slot: 0, age: 3, gap: 3}, riderRow{slot: 1, age: 3, gap: 6}),
			at(6, 68, riderRow{slot: 0, age: 3, gap: 3}, riderRow{slot: 1}),
			at(7, 71, riderRow{slot: 0, age: 3, gap: 3, anchor: 1 + 1}, riderRow{slot: 1, age: 3, gap: 3}),
		)...)...)
	k.outcomes("applied", "applied", "applied", "applied", "applied", "applied", "applied")
	for _, s := range k.cases[0].Steps[2:] {
		for _, e := range s.Expect.Entities {
			require.Equal(k.t, k.row(int(e.Handle.Index()), e.Tick).Values, e.Values)
		}
	}
}

func (k *riders) baselines() {
	entered := stream(k.enter(1, ridersTick, ridersTick, 1))
	one := func(seq, tick, stateTick, age, gap uint32) []byte {
		return k.datagram(wire.StateHeader{Seq: seq, Tick: tick, Structure: 1}, stateTick, riderRow{slot: 1, age: age, gap: gap})
	}
	k.add("two states of a tick", "of two states of tick 60 the first is current and the baseline", append([]vectors.Step{entered}, datagrams(
		one(1, 60, 60, 0, 0), one(2, 60, 61, 0, 0), one(3, 61, 61, 1, 0), one(4, 62, 62, 2, 10))...)...)
	k.outcomes("applied", "applied", "applied", "applied")
	steps := []vectors.Step{entered}
	for n := uint32(1); n < wire.MaxStates; n++ {
		steps = append(steps, datagrams(one(n, ridersTick+n, ridersTick+n, 0, 0))...)
	}
	const n = wire.MaxStates
	k.add("32 states", "the oldest of 32 states is a baseline, and then no longer: one more state is kept", append(steps, datagrams(
		one(n, ridersTick+n, ridersTick+n, n, 0), one(n+1, ridersTick+n+1, ridersTick+n+1, n+1, 0), one(n+2, ridersTick+n+1, ridersTick+n+1, n, 0))...)...)
	k.outcomes("applied", "unreadable", "applied")
	steps = []vectors.Step{entered}
	for _, seq := range []uint32{1, 2, 33, 34, 66, 67, 100, 101, 164, 165, 229, 230, 295, 296, 392, 393, 521, 522, 650} { // by 1, 31, 32, 33, 63, 64, 65, 96 and 128
		steps = append(steps, vectors.Step{Datagram: wire.AppendStateHeader(nil, wire.StateHeader{Seq: seq, Tick: ridersTick, Structure: 1})})
	}
	k.add("jumps", "seq rises by 31 to 33, 63 to 65, 96 and 128: the mask moves by as much", steps...)
	waiting := func(seq, stateTick uint32) []byte {
		return k.datagram(wire.StateHeader{Seq: seq, Tick: 60, Structure: 1}, stateTick, riderRow{slot: 1})
	}
	k.add("two wait", "two snapshots of the same tick wait, the newer one first: the one of the lower seq is processed first",
		append(datagrams(waiting(2, 61), waiting(1, 60)), entered)...)
	header := wire.StateHeader{Seq: 1, Tick: 4, Structure: 1, Fold: wire.Fold16(wire.Fold(0, k.handle(1))), Rows: 1}
	raw := func(fields ...uint) []byte {
		var w bitio.Writer
		w.Reset(wire.AppendStateHeader(nil, header))
		for i := 0; i < len(fields); i += 2 {
			w.Write(uint64(fields[i]), fields[i+1])
		}
		return w.Bytes()
	}
	// For small v, golomb(4, v) is v<<1 in 5 bits, and golomb(2, v) is v<<1 in 3 bits;
	// golomb(0, 1) is 001.
	for _, c := range []struct {
		name, about string
		bits        []uint
	}{
		{"base of tick 0", "an age that leads to tick 0", []uint{0, 4, 4 << 1, 5, 0, 3, 0b001, 3, 0, 1}},
		{"older of tick 0", "a gap that leads to tick 0", []uint{0, 4, 1 << 1, 5, 3 << 1, 3, 0b001, 3, 0, 1}},
		{"equal baseline", "an own baseline that equals the usual one", []uint{0, 4, 1 << 1, 5, 0, 3, 0b001, 3, 1, 1, 1 << 1, 5, 0, 3}},
		{"slot 64", "a row beyond the slots of the world", []uint{6, 4, 1 << 1, 5, 0, 3, 0b01, 2, 0, 7, 0, 1}},
	} {
		k.add(c.name, c.about, append([]vectors.Step{entered}, datagrams(raw(c.bits...))...)...)
		k.outcomes("bad-message")
	}
}

// lives adds cases about states of an entity's earlier presence.
func (k *riders) lives() {
	entered := stream(k.enter(1, ridersTick, ridersTick, 1))
	at := func(seq, tick, structure uint32, age uint32) []byte {
		return k.datagram(wire.StateHeader{Seq: seq, Tick: tick, Structure: structure}, tick, riderRow{slot: 1, age: age})
	}
	again := stream(k.enter(2, 5, ridersTick+5, 1))
	k.add("states before an Enter", "an Enter of an entity in view forgets its earlier states",
		append(append([]vectors.Step{entered}, datagrams(at(1, 52, 1, 2))...), append([]vectors.Step{again}, datagrams(at(2, 58, 2, 8), at(3, 58, 2, 6), at(4, 58, 1, 3), at(5, 58, 2, 3))...)...)...)
	k.outcomes("applied", "unreadable", "unreadable", "unreadable", "applied")
	leave := stream(structureAt(2, 1, wire.AppendRecord(nil, wire.Record{Op: wire.OpLeave, Handle: k.handle(1)})))
	back := stream(k.enter(3, 4, ridersTick+5, 1))
	k.add("states before a Leave", "a Leave forgets the states, and no row is of an entity out of view",
		append(append([]vectors.Step{entered}, datagrams(at(1, 52, 1, 2))...),
			append(append([]vectors.Step{leave}, datagrams(at(2, 53, 2, 0), at(3, 53, 1, 0))...),
				append([]vectors.Step{back}, datagrams(at(4, 58, 3, 6), at(5, 58, 3, 3))...)...)...)...)
	k.outcomes("applied", "unreadable", "unreadable", "unreadable", "applied")
	next := stream(k.enter(2, 4, ridersTick+4, 2))
	other := func(seq, tick, structure uint32) []byte {
		return k.datagram(wire.StateHeader{Seq: seq, Tick: tick, Structure: structure}, tick, riderRow{slot: 2})
	}
	k.add("rows go ahead", "of two snapshots of a tick, one needs a record that is late: the other is applied at once. Neither names more than its rows need",
		append(append([]vectors.Step{entered}, datagrams(at(1, 55, 1, 5), other(2, 55, 2), at(3, 58, 1, 3), other(4, 58, 2))...),
			append([]vectors.Step{next}, datagrams(at(5, 61, 1, 3), other(6, 61, 1), other(7, 61, 2))...)...)...)
	k.outcomes("applied", "held", "applied", "held", "applied", "unreadable", "applied")
}
