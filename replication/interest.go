package replication

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// candidate is an entity that waits for a place in the budget.
type candidate struct {
	handle bulk.Handle
	weight float32 // enters: squared distance, least first; rows: priority, most first
}

// updateInterest finds who enters and removes who left. An entity enters
// within the enter radius and leaves beyond the leave radius.
func (v *Viewer) updateInterest() {
	r := v.replicator
	if t := r.frame.tenantOf(v.focus); t != nil {
		v.center = t.position
	}
	v.scan++
	v.wanted = v.wanted[:0]
	r.world.Within(v.center, r.config.EnterRadius, v.near)
	for slot := range r.unplaced.All() {
		v.want(r.frame.tenants[slot].handle, 0)
	}
	v.leaveDistant()
	slices.SortFunc(v.wanted, func(a, b candidate) int { return byWeight(a.weight, b.weight, a, b) })
}

// byWeight compares weights, and handles where they are equal, so that the
// order depends on nothing else. It is written out because it is most of what
// sorting costs; weights are never NaN.
func byWeight(low, high float32, a, b candidate) int {
	switch {
	case low < high:
		return -1
	case low > high:
		return 1
	}
	return cmp.Compare(a.handle, b.handle)
}

func (v *Viewer) want(h bulk.Handle, distance2 float32) {
	if row := v.row(h); row != nil {
		row.seen = v.scan
		if !v.entersAnew(row) {
			return
		}
	}
	v.wanted = append(v.wanted, candidate{h, distance2})
}

// entersAnew says whether the client must be sent the whole of row again: its
// set of components changed, or the client asked for a resync.
func (v *Viewer) entersAnew(row *viewerRow) bool {
	return v.replicator.frame.tenants[row.handle.Index()].shape > row.enterTick
}

func (v *Viewer) leaveDistant() {
	r := v.replicator
	limit := float32(r.config.LeaveRadius * r.config.LeaveRadius)
	for i := 0; i < len(v.rows); {
		row := &v.rows[i]
		t := &r.frame.tenants[row.handle.Index()]
		if row.seen == v.scan {
			i++
			continue
		}
		d := t.position.Sub(v.center)
		distance2 := d.Dot(d)
		if row.handle != v.focus && t.placed && distance2 > limit {
			h := row.handle
			v.removeRow(h) // puts another row in place i
			if fault.ForgetOnLeave {
				v.known.Clear(h.Index())
			}
			v.tell(wire.Record{Op: wire.OpLeave, Reason: wire.ReasonLeftInterest, Handle: h})
			r.stats.Leaves++
			continue
		}
		if v.entersAnew(row) {
			v.wanted = append(v.wanted, candidate{row.handle, distance2})
		}
		i++
	}
}

// enterWanted writes Enter records, nearest first, while the budget and the
// client keep up. While rows wait for their turn, enters may take half of the
// budget: a crowd that joins must not starve what moves.
func (v *Viewer) enterWanted(rowsWait bool) {
	allowance := v.tokens
	if rowsWait {
		allowance /= 2
	}
	for _, c := range v.wanted {
		if allowance <= 0 || v.structure.outstanding() >= maxOutstandingBytes {
			return
		}
		allowance -= v.enter(c.handle)
	}
}

// enter sends the whole present state of h and takes it into the interest set.
func (v *Viewer) enter(h bulk.Handle) int {
	r := v.replicator
	t := &r.frame.tenants[h.Index()]
	row := r.frame.current(t)
	r.frame.schema.References(row, v.teach)
	n := v.tell(wire.Record{
		Op: wire.OpEnter, Handle: h, Kind: uint32(t.kind), Row: v.encoder.full(r.frame.schema, row),
	})
	v.known.Set(h.Index())
	delete(v.toldDead, h.Index())
	i, ok := v.index[h.Index()]
	if !ok {
		i = len(v.rows)
		v.rows = append(v.rows, viewerRow{})
		v.index[h.Index()] = i
	}
	before := v.rows[i]
	v.rows[i] = viewerRow{handle: h, entered: v.structure.written, enterTick: r.frame.tick, ackedTick: r.frame.tick, seen: v.scan}
	if fault.KeepBaseline {
		v.rows[i].ackedSeq, v.rows[i].ackedTick = before.ackedSeq, before.ackedTick
	}
	r.stats.Enters++
	return n
}
