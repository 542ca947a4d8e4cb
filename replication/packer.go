package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// packer packs the rows that wait for one viewer after another, for one goroutine. It caches what
// was coded from the present frame for further viewers.
type packer struct {
	frame    *frame
	capture  uint64 // of the frame that rowCache and payloads belong to
	rowCache rowCache
	payloads payloadCache
	// exactPayloads are the payloads of viewers that simulate; reserved for the first of them.
	exactPayloads payloadCache
	parts         exactParts

	// The rows to send in the running snapshot, ascending by slot.
	waiting     []codingKey
	waitingRows []uint32 // their row indexes
	required    bitmap   // rows that a complete snapshot has; shorter if the rest has none
	incomplete  bool     // the snapshot lacks more than rows

	// The rows of the datagram being made, ascending by slot.
	keys       []codingKey
	rowIndexes []uint32
	chunks     []rowcodec.Chunk // encoded bits

	// Rows being encoded together.
	batch      []uint32         // indexes in waiting
	batchKeys  []codingKey      // baseline and coding of batch[i]
	batchCoded []rowcodec.Chunk // encoded bits of batch[i]

	ranking   ranking
	selection selection
	encoder   encoder
}

// beginFrame drops the rows and payloads that are cached of another capture's frame.
func (p *packer) beginFrame(capture uint64) {
	if p.payloads[0].keys == nil {
		p.payloads.reserveEntries()
	}
	if p.capture != capture {
		p.capture = capture
		p.parts.beginFrame(capture)
		p.rowCache.dropRows()
	}
}

// beginSnapshot begins with no waiting rows, for a viewer that simulates or not.
func (p *packer) beginSnapshot(simulates bool) {
	p.waiting, p.waitingRows, p.required = p.waiting[:0], p.waitingRows[:0], p.required[:0]
	p.incomplete = false
	if !simulates {
		p.encoder.beginViewer(nil, nil)
	} else {
		p.encoder.beginViewer(&p.parts, &p.rowCache)
		if p.exactPayloads[0].keys == nil {
			p.exactPayloads.reserveEntries()
		}
	}
}

// requireLast notes that complete snapshots have the row that was added last.
func (p *packer) requireLast() {
	i := uint32(len(p.waiting) - 1)
	for len(p.required) <= int(i>>6) {
		p.required = append(p.required, 0)
	}
	p.required.set(i)
}

// isRequired reports whether complete snapshots have a waiting row.
func (p *packer) isRequired(i int) bool {
	return i>>6 < len(p.required) && p.required.has(uint32(i))
}

// hasAllRequired reports whether the snapshot has all required rows with those that are selected.
func (p *packer) hasAllRequired() bool {
	if p.incomplete {
		return false
	}
	for i, required := range p.required {
		if required&^(p.selection.selected[i]|p.selection.sent[i]) != 0 {
			return false
		}
	}
	return true
}

// withholdComplete makes no datagram complete the snapshot: members wait to enter again.
func (p *packer) withholdComplete() { p.incomplete = true }

// addWaiting adds a row to those that wait, which ascend by slot.
func (p *packer) addWaiting(key codingKey, rowIndex uint32) {
	p.waiting, p.waitingRows = append(p.waiting, key), append(p.waitingRows, rowIndex)
}

// setWaiting replaces the rows that wait.
func (p *packer) setWaiting(keys []codingKey, rowIndexes []uint32) {
	p.waiting, p.waitingRows = keys, rowIndexes
}

// markLate marks the waiting rows whose Enter, or whose referent's Enter, the client may not have
// received, since it may lack the records since the tick unsure. It returns their
// number. If the focus is among them all rows count: its client takes a snapshot without its row
// for news that it has not changed.
func (p *packer) markLate(m *members, focus bulk.Handle, unsure uint32) (late int) {
	f := p.frame
	p.selection.beginSelection(len(p.waiting))
	refers := f.rows.Refers()
	for i, rowIndex := range p.waitingRows {
		k := p.waiting[i]
		lacks := m.rows[rowIndex].enterTick >= unsure
		if refers && !lacks {
			f.rows.References(f.currentRow(&f.tenants[k.slot()], k.owned()), func(h bulk.Handle) {
				to, member := m.indexOf(h)
				lacks = lacks || !member || m.rows[to].enterTick >= unsure
			})
		}
		if !lacks {
			continue
		}
		if m.handles[rowIndex] == focus {
			return len(p.waiting)
		}
		p.selection.late.set(uint32(i))
		late++
	}
	return late
}

