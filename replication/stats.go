package replication

import (
	"github.com/worldd/worldd/internal/rowschema"
	"github.com/worldd/worldd/replication/wire"
)

// Stats holds the counters of all viewers.
type Stats struct {
	Frames         uint64 // frames captured
	Enters         uint64 // Enter records
	Leaves         uint64 // Leave records
	Destroys       uint64 // Destroy records
	Texts          uint64 // Text records
	Snapshots      uint64 // State datagrams
	Rows           uint64 // rows in State datagrams
	RowsWhole      uint64 // rows sent without a baseline
	RowsAnchored   uint64 // rows coded against the motion of their parent
	RowsCopied     uint64 // rows copied from bits that were coded for another viewer
	RowsLost       uint64 // rows of lost datagrams that became eligible again
	Copies         uint64 // State datagrams sent a second time, not included in Snapshots
	Omitted        uint64 // snapshots that were omitted because nothing was new
	StructureBytes uint64
	StateBytes     uint64 // without copies
	CopyBytes      uint64
	// StateRowBits counts the bits of rows in State datagrams, and EnterRowBits the
	// bits of rows in Enter records, by component of the schema. The rest of StateBytes
	// and StructureBytes are headers.
	StateRowBits, EnterRowBits [wire.MaxComponents]uint64
	Resyncs                    uint64 // times that a viewer was sent its whole interest set again
	// Events sent or dropped, counted once per viewer.
	ReliableEvents, ReliableEventsDropped     uint64
	UnreliableEvents, UnreliableEventsDropped uint64
	EventBytes                                uint64 // unreliable events, part of StateBytes
	// Parts of StructureBytes, counted when written: reliable events, and texts (in Text
	// and Enter records).
	ReliableEventBytes, TextBytes uint64
	EffectBytes                   uint64 // part of StructureBytes: records of effects and programs
}

// addCounters adds another worker's counters.
func (s *Stats) addCounters(o *Stats) {
	s.Enters += o.Enters
	s.Leaves += o.Leaves
	s.Destroys += o.Destroys
	s.Texts += o.Texts
	s.Snapshots += o.Snapshots
	s.Rows += o.Rows
	s.RowsWhole += o.RowsWhole
	s.RowsAnchored += o.RowsAnchored
	s.RowsCopied += o.RowsCopied
	s.RowsLost += o.RowsLost
	s.Copies += o.Copies
	s.Omitted += o.Omitted
	s.StructureBytes += o.StructureBytes
	s.StateBytes += o.StateBytes
	s.CopyBytes += o.CopyBytes
	s.Resyncs += o.Resyncs
	s.ReliableEvents += o.ReliableEvents
	s.ReliableEventsDropped += o.ReliableEventsDropped
	s.UnreliableEvents += o.UnreliableEvents
	s.UnreliableEventsDropped += o.UnreliableEventsDropped
	s.EventBytes += o.EventBytes
	s.ReliableEventBytes += o.ReliableEventBytes
	s.TextBytes += o.TextBytes
	s.EffectBytes += o.EffectBytes
	for i := range s.StateRowBits {
		s.StateRowBits[i] += o.StateRowBits[i]
		s.EnterRowBits[i] += o.EnterRowBits[i]
	}
}

// countRecord counts a record of n bytes.
func (s *Stats) countRecord(op wire.Op, n int) {
	switch op {
	case wire.OpEnter:
		s.Enters++
	case wire.OpLeave:
		s.Leaves++
	case wire.OpDestroy:
		s.Destroys++
	case wire.OpText:
		s.Texts++
		s.TextBytes += uint64(n)
	case wire.OpEvent:
		s.ReliableEvents++
		s.ReliableEventBytes += uint64(n)
	case wire.OpExtension:
		s.EffectBytes += uint64(n)
	}
}

// countOmitted counts a snapshot that was not made.
func (s *Stats) countOmitted() { s.Omitted++ }

// countResync counts a viewer that is sent its interest set again.
func (s *Stats) countResync() { s.Resyncs++ }

// countEnterTexts counts the bytes of the texts of an Enter.
func (s *Stats) countEnterTexts(bytes int) { s.TextBytes += uint64(bytes) }

// countDatagram counts a State datagram.
func (s *Stats) countDatagram(p *packed, bytes, components int) {
	addShares(&s.StateRowBits, &p.shares, components)
	s.Snapshots++
	s.StateBytes += uint64(bytes)
	s.Rows += uint64(p.rows)
	s.RowsCopied += uint64(p.copied)
	s.RowsAnchored += uint64(p.anchored)
	s.RowsWhole += uint64(p.full)
}

func addShares(sum *[wire.MaxComponents]uint64, shares *rowschema.Shares, components int) {
	for i := range components {
		sum[i] += shares.Bits(i)
	}
}

// ViewerStats holds the counters of one viewer, and its present state.
type ViewerStats struct {
	Interest int     // entities in the interest set
	Budget   int     // bytes that may be sent now; negative after a burst of structure
	Loss     float64 // estimated share of datagrams, 0 to 1, that the link loses or delivers too late to be applied

	Snapshots      uint64 // State datagrams
	Rows           uint64 // rows in State datagrams
	RowsLost       uint64 // rows of lost datagrams that became eligible again
	Copies         uint64 // State datagrams sent a second time, not included in Snapshots
	StructureBytes uint64
	StateBytes     uint64 // without copies
	Events         uint64 // events sent
	EventsDropped  uint64
}

// The methods of ViewerStats also count in all, the counters of all viewers.

// countDatagram counts a State datagram.
func (s *ViewerStats) countDatagram(all *Stats, p *packed, bytes, components int) {
	all.countDatagram(p, bytes, components)
	s.Snapshots++
	s.Rows += uint64(p.rows)
	s.StateBytes += uint64(bytes)
}

// countStructure counts structure that is sent.
func (s *ViewerStats) countStructure(all *Stats, stream []byte) {
	all.StructureBytes += uint64(len(stream))
	s.StructureBytes += uint64(len(stream))
}

// countLost counts rows of lost datagrams.
func (s *ViewerStats) countLost(all *Stats, rows int) {
	all.RowsLost += uint64(rows)
	s.RowsLost += uint64(rows)
}

// countCopy counts a copy of a datagram.
func (s *ViewerStats) countCopy(all *Stats, bytes int) {
	all.Copies++
	all.CopyBytes += uint64(bytes)
	s.Copies++
}

// countDropped counts unreliable events that were dropped.
func (s *ViewerStats) countDropped(all *Stats, n int) {
	all.UnreliableEventsDropped += uint64(n)
	s.EventsDropped += uint64(n)
}

// countReliable counts a reliable event. countRecord counts its record in all.
func (s *ViewerStats) countReliable() { s.Events++ }

// countUnreliable counts unreliable events of a datagram.
func (s *ViewerStats) countUnreliable(all *Stats, n, bytes int) {
	all.UnreliableEvents += uint64(n)
	all.EventBytes += uint64(bytes)
	s.Events += uint64(n)
}

// countUnsent counts an event that waited for an Enter in vain.
func (s *ViewerStats) countUnsent(all *Stats, e *Event) {
	if e.unreliable {
		s.countDropped(all, 1)
	} else {
		s.countRefused(all)
	}
}

// countRefused counts a reliable event that was refused.
func (s *ViewerStats) countRefused(all *Stats) {
	all.ReliableEventsDropped++
	s.EventsDropped++
}
