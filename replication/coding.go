package replication

import "github.com/worldd/worldd/replication/wire"

// codingKey names one way of coding the present state of a tenant: its slot, the
// baseline, whether it is told of by the motion of its parent, and whether it is
// an owner's who is sent more than others. Keys ascend by slot, and none is zero.
type codingKey uint64

// The parts of a codingKey, from its low end. They bound what serves as a
// baseline: of rows that slept for days, and of snapshots minutes apart.
const (
	someKey     codingKey = 1 << 0
	anchoredKey codingKey = 1 << 1
	ownedKey    codingKey = 1 << 2
	gapShift              = 3
	gapBits               = 14 // ticks: 4 minutes, at 60 a second
	ageShift              = gapShift + gapBits
	ageBits               = 23 // ticks: a day and a half
	slotShift             = ageShift + ageBits
	pastMask    codingKey = 1<<slotShift - 1<<gapShift
)

func (k codingKey) slot() uint32   { return uint32(k >> slotShift) }
func (k codingKey) age() uint32    { return uint32(k>>ageShift) & (1<<ageBits - 1) }
func (k codingKey) gap() uint32    { return uint32(k>>gapShift) & (1<<gapBits - 1) }
func (k codingKey) anchored() bool { return k&anchoredKey != 0 }
func (k codingKey) owned() bool    { return k&ownedKey != 0 }

// past is the part of the key that is the baseline.
func (k codingKey) past() codingKey         { return k & pastMask }
func (k codingKey) baseline() wire.Baseline { return wire.Baseline{Age: k.age(), Gap: k.gap()} }

// codings are the present states of rows as they were coded for some viewer, so
// that for the next one with the same baselines bits are copied: the bits of a
// row depend on nothing but its coding's key in one frame (P6 of package wire).
// They are an open hash table. Filled by one goroutine.
type codings struct {
	chunks wire.Chunks
	table  []coding // a power of two
	shift  uint     // of a hash, to a place
	count  int      // places in use
	kept   int      // length of the chunks of those
	made   uint64   // codings, since the start
	past   wire.Past
	anchor wire.Anchor
}

// coding is 16 bytes, four to a line of memory.
type coding struct {
	key   codingKey // 0: a free place
	chunk wire.Chunk
}

const leastCodingBits = 10

func (c *codings) reset() {
	c.chunks.Reset()
	clear(c.table)
	c.count, c.kept = 0, 0
	if c.table == nil {
		c.resize(leastCodingBits)
	}
}

func (c *codings) resize(bits uint) {
	c.table, c.shift = make([]coding, 1<<bits), 64-bits
}

// find returns the place of key: where it is, or where it would be put.
func (c *codings) find(key codingKey) *coding {
	table := c.table
	for i := uint64(key) * 0x9e3779b97f4a7c15 >> c.shift; ; i++ {
		if p := &table[i&uint64(len(table)-1)]; p.key == key || p.key == 0 {
			return p
		}
	}
}

// code codes the present state of the tenant in key's slot, or finds how it was
// coded. anchor is its parent's tenant if the key is anchored.
func (c *codings) code(f *Frame, key codingKey, anchor *tenant) wire.Chunk {
	p := c.find(key)
	if p.key == key {
		return p.chunk
	}
	c.made++
	chunk := c.encode(f, key, anchor)
	if 2*c.count >= len(c.table) {
		if len(c.table) == 2*maxCachedRows {
			return chunk
		}
		old := c.table
		c.resize(64 - c.shift + 1)
		for i := range old {
			if old[i].key != 0 {
				*c.find(old[i].key) = old[i]
			}
		}
		p = c.find(key)
	}
	*p = coding{key, chunk}
	c.count, c.kept = c.count+1, c.chunks.Len()
	return chunk
}

// trim forgets what was coded when there was no more room to keep it. It is
// called after each datagram.
func (c *codings) trim() { c.chunks.Cut(c.kept) }

func (c *codings) encode(f *Frame, key codingKey, parent *tenant) wire.Chunk {
	t := &f.tenants[key.slot()]
	b := key.baseline()
	row, states := f.current(t, key.owned()), t.as(key.owned())
	if b.Age == 0 {
		return c.chunks.Add(f.codec, row, nil)
	}
	past := &c.past
	*past = wire.Past{Base: states.at(f.tick - b.Age), Age: b.Age, Gap: b.Gap}
	if b.Gap != 0 {
		past.Older = states.at(f.tick - b.Age - b.Gap)
	}
	if key.anchored() {
		component, _ := f.schema.Parent(wire.Row{Mask: t.mask, Words: past.Base})
		var older []uint32
		if b.Gap != 0 {
			older = parent.history.at(f.tick - b.Age - b.Gap)
		}
		f.codec.SetAnchor(&c.anchor, component, parent.history.row, parent.history.at(f.tick-b.Age), older)
		past.Anchor = &c.anchor
	}
	if f.coded != nil {
		f.coded(row, past)
	}
	return c.chunks.Add(f.codec, row, past)
}
