package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Errors of Take.
var (
	// ErrNoBlock: every block of generations has a room that a living node runs.
	ErrNoBlock = errors.New("cluster: all blocks of generations are in use: close rooms, or run a second cluster")
	// ErrBlockLost: a stored run cannot continue, since other rooms had its block meanwhile. Begin a new run.
	ErrBlockLost = errors.New("cluster: the block of this stored run was given to another room: begin a new run from its image")
	// ErrHeld: this process runs the room already, or is taking it.
	ErrHeld = errors.New("cluster: this node has the room already")
	// ErrClosed: the node is closing, or was closed.
	ErrClosed = errors.New("cluster: this node has left the cluster")
)

// An ElsewhereError says that another node runs the room.
type ElsewhereError struct {
	Room  string
	Node  string
	Addrs []string // where its clients find it
}

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("cluster: room %q runs on node %s (%s)", e.Room, e.Node, strings.Join(e.Addrs, ", "))
}

// rooms are the records of all rooms, as this node has observed them, with its wants and its holdings.
type rooms struct {
	all     map[string]*room
	pending []*room // drive looks at them next, in the order of attend
	held    int     // rooms with a holding
}

type room struct {
	name     string
	record   roomRecord // zero: none
	revision uint64     // of the record, or of the read that found none
	exists   bool
	since    time.Duration // when this revision was first seen
	// returnedAt is when a client first asked for the room after its node had begun again (C12); 0: none has.
	returnedAt time.Duration
	err        error // the record cannot be used
	want       *want
	holding    *holding
	// unread are the keys of a swap without an answer, or of one that was refused as too old. They are read before anything else
	// is done for the room (C8).
	unread  []string
	retryAt time.Duration
	queued  bool
	// continues: the newest swap of the room was to continue a stored run, which still needs the block.
	continues bool
	// disagreed is the revision at which the block's record, read again, was another room's.
	disagreed uint64
}

// want is a caller that waits for a room.
type want struct {
	room  string
	block int // of the stored run that continues, or noBlock
}

// grant is the permission to run a room, by the acknowledged swap of this incarnation (C2).
type grant struct {
	epoch uint64
	block int
	image *Image // the room's newest, as the swap has found it; nil: none
}

// holding is a room that this node has taken.
type holding struct {
	grant
	nonce     string
	suspended bool // the directory was replaced: the room must be taken again
	releasing bool
	keep      bool
	heir      string    // node for which the room is released; empty: none
	pointing  *pointing // waits for the directory; nil: none
}

func (r *room) key() string { return roomKey(r.name) }

// base is the revision for a swap of the record.
func (r *room) base() uint64 {
	if !r.exists {
		return 0
	}
	return r.revision
}

func (rs *rooms) get(name string) *room {
	r := rs.all[name]
	if r == nil {
		r = &room{name: name, record: roomRecord{Block: noBlock}}
		rs.all[name] = r
	}
	return r
}

// hasBlock reports whether the run for which the room is to be taken has a block already.
func (r *room) hasBlock() bool { return r.holding != nil || r.want.block != noBlock }

// attend queues a room: drive looks at it until nothing is left to do.
func (rs *rooms) attend(r *room) {
	if !r.queued {
		r.queued = true
		rs.pending = append(rs.pending, r)
	}
}

func (m *machine) emit(e event) { m.out.events = append(m.out.events, e) }

// apply takes the record of a room.
func (rs *rooms) apply(m *machine, e Entry) {
	name := strings.TrimPrefix(e.Key, roomPrefix)
	r := rs.all[name]
	if r == nil && (e.Value == nil || wrongName(name) != nil) {
		return
	}
	r = rs.get(name)
	if e.Revision <= r.revision {
		if !r.exists {
			rs.attend(r) // it may be forgotten now
		}
		return
	}
	r.revision, r.since, r.returnedAt, r.exists, r.err = e.Revision, m.now, 0, e.Value != nil, nil
	r.record = roomRecord{Block: noBlock}
	if r.exists {
		r.record, r.err = parseRoom(e.Key, e.Value)
		r.record.Epoch = r.record.epochAt(e.Revision)
	}
	if r.err != nil {
		m.refuseRecord(r.err, e.Key)
		r.record = roomRecord{Block: noBlock}
	}
	rs.check(m, r)
	if !r.exists || rs.isStray(m, r) {
		rs.attend(r)
	}
}

