package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// picks are the rows of a datagram that is filled by priority. Rows have numbers
// among those that wait.
type selection struct {
	order    []uint32         // in which they were picked: a parent before those that are anchored to it
	selected []uint64         // the same, by number
	sent     []uint64         // those that are in an earlier datagram of the snapshot, by number
	chunks   []rowcodec.Chunk // by number, of the picked
	batch    []uint32         // what is looked at together, and
	keys     []codingKey      // of those how they are coded,
	coded    []rowcodec.Chunk // and their bits
	bits     int              // that the picked take, as far as it is known
	load     int              // of them all
}

// reset makes ready for so many rows that wait.
func (p *selection) reset(waiting int) {
	words := (waiting + 63) / 64
	p.selected = append(p.selected[:0], make([]uint64, words)...)
	p.sent = append(p.sent[:0], make([]uint64, words)...)
	p.chunks = slices.Grow(p.chunks[:0], waiting)[:waiting]
	p.order, p.bits, p.load = p.order[:0], 0, 0
}

func (p *selection) has(i uint32) bool         { return p.selected[i>>6]>>(i&63)&1 != 0 }
func (p *selection) alreadySent(i uint32) bool { return p.sent[i>>6]>>(i&63)&1 != 0 }

// add picks a row of so many bits and of some load, if it fits into room. A
// first row always does: the schema bounds its length (wire.MaxRowBytes).
func (p *selection) add(i uint32, chunk rowcodec.Chunk, bits, load, room int) bool {
	if len(p.order) > 0 && (p.bits+bits > room || p.load+load > wire.MaxLoad || len(p.order) == wire.MaxRows) {
		return false
	}
	p.order = append(p.order, i)
	p.selected[i>>6] |= 1 << (i & 63)
	p.chunks[i] = chunk
	p.bits += bits
	p.load += load
	return true
}

// drop gives the last of the picked up: those on whom no other stands.
func (p *selection) removeLast(n int) {
	kept := len(p.order) - n
	for _, i := range p.order[kept:] {
		p.selected[i>>6] &^= 1 << (i & 63)
	}
	p.order = p.order[:kept]
}

// leave notes that the datagram of the picked is made.
func (p *selection) sealDatagram() {
	for i := range p.selected {
		p.sent[i] |= p.selected[i]
		p.selected[i] = 0
	}
	p.order, p.bits, p.load = p.order[:0], 0, 0
}

// encodeByPriority makes datagrams of the most urgent rows.
func (v *Viewer) encodeByPriority() {
	w := v.work
	w.selection.reset(len(w.waiting))
	if v.replicator.frame.schema.Carries() {
		v.markAnchored()
	}
	order := v.rankWaiting()
	for n := 0; n == 0 || (n < maxDatagrams && len(order) > 0 && v.tokens > minSnapshotBytes); n++ {
		v.encodeDatagram(order)
		for len(order) > 0 && w.selection.alreadySent(order[0]) {
			order = order[1:]
		}
	}
	if len(order) == 0 && len(v.datagrams) == 1 {
		v.overflow = 0 // they fit again
	}
}

// encodeSome makes one datagram of the most urgent rows: as many as fit, in their
// order. What headers take is known only when it is known which rows there are, so
// it is reckoned first, and then set right.
func (v *Viewer) encodeDatagram(order []uint32) {
	w, e, p := v.work, &v.work.encoder, &v.work.selection
	made := w.rows.encoded
	room := 8 * (v.allowance() - wire.StateHeaderBytes)
	next := v.selectRows(order, room)
	bits := v.orderSelected()
	for saved := p.bits - bits; saved*len(p.order) > bits && next < len(order); saved = p.bits - bits { // more than a row
		before := len(p.order)
		next += v.selectRows(order[next:], room+saved)
		if bits = v.orderSelected(); len(p.order) == before {
			break
		}
	}
	for bits > room && len(p.order) > 1 {
		p.removeLast(max((bits-room)*len(p.order)/bits, 1))
		bits = v.orderSelected()
	}
	v.beginSnapshot()
	v.recordSent(e.keys, e.rows)
	packed := e.pack(e.packed[:0], v.replicator.frame, e.keys, e.chunks, &w.rows.chunks)
	packed.copied = packed.rows - min(packed.rows, uint32(w.rows.encoded-made))
	e.packed = packed.bytes
	v.closeSnapshot(&packed)
	w.rows.trim()
	p.sealDatagram()
}

// pick picks rows in their order until one does not fit, and returns how many it
// has looked at.
func (v *Viewer) selectRows(order []uint32, room int) (next int) {
	w, f, p := v.work, v.replicator.frame, &v.work.selection
	var coding wire.RowCoding // as it may be
	for next < len(order) {
		run := order[next:min(next+encodeBatch, len(order))]
		for j, i := range v.encodeWithParents(run) {
			key := p.keys[j]
			if j == 0 {
				coding = wire.RowCoding{Usual: majorityBaseline(p.keys), SkipBits: skipBits(w.waiting)}
			}
			bits := p.coded[j].Bits() + wire.RowHeaderBits(coding, 1<<coding.SkipBits, key.baseline())
			if !p.has(i) && !p.add(i, p.coded[j], bits, f.schema.Load(f.tenants[key.slot()].mask), room) {
				return next
			}
		}
		next += len(run)
	}
	return next
}

// codeFamilies codes a run of rows, each after its parent if it is anchored to one
// that waits, too, and returns their numbers. Whether a row is anchored is not
// said on the wire, but follows from what else is in the datagram: who went with an
// earlier one is no anchor.
func (v *Viewer) encodeWithParents(run []uint32) []uint32 {
	w, f, p := v.work, v.replicator.frame, &v.work.selection
	p.batch, p.keys, p.coded = p.batch[:0], p.keys[:0], p.coded[:0]
	if !f.schema.Carries() {
		for _, i := range run {
			if !p.alreadySent(i) {
				p.batch, p.keys = append(p.batch, i), append(p.keys, w.waiting[i])
			}
		}
		p.coded = w.rows.encodeAll(f, p.keys, p.coded)
		return p.batch
	}
	for _, i := range run {
		if p.alreadySent(i) {
			continue
		}
		if at, ok := v.findAnchor(int(i)); ok && !p.alreadySent(uint32(at)) {
			v.encodeOne(uint32(at), nil)
			v.encodeOne(i, f.historyOf(w.waiting[at]))
		} else {
			w.waiting[i] &^= anchoredKey
			v.encodeOne(i, nil)
		}
	}
	return p.batch
}

// codeOne codes a row, anchored to its parent if the states of one are given, and adds
// it to the run.
func (v *Viewer) encodeOne(i uint32, parent *history) {
	w, p := v.work, &v.work.selection
	p.batch, p.keys = append(p.batch, i), append(p.keys, w.waiting[i])
	p.coded = append(p.coded, w.rows.encode(v.replicator.frame, w.waiting[i], parent))
}

// arrange puts the picked in the order of their slots, and returns how many bits
// they take.
func (v *Viewer) orderSelected() int {
	w, e, p := v.work, &v.work.encoder, &v.work.selection
	e.keys, e.rows, e.chunks = e.keys[:0], e.rows[:0], e.chunks[:0]
	for word, mask := range p.selected {
		for ; mask != 0; mask &= mask - 1 {
			i := word<<6 | bits.TrailingZeros64(mask)
			e.keys = append(e.keys, w.waiting[i])
			e.rows = append(e.rows, w.waitingRows[i])
			e.chunks = append(e.chunks, p.chunks[i])
		}
	}
	return e.measure(e.keys, e.chunks)
}
