package replication

import (
	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// updateInterest updates the interest set to the newest frame: it removes members that left
// or died, activates changed members, and requests enters.
func (v *Viewer) updateInterest(w *workspace) {
	v.knowledge.recordDeaths(w, &v.members, &v.outbox)
	r, in, s := v.replicator, &v.interest, &w.candidates
	since := in.lastCapture
	q := in.beginQuery(r, v.simulation != nil)
	in.collectCandidates(r, s, &q, since)
	if q.incremental && in.boundary.margin > 0 {
		w.slots = in.dropCrossed(r, &v.members, w.slots[:0])
		for _, slot := range w.slots {
			if rowIndex := v.members.rowRef(slot); *rowIndex != noRow { // the list may name it twice
				v.knowledge.leaveMember(w, &v.members, &v.outbox, rowIndex, wire.LeftInterest)
			}
		}
	}
	v.updateMembers(w, &q)
	requests := w.requests[:0]
	s.drainWords(func(word uint32, mask, confirmed uint64) {
		requests = in.requestEnters(r, requests, word, mask, confirmed)
	})
	w.requests = requests
	in.endQuery(&q)
	in.keepWaitingSince(w.requests)
}

// updateMembers compares the interest set with the candidates, one word at a time, and
// removes members that are dead or must leave. It also removes all members from the
// candidates.
func (v *Viewer) updateMembers(w *workspace, q *interestQuery) {
	m, present, inside := &v.members, v.replicator.frame.summaries, w.candidates.inside
	m.removeFreed()
	anyNew, anyOwed := q.changed == nil || q.changed.Any(), q.owing == nil || q.owing.Any()
	if q.incremental && !anyNew && !anyOwed {
		w.candidates.keepOnly(func(word uint32) uint64 { return ^m.maskOf(word) })
		return
	}
	m.expectActive(anyOwed)
	if q.incremental && q.owing == q.changed {
		w.memberWords = m.changedWords(w.memberWords, q.changed.View(), inside)
		for _, i := range w.memberWords {
			if dead, outside := m.updateWord(&m.words[i], q, inside, present); dead|outside != 0 {
				v.removeMembers(w, &m.words[i], dead, outside)
			}
		}
	} else {
		for i := range m.words {
			if dead, outside := m.updateWord(&m.words[i], q, inside, present); dead|outside != 0 {
				v.removeMembers(w, &m.words[i], dead, outside)
			}
		}
	}
	m.removeFreed()
}

// removeMembers removes the dead members of a word, and the members outside the candidates
// that must leave: a rule hides them, or they are beyond the leave radius.
func (v *Viewer) removeMembers(w *workspace, word *memberWord, dead, outside uint64) {
	r := v.replicator
	for slot := range bulk.Bits(word.number<<6, dead) {
		v.knowledge.destroyMember(w, &v.members, &v.outbox, v.members.refIn(word, slot))
	}
	if outside == 0 {
		return
	}
	allowed := v.interest.allowedByRules(&r.config, word.number)
	for slot := range bulk.Bits(word.number<<6, outside) {
		if reason, leaves := v.interest.leaveOrList(r, slot, allowed>>(slot&63)&1 != 0); leaves {
			v.knowledge.leaveMember(w, &v.members, &v.outbox, v.members.refIn(word, slot), reason)
		}
	}
}
