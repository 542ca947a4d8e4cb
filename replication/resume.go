package replication

import "github.com/worldd/worldd/internal/fault"

// Resume has the viewer go on over another connection, to a client that has
// applied the structure records up to number and nothing after: what was sent of
// them and lost is Lacking, or else sent again with the next snapshot. To the viewer a broken
// connection is a link that lost everything for a while, so all the rest stays:
// what the client knows, its baselines, and the numbers of its snapshots. It
// returns false, and changes nothing, if the client is further behind than what
// is kept (R8), or cannot have come to that number.
func (v *Viewer) Resume(number uint32) bool {
	if fault.ResumeSkips {
		return true
	}
	return v.structure.rewind(number)
}

// Lacking is the structure that a client which goes on over another connection
// has yet to apply, for the stream of that connection, and counted as sent. It
// goes ahead of everything that stands on what the client was told, such as the
// verdict in an answer: the next snapshot may be long in coming. The result is
// valid until the next call of any method.
func (v *Viewer) Lacking() []byte {
	stream := v.structure.take(v.replicator.frame.tick)
	v.work.stats.StructureBytes += uint64(len(stream))
	v.stats.StructureBytes += uint64(len(stream))
	return stream
}
