package replication

import (
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// rowCache keeps the coded rows of the present frame, so that viewers with the same
// baselines share them: within a frame a row's bits depend on its coding key only (D4 of
// package rowcodec). It is an open hash table for one goroutine.
type rowCache struct {
	chunks      rowcodec.Chunks
	table       []cachedRow // the length is a power of two
	shift       uint        // of a hash, to get a table index
	count       int         // entries in use
	keptLen     int         // length of the chunks of stored rows
	encoded     uint64      // rows encoded since the start
	past        rowcodec.Past
	anchor      rowcodec.Anchor
	misses      []cacheMiss
	prefetchSum uint32 // keeps the compiler from dropping gather's loads
}

// cacheMiss is a row to encode: its index in the run of keys, and its inputs.
type cacheMiss struct {
	i           int
	row         rowschema.Row
	base, older []uint32 // nil: none
}

// cachedRow is 16 bytes, four to a cache line.
type cachedRow struct {
	key   codingKey // 0: unused
	chunk rowcodec.Chunk
}

const minCacheBits = 10

func (c *rowCache) dropRows() {
	c.chunks.Reset()
	clear(c.table)
	c.count, c.keptLen = 0, 0
	if c.table == nil {
		c.resizeTable(minCacheBits)
	}
}

func (c *rowCache) resizeTable(bits uint) {
	c.table, c.shift = make([]cachedRow, 1<<bits), 64-bits
}

// lookupRow returns the entry with key, or the unused entry where key belongs.
func (c *rowCache) lookupRow(key codingKey) *cachedRow {
	table := c.table
	for i := uint64(key) * 0x9e3779b97f4a7c15 >> c.shift; ; i++ {
		if p := &table[i&uint64(len(table)-1)]; p.key == key || p.key == 0 {
			return p
		}
	}
}

// encodeRow returns the coded present state of the tenant in key's slot, from the cache if
// possible. parent is the history of the tenant's parent if key is anchored.
func (c *rowCache) encodeRow(f *frame, key codingKey, parent *history) rowcodec.Chunk {
	p := c.lookupRow(key)
	if p.key == key {
		return p.chunk
	}
	m := c.gatherInputs(f, key)
	return c.encodeAndStore(f, key, &m, parent)
}

// encodeRows encodes the rows of a run of keys without anchors, and appends their chunks.
// It gathers the inputs of all misses first, so that their loads overlap.
func (c *rowCache) encodeRows(f *frame, keys []codingKey, chunks []rowcodec.Chunk) []rowcodec.Chunk {
	c.misses = c.misses[:0]
	first := len(chunks)
	for i, key := range keys {
		p := c.lookupRow(key)
		if p.key != key {
			c.misses = append(c.misses, cacheMiss{i: i})
		}
		chunks = append(chunks, p.chunk)
	}
	for n := range c.misses {
		m := &c.misses[n]
		i := m.i
		*m = c.gatherInputs(f, keys[i])
		m.i = i
	}
	for n := range c.misses {
		m := &c.misses[n]
		chunks[first+m.i] = c.encodeAndStore(f, keys[m.i], m, nil)
	}
	return chunks
}

// gatherInputs collects and prefetches the inputs of a row's coding.
func (c *rowCache) gatherInputs(f *frame, key codingKey) (m cacheMiss) {
	t := &f.tenants[key.slot()]
	m.row = f.currentRow(t, key.owned())
	b := key.baseline()
	if b.Age == 0 {
		return m
	}
	states := f.historyOf(key)
	m.base = states.rowAt(f.tick - b.Age)
	if b.Gap != 0 {
		m.older = states.rowAt(f.tick - b.Age - b.Gap)
	}
	c.prefetchSum += touchEnds(m.row.Values) + touchEnds(m.base) + touchEnds(m.older)
	return m
}

// touchEnds reads the first and the last value of a state.
func touchEnds(values []uint32) uint32 {
	if len(values) == 0 {
		return 0
	}
	return values[0] + values[len(values)-1]
}

// encodeAndStore encodes a gathered row, and stores it if the table has room.
func (c *rowCache) encodeAndStore(f *frame, key codingKey, m *cacheMiss, parent *history) rowcodec.Chunk {
	c.encoded++
	chunk := c.encodeMiss(f, key, m, parent)
	if 2*c.count >= len(c.table) {
		if len(c.table) == 2*maxCachedRows {
			return chunk
		}
		old := c.table
		c.resizeTable(64 - c.shift + 1)
		for i := range old {
			if old[i].key != 0 {
				*c.lookupRow(old[i].key) = old[i]
			}
		}
	}
	*c.lookupRow(key) = cachedRow{key, chunk}
	c.count, c.keptLen = c.count+1, c.chunks.Len()
	return chunk
}

// dropUnstored drops the chunks of rows that the full table did not store. It is called
// after each datagram.
func (c *rowCache) dropUnstored() { c.chunks.Cut(c.keptLen) }

func (c *rowCache) encodeMiss(f *frame, key codingKey, m *cacheMiss, parent *history) rowcodec.Chunk {
	b := key.baseline()
	if b.Age == 0 {
		return c.chunks.Add(f.codec, m.row, nil)
	}
	past := &c.past
	*past = rowcodec.Past{Base: m.base, Older: m.older, Age: b.Age, Gap: b.Gap}
	if key.anchored() {
		component, _ := f.rows.Parent(rowschema.Row{Mask: m.row.Mask, Values: m.base})
		var older []uint32
		if b.Gap != 0 {
			older = parent.rowAt(f.tick - b.Age - b.Gap)
		}
		f.codec.SetAnchor(&c.anchor, component, parent.newestRow(), parent.rowAt(f.tick-b.Age), older)
		past.Anchor = &c.anchor
	}
	return c.chunks.Add(f.codec, m.row, past)
}

// payloadCache keeps the newest datagrams of a frame, without their headers. Viewers that
// need the same rows from the same baselines get copies: common if viewers stand close
// together or see everything. It is direct-mapped: colliding datagrams replace each other.
type payloadCache [payloadEntries]payload

type payload struct {
	packed
	capture uint64      // capture number of the frame
	keys    []codingKey // coding keys of its rows
}

// reserveEntries allocates every entry at its maximum size, so that a warm tick allocates
// nothing.
func (p *payloadCache) reserveEntries() {
	const bytes = wire.MaxDatagram + 16
	allBytes, allKeys := make([]byte, payloadEntries*bytes), make([]codingKey, payloadEntries*wire.MaxRows)
	for i := range p {
		p[i].bytes = allBytes[i*bytes : i*bytes : (i+1)*bytes]
		p[i].keys = allKeys[i*wire.MaxRows : i*wire.MaxRows : (i+1)*wire.MaxRows]
	}
}

// entryFor returns the entry for a datagram with these rows.
func (p *payloadCache) entryFor(keys []codingKey) *payload {
	sum := codingKey(0)
	for _, k := range keys {
		sum += k
	}
	return &p[uint64(sum)*0x9e3779b97f4a7c15>>(64-payloadBits)]
}

// holdsRows reports whether p is the datagram of these rows.
func (p *payload) holdsRows(capture uint64, keys []codingKey) bool {
	return p.capture == capture && slices.Equal(p.keys, keys)
}

// storeRows makes p the datagram of these rows.
func (p *payload) storeRows(capture uint64, keys []codingKey, made packed) {
	made.bytes, made.teleports = append(p.bytes[:0], made.bytes...), append(p.teleports[:0], made.teleports...)
	p.capture, p.packed = capture, made
	p.keys = append(p.keys[:0], keys...)
}
