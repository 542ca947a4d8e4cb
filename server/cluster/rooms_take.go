package cluster

import (
	"fmt"
	"slices"
	"time"
)

const (
	// offerTime is how long the others leave an offered room to its heir (C11). The heir may take longer, if nobody asks for the room.
	offerTime = 30 * time.Second
	// comebackTime is how long the others leave a room to the next incarnation of the node that ran it (C12).
	comebackTime = 30 * time.Second
	// returnTime is how long the others leave it to the node that has released it, if the heir has ended or does not come.
	returnTime = 2 * offerTime
)

// decide takes the room if it is allowed (C3), or tells who has it.
func (rs *rooms) decide(m *machine, r *room) {
	if r.err != nil {
		rs.refuse(m, r, r.err)
		return
	}
	if r.record.Image != nil && !r.record.Image.isSame(rs.newestImage(r)) {
		rs.refuse(m, r, ErrNotOwner) // another node has run the room in this directory, and has saved it
		return
	}
	if r.record.State == roomOpen && !rs.isOwn(m, r) {
		owner, p := m.peers.ownerOf(m, r)
		switch {
		case owner == ownerUnclear && p != nil && p.err != nil:
			rs.refuse(m, r, p.err)
			return
		case owner == ownerUnclear:
			return
		case owner == ownerAlive && r.holding == nil && m.now-p.since > m.settings.leaseTime/2:
			return // it may be dead: wait for its renewal or its tombstone
		case owner == ownerAlive:
			rs.refuse(m, r, &ElsewhereError{r.name, p.name, p.record.Addrs})
			return
		}
	}
	if r.record.Offered && m.view.complete+1 < r.revision {
		return // the copy of the directory may be too old to show who lives
	}
	if next := rs.successorOf(m, r); next != nil && r.holding == nil {
		if m.now-next.since <= m.settings.leaseTime/2 { // else it may be dead: wait for its renewal or its tombstone
			rs.refuse(m, r, &ElsewhereError{r.name, next.name, next.record.Addrs})
		}
		return
	}
	rs.acquire(m, r)
}

// successorOf returns the other node to which a room is left at present, or nil (C11, C12).
func (rs *rooms) successorOf(m *machine, r *room) *peer {
	if r.record.State == roomOpen {
		return rs.returnedOwner(m, r)
	}
	return rs.offeredTo(m, r)
}

// returnedOwner returns the other node that ran an open room and has begun again with its disk, for a time and while it lives (C12). The time
// counts from the first client that asks, so that a node in a crash loop does not prolong it.
func (rs *rooms) returnedOwner(m *machine, r *room) *peer {
	p := m.peers.living(r.record.Node)
	if p == nil || p.name == m.settings.name || !slices.Contains(p.record.Was, r.record.Incarnation) {
		return nil
	}
	if r.returnedAt == 0 {
		r.returnedAt = m.now
	}
	if m.now-r.returnedAt > comebackTime {
		return nil
	}
	return p
}

// offeredTo returns the node to which an offered room is left: the heir, and then the source, each for a time and while it lives (C11). The process
// of the heir alone has the whole run besides the source, so that a later one of its name is not the heir.
func (rs *rooms) offeredTo(m *machine, r *room) *peer {
	offer, age := &r.record, m.now-r.since
	if offer.State != roomKept || !offer.Offered || offer.isHeir(m.settings.name, m.lease.incarnation) {
		return nil
	}
	heir := m.peers.living(offer.Keeper)
	if heir != nil && age <= offerTime && offer.isHeir(heir.name, heir.record.Incarnation) {
		return heir
	}
	if offer.Source == m.settings.name || age > returnTime {
		return nil
	}
	return m.peers.living(offer.Source)
}

// refuse tells that the room cannot be taken, or not again.
func (rs *rooms) refuse(m *machine, r *room, err error) {
	if r.holding != nil {
		rs.lose(m, r)
	}
	if r.want != nil {
		rs.fail(m, r, err)
	}
}

// readDisagreement reports whether the records of a room and of its block disagree, as the copy shows them. It has them read again once.
func (rs *rooms) readDisagreement(m *machine, r *room) bool {
	b := r.record.Block
	if b == noBlock || m.blocks.all[b].room == r.name {
		return false
	}
	if r.disagreed != r.revision {
		r.disagreed = r.revision
		r.unread = append(r.unread[:0], r.key(), blockKey(b))
	}
	return true
}

// acquire takes the room and a block in one swap.
func (rs *rooms) acquire(m *machine, r *room) {
	if rs.readDisagreement(m, r) {
		if len(r.unread) == 0 {
			rs.refuse(m, r, &RecordError{r.key(), fmt.Errorf("its block %d is not its own", r.record.Block)})
		}
		return
	}
	block, victim, err := rs.chooseBlock(m, r)
	if err != nil {
		rs.refuse(m, r, err)
		return
	}
	epoch := r.record.Epoch
	if r.holding != nil {
		epoch = max(epoch, r.holding.epoch)
	}
	next := roomRecord{
		State: roomOpen, Node: m.settings.name, Incarnation: m.lease.incarnation,
		Epoch: epoch + 1, Nonce: m.token(), Block: block,
		Image: rs.newestImage(r),
	}
	swaps := []Swap{{r.key(), encodeRoom(next), r.base()}}
	if m.blocks.all[block].room != r.name {
		swaps = append(swaps, m.blocks.swap(block, r.name))
	}
	if old := r.record.Block; old != noBlock && old != block {
		swaps = append(swaps, m.blocks.swap(old, ""))
	}
	if victim != nil {
		swaps = append(swaps, Swap{victim.key(), rs.freed(m, victim), victim.base()})
	}
	m.blocks.all[block].claimed = true
	r.continues = r.want != nil && r.want.block != noBlock
	asked := r.want
	rs.swap(m, r, swaps, func(revision uint64) {
		m.counters.Takes++
		if r.holding != nil || r.want == asked {
			rs.hold(m, r, &holding{grant: grant{next.epochAt(revision), block, next.Image}, nonce: next.Nonce})
		}
	}, func() { m.blocks.all[block].claimed = false })
}

