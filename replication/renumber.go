package replication

// Numbers are those that a session's structure records and snapshots have reached. They go on
// when the session moves to another room.
type Numbers struct {
	Structure uint32 // of the newest record
	Seq       uint32 // of the newest snapshot
}

// Numbers returns the viewer's numbers.
func (v *Viewer) Numbers() Numbers { return Numbers{v.structure.written, v.sent.newest} }

// Continue makes the viewer's records and snapshots follow numbers, as if the client had
// applied all records up to there and been sent the snapshots. It must be called before the first
// snapshot and the first record.
func (v *Viewer) Continue(numbers Numbers) {
	s := &v.structure
	s.written, s.sent, s.applied, s.lastDropped = numbers.Structure, numbers.Structure, numbers.Structure, numbers.Structure
	v.sent.newest, v.before = numbers.Seq, numbers.Seq
}
