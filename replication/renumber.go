package replication

// Numbers counts a session's structure records and snapshots. Both continue when the session moves
// to another room.
type Numbers struct {
	Structure uint32 // of the newest record
	Seq       uint32 // of the newest snapshot
}

// Numbers returns the newest numbers that the viewer has used.
func (v *Viewer) Numbers() Numbers { return Numbers{v.structure.written, v.sent.newest} }

// Continue makes the viewer's records and snapshots follow numbers, as if it had sent those up to
// numbers and the client had applied the records. It must be called before the first record and
// the first snapshot.
func (v *Viewer) Continue(numbers Numbers) {
	s := &v.structure
	n := numbers.Structure
	s.written, s.sent, s.applied, s.lastDropped, s.whole = n, n, n, n, n
	v.sent.newest, v.before = numbers.Seq, numbers.Seq
}
