package replication

import (
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

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
	chunks rowcodec.Chunks
	table  []coding // a power of two
	shift  uint     // of a hash, to a place
	count  int      // places in use
	kept   int      // length of the chunks of those
	made   uint64   // codings, since the start
	past   rowcodec.Past
	anchor rowcodec.Anchor
	missed []miss
	warmed uint32 // a sum of words, so that they are read
}

// miss is a row that nobody has coded yet: of a run of keys which, and what it is
// coded from.
type miss struct {
	i           int
	row         schema.Row
	base, older []uint32 // nil: none
}

// coding is 16 bytes, four to a line of memory.
type coding struct {
	key   codingKey // 0: a free place
	chunk rowcodec.Chunk
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
// coded. parent has the states of its parent, if the key is anchored.
func (c *codings) code(f *frame, key codingKey, parent *history) rowcodec.Chunk {
	p := c.find(key)
	if p.key == key {
		return p.chunk
	}
	m := c.gather(f, key)
	return c.make(f, key, &m, parent)
}

// codeRun is code for a run of keys, none of them anchored, and adds their chunks
// to a list. Rows that are to be coded are gathered first: what waits for memory
// then waits at the same time.
func (c *codings) codeRun(f *frame, keys []codingKey, chunks []rowcodec.Chunk) []rowcodec.Chunk {
	c.missed = c.missed[:0]
	first := len(chunks)
	for i, key := range keys {
		p := c.find(key)
		if p.key != key {
			c.missed = append(c.missed, miss{i: i})
		}
		chunks = append(chunks, p.chunk)
	}
	for n := range c.missed {
		m := &c.missed[n]
		i := m.i
		*m = c.gather(f, keys[i])
		m.i = i
	}
	for n := range c.missed {
		m := &c.missed[n]
		chunks[first+m.i] = c.make(f, keys[m.i], m, nil)
	}
	return chunks
}

// gather finds what a row is coded from, and reads some of it.
func (c *codings) gather(f *frame, key codingKey) (m miss) {
	t := &f.tenants[key.slot()]
	m.row = f.current(t, key.owned())
	b := key.baseline()
	if b.Age == 0 {
		return m
	}
	states := f.states(key)
	m.base = states.at(f.tick - b.Age)
	if b.Gap != 0 {
		m.older = states.at(f.tick - b.Age - b.Gap)
	}
	c.warmed += ends(m.row.Words) + ends(m.base) + ends(m.older)
	return m
}

// ends reads the first and the last word of a state.
func ends(words []uint32) uint32 {
	if len(words) == 0 {
		return 0
	}
	return words[0] + words[len(words)-1]
}

// make codes a row that was gathered, and keeps it while there is room.
func (c *codings) make(f *frame, key codingKey, m *miss, parent *history) rowcodec.Chunk {
	c.made++
	chunk := c.encode(f, key, m, parent)
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
	}
	*c.find(key) = coding{key, chunk}
	c.count, c.kept = c.count+1, c.chunks.Len()
	return chunk
}

// trim forgets what was coded when there was no more room to keep it. It is
// called after each datagram.
func (c *codings) trim() { c.chunks.Cut(c.kept) }

func (c *codings) encode(f *frame, key codingKey, m *miss, parent *history) rowcodec.Chunk {
	b := key.baseline()
	if b.Age == 0 {
		return c.chunks.Add(f.codec, m.row, nil)
	}
	past := &c.past
	*past = rowcodec.Past{Base: m.base, Older: m.older, Age: b.Age, Gap: b.Gap}
	if key.anchored() {
		component, _ := f.schema.Parent(schema.Row{Mask: m.row.Mask, Words: m.base})
		var older []uint32
		if b.Gap != 0 {
			older = parent.at(f.tick - b.Age - b.Gap)
		}
		f.codec.SetAnchor(&c.anchor, component, parent.row, parent.at(f.tick-b.Age), older)
		past.Anchor = &c.anchor
	}
	if f.coded != nil {
		f.coded(m.row, past)
	}
	return c.chunks.Add(f.codec, m.row, past)
}
