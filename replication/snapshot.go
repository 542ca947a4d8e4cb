package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// encodeSnapshots fills datagrams with the waiting rows, until the budget or the number
// of datagrams is reached. It makes at least one, since an empty snapshot carries the
// clock and the acknowledgement of inputs.
func (v *Viewer) encodeSnapshots() [][]byte {
	v.datagrams = v.datagrams[:0]
	if waiting := len(v.work.waiting); v.overflow == 0 || waiting < v.overflow {
		if v.encodeAll() {
			return v.datagrams
		}
		v.overflow = waiting
	}
	v.encodeByPriority()
	return v.datagrams
}

// collectWaiting collects the rows whose newest state the client is not known to have,
// ascending by slot, and reports whether there are any. It also requests enters for
// members whose rows start over. Dormant rows are not examined.
func (v *Viewer) collectWaiting() bool {
	r, w, m := v.replicator, v.work, &v.members
	rows, present, resend := v.rows, r.frame.summaries, resendAfter*r.interval
	h := horizon{r.frame.tick, (wire.MaxStates - 1) * r.interval}
	w.waiting, w.waitingRows = w.waiting[:0], w.waitingRows[:0]
	if !m.anyActive {
		return false
	}
	waiting, rowIndexes, left := w.waiting, w.waitingRows, uint64(0)
	for i := range m.words {
		word := &m.words[i]
		for rest := word.active; rest != 0; rest &= rest - 1 {
			slot := word.number<<6 | uint32(bits.TrailingZeros64(rest))
			rowIndex := m.rows[word.rowAt(slot)]
			row, p, owned := &rows[rowIndex], &present[slot], codingKey(0)
			if p.hasOwnerRow && v.Owns(v.handles[rowIndex]) {
				p, owned = &r.frame.tenants[slot].ownerRow.summary, ownedKey
			}
			switch {
			case p.maskSince > row.enterTick:
				w.requests = append(w.requests, enterRequest{v.handles[rowIndex], row.enterTick, rowIndex})
			case p.version <= row.ackedTick:
				word.active &^= rest & -rest // dormant
				v.resetPriority(row, rowIndex)
			case row.flags&inFlight != 0 && row.sentTick >= p.version && h.tick-row.sentTick <= resend:
			default:
				waiting = append(waiting, h.keyFor(slot, row, p)|owned)
				rowIndexes = append(rowIndexes, rowIndex)
			}
		}
		left |= word.active
	}
	m.anyActive = left != 0
	w.waiting, w.waitingRows = waiting, rowIndexes
	return len(waiting) > 0
}

// allowance returns the size limit of the next datagram, in bytes.
func (v *Viewer) allowance() int {
	return min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes))
}

// encodeAll makes one datagram of all waiting rows, if they fit. This is the common
// case and needs no priorities.
func (v *Viewer) encodeAll() bool {
	w := v.work
	if len(w.waiting) > wire.MaxRows || !v.fitsLoad() {
		return false
	}
	if v.replicator.frame.schema.HasParents() {
		v.markAnchored()
	}
	maxBytes := v.rowBytes()
	cached := w.payloads.entry(w.waiting)
	if cached.matches(w.capture, w.waiting) {
		cached.copied = cached.rows
	} else if !v.packAll(cached, maxBytes) {
		return false
	}
	if len(cached.bytes) > maxBytes {
		return false
	}
	v.beginSnapshot()
	v.recordSent(w.waiting, w.waitingRows)
	v.closeSnapshot(&cached.packed)
	return true
}

// fitsLoad reports whether the load of all waiting rows fits into one datagram. Only
// schemas with many or heavy components need the sum over rows.
func (v *Viewer) fitsLoad() bool {
	f, keys := v.replicator.frame, v.work.waiting
	if len(keys)*f.schema.Load(1<<f.schema.Components()-1) <= wire.MaxLoad {
		return true
	}
	load := 0
	for _, k := range keys {
		load += f.schema.Load(f.tenants[k.slot()].mask)
	}
	return load <= wire.MaxLoad
}

// batchRows is how many rows are gathered before the first of them is coded: somewhat
// more than the cache misses that a core overlaps.
const batchRows = 32

