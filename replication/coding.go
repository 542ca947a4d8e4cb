package replication

import "github.com/worldd/worldd/replication/wire"

// codingKey names one way of coding the present state of a tenant: its slot, the
// baseline, whether it is told of by the motion of its parent, and whether it is
// an owner's who is sent more than others. Keys ascend by slot.
type codingKey uint64

// The parts of a codingKey, from its low end. They bound what serves as a
// baseline, of rows that slept for days and of snapshots minutes apart.
const (
	anchoredKey codingKey = 1
	ownedKey    codingKey = 2
	gapShift              = 2
	gapBits               = 15 // ticks; more than a client keeps states for, at 8 snapshots a minute
	ageShift              = gapShift + gapBits
	ageBits               = 23 // ticks: a day and a half, at 60 a second
	slotShift             = ageShift + ageBits
	pastMask    codingKey = 1<<slotShift - 1<<gapShift
)

func newCodingKey(slot uint32, b wire.Baseline) codingKey {
	return codingKey(slot)<<slotShift | codingKey(b.Age)<<ageShift | codingKey(b.Gap)<<gapShift
}

func (k codingKey) slot() uint32   { return uint32(k >> slotShift) }
func (k codingKey) anchored() bool { return k&anchoredKey != 0 }
func (k codingKey) owned() bool    { return k&ownedKey != 0 }

// past is the part of the key that is the baseline.
func (k codingKey) past() codingKey { return k & pastMask }

func (k codingKey) age() uint32 { return uint32(k>>ageShift) & (1<<ageBits - 1) }
func (k codingKey) gap() uint32 { return uint32(k>>gapShift) & (1<<gapBits - 1) }

func (k codingKey) baseline() wire.Baseline { return wire.Baseline{Age: k.age(), Gap: k.gap()} }

// codings are the present states of rows as they were coded for some viewer, so
// that for the next one with the same baselines bits are copied: the bits of a
// row depend on nothing but its coding's key in one frame (P6 of package wire).
// The codings of a slot are a list, which is short: most viewers acknowledge
// the same snapshots. Filled by one goroutine.
type codings struct {
	chunks wire.Chunks
	list   []coding
	heads  []uint32 // by slot: the number of its newest coding, counted from 1
	past   wire.Past
	anchor wire.Anchor
}

type coding struct {
	key   codingKey
	chunk wire.Chunk
	next  uint32 // number of the slot's coding before it; 0: none
}

// reset forgets all codings, and makes room for so many slots.
func (c *codings) reset(slots int) {
	c.chunks.Reset()
	for i := range c.list {
		c.heads[c.list[i].key.slot()] = 0
	}
	c.list = c.list[:0]
	if slots > len(c.heads) {
		c.heads = make([]uint32, slots+slots/4)
	}
}

// code codes the present state of the tenant in key's slot, or finds how it was
// coded. anchor is its parent's tenant if the key is anchored. The chunk is in
// own if there is no more room to keep it.
func (c *codings) code(f *Frame, key codingKey, anchor *tenant, own *wire.Chunks) (chunk wire.Chunk, how coded) {
	head := &c.heads[key.slot()]
	for i := *head; i != 0; {
		found := &c.list[i-1]
		if found.key == key {
			return found.chunk, codedBefore
		}
		i = found.next
	}
	if len(c.list) == maxCachedRows {
		return c.encode(f, own, key, anchor), codedApart
	}
	chunk = c.encode(f, &c.chunks, key, anchor)
	c.list = append(c.list, coding{key, chunk, *head})
	*head = uint32(len(c.list))
	return chunk, codedFirst
}

// coded says how a row came by its bits.
type coded uint8

const (
	codedFirst  coded = iota // for this viewer, and kept for others
	codedBefore              // for another viewer
	codedApart               // for this viewer alone
)

func (c *codings) encode(f *Frame, chunks *wire.Chunks, key codingKey, parent *tenant) wire.Chunk {
	t := &f.tenants[key.slot()]
	b := key.baseline()
	row, states := f.current(t, key.owned()), t.as(key.owned())
	if b.Age == 0 {
		return chunks.Add(f.codec, row, nil)
	}
	past := &c.past
	*past = wire.Past{Base: f.at(states, f.tick-b.Age), Age: b.Age, Gap: b.Gap}
	if b.Gap != 0 {
		past.Older = f.at(states, f.tick-b.Age-b.Gap)
	}
	if key.anchored() {
		component, _ := f.schema.Parent(wire.Row{Mask: t.mask, Words: past.Base})
		var older []uint32
		if b.Gap != 0 {
			older = f.at(&parent.history, f.tick-b.Age-b.Gap)
		}
		f.codec.SetAnchor(&c.anchor, component, f.state(&parent.history, 0), f.at(&parent.history, f.tick-b.Age), older)
		past.Anchor = &c.anchor
	}
	if f.coded != nil {
		f.coded(row, past)
	}
	return chunks.Add(f.codec, row, past)
}
