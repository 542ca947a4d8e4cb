package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// encodeSnapshots fills datagrams with the waiting rows, until the budget or the
// number of datagrams is reached. There is always one, since an empty snapshot
// carries the clock and the acknowledgement of inputs.
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

// selectRows gathers the rows whose newest state the client is not known to
// have, in ascending order of slots, and says whether there are any; and the
// members that must be entered anew. What is dormant is not looked at.
func (v *Viewer) collectWaiting() bool {
	r, w, m := v.replicator, v.work, &v.members
	rows, present, resend := v.rows, r.frame.summaries, resendAfter*r.interval
	past := horizon{r.frame.tick, (wire.MaxStates - 1) * r.interval}
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
			case row.flags&inFlight != 0 && row.sentTick >= p.version && past.tick-row.sentTick <= resend:
			default:
				waiting = append(waiting, past.keyFor(slot, row, p)|owned)
				rowIndexes = append(rowIndexes, rowIndex)
			}
		}
		left |= word.active
	}
	m.anyActive = left != 0
	w.waiting, w.waitingRows = waiting, rowIndexes
	return len(waiting) > 0
}

// allowance is what the next datagram may take, in bytes.
func (v *Viewer) allowance() int {
	return min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes))
}

// encodeAll makes one datagram of all waiting rows, if they fit. It is the common
// case, and needs no order of urgency.
func (v *Viewer) encodeAll() bool {
	w := v.work
	if len(w.waiting) > wire.MaxRows || !v.fitsLoad() {
		return false
	}
	if v.replicator.frame.schema.Carries() {
		v.markAnchored()
	}
	most := v.allowance() - wire.StateHeaderBytes
	made := w.payloads.entry(w.waiting)
	if made.matches(w.capture, w.waiting) {
		made.copied = made.rows
	} else if !v.packAll(made, most) {
		return false
	}
	if len(made.bytes) > most {
		return false
	}
	v.beginSnapshot()
	v.recordSent(w.waiting, w.waitingRows)
	v.closeSnapshot(&made.packed)
	return true
}

// lightEnough says whether all waiting rows are no more load than a datagram may have.
// Only a schema of many components, or heavy ones, has to be asked row by row.
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

// codingRun is how many rows are looked at before the first of them is coded: as
// many as a core can wait for at the same time, and some more.
const encodeBatch = 32

// packAll packs all waiting rows. It leaves off and returns false when they are
// found to take more than most bytes.
func (v *Viewer) packAll(to *payload, most int) bool {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	defer w.rows.trim()
	made, bits := w.rows.encoded, 0
	e.chunks = e.chunks[:0]
	for from := 0; from < len(w.waiting); {
		chunks := v.encodeRun(from)
		for _, chunk := range chunks {
			bits += chunk.Bits()
		}
		if bits > 8*most {
			return false
		}
		from += len(chunks)
	}
	if e.measure(w.waiting, e.chunks) > 8*most {
		return false
	}
	p := e.pack(to.bytes[:0], f, w.waiting, e.chunks, &w.rows.chunks)
	p.copied = p.rows - uint32(w.rows.encoded-made)
	to.store(w.capture, w.waiting, p)
	return true
}

// codeSome codes some of the waiting rows, from a number on, and returns their
// chunks, which it adds to the encoder's.
func (v *Viewer) encodeRun(from int) []rowcodec.Chunk {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	if key := w.waiting[from]; key.anchored() {
		at, _ := v.findAnchor(from)
		e.chunks = append(e.chunks, w.rows.encode(f, key, f.historyOf(w.waiting[at])))
		return e.chunks[from:]
	}
	to := from + 1
	for to < len(w.waiting) && to-from < encodeBatch && !w.waiting[to].anchored() {
		to++
	}
	e.chunks = w.rows.encodeAll(f, w.waiting[from:to], e.chunks)
	return e.chunks[from:]
}

// anchorAll marks the rows whose parents wait, too.
func (v *Viewer) markAnchored() {
	w := v.work
	for i := range w.waiting {
		if _, ok := v.findAnchor(i); ok {
			w.waiting[i] |= anchoredKey
		}
	}
}

// sendRows notes that rows, whose places are those, are in the open snapshot.
func (v *Viewer) recordSent(keys []codingKey, rowIndexes []uint32) {
	tick := v.replicator.frame.tick
	v.sent.add(rowIndexes...)
	for _, rowIndex := range rowIndexes {
		v.markSent(rowIndex, tick)
	}
	v.teachReferences(keys)
}

// teachReferences notes that the client is about to be sent the handles that
// rows hold.
func (v *Viewer) teachReferences(keys []codingKey) {
	f := v.replicator.frame
	if !f.schema.Refers() {
		return
	}
	for _, k := range keys {
		f.schema.References(f.currentRow(&f.tenants[k.slot()], k.owned()), v.teachFunc)
	}
}

// closeSnapshot makes the datagram of the open snapshot. The structure number is
// taken last: Teach may have written records that the rows' references stand on
// (R4).
func (v *Viewer) closeSnapshot(p *packed) {
	structure := v.structure.written
	n := len(v.datagrams)
	b := wire.AppendStateHeader(v.buffers[n][:0], wire.StateHeader{
		Seq: v.sent.newest, Tick: v.replicator.frame.tick, Structure: structure, Fold: p.fold, Rows: int(p.rows),
	})
	v.buffers[n] = append(b, p.bytes...)
	v.datagrams = append(v.datagrams, v.buffers[n])
	v.tokens -= len(v.buffers[n])
	v.work.stats.datagram(p, len(v.buffers[n]), v.replicator.frame.schema.Components())
	v.stats.datagram(p.rows, len(v.buffers[n]))
}

// anchor finds the parent of the i-th of the waiting rows among those that wait,
// if the two have the same baselines. A row that has a parent itself is no
// anchor, so that anchors come first, and none depends on another.
func (v *Viewer) findAnchor(i int) (at int, ok bool) {
	w, f := v.work, v.replicator.frame
	key := w.waiting[i]
	if key.age() == 0 || !f.schema.Carries() {
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

// parent is the entity that a row named as its parent in its baseline, and in
// which component.
func (f *frame) parentOf(k codingKey) (component int, h bulk.Handle) {
	return f.schema.Parent(schema.Row{Mask: f.tenants[k.slot()].mask, Words: f.historyOf(k).at(f.tick - k.age())})
}