// packAll packs all waiting rows. It stops and returns false once they exceed maxBytes.
func (v *Viewer) packAll(to *payload, maxBytes int) bool {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	defer w.rowCache.trim()
	encodedBefore, bits := w.rowCache.encoded, 0
	e.chunks = e.chunks[:0]
	for from := 0; from < len(w.waiting); {
		chunks := v.encodeRun(from)
		for _, chunk := range chunks {
			bits += chunk.Bits()
		}
		if bits > 8*maxBytes {
			return false
		}
		from += len(chunks)
	}
	if e.measure(w.waiting, e.chunks) > 8*maxBytes {
		return false
	}
	p := e.pack(to.bytes[:0], f, w.waiting, e.chunks, &w.rowCache.chunks)
	p.copied = p.rows - uint32(w.rowCache.encoded-encodedBefore)
	to.store(w.capture, w.waiting, p)
	return true
}

// encodeRun codes some of the waiting rows, beginning at index from, and returns their
// chunks, which it appends to the encoder's.
func (v *Viewer) encodeRun(from int) []rowcodec.Chunk {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	if key := w.waiting[from]; key.anchored() {
		at, _ := v.findAnchor(from)
		e.chunks = append(e.chunks, w.rowCache.encode(f, key, f.historyOf(w.waiting[at])))
		return e.chunks[from:]
	}
	to := from + 1
	for to < len(w.waiting) && to-from < batchRows && !w.waiting[to].anchored() {
		to++
	}
	e.chunks = w.rowCache.encodeAll(f, w.waiting[from:to], e.chunks)
	return e.chunks[from:]
}

// markAnchored marks the rows whose parents wait as well.
func (v *Viewer) markAnchored() {
	w := v.work
	for i := range w.waiting {
		if _, ok := v.findAnchor(i); ok {
			w.waiting[i] |= anchoredKey
		}
	}
}

func (v *Viewer) recordSent(keys []codingKey, rowIndexes []uint32) {
	tick := v.replicator.frame.tick
	v.sent.add(rowIndexes...)
	for _, rowIndex := range rowIndexes {
		v.markSent(rowIndex, tick)
	}
	v.teachReferences(keys)
}

// teachReferences notes that the client is about to be sent the handles in rows.
func (v *Viewer) teachReferences(keys []codingKey) {
	f := v.replicator.frame
	if !f.schema.Refers() {
		return
	}
	for _, k := range keys {
		f.schema.References(f.currentRow(&f.tenants[k.slot()], k.owned()), v.teachFunc)
	}
}

// closeSnapshot makes the datagram of the open snapshot. It reads the structure number
// last: Teach may have written records that the references of rows and events depend on (R4).
func (v *Viewer) closeSnapshot(p *packed) {
	events := v.takeEvents(len(p.bytes))
	structure := v.structure.written
	n := len(v.datagrams)
	b := wire.AppendStateHeader(v.buffers[n][:0], wire.StateHeader{
		Seq: v.sent.newest, Tick: v.replicator.frame.tick, Structure: structure, InputAge: v.inputAge(), Fold: p.fold, Events: events, Rows: int(p.rows),
	})
	v.buffers[n] = append(b, p.bytes...)
	v.datagrams = append(v.datagrams, v.buffers[n])
	v.tokens -= len(v.buffers[n])
	v.work.stats.datagram(p, len(v.buffers[n]), v.replicator.frame.schema.Components())
	v.stats.datagram(p.rows, len(v.buffers[n]))
}

// findAnchor returns the index of the waiting row that is the parent of waiting row i,
// if the two have the same baselines. A row with a parent of its own is no anchor:
// anchors come first, and none depends on another.
func (v *Viewer) findAnchor(i int) (at int, ok bool) {
	w, f := v.work, v.replicator.frame
	key := w.waiting[i]
	if key.age() == 0 || !f.schema.HasParents() {
		return 0, false
	}
	component, h := f.parentOf(key)
	if f.tenantOf(h) == nil {
		return 0, false
	}
	at, ok = slices.BinarySearchFunc(w.waiting, h.Index(), func(k codingKey, slot uint32) int {
		return int(k.slot()) - int(slot)
	})
	if !ok || w.waiting[at].baselineBits() != key.baselineBits() {
		return 0, false
	}
	_, grandparent := f.parentOf(w.waiting[at])
	return at, grandparent == 0 && f.tenants[h.Index()].mask>>component&1 != 0
}

// parentOf returns the parent that a row named in its baseline, and the component that
// named it.
func (f *frame) parentOf(k codingKey) (component int, h bulk.Handle) {
	return f.schema.Parent(schema.Row{Mask: f.tenants[k.slot()].mask, Values: f.historyOf(k).at(f.tick - k.age())})
}
