package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// selection is the set of rows chosen for the datagram being filled. Rows are
// identified by their index in the waiting list.
type selection struct {
	order    []uint32         // selection order; a parent precedes rows anchored to it
	selected bitmap           // rows in order
	sent     bitmap           // rows already in an earlier datagram of this snapshot
	late     bitmap           // rows that depend on records that the client may lack
	chunks   []rowcodec.Chunk // by row, of the selected
	batch    []uint32         // rows being encoded together
	keys     []codingKey      // batch[i]'s baseline and coding
	coded    []rowcodec.Chunk // batch[i]'s encoded bits
	bits     int              // estimated bits of the selected rows
	load     int              // of the selected rows
}

// bitmap is a set of rows.
type bitmap []uint64

func (b bitmap) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitmap) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) clear(i uint32)    { b[i>>6] &^= 1 << (i & 63) }

// reset prepares for a waiting list of this length.
func (s *selection) reset(waiting int) {
	words := (waiting + 63) / 64
	s.selected = append(s.selected[:0], make([]uint64, words)...)
	s.sent = append(s.sent[:0], make([]uint64, words)...)
	s.late = append(s.late[:0], make([]uint64, words)...)
	s.chunks = slices.Grow(s.chunks[:0], waiting)[:waiting]
	s.order, s.bits, s.load = s.order[:0], 0, 0
}

// add selects row i if its size in bits and its load fit. The first row always fits: the schema
// bounds row length (wire.MaxRowBytes).
func (s *selection) add(i uint32, chunk rowcodec.Chunk, size, load, room int) bool {
	if len(s.order) > 0 && (s.bits+size > room || s.load+load > wire.MaxLoad || len(s.order) == wire.MaxRows) {
		return false
	}
	s.order = append(s.order, i)
	s.selected.set(i)
	s.chunks[i] = chunk
	s.bits += size
	s.load += load
	return true
}

// removeLast removes the n rows selected last. No other row depends on them.
func (s *selection) removeLast(n int) {
	kept := len(s.order) - n
	for _, i := range s.order[kept:] {
		s.selected.clear(i)
	}
	s.order = s.order[:kept]
}

// sealDatagram marks the selected rows as sent and empties the selection.
func (s *selection) sealDatagram() {
	for i := range s.selected {
		s.sent[i] |= s.selected[i]
		s.selected[i] = 0
	}
	s.order, s.bits, s.load = s.order[:0], 0, 0
}

// encodeInSeveral makes datagrams of the most urgent rows, or of all in the order of their slots
// if they seem to fit: that takes no priorities, and headers are shorter where slots are close.
func (v *Viewer) encodeInSeveral() {
	w := v.work
	w.selection.reset(len(w.waiting))
	if v.replicator.frame.schema.HasParents() {
		v.markAnchored()
	}
	fit := v.mayFit()
	var order []uint32
	if fit {
		order = v.orderBySlot()
	} else {
		order = v.rankWaiting()
	}
	rest := v.encodeRanked(order, maxDatagrams)
	if len(rest) == 0 && len(v.datagrams) == 1 {
		v.overflow = 0 // they fit again
	}
	if fit && len(rest) > 0 {
		v.rowBits = 0 // the next snapshot goes by priority, so none waits for ever
	}
}

// encodeRanked makes datagrams of rows in their order, until that many are made of the snapshot or
// the budget is reached. It makes at least one, and returns the rest of order.
func (v *Viewer) encodeRanked(order []uint32, most int) (rest []uint32) {
	for first := true; first || (len(v.datagrams) < most && len(order) > 0 && v.tokens > minSnapshotBytes); first = false {
		v.encodeDatagram(order)
		for len(order) > 0 && v.work.selection.sent.has(order[0]) {
			order = order[1:]
		}
	}
	return order
}

// mayFit reports whether the waiting rows fit into the budget if they are as long as in the
// newest datagram.
func (v *Viewer) mayFit() bool {
	const margin = 8 // 1/margin of the budget
	rows := len(v.work.waiting)
	size := rows * v.rowBits
	return v.rowBits > 0 && rows <= maxDatagrams*wire.MaxRows && len(v.events.events) == 0 &&
		size+size/margin <= 8*min(v.tokens, maxDatagrams*(v.maxDatagram-v.headerBytes()))
}

// orderBySlot returns the indexes of the waiting rows, ascending after those that the first
// datagram must have: see rankWaiting.
func (v *Viewer) orderBySlot() []uint32 {
	w := v.work
	first, rest := w.ranking.to[:0], w.ranking.from[:0]
	for i, rowIndex := range w.waitingRows {
		if w.waiting[i].slot() == v.focus.Index() || v.mustComplete(w.waiting[i], rowIndex) {
			first = append(first, uint32(i))
		} else {
			rest = append(rest, uint32(i))
		}
	}
	w.ranking.to, w.ranking.from = append(first, rest...), rest
	return w.ranking.to
}