// check ends a holding whose record is another's. Otherwise the record tells the room's newest image.
func (rs *rooms) check(m *machine, r *room) {
	h := r.holding
	switch {
	case h == nil || h.suspended:
	case r.record.Nonce != h.nonce:
		rs.lose(m, r)
	default:
		h.image = r.record.Image
	}
}

// isOwn reports whether the record names this incarnation.
func (rs *rooms) isOwn(m *machine, r *room) bool {
	return r.record.State == roomOpen && r.record.Node == m.settings.name && r.record.Incarnation == m.lease.incarnation
}

// isStray reports whether the record names this incarnation, which does not run the room: the answer to taking it, or to
// releasing it, was lost (C8).
func (rs *rooms) isStray(m *machine, r *room) bool { return r.holding == nil && rs.isOwn(m, r) }

// named reports whether the record of a room names a node.
func (rs *rooms) named(node string) bool {
	for _, r := range rs.all {
		if r.record.Node == node {
			return true
		}
	}
	return false
}

func (rs *rooms) take(m *machine, w *want) {
	err := rs.canWant(m, w)
	if err != nil {
		m.emit(event{kind: failed, room: w.room, want: w, err: err})
		return
	}
	r := rs.get(w.room)
	r.want = w
	rs.attend(r)
}

func (rs *rooms) canWant(m *machine, w *want) error {
	if m.lease.closing {
		return ErrClosed
	}
	if m.identity.state == identityForeign {
		return ErrForeign
	}
	if err := wrongName(w.room); err != nil {
		return fmt.Errorf("cluster: room: %w", err)
	}
	if w.block < noBlock || w.block >= len(m.blocks.all) {
		return fmt.Errorf("cluster: block %d: there are %d", w.block, len(m.blocks.all))
	}
	r := rs.all[w.room]
	if r != nil && (r.want != nil || r.holding != nil && !r.holding.releasing) {
		return ErrHeld
	}
	return nil
}

func (rs *rooms) giveUp(w *want) {
	if r := rs.all[w.room]; r != nil && r.want == w {
		r.want = nil
	}
}

func (rs *rooms) fail(m *machine, r *room, err error) {
	w := r.want
	r.want = nil
	m.emit(event{kind: failed, room: r.name, want: w, err: err})
}

func (rs *rooms) release(m *machine, name string, keep bool, heir string) {
	r := rs.all[name]
	if r == nil || r.holding == nil || r.holding.releasing {
		return
	}
	rs.endPointing(m, r, pointFailed, ErrNotOwner)
	r.holding.releasing, r.holding.keep, r.holding.heir = true, keep, heir
	if m.identity.state == identityForeign {
		rs.lose(m, r) // its record is not this directory's
		return
	}
	rs.attend(r)
}

func (rs *rooms) releaseAll(m *machine) {
	for _, r := range rs.sorted() {
		rs.release(m, r.name, true, "")
		if r.want != nil {
			rs.fail(m, r, ErrClosed)
		}
	}
}

// sorted returns the rooms with holdings or wants, by name.
func (rs *rooms) sorted() (list []*room) {
	for _, r := range rs.all {
		if r.holding != nil || r.want != nil {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *room) int { return strings.Compare(a.name, b.name) })
	return list
}

// lose ends a holding: the room may be another node's.
func (rs *rooms) lose(m *machine, r *room) {
	rs.endPointing(m, r, pointFailed, ErrNotOwner)
	kind := lost
	if r.holding.releasing {
		kind = released
	} else {
		m.counters.Lost++
		m.note(note{text: "room " + r.name + " is lost to another node: its run is discarded", trouble: true, key: r.key()})
	}
	r.holding = nil
	rs.held--
	m.emit(event{kind: kind, room: r.name})
}

