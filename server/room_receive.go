package server

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

const (
	// arrivalTimeout bounds how long a room that moves here waits until it is saved there, and takeOverTimeout how long for its release.
	arrivalTimeout  = 30 * time.Second
	takeOverTimeout = 10 * time.Second
	takeOverPoll    = 5 * time.Millisecond // of FindRoom, which answers from memory; also after a taking that was too early
	// maxArriving bounds the rooms that come at the same time, since each stands still for the others and for the handshakes of their clients:
	// on two processors a third room makes no move faster. Further ones tick on where they are, for turnTimeout at most, and turnPoll costs them
	// nothing.
	maxArriving = 2
	turnTimeout = 3 * time.Second
	turnPoll    = 10 * time.Millisecond
)

var (
	errBadMove  = &wire.Error{Code: wire.BadArguments, Detail: "not a question about the move of a room"}
	errNoSuch   = &wire.Error{Code: wire.NoRoom, Detail: "no such room is on its way here"}
	errHasRoom  = &wire.Error{Code: wire.ServerFull, Detail: "this node has a room of that name"}
	errNotSaved = &wire.Error{Code: wire.NoRoom, Detail: "this node has no such kind of rooms, or cannot have their images"}
	// errStays refuses the clients of a room that was to move here.
	errStays = &wire.Error{Code: wire.Draining, Detail: "the room stays on another node: connect again"}
)

// arrival is a room on its way from another node, before it opens here.
type arrival struct {
	move   string
	run    uint64        // that continues; 0: none
	handed chan struct{} // closed when the other node has saved the room, or has ended the move
	over   bool          // it has ended the move
	stored bool          // the disk has the journal and the image. Only the goroutine of hostRoom uses it
	// where says where the run continues; without a journal it does not.
	where moveQuestion
}

// answerMove answers a question of a node that a room leaves. The error is a *wire.Error.
func (m *rooms) answerMove(ctx context.Context, question []byte) error {
	q, err := parseMoveQuestion(question)
	if err != nil {
		return err
	}
	switch q.Ask {
	case askTake:
		m.awaitTurn(ctx)
		return m.beginArrival(q)
	case askHand, askDrop:
		return m.settleArrival(q)
	}
	return errBadMove
}

// parseMoveQuestion parses the question of another node, whose program may be newer.
func parseMoveQuestion(b []byte) (q moveQuestion, err error) {
	err = json.Unmarshal(b, &q)
	if err != nil || q.Move == "" || q.By > byOperator || q.Sessions < 0 || q.Block < 0 || len(q.Journal) > maxHanded {
		return q, errBadMove
	}
	return q, nil
}

// beginArrival makes the room, which waits for the other node.
func (m *rooms) beginArrival(q moveQuestion) error {
	kindName, id, err := ParseRoomName(q.Room)
	k := m.kinds[kindName]
	switch {
	case err != nil || k == nil || !m.images.reachesOthers(k):
		return errNotSaved
	case m.router.Cordoned():
		return errClosing
	case m.countPlaces()+q.Sessions > m.maxSessions():
		return &wire.Error{Code: wire.ServerFull}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, a := time.Now(), &arrival{move: q.Move, run: q.Run, handed: make(chan struct{})}
	r := m.byName[q.Room]
	switch {
	case m.closing || m.cordons.isClosed(q.Room, now):
		return errClosing
	case r == nil:
		_, err = m.beginRoom(k, roomOrder{name: q.Room, kind: kindName, id: id, by: max(q.By, byGame), attributes: q.Attributes, arrival: a}, now)
		return err
	case !k.isPinned(r) || r.arrival != nil: // else it waits for the room, and tries to take it now and then
	case r.state == roomFailed && isMoved(r.err):
		r.setOpening()
		r.arrival = a
		close(r.retry)
		return nil
	case r.state == roomOpening:
		r.arrival = a
		return nil
	}
	return errHasRoom
}

// settleArrival tells a room on its way that it was saved, or that it does not come.
func (m *rooms) settleArrival(q moveQuestion) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byName[q.Room]
	if r == nil || r.arrival == nil || r.arrival.move != q.Move || r.arrival.isHanded() && q.Ask == askHand {
		return errNoSuch
	}
	a := r.arrival
	a.over = a.over || q.Ask == askDrop
	if !a.isHanded() {
		a.where = q
		close(a.handed)
	}
	return nil
}

