package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
)

// A room moves to another node in these steps. Until the release this node has the room, and after it the node that takes it finds the newest image in
// the directory: a failure anywhere leaves one owner or none, and no older world.
//
//	this node                               the other node
//	---------------------------------       ---------------------------------------------
//	image, while the room ticks
//	take: its name and its run       ──►    makes the room, which waits; or refuses
//	last tick, end of the journal
//	hand: where the run continues    ──►    keeps the journal in memory
//	releases the room for that node
//	sessions end, clients ask again  ──►    stores journal and image, and takes the room, in the same block; restores it
//
// With JournalAlways the journal has all since that image. In the other modes, or if that image could not be saved, the last tick is followed by another
// one, for which the room stands still.
//
// If the other node does not answer "hand", or ends before it has taken the room, the next run of the room begins here, from the same image and
// journal: no other node has all of it. If it cannot make the room afterwards, it releases the room for this node, which continues the run.

const (
	askTake = "take"
	askHand = "hand"
	// askDrop also tells that a room does not come.

	// agreeTimeout bounds the first question, and handTimeout the second one, for which a room stands still.
	agreeTimeout = 5 * time.Second
	handTimeout  = 5 * time.Second
	// imageTimeout bounds how long a move waits for the image before it. The room ticks meanwhile, so that imagePoll delays nobody.
	imageTimeout = 5 * time.Second
	imagePoll    = 5 * time.Millisecond
	// maxHanded bounds the journal of a room that moves: the notes of its sessions, and the game's state outside the world.
	maxHanded = 32 << 20
)

// ErrNotClustered is the error of MoveRoom without Config.Cluster.
var ErrNotClustered = errors.New("server: the server is no node of a cluster: its rooms cannot move")

var (
	errMoving       = &wire.Error{Code: wire.Draining, Detail: "the room is moving already"}
	errUnderway     = errors.New("server: sessions are on their way from this room to others: move it again")
	errUnsaved      = errors.New("server: the world was not saved: see the log for the reason")
	errNotMoved     = errors.New("server: the room has ended before it could move")
	errNotTakenOver = errors.New("server: the other node has ended before it had the room, or has not taken it in time: the room continues here")
	errNotShared    = errors.New("server: no other node could have the image of this room: its kind is not saved, or the node gives no copies")
)

