package replication

import (
	"fmt"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/internal/fault"
	"github.com/worldd/worldd/replication/wire"
)

// sentSnapshot remembers what one snapshot held until it is acknowledged,
// taken for lost, or overwritten.
type sentSnapshot struct {
	seq, tick uint32
	waiting   bool
	rows      []sentRow
}

type sentRow struct {
	handle  bulk.Handle
	entered uint32
}

func (v *Viewer) remember(seq uint32) *sentSnapshot {
	s := &v.sent[seq%sentWindow]
	if s.waiting {
		v.lost(s)
	}
	s.seq, s.tick, s.waiting, s.rows = seq, v.replicator.frame.tick, true, s.rows[:0]
	return s
}

// Acknowledge takes a client's report of what it has applied (H6). An error is
// the client's fault: it acknowledges what was never sent.
func (v *Viewer) Acknowledge(a wire.Ack) error {
	if a.Structure > v.structure.written {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges structure record %d of %d", a.Structure, v.structure.written)}
	}
	v.structure.acknowledge(a.Structure)
	if !a.Seen {
		return nil
	}
	if a.Newest == 0 || a.Newest > v.seq && !fault.AckAhead {
		return &wire.Error{Code: wire.BadMessage, Detail: fmt.Sprintf("acknowledges snapshot %d of %d", a.Newest, v.seq)}
	}
	v.applied(a.Newest)
	for i := range uint32(64) {
		if a.Mask>>i&1 != 0 && a.Newest > i+1 {
			v.applied(a.Newest - 1 - i)
		}
	}
	for i := range v.sent {
		if s := &v.sent[i]; s.waiting && s.seq+lossWindow <= a.Newest {
			v.lost(s)
		}
	}
	return nil
}

// applied moves the baselines of all rows of snapshot seq (R3). A row that was
// entered again since is another life of it, and an older snapshot than the
// baseline's tells nothing new.
func (v *Viewer) applied(seq uint32) {
	s := &v.sent[seq%sentWindow]
	if s.seq != seq || !s.waiting {
		return
	}
	s.waiting = false
	for _, sr := range s.rows {
		row := v.row(sr.handle)
		if row == nil || row.entered != sr.entered && !fault.AckAnyLife || row.ackedSeq >= seq {
			continue
		}
		row.ackedSeq, row.ackedTick = seq, s.tick
	}
}

// lost makes the rows of s that have not been sent again since eligible at
// once. They go out with their latest state, never with the one that was lost.
func (v *Viewer) lost(s *sentSnapshot) {
	s.waiting = false
	for _, sr := range s.rows {
		if row := v.row(sr.handle); row != nil && row.sentSeq == s.seq && !fault.NeverResend {
			row.sentSeq = 0
			v.replicator.stats.RowsLost++
		}
	}
}