// awaitTurn waits while many rooms are on their way here.
func (m *rooms) awaitTurn(ctx context.Context) {
	for began := time.Now(); m.countArriving() >= maxArriving && time.Since(began) < turnTimeout && ctx.Err() == nil; {
		time.Sleep(turnPoll)
	}
}

// countArriving returns the number of rooms on their way here.
func (m *rooms) countArriving() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.byName {
		if r.arrival != nil {
			n++
		}
	}
	return n
}

func (a *arrival) isHanded() bool { return isClosed(a.handed) }

// isArriving reports whether a room is on its way here.
func (m *rooms) isArriving(name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byName[name]
	return r != nil && r.arrival != nil
}

// arrivingRun returns the epoch of the run of a room on its way here, or 0.
func (m *rooms) arrivingRun(r *Room) uint64 {
	if a := m.arrivalOf(r); a != nil {
		return a.run
	}
	return 0
}

// arrivalOf returns how the room comes from another node, or nil.
func (m *rooms) arrivalOf(r *Room) *arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.arrival
}

// isOver reports whether the other node has ended the move.
func (m *rooms) isOver(a *arrival) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return a.over
}

// awaitArrival waits until another node has released the room for this one, and takes it. Without an arrival it does nothing.
func (l *roomLife) awaitArrival(ctx context.Context) error {
	a := l.rooms.arrivalOf(l.room)
	l.awaited = a
	if a == nil {
		return nil
	}
	select {
	case <-a.handed:
	case <-time.After(arrivalTimeout):
		return errStays
	case <-ctx.Done():
		return errClosing
	}
	stored := -1
	if len(a.where.Journal) > 0 {
		stored = a.where.Block
	}
	for began := time.Now(); ; time.Sleep(takeOverPoll) {
		switch {
		case ctx.Err() != nil:
			return errClosing
		case l.rooms.isOver(a) || time.Since(began) > takeOverTimeout:
			return errStays
		case l.rooms.process.Cluster.FindRoom(l.room.name) != "":
			continue
		}
		l.storeArrival(a)
		if err := l.exchangeGrant(ctx, stored); !isMoved(err) {
			return err
		}
	}
}

// storeArrival makes the journal of a run that comes from another node durable, and then its image, before this node takes the room: until then
// the other node takes its run back if this process dies, and afterwards the next process finds both. A failure appears again when the room is made.
func (l *roomLife) storeArrival(a *arrival) {
	image, _, err := l.rooms.process.Cluster.FindImage(l.room.name)
	if a.stored || len(a.where.Journal) == 0 || err != nil || image == nil {
		return
	}
	store, err := l.rooms.images.openImage(l.kind, l.room)
	if err != nil {
		return
	}
	found := false
	if err = store.AddSegment(imagefile.Segment{Run: a.where.Run, Tick: a.where.Tick}, a.where.Journal); err == nil {
		found, err = store.Settle(image.content())
	}
	if err == nil && !found {
		p := imagePointer{room: l.room.name, store: store, copies: l.rooms.images.copies, log: l.room.logger(l.rooms.log)}
		err = p.install(image, func(*RoomImage) error { return errNotSaved })
	}
	a.stored = errors.Join(err, store.Close()) == nil
}

// installJournal gives the image the journal of a run that comes from another node, unless storeArrival has.
func (l *roomLife) installJournal(store *imagefile.Store) error {
	a := l.awaited
	if a == nil || a.stored || store == nil || len(a.where.Journal) == 0 {
		return nil
	}
	return store.AddSegment(imagefile.Segment{Run: a.where.Run, Tick: a.where.Tick}, a.where.Journal)
}

// returnRoom gives a room back that has come from another node with a journal and cannot be made here, and returns why. Only that node has all: the
// newest image may be older than the last tick. Any other room it leaves alone.
func (l *roomLife) returnRoom(why error) error {
	a, g := l.awaited, l.grant
	if a == nil || g == nil || a.where.From == "" || len(a.where.Journal) == 0 {
		return why
	}
	l.room.logger(l.rooms.log).Error("the room that has come here cannot be made: the node that it has left gets it back", zap.String("node", a.where.From), zap.Error(why))
	l.handGrant(g, a.where.From)
	if moved, err := wire.MovedTo(l.rooms.process.Cluster.FindRoom(l.room.name), nil); err == nil {
		return moved
	}
	return why
}
