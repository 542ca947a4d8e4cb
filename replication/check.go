package replication

import "fmt"

// CheckInvariants audits the viewer against its frame and the world, just
// after a snapshot.
func (v *Viewer) CheckInvariants() error {
	r := v.replicator
	if len(v.index) != len(v.rows) {
		return fmt.Errorf("R1: %d rows, %d of them indexed", len(v.rows), len(v.index))
	}
	for i := range v.rows {
		row := &v.rows[i]
		slot := row.handle.Index()
		if v.index[slot] != i {
			return fmt.Errorf("R1: row %d of %v is indexed at %d", i, row.handle, v.index[slot])
		}
		if r.frame.tenants[slot].handle != row.handle {
			return fmt.Errorf("R1: row of %v, whose slot is held by %v", row.handle, r.frame.tenants[slot].handle)
		}
		if !v.known.Has(slot) {
			return fmt.Errorf("R2: %v is in interest and not known", row.handle)
		}
		if row.entered > v.structure.written {
			return fmt.Errorf("R4: %v entered at record %d of %d", row.handle, row.entered, v.structure.written)
		}
		if row.ackedTick > r.frame.tick || row.olderTick >= row.ackedTick || row.nextTick > row.ackedTick || row.sentTick > r.frame.tick {
			return fmt.Errorf("R3: %v has baselines of ticks %d and %d, then %d, at tick %d", row.handle, row.ackedTick, row.olderTick, row.nextTick, r.frame.tick)
		}
	}
	for slot := range v.known.All() {
		if r.world.HandleAt(slot) == 0 {
			return fmt.Errorf("R2: slot %d is known and empty", slot)
		}
	}
	return nil
}