// loseAll ends all holdings, with the incarnation that had them. Their records may still change by swaps under way.
func (rs *rooms) loseAll(m *machine) {
	for _, r := range rs.sorted() {
		if r.holding != nil {
			rs.lose(m, r)
		}
		r.unread = append(r.unread[:0], r.key())
	}
	rs.unclaim(m)
}

func (rs *rooms) unclaim(m *machine) {
	for i := range m.blocks.all {
		m.blocks.all[i].claimed = false
	}
}

// suspend stops all holdings until their rooms are taken again in the adopted directory (C9).
func (rs *rooms) suspend(m *machine) {
	for _, r := range rs.sorted() {
		r.unread = nil
		if r.want != nil {
			rs.fail(m, r, ErrForeign)
		}
		switch {
		case r.holding == nil || r.holding.suspended:
		case r.holding.releasing:
			rs.lose(m, r)
		default:
			r.holding.suspended = true
			rs.attend(r)
			m.emit(event{kind: suspended, room: r.name})
		}
	}
	rs.unclaim(m)
}

// forgetRecords forgets what a replaced directory said of the rooms.
func (rs *rooms) forgetRecords() {
	for name, r := range rs.all {
		r.record, r.revision, r.exists, r.err, r.unread = roomRecord{Block: noBlock}, 0, false, nil, nil
		if r.holding == nil && r.want == nil && !r.queued {
			delete(rs.all, name)
		}
	}
}

// drive does the next thing for each room that something is to be done for.
func (rs *rooms) drive(m *machine) {
	if m.identity.state != identityKnown || !m.view.loaded {
		return
	}
	for i := 0; i < len(rs.pending); i++ {
		r := rs.pending[i]
		if !rs.step(m, r) {
			continue
		}
		r.queued = false
		rs.pending = slices.Delete(rs.pending, i, i+1)
		i--
		// The watch may still deliver what the record was before it was deleted.
		if !r.exists && r.want == nil && r.holding == nil && m.view.complete+1 >= r.revision {
			delete(rs.all, r.name)
		}
	}
}

// step does the next thing for a room, and reports whether nothing is left to do.
func (rs *rooms) step(m *machine, r *room) bool {
	isBusy := m.calls.busy[r.key()]
	switch {
	case isBusy || r.retryAt > m.now || m.calls.ofRooms() >= maxRoomCalls:
	case !m.mayAct():
		// Without a lease the directory may be another one, in which the same revision means another change (C9).
	case len(r.unread) > 0:
		rs.readBack(m, r)
	case r.holding != nil && r.holding.releasing:
		if r.holding.suspended {
			rs.lose(m, r)
		} else {
			rs.giveBack(m, r, r.holding.keep)
		}
	case r.holding != nil && !r.holding.suspended && r.holding.pointing != nil:
		rs.movePointer(m, r)
	case r.holding != nil && !r.holding.suspended:
		return true
	case r.holding != nil || r.want != nil:
		if m.identity.hasFreeBlocks() || m.identity.settled() && r.hasBlock() {
			rs.decide(m, r)
		}
	case rs.isStray(m, r):
		rs.giveBack(m, r, r.continues)
	default:
		return true
	}
	return false
}

// readBack reads a key of a swap without an answer.
func (rs *rooms) readBack(m *machine, r *room) {
	key := r.unread[0]
	m.readKey(r.key(), key, func(found bool) {
		if !found {
			r.retryAt = m.now + m.jittered(m.settings.pause())
			return
		}
		r.unread = slices.DeleteFunc(r.unread, func(other string) bool { return other == key })
	})
}

func (rs *rooms) wakeAt(m *machine, at time.Duration) time.Duration {
	for _, r := range rs.pending {
		if r.retryAt > m.now {
			at = min(at, r.retryAt)
		}
	}
	return at
}
