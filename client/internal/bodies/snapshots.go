package bodies

import "github.com/worldd/worldd/replication/wire"

// snapshot holds the fields of an applied snapshot that concern bodies.
type snapshot struct {
	seq, tick, structure       uint32
	complete, continued, audit bool
	sum                        uint32 // the audit
}

// snapshots holds the newest applied snapshots, by seq modulo 64.
type snapshots [64]snapshot

// addSnapshot adds an applied snapshot.
func (a *snapshots) addSnapshot(h *wire.StateHeader) {
	a[h.Seq%64] = snapshot{h.Seq, h.Tick, h.Structure, h.Complete, h.Continued, h.Audited, h.Audit}
}

// findSnapshot returns the snapshot with number seq, or nil if it was not applied.
func (a *snapshots) findSnapshot(seq uint32) *snapshot {
	if s := &a[seq%64]; s.seq == seq && seq != 0 {
		return s
	}
	return nil
}

// newestComplete returns the newest complete snapshot after tick after that the arrival of seq
// made usable: all snapshots linked to it were applied. It returns nil if there is none.
func (a *snapshots) newestComplete(seq, after uint32) *snapshot {
	last := seq
	for a.findSnapshot(last+1) != nil && a.findSnapshot(last+1).continued {
		last++
	}
	for n := last; n >= seq; n-- {
		if s := a.findSnapshot(n); s.complete && s.tick > after && a.isLinked(n) {
			return s
		}
	}
	return nil
}

// isLinked reports whether all snapshots that an applied snapshot continues were applied.
func (a *snapshots) isLinked(seq uint32) bool {
	tick := a.findSnapshot(seq).tick
	for s := a.findSnapshot(seq); s != nil && s.tick == tick; s = a.findSnapshot(seq) {
		if !s.continued {
			return true
		}
		seq--
	}
	return false
}
