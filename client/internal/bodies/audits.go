package bodies

import (
	"cmp"
	"slices"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client/internal/work"
	"github.com/worldd/worldd/replication/wire"
)

// audits compares computed bodies with the audits of complete snapshots (P4).
type audits struct {
	replica  Replica
	tracks   *tracks
	budget   *work.Budget
	stats    *Stats
	diverged bool      // an audit failed, and the server has not been asked for all states since
	reported bool      // the replica knows that the bodies diverged
	audited  []*track  // scratch
	covered  []Audited // scratch
}

// noteResync notes that the server was asked for all states.
func (a *audits) noteResync() { a.diverged = false }

// checkAudit compares the audit of a complete snapshot with the computed bodies (P4).
func (a *audits) checkAudit(s *snapshot) {
	a.audited = a.audited[:0]
	a.budget.Spend(lookTime * len(a.tracks.byIndex))
	a.covered = a.replica.AppendAudited(a.covered[:0], s.seq)
	for _, e := range a.covered {
		t := a.tracks.byIndex[e.Index]
		if e.Tick > s.tick || t != nil && t.state == trackLost {
			return // the entity's state at that tick is unknown
		}
		if t != nil {
			a.audited = append(a.audited, t)
		}
	}
	slices.SortFunc(a.audited, func(x, y *track) int { return cmp.Compare(x.handle.Index(), y.handle.Index()) })
	sum := uint32(0)
	for _, t := range a.audited {
		state := bodyOf(a.tracks.stateAfter(t, s.tick))
		sum = wire.Audit(sum, t.handle, &state)
	}
	a.stats.Audited++
	if sum == s.sum {
		a.diverged, a.reported = false, false
		return
	}
	a.stats.Faults++
	a.diverged = true
	if !a.reported {
		a.reported = true
		a.replica.Diverged(s.tick, handlesOf(a.audited))
	}
}

func handlesOf(tracks []*track) (handles []bulk.Handle) {
	for _, t := range tracks {
		handles = append(handles, t.handle)
	}
	return handles
}
