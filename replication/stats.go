package replication

// Stats counts what replication did, over all viewers.
type Stats struct {
	Frames         uint64 // frames captured
	Enters         uint64 // Enter records
	Leaves         uint64 // Leave records
	Destroys       uint64 // Destroy records
	Snapshots      uint64 // State datagrams made
	Rows           uint64 // rows in them
	RowsWhole      uint64 // rows without a baseline
	RowsAnchored   uint64 // rows that are told of by the motion of their parent
	RowsCopied     uint64 // rows whose bits were there already, made for another viewer
	RowsLost       uint64 // rows of snapshots taken for lost, to be sent again
	StructureBytes uint64
	StateBytes     uint64
	Resyncs        uint64 // viewers sent their whole interest set again
}

// datagram counts a State datagram.
func (s *Stats) datagram(p *packed, bytes int) {
	s.Snapshots++
	s.StateBytes += uint64(bytes)
	s.Rows += uint64(p.rows)
	s.RowsCopied += uint64(p.copied)
	s.RowsAnchored += uint64(p.anchored)
	s.RowsWhole += uint64(p.whole)
}
