package replication

import (
	"math/bits"
	"slices"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// picks are the rows of a datagram that is filled by priority. Rows have numbers
// among those that wait.
type picks struct {
	order  []uint32         // in which they were picked: a parent before those that are anchored to it
	picked []uint64         // the same, by number
	gone   []uint64         // those that are in an earlier datagram of the snapshot, by number
	chunks []rowcodec.Chunk // by number, of the picked
	run    []uint32         // what is looked at together, and
	keys   []codingKey      // of those how they are coded,
	coded  []rowcodec.Chunk // and their bits
	bits   int              // that the picked take, as far as it is known
	load   int              // of them all
}

// reset makes ready for so many rows that wait.
func (p *picks) reset(waiting int) {
	words := (waiting + 63) / 64
	p.picked = append(p.picked[:0], make([]uint64, words)...)
	p.gone = append(p.gone[:0], make([]uint64, words)...)
	p.chunks = slices.Grow(p.chunks[:0], waiting)[:waiting]
	p.order, p.bits, p.load = p.order[:0], 0, 0
}

func (p *picks) has(i uint32) bool    { return p.picked[i>>6]>>(i&63)&1 != 0 }
func (p *picks) isGone(i uint32) bool { return p.gone[i>>6]>>(i&63)&1 != 0 }

// add picks a row of so many bits and of some load, if it fits into room. A
// first row always does: the schema bounds its length (wire.MaxRowBytes).
func (p *picks) add(i uint32, chunk rowcodec.Chunk, bits, load, room int) bool {
	if len(p.order) > 0 && (p.bits+bits > room || p.load+load > wire.MaxLoad || len(p.order) == wire.MaxRows) {
		return false
	}
	p.order = append(p.order, i)
	p.picked[i>>6] |= 1 << (i & 63)
	p.chunks[i] = chunk
	p.bits += bits
	p.load += load
	return true
}

// drop gives the last of the picked up: those on whom no other stands.
func (p *picks) drop(n int) {
	kept := len(p.order) - n
	for _, i := range p.order[kept:] {
		p.picked[i>>6] &^= 1 << (i & 63)
	}
	p.order = p.order[:kept]
}

// leave notes that the datagram of the picked is made.
func (p *picks) leave() {
	for i := range p.picked {
		p.gone[i] |= p.picked[i]
		p.picked[i] = 0
	}
	p.order, p.bits, p.load = p.order[:0], 0, 0
}

// encodeByPriority makes datagrams of the most urgent rows.
func (v *Viewer) encodeByPriority() {
	w := v.work
	w.picks.reset(len(w.waiting))
	if v.replicator.frame.schema.Carries() {
		v.anchorAll()
	}
	order := v.byPriority()
	for n := 0; n == 0 || (n < maxDatagrams && len(order) > 0 && v.tokens > minSnapshotBytes); n++ {
		v.encodeSome(order)
		for len(order) > 0 && w.picks.isGone(order[0]) {
			order = order[1:]
		}
	}
	if len(order) == 0 && len(v.datagrams) == 1 {
		v.crowd = 0 // they fit again
	}
}

// encodeSome makes one datagram of the most urgent rows: as many as fit, in their
// order. What headers take is known only when it is known which rows there are, so
// it is reckoned first, and then set right.
func (v *Viewer) encodeSome(order []uint32) {
	w, e, p := v.work, &v.work.encoder, &v.work.picks
	made := w.codings.made
	room := 8 * (v.allowance() - wire.StateHeaderBytes)
	next := v.pick(order, room)
	bits := v.arrange()
	for saved := p.bits - bits; saved*len(p.order) > bits && next < len(order); saved = p.bits - bits { // more than a row
		before := len(p.order)
		next += v.pick(order[next:], room+saved)
		if bits = v.arrange(); len(p.order) == before {
			break
		}
	}
	for bits > room && len(p.order) > 1 {
		p.drop(max((bits-room)*len(p.order)/bits, 1))
		bits = v.arrange()
	}
	v.beginSnapshot()
	v.sendRows(e.keys, e.places)
	packed := e.pack(e.packed[:0], v.replicator.frame, e.keys, e.chunks, &w.codings.chunks)
	packed.copied = packed.rows - min(packed.rows, uint32(w.codings.made-made))
	e.packed = packed.bytes
	v.closeSnapshot(&packed)
	w.codings.trim()
	p.leave()
}

// pick picks rows in their order until one does not fit, and returns how many it
// has looked at.
func (v *Viewer) pick(order []uint32, room int) (next int) {
	w, f, p := v.work, v.replicator.frame, &v.work.picks
	var coding wire.RowCoding // as it may be
	for next < len(order) {
		run := order[next:min(next+codingRun, len(order))]
		for j, i := range v.codeFamilies(run) {
			key := p.keys[j]
			if j == 0 {
				coding = wire.RowCoding{Usual: usual(p.keys), SkipBits: skipBits(w.waiting)}
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
func (v *Viewer) codeFamilies(run []uint32) []uint32 {
	w, f, p := v.work, v.replicator.frame, &v.work.picks
	p.run, p.keys, p.coded = p.run[:0], p.keys[:0], p.coded[:0]
	if !f.schema.Carries() {
		for _, i := range run {
			if !p.isGone(i) {
				p.run, p.keys = append(p.run, i), append(p.keys, w.waiting[i])
			}
		}
		p.coded = w.codings.codeRun(f, p.keys, p.coded)
		return p.run
	}
	for _, i := range run {
		if p.isGone(i) {
			continue
		}
		if at, ok := v.anchor(int(i)); ok && !p.isGone(uint32(at)) {
			v.codeOne(uint32(at), nil)
			v.codeOne(i, f.states(w.waiting[at]))
		} else {
			w.waiting[i] &^= anchoredKey
			v.codeOne(i, nil)
		}
	}
	return p.run
}

// codeOne codes a row, anchored to its parent if the states of one are given, and adds
// it to the run.
func (v *Viewer) codeOne(i uint32, parent *history) {
	w, p := v.work, &v.work.picks
	p.run, p.keys = append(p.run, i), append(p.keys, w.waiting[i])
	p.coded = append(p.coded, w.codings.code(v.replicator.frame, w.waiting[i], parent))
}

// arrange puts the picked in the order of their slots, and returns how many bits
// they take.
func (v *Viewer) arrange() int {
	w, e, p := v.work, &v.work.encoder, &v.work.picks
	e.keys, e.places, e.chunks = e.keys[:0], e.places[:0], e.chunks[:0]
	for word, mask := range p.picked {
		for ; mask != 0; mask &= mask - 1 {
			i := word<<6 | bits.TrailingZeros64(mask)
			e.keys = append(e.keys, w.waiting[i])
			e.places = append(e.places, w.places[i])
			e.chunks = append(e.chunks, p.chunks[i])
		}
	}
	return e.measure(e.keys, e.chunks)
}
