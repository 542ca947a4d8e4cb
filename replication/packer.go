package replication

import (
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// packer packs the waiting rows of one viewer after another, for one goroutine. It caches
// the coded rows of the present frame for later viewers.
type packer struct {
	frame    *frame
	capture  uint64 // capture of the frame that rowCache and payloads belong to
	rowCache rowCache
	payloads payloadCache
	// exactPayloads are the payloads of viewers that simulate. The first such viewer
	// reserves them.
	exactPayloads payloadCache
	parts         exactParts

	// The rows to send in the present snapshot, ascending by slot.
	waiting     []codingKey
	waitingRows []uint32 // row index of waiting[i]
	required    bitmap   // rows that a complete snapshot must have; rows beyond the end of the set are not required
	incomplete  bool     // the snapshot cannot be complete: it lacks an Enter

	// The rows of the present datagram, ascending by slot.
	keys       []codingKey
	rowIndexes []uint32
	chunks     []rowcodec.Chunk // encoded bits

	// Rows that are encoded together.
	batch      []uint32         // indexes in waiting
	batchKeys  []codingKey      // baseline and coding of batch[i]
	batchCoded []rowcodec.Chunk // encoded bits of batch[i]

	ranking   ranking
	selection selection
	encoder   encoder
}

// beginFrame drops the cached rows and payloads if they belong to another frame.
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

// beginSnapshot drops the waiting rows, and prepares for a viewer that simulates or for one
// that does not.
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

// requireLast makes the row that was added last required in complete snapshots.
func (p *packer) requireLast() {
	i := uint32(len(p.waiting) - 1)
	for len(p.required) <= int(i>>6) {
		p.required = append(p.required, 0)
	}
	p.required.set(i)
}

// isRequired reports whether complete snapshots must have waiting row i.
func (p *packer) isRequired(i int) bool {
	return i>>6 < len(p.required) && p.required.has(uint32(i))
}

// hasAllRequired reports whether the snapshot may be complete and its sent and selected
// rows include all required rows.
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

// withholdComplete keeps the snapshot from being complete: members wait to enter again.
func (p *packer) withholdComplete() { p.incomplete = true }

// addWaiting adds a waiting row. Rows must ascend by slot.
func (p *packer) addWaiting(key codingKey, rowIndex uint32) {
	p.waiting, p.waitingRows = append(p.waiting, key), append(p.waitingRows, rowIndex)
}

// setWaiting replaces the waiting rows.
func (p *packer) setWaiting(keys []codingKey, rowIndexes []uint32) {
	p.waiting, p.waitingRows = keys, rowIndexes
}

// markLate marks the waiting rows that depend on records since the tick unsure, which the
// client may not have received: the Enter of the row's entity, or of an entity that the row
// references. It returns the number of marked rows. If the focus is among them, it returns
// the number of all rows: the client would conclude from a snapshot without the focus that
// the focus has not changed.
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
	if cached.size() > maxBytes {
		return nil
	}
	cached.complete = !p.incomplete
	return &cached.packed
}

// fitsLoad reports whether the load of all waiting rows fits into one datagram. Only
// schemas with many or heavy components need the sum.
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

// batchRows is the number of rows that are gathered before they are coded: somewhat more
// than the cache misses that a core overlaps.
const batchRows = 32

// packAll packs all waiting rows, or returns false as soon as they exceed maxBytes.
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
	if e.writeHeaders(f, p.waiting, p.chunks) > 8*maxBytes {
		return false
	}
	made := e.packRows(f, p.waiting, p.chunks, &p.rowCache.chunks)
	made.copied = made.rows - uint32(p.rowCache.encoded-encodedBefore)
	to.storeRows(p.capture, p.waiting, made)
	return true
}

// encodeRun codes a run of the waiting rows that begins at index from. It appends their
// chunks to p.chunks, and returns the appended chunks.
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

// markAnchored marks the rows whose parents wait too.
func (p *packer) markAnchored() {
	for i := range p.waiting {
		if _, ok := p.findAnchor(i); ok {
			p.waiting[i] |= anchoredKey
		}
	}
}

// findAnchor returns the index of the waiting row that is the parent of waiting row i, if
// the two have the same baselines. A row that has a parent itself cannot be an anchor, so
// no anchor depends on another.
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

// parentOf returns the parent named by the baseline state of a row, and the component that
// names it.
func (f *frame) parentOf(k codingKey) (component int, h bulk.Handle) {
	return f.rows.Parent(rowschema.Row{Mask: f.tenants[k.slot()].mask, Values: f.historyOf(k).rowAt(f.tick - k.age())})
}
