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
	late     bitmap           // rows that depend on a record that the client may lack
	chunks   []rowcodec.Chunk // encoded bits of the selected rows, by row
	bits     int              // estimated bits of the selected rows
	load     int              // load of the selected rows
}

// bitmap is a set of rows.
type bitmap []uint64

func (b bitmap) has(i uint32) bool { return b[i>>6]>>(i&63)&1 != 0 }
func (b bitmap) set(i uint32)      { b[i>>6] |= 1 << (i & 63) }
func (b bitmap) clear(i uint32)    { b[i>>6] &^= 1 << (i & 63) }

// holdLate keeps the late rows from being selected, and other rows from being anchored to a
// late row.
func (s *selection) holdLate() { copy(s.sent, s.late) }

// releaseLate undoes holdLate.
func (s *selection) releaseLate() {
	for i := range s.sent {
		s.sent[i] &^= s.late[i]
	}
}

// beginSelection prepares for a waiting list of this length.
func (s *selection) beginSelection(waiting int) {
	words := (waiting + 63) / 64
	s.selected = append(s.selected[:0], make([]uint64, words)...)
	s.sent = append(s.sent[:0], make([]uint64, words)...)
	s.late = append(s.late[:0], make([]uint64, words)...)
	s.chunks = slices.Grow(s.chunks[:0], waiting)[:waiting]
	s.order, s.bits, s.load = s.order[:0], 0, 0
}

// addRow selects row i if its size in bits and its load fit. The first row always fits: the schema
// bounds row length (wire.MaxRowBytes).
func (s *selection) addRow(i uint32, chunk rowcodec.Chunk, size, load, room int) bool {
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

// removeLast removes the n rows selected last. No other selected row depends on them.
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

// rankBySlot returns the indexes of the waiting rows in ascending order, but the row of
// firstSlot and the required rows come first.
func (p *packer) rankBySlot(firstSlot uint32) []uint32 {
	p.ranking.beginOrder()
	for i, key := range p.waiting {
		p.ranking.addOrdered(uint32(i), key.slot() == firstSlot || p.isRequired(i))
	}
	return p.ranking.joinOrder()
}

// packMostUrgent packs as many of the first rows of order as fit into rowBytes, and leaves
// their keys and row indexes in p. The size of headers depends on the selected rows, so it
// is estimated first and then corrected.
func (p *packer) packMostUrgent(order []uint32, rowBytes int) (made packed) {
	e, s := &p.encoder, &p.selection
	encodedBefore := p.rowCache.encoded
	room := 8 * rowBytes
	next := p.selectRows(order, room)
	size := p.orderSelected()
	for saved := s.bits - size; saved*len(s.order) > size && next < len(order); saved = s.bits - size { // room for more than a row
		before := len(s.order)
		next += p.selectRows(order[next:], room+saved)
		size = p.orderSelected()
		if len(s.order) == before {
			break
		}
	}
	for size > room && len(s.order) > 1 {
		s.removeLast(max((size-room)*len(s.order)/size, 1))
		size = p.orderSelected()
	}
	made = e.packRows(p.frame, p.keys, p.chunks, &p.rowCache.chunks)
	made.copied = made.rows - min(made.rows, uint32(p.rowCache.encoded-encodedBefore))
	made.complete = p.hasAllRequired()
	p.rowCache.dropUnstored()
	s.sealDatagram()
	return made
}

// selectRows selects rows in order until a row does not fit, and returns how many it
// examined.
func (p *packer) selectRows(order []uint32, room int) (next int) {
	s := &p.selection
	coding := wire.RowCoding{SkipBits: skipBits(p.waiting)} // an estimate
	heavy := p.frame.hasHeavyRows()
	for next < len(order) {
		run := order[next:min(next+batchRows, len(order))]
		batch := p.encodeWithParents(run)
		coding.Usual = majorityBaseline(p.batchKeys)
		for j, i := range batch {
			key := p.batchKeys[j]
			size := p.batchCoded[j].Bits() + wire.RowHeaderBits(coding, 1<<coding.SkipBits, key.baseline())
			if p.encoder.parts != nil {
				size += p.encoder.exactBits(key)
			}
			load := 0
			if heavy {
				load = p.frame.loadOf(key)
			}
			if !s.selected.has(i) && !s.addRow(i, p.batchCoded[j], size, load, room) {
				return next
			}
		}
		next += len(run)
	}
	return next
}

// encodeWithParents encodes the rows of a run, an anchored row after its parent, and
// returns the rows and the added parents. The receiver derives anchoring from the rows of a
// datagram, so a row of an earlier datagram cannot be an anchor.
func (p *packer) encodeWithParents(run []uint32) []uint32 {
	f, s := p.frame, &p.selection
	p.batch, p.batchKeys, p.batchCoded = p.batch[:0], p.batchKeys[:0], p.batchCoded[:0]
	if !f.rows.HasParents() {
		batch, keys := p.batch, p.batchKeys
		for _, i := range run {
			if !s.sent.has(i) {
				batch, keys = append(batch, i), append(keys, p.waiting[i])
			}
		}
		p.batch, p.batchKeys = batch, keys
		p.batchCoded = p.rowCache.encodeRows(f, p.batchKeys, p.batchCoded)
		return p.batch
	}
	for _, i := range run {
		if s.sent.has(i) {
			continue
		}
		if at, ok := p.findAnchor(int(i)); ok && !s.sent.has(uint32(at)) {
			p.encodeOne(uint32(at), nil)
			p.encodeOne(i, f.historyOf(p.waiting[at]))
		} else {
			p.waiting[i] &^= anchoredKey
			p.encodeOne(i, nil)
		}
	}
	return p.batch
}

// encodeOne adds a row to the batch, anchored to its parent unless parent is nil.
func (p *packer) encodeOne(i uint32, parent *history) {
	p.batch, p.batchKeys = append(p.batch, i), append(p.batchKeys, p.waiting[i])
	p.batchCoded = append(p.batchCoded, p.rowCache.encodeRow(p.frame, p.waiting[i], parent))
}

// orderSelected puts the selected rows into p.keys, p.rowIndexes and p.chunks, ascending by
// slot, and returns their size with headers, in bits.
func (p *packer) orderSelected() int {
	e, s := &p.encoder, &p.selection
	keys, rows, chunks := p.keys[:0], p.rowIndexes[:0], p.chunks[:0]
	for word, mask := range s.selected {
		for ; mask != 0; mask &= mask - 1 {
			i := word<<6 | bits.TrailingZeros64(mask)
			keys = append(keys, p.waiting[i])
			rows = append(rows, p.waitingRows[i])
			chunks = append(chunks, s.chunks[i])
		}
	}
	p.keys, p.rowIndexes, p.chunks = keys, rows, chunks
	return e.writeHeaders(p.frame, keys, chunks)
}
