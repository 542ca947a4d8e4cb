package replication

import (
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// codings are the present states of rows as they were coded for some viewer, so
// that for the next one with the same baselines bits are copied: the bits of a
// row depend on nothing but its coding's key in one frame (P6 of package wire).
// They are an open hash table. Filled by one goroutine.
type rowCache struct {
	chunks      rowcodec.Chunks
	table       []cachedRow // a power of two
	shift       uint        // of a hash, to a place
	count       int         // places in use
	keptLen     int         // length of the chunks of those
	encoded     uint64      // codings, since the start
	past        rowcodec.Past
	anchor      rowcodec.Anchor
	misses      []cacheMiss
	prefetchSum uint32 // a sum of words, so that they are read
}

// miss is a row that nobody has coded yet: of a run of keys which, and what it is
// coded from.
type cacheMiss struct {
	i           int
	row         schema.Row
	base, older []uint32 // nil: none
}

// coding is 16 bytes, four to a line of memory.
type cachedRow struct {
	key   codingKey // 0: a free place
	chunk rowcodec.Chunk
}

const minCacheBits = 10

func (c *rowCache) reset() {
	c.chunks.Reset()
	clear(c.table)
	c.count, c.keptLen = 0, 0
	if c.table == nil {
		c.resize(minCacheBits)
	}
}

func (c *rowCache) resize(bits uint) {
	c.table, c.shift = make([]cachedRow, 1<<bits), 64-bits
}

// find returns the place of key: where it is, or where it would be put.
func (c *rowCache) lookup(key codingKey) *cachedRow {
	table := c.table
	for i := uint64(key) * 0x9e3779b97f4a7c15 >> c.shift; ; i++ {
		if p := &table[i&uint64(len(table)-1)]; p.key == key || p.key == 0 {
			return p
		}
	}
}

// code codes the present state of the tenant in key's slot, or finds how it was
// coded. parent has the states of its parent, if the key is anchored.
func (c *rowCache) encode(f *frame, key codingKey, parent *history) rowcodec.Chunk {
	p := c.lookup(key)
	if p.key == key {
		return p.chunk
	}
	m := c.gather(f, key)
	return c.encodeAndStore(f, key, &m, parent)
}

// codeRun is code for a run of keys, none of them anchored, and adds their chunks
// to a list. Rows that are to be coded are gathered first: what waits for memory
// then waits at the same time.
func (c *rowCache) encodeAll(f *frame, keys []codingKey, chunks []rowcodec.Chunk) []rowcodec.Chunk {
	c.misses = c.misses[:0]
	first := len(chunks)
	for i, key := range keys {
		p := c.lookup(key)
		if p.key != key {
			c.misses = append(c.misses, cacheMiss{i: i})
		}
		chunks = append(chunks, p.chunk)
	}
	for n := range c.misses {
		m := &c.misses[n]
		i := m.i
		*m = c.gather(f, keys[i])
		m.i = i
	}
	for n := range c.misses {
		m := &c.misses[n]
		chunks[first+m.i] = c.encodeAndStore(f, keys[m.i], m, nil)
	}
	return chunks
}

// gather finds what a row is coded from, and reads some of it.
func (c *rowCache) gather(f *frame, key codingKey) (m cacheMiss) {
	t := &f.tenants[key.slot()]
	m.row = f.currentRow(t, key.owned())
	b := key.baseline()
	if b.Age == 0 {
		return m
	}
	states := f.historyOf(key)
	m.base = states.at(f.tick - b.Age)
	if b.Gap != 0 {
		m.older = states.at(f.tick - b.Age - b.Gap)
	}
	c.prefetchSum += touchEnds(m.row.Words) + touchEnds(m.base) + touchEnds(m.older)
	return m
}

// ends reads the first and the last word of a state.
func touchEnds(words []uint32) uint32 {
	if len(words) == 0 {
		return 0
	}
	return words[0] + words[len(words)-1]
}

// make codes a row that was gathered, and keeps it while there is room.
func (c *rowCache) encodeAndStore(f *frame, key codingKey, m *cacheMiss, parent *history) rowcodec.Chunk {
	c.encoded++
	chunk := c.encodeMiss(f, key, m, parent)
	if 2*c.count >= len(c.table) {
		if len(c.table) == 2*maxCachedRows {
			return chunk
		}
		old := c.table
		c.resize(64 - c.shift + 1)
		for i := range old {
			if old[i].key != 0 {
				*c.lookup(old[i].key) = old[i]
			}
		}
	}
	*c.lookup(key) = cachedRow{key, chunk}
	c.count, c.keptLen = c.count+1, c.chunks.Len()
	return chunk
}

// trim forgets what was coded when there was no more room to keep it. It is
// called after each datagram.
func (c *rowCache) trim() { c.chunks.Cut(c.keptLen) }

func (c *rowCache) encodeMiss(f *frame, key codingKey, m *cacheMiss, parent *history) rowcodec.Chunk {
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

// payloads are the newest datagrams that were made of a frame, without their
// headers: of viewers that are to be sent the same rows, coded from the same
// states, all but the first are sent a copy. So it is where a crowd stands close
// together, and wherever everybody sees everything. A table with one place for
// each hash: what is rare overwrites and is overwritten.
type payloadCache [payloadEntries]payload

type payload struct {
	packed
	capture uint64      // the frame
	keys    []codingKey // of its rows
}

// reserve makes room in all places for as long datagrams as there are, so that a
// warm tick allocates nothing.
func (p *payloadCache) reserve() {
	const bytes = wire.MaxDatagram + 16
	allBytes, allKeys := make([]byte, payloadEntries*bytes), make([]codingKey, payloadEntries*wire.MaxRows)
	for i := range p {
		p[i].bytes = allBytes[i*bytes : i*bytes : (i+1)*bytes]
		p[i].keys = allKeys[i*wire.MaxRows : i*wire.MaxRows : (i+1)*wire.MaxRows]
	}
}

// of returns the place for a datagram with these rows.
func (p *payloadCache) entry(keys []codingKey) *payload {
	sum := codingKey(0)
	for _, k := range keys {
		sum += k
	}
	return &p[uint64(sum)*0x9e3779b97f4a7c15>>(64-payloadBits)]
}

// holds says whether p is the datagram of these rows.
func (p *payload) matches(capture uint64, keys []codingKey) bool {
	return p.capture == capture && slices.Equal(p.keys, keys)
}

// keep makes p the datagram of these rows.
func (p *payload) store(capture uint64, keys []codingKey, made packed) {
	p.capture, p.packed = capture, made
	p.keys = append(p.keys[:0], keys...)
}