// hold makes the room this node's, for the caller that wants it or for a suspended run. Without either it is a stray.
func (rs *rooms) hold(m *machine, r *room, h *holding) {
	switch {
	case r.holding != nil:
		h.releasing, h.keep, h.heir, h.pointing = r.holding.releasing, r.holding.keep, r.holding.heir, r.holding.pointing
		r.holding = h
		m.emit(event{kind: resumed, room: r.name, grant: h.grant})
	case r.want != nil:
		r.holding = h
		rs.held++
		m.emit(event{kind: took, room: r.name, want: r.want, grant: h.grant})
		r.want = nil
	}
}

// chooseBlock returns the block for a run, and the room that loses it if no block is free.
func (rs *rooms) chooseBlock(m *machine, r *room) (number int, victim *room, err error) {
	stored := noBlock
	switch {
	case r.holding != nil:
		stored = r.holding.block
	case r.want != nil:
		stored = r.want.block
	}
	if stored != noBlock {
		b := &m.blocks.all[stored]
		// This node was the last to take the room, and in this block: then its disk has the newest run.
		isOurs := r.record.Block == stored && b.room == r.name && slices.Contains([]string{r.record.Node, r.record.Keeper, r.record.Source}, m.settings.name)
		if isOurs || b.revision == 0 && !b.claimed {
			return stored, nil, nil
		}
		return noBlock, nil, ErrBlockLost
	}
	if free := m.blocks.choose(m); free != noBlock {
		return free, nil, nil
	}
	for _, other := range rs.all {
		if other == r || !rs.canLoseBlock(m, other) {
			continue
		}
		if victim == nil || other.revision < victim.revision || other.revision == victim.revision && other.name < victim.name {
			victim = other
		}
	}
	if victim == nil {
		return noBlock, nil, ErrNoBlock
	}
	return victim.record.Block, victim, nil
}

// canLoseBlock reports whether nobody runs a room that has a block: only a stored run needs it.
func (rs *rooms) canLoseBlock(m *machine, r *room) bool {
	b := r.record.Block
	if rs.successorOf(m, r) != nil || r.err != nil || r.want != nil || r.holding != nil || b == noBlock || m.calls.busy[r.key()] || m.blocks.all[b].room != r.name || m.blocks.all[b].claimed {
		return false
	}
	if r.record.State == roomKept {
		return true
	}
	owner, _ := m.peers.ownerOf(m, r)
	return owner == ownerGone
}

// freed returns the record of a room that becomes free: none, unless it points to an image, or its epoch is from a directory that this one
// has replaced, and higher than the revision from which the next epoch would begin.
func (rs *rooms) freed(m *machine, r *room) []byte {
	if r.record.Image == nil && r.record.Epoch <= m.view.highest {
		return nil
	}
	return encodeRoom(roomRecord{State: roomFree, Epoch: r.record.Epoch, Block: noBlock, Image: r.record.Image})
}

// giveBack frees the room, or keeps it with its block.
func (rs *rooms) giveBack(m *machine, r *room, keep bool) {
	if h := r.holding; h != nil && (!rs.isOwn(m, r) || r.record.Nonce != h.nonce) {
		rs.lose(m, r) // it was released by a swap without an answer
		return
	}
	next := rs.freed(m, r)
	if keep {
		kept := roomRecord{State: roomKept, Keeper: m.settings.name, Epoch: r.record.Epoch, Block: r.record.Block, Image: r.record.Image}
		if h := r.holding; h != nil && h.heir != "" {
			kept.Keeper, kept.Offered, kept.Source = h.heir, true, m.settings.name
			if heir := m.peers.living(h.heir); heir != nil {
				kept.Heir = heir.record.Incarnation
			}
		}
		next = encodeRoom(kept)
	}
	swaps := []Swap{{r.key(), next, r.base()}}
	disagrees := rs.readDisagreement(m, r)
	if disagrees && len(r.unread) > 0 {
		return
	}
	if !keep && !disagrees {
		swaps = append(swaps, m.blocks.swap(r.record.Block, ""))
	}
	rs.swap(m, r, swaps, func(uint64) {
		if r.holding != nil {
			rs.lose(m, r)
		}
	}, func() {})
}

// swap sends the swaps of a room. Without a clear answer the keys are read before the next attempt (C8).
func (rs *rooms) swap(m *machine, r *room, swaps []Swap, succeeded func(revision uint64), ended func()) {
	m.calls.send(m, r.key(), request{swaps: swaps}, func(a answer) {
		ended()
		switch a.outcome {
		case done:
			succeeded(a.revision)
			for _, s := range swaps {
				m.apply(Entry{s.Key, s.Value, a.revision})
			}
			rs.check(m, r) // a watch may have shown a later owner already
		case refused:
			r.retryAt = m.now + m.jittered(m.settings.pause())
		default:
			r.unread = r.unread[:0]
			for _, s := range swaps {
				r.unread = append(r.unread, s.Key)
			}
		}
		rs.attend(r)
	})
}