// moveQuestion is a request of the node that a room leaves.
type moveQuestion struct {
	Ask  string `json:"ask"`
	Move string `json:"move"` // identifies the move
	Room string `json:"room"`

	// Of take.
	By         origin            `json:"by,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // RoomRequest.Attributes
	Sessions   int               `json:"sessions,omitempty"`

	// Run is the epoch of the run that continues. In hand the others say where; without a journal a new run begins.
	Run     uint64 `json:"run,omitempty"`
	Block   int    `json:"block,omitempty"`
	From    string `json:"from,omitempty"` // node that gets the room back if it cannot be made
	Tick    uint64 `json:"tick,omitempty"`
	Journal []byte `json:"journal,omitempty"`
}

// nodeRefusal is the error of a move to which the other node has not agreed.
type nodeRefusal struct {
	node string
	err  error
}

func (e *nodeRefusal) Error() string {
	return fmt.Sprintf("server: node %s does not take the room: %v", e.node, e.err)
}
func (e *nodeRefusal) Unwrap() error { return e.err }

// roomMove is the move of a room of this node to another one.
type roomMove struct {
	id, node string
	agreed   bool       // by the other node. Guarded by rooms.mu
	done     chan error // gets the result
}

// MoveRoom moves a room to another node of Config.Cluster, and returns when that node has taken it. Clients lose their
// connections, ask again and are sent there. With a journal and Hooks.SaveSession the run continues there: clients resume their sessions, and
// handles stay as they are. Otherwise the sessions end, and Leave is called.
// The image must reach the other node: by RoomImages.Shared or Copies.
//
// After an error the room is here, except after the end of ctx, when the move continues. Its error is a *wire.Error if there is no such room,
// or if the other node refuses: ServerFull, or Draining if it takes no rooms. Any goroutine may call MoveRoom.
func (s *Server) MoveRoom(ctx context.Context, room, node string) error {
	if s.rooms == nil {
		return ErrNotRooms
	}
	return s.rooms.moveRoom(ctx, room, node)
}

func (m *rooms) moveRoom(ctx context.Context, name, node string) error {
	if m.process.Cluster == nil {
		return ErrNotClustered
	}
	r, mv, q, err := m.beginMove(name, node)
	if err != nil {
		return err
	}
	r.run.Load().saveBeforeMove(ctx)
	if err := m.askMove(ctx, node, q, agreeTimeout); err != nil {
		m.endMove(r)
		m.dropMove(mv, name)
		return &nodeRefusal{node, err}
	}
	m.mu.Lock()
	mv.agreed = true
	if r.move == mv {
		r.endRun()
	}
	m.mu.Unlock()
	select {
	case err = <-mv.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("server: room %s is still on its way: %w", name, ctx.Err())
	}
}

// beginMove notes the move, and returns the first question.
func (m *rooms) beginMove(name, node string) (r *Room, mv *roomMove, q moveQuestion, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r = m.byName[name]
	switch {
	case r == nil:
		return nil, nil, q, noRoom(name)
	case !m.images.reachesOthers(m.kinds[r.kind]):
		return nil, nil, q, errNotShared
	case r.move != nil:
		return nil, nil, q, errMoving
	case r.state != roomOpen || !r.deadline.IsZero() || r.eviction != nil || r.ended.Load() != nil:
		return nil, nil, q, errClosing
	}
	mv = &roomMove{id: rand.Text(), node: node, done: make(chan error, 1)}
	r.move = mv
	now := r.run.Load()
	q = moveQuestion{Ask: askTake, Move: mv.id, Room: name, By: r.by, Attributes: r.asked, Sessions: int(now.loop.sessions.Load())}
	if now.canKeepSessions() {
		q.Run = now.core.Config().Epoch
	}
	return r, mv, q, nil
}

// endMove forgets a room's move, and returns it; nil: there is none.
func (m *rooms) endMove(r *Room) *roomMove {
	m.mu.Lock()
	defer m.mu.Unlock()
	mv := r.move
	r.move = nil
	return mv
}

func (m *rooms) askMove(ctx context.Context, node string, q moveQuestion, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	return m.process.Cluster.AskNode(ctx, node, text)
}

// dropMove tells the other node that the room does not come. Otherwise it waits for arrivalTimeout.
func (m *rooms) dropMove(mv *roomMove, room string) {
	_ = m.askMove(context.Background(), mv.node, moveQuestion{Ask: askDrop, Move: mv.id, Room: room}, abandonTimeout)
}

// reachesOthers reports whether other nodes can have the images of rooms of a kind.
func (f *imageFolder) reachesOthers(k *kind) bool {
	return f.config.Dir != "" && !k.Unsaved && f.copies != nil
}

// saveForMove saves the world after the last tick, and its sessions if they can continue on another node.
func (r *run) saveForMove() error {
	missing := r.awaitDepartures()
	switch {
	case !r.mayKeepSessions():
		if err := r.endAndSave(); err != nil {
			return err
		}
	case r.journalSuffices():
		if !r.endWithJournal() {
			return r.endAndSave()
		}
		r.kept = true
	case r.keepSessions(endMoved):
		r.kept = true
	case r.loop.journal.end() == nil: // which the next run repeats here
		r.kept = true
		r.core.Release(math.MaxUint64)
		return errUnsaved
	default:
		return r.endAndSave()
	}
	if missing > 0 {
		return errUnderway
	}
	r.leaves = true
	return nil
}

// saveBeforeMove saves the world while it ticks, so that the room stands still for its journal alone. It waits for that, for a bounded time.
func (r *run) saveBeforeMove(ctx context.Context) {
	if r.loop.journal == nil || r.loop.journal.mode != imagefile.JournalAlways {
		return
	}
	before, saves := r.loop.saver.report(), false
	err := r.loop.runBetweenTicks(ctx, func() { saves = r.loop.saver.saveSoon() })
	for began := time.Now(); err == nil && saves && ctx.Err() == nil && time.Since(began) < imageTimeout; time.Sleep(imagePoll) {
		now := r.loop.saver.report()
		saves = now.Saved == before.Saved && now.Failed == before.Failed
	}
}

// journalSuffices reports whether the newest image and the journal after it hold the run: another node needs no image of the last tick.
func (r *run) journalSuffices() bool {
	j, s := r.loop.journal, r.loop.saver
	if j.mode != imagefile.JournalAlways || s.isHeld() {
		return false
	}
	s.saving.Wait()
	s.raisePanic()
	saved := s.newestTick()
	return j.world != nil && saved != 0 && saved == j.segment && r.core.TicksLeft() > 0 && r.loop.permit.mayRun()
}

// endWithJournal ends the journal after one more step, which has what the ends of sessions do since the last tick. It reports whether all is on
// the disk. If not, the sessions have not ended.
func (r *run) endWithJournal() bool {
	r.core.EndLeaving()
	r.core.Step()
	r.loop.journal.commitTick(false)
	r.loop.publishReport(r.core.World().StateHash())
	if r.loop.journal.end() != nil {
		return false // which is logged
	}
	r.core.Release(math.MaxUint64)
	return true
}

// finishMove hands the room over to the node to which it moves, if the run was to end for that, and waits until that node has it. stays: the
// room's next run begins here.
func (l *roomLife) finishMove(ctx context.Context, was *run, panicked bool) (stays bool) {
	l.rooms.mu.Lock()
	mv, agreed := l.room.move, l.room.move != nil && l.room.move.agreed
	l.rooms.mu.Unlock()
	if mv == nil {
		return false
	}
	err, released := errNotMoved, l.grant
	if was.leaves {
		err = l.handOver(was, mv)
	}
	if was.kept {
		was.loop.abandonSessions(l.rooms.sessionsThere(l.room.name)) // nil after a failure
	}
	if err == nil && !released.AwaitHeir(ctx) {
		err = errNotTakenOver
	}
	log := was.log.With(zap.String("node", mv.node))
	switch {
	case err == nil:
		log.Info("the room moves to another node")
		l.rooms.counters.movedOut.Add(1)
		if was.core.EndForGood() > 0 { // other rooms of this node may still ask for the sessions that have come
			was.saveArrivals()
		}
	case agreed:
		log.Warn("the room does not move to another node", zap.Error(err))
		l.rooms.counters.unmoved.Add(1)
		if !errors.Is(err, errNotTakenOver) { // nobody would answer
			l.rooms.dropMove(mv, l.room.name)
		}
	}
	l.rooms.endMove(l.room)
	mv.done <- err
	return err != nil && agreed && !panicked && l.room.ended.Load() == nil
}

// sessionsThere returns what sends clients with their sessions to the node that a room was released for, or nil if none was.
func (m *rooms) sessionsThere(room string) *wire.Error {
	moved, err := wire.MovedTo(m.process.Cluster.FindRoom(room), nil)
	if err != nil {
		return nil
	}
	moved.Detail = wire.SessionThere
	return moved
}

// handOver gives the other node what the directory does not tell it, and releases the room for it.
func (l *roomLife) handOver(was *run, mv *roomMove) error {
	q := moveQuestion{Ask: askHand, Move: mv.id, Room: l.room.name}
	if was.kept {
		var err error
		q.From, q.Run, q.Tick, q.Block = l.rooms.process.Cluster.Status().Node, was.core.Config().Epoch, was.loop.journal.segment, was.block
		if q.Journal, err = was.store.CopySegment(q.Run, q.Tick, maxHanded); err != nil {
			return err
		}
	}
	if err := l.rooms.askMove(context.Background(), mv.node, q, handTimeout); err != nil {
		return err
	}
	was.closeStore() // the other node may be on this machine, with the same folder
	l.handGrant(l.grant, mv.node)
	return nil
}

// handGrant releases the room for another node.
func (l *roomLife) handGrant(g RoomGrant, node string) {
	l.grant, l.blockUsed = nil, false
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	g.HandOver(ctx, node)
}

// closeStore unlocks the image.
func (r *run) closeStore() {
	if r.store != nil {
		_ = r.store.Close() // everything is on disk, or failed
		r.store = nil
	}
}
