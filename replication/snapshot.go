package replication

import (
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
	if waiting := len(v.work.waiting); v.crowd == 0 || waiting < v.crowd {
		if v.encodeAll() {
			return v.datagrams
		}
		v.crowd = waiting
	}
	v.encodeByPriority()
	return v.datagrams
}

// allowance is what the next datagram may take, in bytes.
func (v *Viewer) allowance() int {
	return min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes))
}

// encodeAll makes one datagram of all waiting rows, if they fit. It is the common
// case, and needs no order of urgency.
func (v *Viewer) encodeAll() bool {
	w := v.work
	if len(w.waiting) > wire.MaxRows || !v.lightEnough() {
		return false
	}
	if v.replicator.frame.schema.Carries() {
		v.anchorAll()
	}
	most := v.allowance() - wire.StateHeaderBytes
	made := w.payloads.of(w.waiting)
	if made.holds(w.capture, w.waiting) {
		made.copied = made.rows
	} else if !v.packAll(made, most) {
		return false
	}
	if len(made.bytes) > most {
		return false
	}
	v.beginSnapshot()
	v.sendRows(w.waiting, w.places)
	v.closeSnapshot(&made.packed)
	return true
}

// lightEnough says whether all waiting rows are no more load than a datagram may have.
// Only a schema of many components, or heavy ones, has to be asked row by row.
func (v *Viewer) lightEnough() bool {
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
const codingRun = 32

// packAll packs all waiting rows. It leaves off and returns false when they are
// found to take more than most bytes.
func (v *Viewer) packAll(to *payload, most int) bool {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	defer w.codings.trim()
	made, bits := w.codings.made, 0
	e.chunks = e.chunks[:0]
	for from := 0; from < len(w.waiting); {
		chunks := v.codeSome(from)
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
	p := e.pack(to.bytes[:0], f, w.waiting, e.chunks, &w.codings.chunks)
	p.copied = p.rows - uint32(w.codings.made-made)
	to.keep(w.capture, w.waiting, p)
	return true
}

// codeSome codes some of the waiting rows, from a number on, and returns their
// chunks, which it adds to the encoder's.
func (v *Viewer) codeSome(from int) []rowcodec.Chunk {
	w, f, e := v.work, v.replicator.frame, &v.work.encoder
	if key := w.waiting[from]; key.anchored() {
		at, _ := v.anchor(from)
		e.chunks = append(e.chunks, w.codings.code(f, key, f.states(w.waiting[at])))
		return e.chunks[from:]
	}
	to := from + 1
	for to < len(w.waiting) && to-from < codingRun && !w.waiting[to].anchored() {
		to++
	}
	e.chunks = w.codings.codeRun(f, w.waiting[from:to], e.chunks)
	return e.chunks[from:]
}

// anchorAll marks the rows whose parents wait, too.
func (v *Viewer) anchorAll() {
	w := v.work
	for i := range w.waiting {
		if _, ok := v.anchor(i); ok {
			w.waiting[i] |= anchoredKey
		}
	}
}

// sendRows notes that rows, whose places are those, are in the open snapshot.
func (v *Viewer) sendRows(keys []codingKey, places []uint32) {
	tick := v.replicator.frame.tick
	v.sent.add(places...)
	for _, place := range places {
		v.send(place, tick)
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
		f.schema.References(f.current(&f.tenants[k.slot()], k.owned()), v.teach)
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
func (v *Viewer) anchor(i int) (at int, ok bool) {
	w, f := v.work, v.replicator.frame
	key := w.waiting[i]
	if key.age() == 0 || !f.schema.Carries() {
		return 0, false
	}
	component, h := f.parent(key)
	if f.tenantOf(h) == nil {
		return 0, false
	}
	at, ok = slices.BinarySearchFunc(w.waiting, h.Index(), func(k codingKey, slot uint32) int {
		return int(k.slot()) - int(slot)
	})
	if !ok || w.waiting[at].past() != key.past() {
		return 0, false
	}
	_, grandparent := f.parent(w.waiting[at])
	return at, grandparent == 0 && f.tenants[h.Index()].mask>>component&1 != 0
}

// parent is the entity that a row named as its parent in its baseline, and in
// which component.
func (f *frame) parent(k codingKey) (component int, h bulk.Handle) {
	return f.schema.Parent(schema.Row{Mask: f.tenants[k.slot()].mask, Words: f.states(k).at(f.tick - k.age())})
}
