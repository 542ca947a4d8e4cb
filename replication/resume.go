package replication

import "github.com/worldd/worldd/internal/fault"

// Resume has the viewer go on over another connection, to a client that has
// applied the structure records up to number and nothing after: what was sent of
// them and lost is sent again with the next snapshot. To the viewer a broken
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