// packTogether packs all waiting rows into one datagram of at most maxBytes, or returns nil if they
// do not fit.
func (p *packer) packTogether(maxBytes int) *packed {
	if len(p.waiting) > wire.MaxRows || !p.fitsLoad() {
		return nil
	}
	if p.frame.rows.HasParents() {
		p.markAnchored()
	}
	payloads := &p.payloads
	if p.encoder.parts != nil {
		payloads = &p.exactPayloads
	}
	cached := payloads.entryFor(p.waiting)
	if cached.holdsRows(p.capture, p.waiting) {
		cached.copied = cached.rows
	} else if !p.packAll(cached, maxBytes) {
		return nil
	}
	if len(cached.bytes) > maxBytes {
		return nil
	}
	cached.complete = !p.incomplete
	return &cached.packed
}

// fitsLoad reports whether the load of all waiting rows fits into one datagram. Only
// schemas with many or heavy components need the sum over rows.
func (p *packer) fitsLoad() bool {
	f, load := p.frame, 0
	if !f.hasHeavyRows() {
		return true
	}
	for _, k := range p.waiting {
		load += f.loadOf(k)
	}
	return load <= wire.MaxLoad
}

// hasHeavyRows reports whether the rows of a datagram may exceed its load.
func (f *frame) hasHeavyRows() bool {
	return wire.MaxRows*f.rows.Load(1<<f.rows.Components()-1) > wire.MaxLoad
}

// loadOf returns the load of a row.
func (f *frame) loadOf(k codingKey) int { return f.rows.Load(f.tenants[k.slot()].mask) }

// batchRows is how many rows are gathered before the first of them is coded: somewhat
// more than the cache misses that a core overlaps.
const batchRows = 32

// packAll packs all waiting rows. It stops and returns false once they exceed maxBytes.
func (p *packer) packAll(to *payload, maxBytes int) bool {
	f, e := p.frame, &p.encoder
	defer p.rowCache.dropUnstored()
	encodedBefore, size := p.rowCache.encoded, 0
	p.chunks = p.chunks[:0]
	for from := 0; from < len(p.waiting); {
		chunks := p.encodeRun(from)
		for _, chunk := range chunks {
			size += chunk.Bits()
		}
		if size > 8*maxBytes {
			return false
		}
		from += len(chunks)
	}
	if e.writeHeaders(p.waiting, p.chunks) > 8*maxBytes {
		return false
	}
	made := e.packRows(f, p.waiting, p.chunks, &p.rowCache.chunks)
	made.copied = made.rows - uint32(p.rowCache.encoded-encodedBefore)
	to.storeRows(p.capture, p.waiting, made)
	return true
}

// encodeRun codes some of the waiting rows, beginning at index from, and returns their
// chunks, which it appends to the others.
func (p *packer) encodeRun(from int) []rowcodec.Chunk {
	f := p.frame
	if key := p.waiting[from]; key.anchored() {
		at, _ := p.findAnchor(from)
		p.chunks = append(p.chunks, p.rowCache.encodeRow(f, key, f.historyOf(p.waiting[at])))
		return p.chunks[from:]
	}
	to := from + 1
	for to < len(p.waiting) && to-from < batchRows && !p.waiting[to].anchored() {
		to++
	}
	p.chunks = p.rowCache.encodeRows(f, p.waiting[from:to], p.chunks)
	return p.chunks[from:]
}

// markAnchored marks the rows whose parents wait as well.
func (p *packer) markAnchored() {
	for i := range p.waiting {
		if _, ok := p.findAnchor(i); ok {
			p.waiting[i] |= anchoredKey
		}
	}
}

// findAnchor returns the index of the waiting row that is the parent of waiting row i,
// if the two have the same baselines. A row with a parent of its own is no anchor:
// anchors come first, and none depends on another.
func (p *packer) findAnchor(i int) (at int, ok bool) {
	f := p.frame
	key := p.waiting[i]
	if key.age() == 0 || !f.rows.HasParents() {
		return 0, false
	}
	component, h := f.parentOf(key)
	if f.tenantOf(h) == nil {
		return 0, false
	}
	at, ok = slices.BinarySearchFunc(p.waiting, h.Index(), func(k codingKey, slot uint32) int {
		return int(k.slot()) - int(slot)
	})
	if !ok || p.waiting[at].baselineBits() != key.baselineBits() {
		return 0, false
	}
	_, grandparent := f.parentOf(p.waiting[at])
	return at, grandparent == 0 && f.tenants[h.Index()].mask>>component&1 != 0
}

// parentOf returns the parent that a row named in its baseline, and the component that
// named it.
func (f *frame) parentOf(k codingKey) (component int, h bulk.Handle) {
	return f.rows.Parent(rowschema.Row{Mask: f.tenants[k.slot()].mask, Values: f.historyOf(k).rowAt(f.tick - k.age())})
}
