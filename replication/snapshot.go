package replication

import (
	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// Update is the output of one snapshot. The slices are valid until the viewer's next
// one.
type Update struct {
	Stream    []byte   // framed structure messages
	Datagrams [][]byte // State datagrams, in order, then copies of those to be sent twice; none if nothing is new
}

// Snapshot brings the viewer to the newest frame within its budget.
func (v *Viewer) Snapshot() Update { return v.snapshot(v.replicator.workspaces[0]) }

func (v *Viewer) snapshot(w *workspace) Update {
	v.work = w
	w.beginFrame(v.replicator)
	v.refillTokens()
	w.encoder.parts = nil
	if v.simulation != nil {
		v.beginSimulated()
	}
	if v.resync {
		v.resync = false
		v.members.reenterAll()
		w.stats.Resyncs++
	}
	since := v.lastCapture
	v.updateInterest()
	newcomers := len(w.requests)
	rowsWaiting := v.collectRows()
	v.writeTexts(since)
	v.writeEnters(newcomers, rowsWaiting)
	if v.simulation != nil {
		v.noteMissing(newcomers)
	}
	v.sendNewborn()
	v.tokens -= v.structure.takeUnbilled()
	v.refreshEvents()
	v.encodeDatagrams()
	stream := v.takeStructure()
	v.tokens -= v.structure.takeUnbilled()
	v.repeatDatagrams()
	v.replicator.audit(v)
	return Update{Stream: stream, Datagrams: v.datagrams}
}

// collectRows collects the rows that the client is owed.
func (v *Viewer) collectRows() bool {
	v.advanceBaselines()
	if v.simulation == nil {
		return v.collectWaiting()
	}
	v.tellEffects()
	return v.collectOwed()
}

func (v *Viewer) refillTokens() {
	c := v.replicator.config
	perSnapshot := c.BudgetBytesPerSecond / c.SnapshotHz
	v.tokens = min(v.tokens+perSnapshot, burstSnapshots*perSnapshot)
}

// encodeDatagrams fills datagrams with the waiting rows, until the budget or the number
// of datagrams is reached. Unless nothing is new it makes at least one, since an empty snapshot
// carries the clock and the acknowledgement of inputs.
func (v *Viewer) encodeDatagrams() {
	v.datagrams, v.ahead = v.datagrams[:0], false
	if v.hasNothingNew() {
		v.work.stats.Omitted++
		return
	}
	if v.simulation == nil && v.recordsOverdue() {
		switch late := v.findLate(); {
		case late > 0 && late == len(v.work.waiting): // nothing can go ahead
		case late > 0 || len(v.events.events) > 0:
			v.encodeAhead()
			return
		default:
			v.ahead = true
		}
	}
	if waiting := len(v.work.waiting); v.overflow == 0 || waiting < v.overflow {
		if v.encodeInOne() {
			return
		}
		v.overflow = waiting
	}
	v.encodeInSeveral()
}

// hasNothingNew reports whether a snapshot would be empty and its client would learn nothing from
// it: the client has acknowledged everything, and the newest snapshot was empty too, so that the
// client does not extrapolate from the last motion. Clients that simulate compute on from each
// snapshot, so they receive all.
func (v *Viewer) hasNothingNew() bool {
	newest, f := v.sent.at(0), v.replicator.frame
	return newest.empty && v.sent.pending == 0 && !v.StructureUnacked() && v.simulation == nil &&
		len(v.work.waiting) == 0 && len(v.events.events) == 0 && v.input == v.inputSent &&
		(f.tick-newest.tick)*minIdleHz < uint32(v.replicator.world.TickHz())
}

// SetMaxDatagram sets the size limit of the datagrams of the next snapshots: what the client's
// path carries, within wire.MinDatagram and wire.MaxDatagram, the default.
func (v *Viewer) SetMaxDatagram(bytes int) {
	v.maxDatagram = min(max(bytes, wire.MinDatagram), wire.MaxDatagram)
}

// allowance returns the size limit of the next datagram, in bytes.
func (v *Viewer) allowance() int {
	return min(v.maxDatagram, max(v.tokens, minSnapshotBytes))
}

// encodeInOne makes one datagram of all waiting rows, if they fit. This is the common
// case and needs no priorities.
func (v *Viewer) encodeInOne() bool {
	w := v.work
	if len(w.waiting) > wire.MaxRows || !v.fitsLoad() {
		return false
	}
	if v.replicator.frame.schema.HasParents() {
		v.markAnchored()
	}
	maxBytes := v.rowBytes()
	cached := v.payloads().entry(w.waiting)
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
	v.closeSnapshot(&cached.packed, v.simulation != nil && v.complete(nil))
	return true
}

// payloads returns the cache of the viewer's datagrams.
func (v *Viewer) payloads() *payloadCache {
	if v.simulation != nil {
		return &v.work.cleanPayloads
	}
	return &v.work.payloads
}

// fitsLoad reports whether the load of all waiting rows fits into one datagram. Only
// schemas with many or heavy components need the sum over rows.
func (v *Viewer) fitsLoad() bool {
	f, load := v.replicator.frame, 0
	if !f.hasHeavyRows() {
		return true
	}
	for _, k := range v.work.waiting {
		load += f.loadOf(k)
	}
	return load <= wire.MaxLoad
}

// hasHeavyRows reports whether the rows of a datagram may exceed its load.
func (f *frame) hasHeavyRows() bool {
	return wire.MaxRows*f.schema.Load(1<<f.schema.Components()-1) > wire.MaxLoad
}

// loadOf returns the load of a row.
func (f *frame) loadOf(k codingKey) int { return f.schema.Load(f.tenants[k.slot()].mask) }

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
	if e.writeHeaders(w.waiting, e.chunks) > 8*maxBytes {
		return false
	}
	p := e.pack(f, w.waiting, e.chunks, &w.rowCache.chunks)
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

func (v *Viewer) recordSent(keys []codingKey, rowIndexes []uint32) {
	tick := v.replicator.frame.tick
	v.sent.add(rowIndexes...)
	for _, rowIndex := range rowIndexes {
		v.members.markSent(rowIndex, tick)
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
// One that goes ahead has no events, and its rows need only what the client has.
func (v *Viewer) closeSnapshot(p *packed, complete bool) {
	events := v.takeEvents(len(p.bytes))
	structure := v.structure.written
	if v.ahead {
		structure = v.structure.whole
	}
	n := len(v.datagrams)
	h := wire.StateHeader{
		Seq: v.sent.newest, Tick: v.replicator.frame.tick, Structure: structure, InputAge: v.inputAge(), Fold: p.fold, Events: events, Rows: int(p.rows), Exact: p.exact,
	}
	if v.simulation != nil {
		v.finishHeader(&h, complete)
	}
	b := wire.AppendStateHeader(v.buffers[n][:0], h)
	v.buffers[n] = append(b, p.bytes...)
	v.datagrams = append(v.datagrams, v.buffers[n])
	v.tokens -= len(v.buffers[n])
	s := v.sent.at(0)
	s.bytes, s.novel, s.empty = uint16(len(v.buffers[n])+packetBytes), structure > v.structure.sent, p.rows == 0 && len(events) == 0
	v.inputSent = v.input
	if p.rows > 0 {
		v.rowBits = 8 * len(p.bytes) / int(p.rows)
	}
	v.work.stats.datagram(p, len(v.buffers[n]), v.replicator.frame.schema.Components())
	v.stats.datagram(p.rows, len(v.buffers[n]))
}

// inputAge returns the StateHeader's.
func (v *Viewer) inputAge() uint32 {
	if v.input == 0 {
		return 0
	}
	return v.replicator.frame.tick - v.input + 1
}

// takeStructure returns the structure to be sent and counts it.
func (v *Viewer) takeStructure() []byte {
	stream := v.structure.take(v.replicator.frame.tick)
	if sent := v.structure.inflight; len(sent) > 0 {
		sent[len(sent)-1].whole = true
	}
	v.countStructure(stream)
	return stream
}

func (v *Viewer) countStructure(stream []byte) {
	v.work.stats.StructureBytes += uint64(len(stream))
	v.stats.StructureBytes += uint64(len(stream))
}