// encodeDatagram makes one datagram of the most urgent rows, as many as fit. The size
// of the headers is known only once the rows are, so it is estimated first and then
// corrected.
func (v *Viewer) encodeDatagram(order []uint32) {
	w, e, s := v.work, &v.work.encoder, &v.work.selection
	encodedBefore := w.rowCache.encoded
	room := 8 * v.rowBytes()
	next := v.selectRows(order, room)
	size := v.orderSelected()
	for saved := s.bits - size; saved*len(s.order) > size && next < len(order); saved = s.bits - size { // room for more than a row
		before := len(s.order)
		next += v.selectRows(order[next:], room+saved)
		size = v.orderSelected()
		if len(s.order) == before {
			break
		}
	}
	for size > room && len(s.order) > 1 {
		s.removeLast(max((size-room)*len(s.order)/size, 1))
		size = v.orderSelected()
	}
	v.beginSnapshot()
	v.recordSent(e.keys, e.rows)
	packed := e.pack(v.replicator.frame, e.keys, e.chunks, &w.rowCache.chunks)
	packed.copied = packed.rows - min(packed.rows, uint32(w.rowCache.encoded-encodedBefore))
	v.closeSnapshot(&packed, v.simulation != nil && v.complete(s))
	w.rowCache.trim()
	s.sealDatagram()
}

// selectRows selects rows in their order until one does not fit, and returns how many
// it examined.
func (v *Viewer) selectRows(order []uint32, room int) (next int) {
	w, s := v.work, &v.work.selection
	coding := wire.RowCoding{SkipBits: skipBits(w.waiting)} // an estimate
	heavy := v.replicator.frame.hasHeavyRows()
	for next < len(order) {
		run := order[next:min(next+batchRows, len(order))]
		batch := v.encodeWithParents(run)
		coding.Usual = majorityBaseline(s.keys)
		for j, i := range batch {
			key := s.keys[j]
			size := s.coded[j].Bits() + wire.RowHeaderBits(coding, 1<<coding.SkipBits, key.baseline())
			if w.encoder.parts != nil {
				size += w.encoder.exactBits(key)
			}
			load := 0
			if heavy {
				load = v.replicator.frame.loadOf(key)
			}
			if !s.selected.has(i) && !s.add(i, s.coded[j], size, load, room) {
				return next
			}
		}
		next += len(run)
	}
	return next
}

// encodeWithParents encodes the rows of a run, each after its parent if it is anchored
// to a waiting one, and returns them with the added parents. Anchoring is not coded but
// follows from the rows of the datagram: a row that was sent in an earlier one is no
// anchor.
func (v *Viewer) encodeWithParents(run []uint32) []uint32 {
	w, f, s := v.work, v.replicator.frame, &v.work.selection
	s.batch, s.keys, s.coded = s.batch[:0], s.keys[:0], s.coded[:0]
	if !f.schema.HasParents() {
		batch, keys := s.batch, s.keys
		for _, i := range run {
			if !s.sent.has(i) {
				batch, keys = append(batch, i), append(keys, w.waiting[i])
			}
		}
		s.batch, s.keys = batch, keys
		s.coded = w.rowCache.encodeAll(f, s.keys, s.coded)
		return s.batch
	}
	for _, i := range run {
		if s.sent.has(i) {
			continue
		}
		if at, ok := v.findAnchor(int(i)); ok && !s.sent.has(uint32(at)) {
			v.encodeOne(uint32(at), nil)
			v.encodeOne(i, f.historyOf(w.waiting[at]))
		} else {
			w.waiting[i] &^= anchoredKey
			v.encodeOne(i, nil)
		}
	}
	return s.batch
}

// encodeOne adds a row to the batch, anchored to its parent unless parent is nil.
func (v *Viewer) encodeOne(i uint32, parent *history) {
	w, s := v.work, &v.work.selection
	s.batch, s.keys = append(s.batch, i), append(s.keys, w.waiting[i])
	s.coded = append(s.coded, w.rowCache.encode(v.replicator.frame, w.waiting[i], parent))
}

// orderSelected puts the selected rows into the encoder, ascending by slot, and returns
// how many bits they take.
func (v *Viewer) orderSelected() int {
	w, e, s := v.work, &v.work.encoder, &v.work.selection
	keys, rows, chunks := e.keys[:0], e.rows[:0], e.chunks[:0]
	for word, mask := range s.selected {
		for ; mask != 0; mask &= mask - 1 {
			i := word<<6 | bits.TrailingZeros64(mask)
			keys = append(keys, w.waiting[i])
			rows = append(rows, w.waitingRows[i])
			chunks = append(chunks, s.chunks[i])
		}
	}
	e.keys, e.rows, e.chunks = keys, rows, chunks
	return e.writeHeaders(keys, chunks)
}
