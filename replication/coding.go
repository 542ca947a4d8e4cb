package replication

import "github.com/worldd/worldd/replication/wire"

// codings are the present states of rows as they were coded for some viewer, so
// that for the next one with the same baselines bits are copied. They are an
// open hash table: the bits of a row depend on nothing but its coding's key in
// one frame (P6 of package wire). Filled by one goroutine.
type codings struct {
	chunks wire.Chunks
	table  []coding // a power of two, or nil
	count  int      // places in use
	frame  uint32   // marks the places in use
}

// codingKey names one way of coding the present state of a tenant.
type codingKey struct {
	slot     uint32
	baseline wire.Baseline
	anchored bool
	owned    bool // for an owner, of a tenant that has something for owners
}

type coding struct {
	key   codingKey
	frame uint32
	chunk wire.Chunk
}

const leastCodings = 1 << 10

func (c *codings) reset() {
	c.chunks.Reset()
	c.count = 0
	c.frame++
}

// find returns the place of key: where it is, or where it would be put.
func (c *codings) find(key codingKey) *coding {
	h := uint64(key.slot)<<32 ^ uint64(key.baseline.Age)<<8 ^ uint64(key.baseline.Gap)
	if key.anchored {
		h = ^h
	}
	if key.owned {
		h ^= 1 << 31
	}
	h *= 0x9e3779b97f4a7c15
	mask := uint64(len(c.table) - 1)
	for i := h >> 32 & mask; ; i = (i + 1) & mask {
		if p := &c.table[i]; p.frame != c.frame || p.key == key {
			return p
		}
	}
}

// room makes sure that a key can be added.
func (c *codings) room() bool {
	switch n := len(c.table); {
	case 2*c.count < n:
		return true
	case n == 2*maxCachedRows:
		return false
	}
	old := c.table
	c.table = make([]coding, max(2*len(old), leastCodings))
	for i := range old {
		if old[i].frame == c.frame {
			*c.find(old[i].key) = old[i]
		}
	}
	return true
}

// code codes the present state of the tenant in key.slot, or finds how it was
// coded. anchor is its parent's tenant if key.anchored. The chunk is in own if
// there is no more room to keep it.
func (f *Frame) code(key codingKey, anchor *tenant, own *wire.Chunks) (chunk wire.Chunk, how coded) {
	c := &f.codings
	if !c.room() {
		return f.encode(own, key, anchor), codedApart
	}
	p := c.find(key)
	if p.frame == c.frame {
		return p.chunk, codedBefore
	}
	*p = coding{key, c.frame, f.encode(&c.chunks, key, anchor)}
	c.count++
	return p.chunk, codedFirst
}

// coded says how a row came by its bits.
type coded uint8

const (
	codedFirst  coded = iota // for this viewer, and kept for others
	codedBefore              // for another viewer
	codedApart               // for this viewer alone
)

func (f *Frame) encode(chunks *wire.Chunks, key codingKey, parent *tenant) wire.Chunk {
	t := &f.tenants[key.slot]
	b := key.baseline
	row, states := f.current(t, key.owned), t.as(key.owned)
	if b.Age == 0 {
		return chunks.Add(f.codec, row, nil)
	}
	past := &f.past
	*past = wire.Past{Base: f.at(states, f.tick-b.Age), Age: b.Age, Gap: b.Gap}
	if b.Gap != 0 {
		past.Older = f.at(states, f.tick-b.Age-b.Gap)
	}
	if key.anchored {
		component, _ := f.schema.Parent(wire.Row{Mask: t.mask, Words: past.Base})
		var older []uint32
		if b.Gap != 0 {
			older = f.at(&parent.history, f.tick-b.Age-b.Gap)
		}
		f.codec.SetAnchor(&f.anchor, component, f.state(&parent.history, 0), f.at(&parent.history, f.tick-b.Age), older)
		past.Anchor = &f.anchor
	}
	if f.coded != nil {
		f.coded(row, past)
	}
	return chunks.Add(f.codec, row, past)
}
