package replication

import "github.com/worldd/worldd/replication/wire"

// maxBaselineAge is the oldest snapshot that a row's baseline code can name.
const maxBaselineAge = wire.MaxBaselineAge

// encodeSnapshots fills datagrams with the candidates in order, until the
// budget or the number of datagrams is reached. There is always one, since an
// empty snapshot carries the clock and the acknowledgement of inputs.
func (v *Viewer) encodeSnapshots() [][]byte {
	e := &v.encoder
	e.begin()
	rest := v.candidates
	for n := 0; n == 0 || (n < maxDatagrams && len(rest) > 0 && v.tokens > minSnapshotBytes); n++ {
		rest = v.encodeSnapshot(rest)
	}
	return e.datagrams
}

// encodeSnapshot makes one datagram and returns the candidates that did not fit.
func (v *Viewer) encodeSnapshot(rows []candidate) []candidate {
	r, e := v.replicator, &v.encoder
	v.seq++
	sent := v.remember(v.seq)
	limit := min(wire.MaxDatagram, max(v.tokens, minSnapshotBytes))
	e.open(limit)
	n := 0
	for ; n < len(rows); n++ {
		row := &v.rows[rows[n].place]
		code, base := v.baseline(row)
		t := &r.frame.tenants[row.handle.Index()]
		current := r.frame.current(t)
		if !e.add(r.frame.schema, row.handle, code, current, base) {
			break
		}
		r.frame.schema.References(current, v.teach)
		row.priority, row.sentSeq, row.sentTick = 0, v.seq, r.frame.tick
		sent.rows = append(sent.rows, sentRow{row.handle, row.entered})
		r.stats.Rows++
		if code == wire.BaselineNone {
			r.stats.RowsWhole++
		}
	}
	// The structure number is taken last: Teach may have written records that
	// the rows' references stand on (R4).
	size := e.close(wire.StateHeader{Seq: v.seq, Tick: r.frame.tick, Structure: v.structure.written})
	v.tokens -= size
	r.stats.Snapshots++
	r.stats.StateBytes += uint64(size)
	return rows[n:]
}

// baseline chooses the newest state of row that the client is known to have
// and that both sides still remember (R3).
func (v *Viewer) baseline(row *viewerRow) (code uint8, base wire.Row) {
	f := v.replicator.frame
	t := &f.tenants[row.handle.Index()]
	if age := v.seq - row.ackedSeq; row.ackedSeq != 0 && age <= maxBaselineAge {
		if base, ok := f.at(t, row.ackedTick); ok {
			return uint8(age), base
		}
	}
	if base, ok := f.at(t, row.enterTick); ok {
		return wire.BaselineEnter, base
	}
	return wire.BaselineNone, wire.Row{}
}
