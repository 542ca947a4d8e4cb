package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/replication/wire"
)

// Cluster assigns rooms to nodes, servers on one or several machines, so that each room runs on one node at a time
// (Config.Cluster). Any goroutine calls its methods.
type Cluster interface {
	// FindRoom returns the address for clients of another node that has the room, or "". It answers from memory.
	FindRoom(room string) (address string)
	// IsSilent reports whether another node that has the room may have failed, and its lease has not ended. It answers from memory.
	IsSilent(room string) bool
	// TakeRoom takes a room for this node, with a block of generations for its next run. stored is the block of the run that this
	// node's disk holds, or -1: the grant has that block if no other room does. The error of a room that another node has
	// wraps wire.MovedTo's.
	TakeRoom(ctx context.Context, room string, stored int) (RoomGrant, error)
	// Reaches reports whether Ask may succeed: the node that has the room is known, answers questions, and has not failed
	// to a short time ago. It answers from memory.
	Reaches(room string) bool
	// Ask sends a question of this server to the node that has a room, or its newest image while nobody runs it. It returns the answer
	// of the function that was given to Answer there, or its error if that is a *wire.Error, and the node's address for clients.
	Ask(ctx context.Context, room string, question []byte) (answer []byte, address string, err error)
	// Answer sets the function that answers the questions of other nodes. It is called before Config.Peers serves any.
	Answer(func(ctx context.Context, question []byte) (answer []byte, err error))
	// AskNode sends a question about a room that moves to a node, which may have some megabytes, and returns the error of the function that was
	// given to AnswerMoves there if that is a *wire.Error.
	AskNode(ctx context.Context, node string, question []byte) error
	// AnswerMoves is Answer for the questions of AskNode.
	AnswerMoves(func(ctx context.Context, question []byte) error)
	// FindImage returns the newest image of a room, nil if it has none, and the addresses for clients of the other living nodes that have
	// it. It answers from memory.
	FindImage(room string) (image *RoomImage, addresses []string, err error)
	// Changed returns a channel that is closed when FindRoom or FindImage may give another answer for a room than at the call, but for
	// other nodes that fall silent. It asks the directory for nothing.
	Changed(room string) <-chan struct{}
	// HostOf returns the name of the other node that runs a room, or of the node that has its newest image while nobody runs it; else "". It
	// answers from memory.
	HostOf(room string) (node string)
	// Living returns the names of all other living nodes, from memory.
	Living() (nodes []string)
	// Send sends messages between rooms to another node, and returns once its function has them, or an error if that is not certain. It sends them once.
	Send(ctx context.Context, node string, messages []byte) error
	// Receive sets the function for the messages of other nodes. It is called before Config.Peers serves any.
	Receive(func(messages []byte) error)
	// Status describes the cluster, for the operator.
	Status() ClusterStatus
}

// ClusterStatus describes a cluster as one of its nodes knows it.
type ClusterStatus struct {
	// Node is the name of this one.
	Node string
	// Directory is the identity of the directory that the node knows.
	Directory string
	// Margin is how long the node's rooms may run without another answer of the directory. They stand still while it is negative.
	Margin time.Duration
	// Trouble says why the node cannot use the directory; empty: it can.
	Trouble string
	Nodes   []ClusterNode
	// Stored are rooms that run nowhere, and that a node has stored.
	Stored     []string
	FreeBlocks int
	// Images are the newest images of rooms by the nodes that have them.
	Images []ClusterImages
	// FewCopies is the number of rooms whose newest image fewer living nodes have than the node's settings ask for.
	FewCopies int
	// Events are counters since the start, by name.
	Events map[string]uint64
}

// ClusterImages are the rooms whose newest images the same nodes have.
type ClusterImages struct {
	Nodes []string
	Rooms []string
}

// ClusterNode describes a node of a cluster.
type ClusterNode struct {
	Name      string
	Addresses []string
	Dead      bool          // it has left, or its lease has ended
	Silent    time.Duration // since it was last heard
	Rooms     []string
}

// RoomGrant is a room that this node has taken. Any goroutine calls its methods.
type RoomGrant interface {
	// Block is the block of generations that only this room may issue: k holds the generations from
	// k*world.RunGenerations+1 to (k+1)*world.RunGenerations-1.
	Block() int
	// MayRun reports whether the room may step, send and save now. False may become true again.
	MayRun() bool
	// Lost is closed when the room is no longer this node's.
	Lost() <-chan struct{}
	// Taking identifies the taking.
	Taking() RoomTaking
	// Image is the newest image of the room, with which each run must begin, or nil if there is none.
	Image() *RoomImage
	// SetImage makes an image the room's newest; nil: it has none any more. The error wraps ErrNotOwner if the room is no longer this
	// node's. After any error the image may be the newest.
	SetImage(ctx context.Context, image *RoomImage) error
	// Release lets other nodes take the room. stored: this node's disk holds a run that may continue in the block.
	Release(ctx context.Context, stored bool)
	// HandOver releases the room for the node of that name, which may be this one. TakeRoom gives that node the same block if it asks for
	// the block. For a short time no other node gets the room, and FindRoom returns the address of that node.
	HandOver(ctx context.Context, node string)
	// AwaitHeir waits, after HandOver, until that node has taken the room, or ctx ends. It returns false if the node has ended before, or has
	// not come in time: then TakeRoom gives the room back, with the same block, and for a short time to no third node.
	AwaitHeir(ctx context.Context) (comes bool)
}

const (
	// takeTimeout bounds how long a room waits for the end of a node that is silent. releaseTimeout bounds how long the name of a room
	// that has ended waits for the cluster.
	takeTimeout    = 30 * time.Second
	releaseTimeout = 5 * time.Second
	// thawTimeout bounds how long a frozen room that is to end waits until it may save. Below stallLimit.
	thawTimeout = 3 * time.Second
	thawPoll    = 10 * time.Millisecond
)

// errLost ends a run whose room another node may run.
var errLost = errors.New("server: the cluster has given the room to another node")

// errOtherNode refuses a session that moves to a room of a node that cannot be asked.
var errOtherNode = &wire.Error{Code: wire.Draining, Detail: "the room is on another node, which does not answer, or runs an older program"}

// errNotTaken refuses a room for which the cluster had no answer in time. A pinned room is taken again.
var errNotTaken = errors.New("server: the cluster has not given the room in time")

// errMayNotSave is the error of a save while the room must not run.
var errMayNotSave = errors.New("server: the cluster does not let the room run at present")

// clusterCounters are the figures of a server's rooms in a cluster.
type clusterCounters struct {
	frozen               atomic.Int64 // rooms
	frozenTime           atomic.Int64 // ns
	lost                 atomic.Uint64
	redirected, dropped  atomic.Uint64 // clients that asked for another node's room; sessions of lost rooms
	crossed              atomic.Uint64 // sessions that have moved to another node
	passesIssued         atomic.Uint64 // to clients and sessions of other nodes
	passesUsed           atomic.Uint64
	passesRefused        atomic.Uint64
	taken, takenStored   atomic.Uint64
	lateSaves            atomic.Uint64 // images that were saved after the room was lost
	elsewhere, takeFails atomic.Uint64
	movedIn, movedOut    atomic.Uint64 // rooms that have moved
	unmoved              atomic.Uint64 // that were to move, and have stayed
}

func (m *rooms) clusterReport() admin.Cluster {
	c, s := &m.counters, m.process.Cluster.Status()
	nodes := make([]admin.ClusterNode, len(s.Nodes))
	for i, n := range s.Nodes {
		nodes[i] = admin.ClusterNode(n)
	}
	images := make([]admin.ClusterImages, len(s.Images))
	for i, same := range s.Images {
		images[i] = admin.ClusterImages(same)
	}
	return admin.Cluster{
		Images: images, FewCopies: s.FewCopies,
		Node: s.Node, Directory: s.Directory, Margin: s.Margin, Trouble: s.Trouble, Nodes: nodes, Stored: s.Stored, FreeBlocks: s.FreeBlocks, Events: s.Events,
		FrozenRooms: int(c.frozen.Load()), Frozen: time.Duration(c.frozenTime.Load()), Lost: c.lost.Load(), LateSaves: c.lateSaves.Load(),
		Redirects: map[string]uint64{"join": c.redirected.Load(), "lost": c.dropped.Load(), "move": c.crossed.Load()},
		Passes:    map[string]uint64{"issued": c.passesIssued.Load(), "used": c.passesUsed.Load(), "refused": c.passesRefused.Load()},
		Moves:     map[string]uint64{"out": c.movedOut.Load(), "in": c.movedIn.Load(), "stayed": c.unmoved.Load()},
		Takes:     map[string]uint64{"new": c.taken.Load(), "stored": c.takenStored.Load(), "elsewhere": c.elsewhere.Load(), "failed": c.takeFails.Load()},
	}
}

// permit is a run's right to its room, for the goroutine that owns the world. A nil permit always allows everything.
type permit struct {
	grant    RoomGrant
	counters *clusterCounters
	log      *zap.Logger
	frozen   atomic.Bool
	since    time.Time // of the freeze, or of its newest part that is counted
}

// mayRun reports whether the run may step, send and save. Any goroutine may call it.
func (p *permit) mayRun() bool { return p == nil || p.grant.MayRun() }

// lost returns a channel that is closed when the room is lost.
func (p *permit) lost() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.grant.Lost()
}

func (p *permit) isLost() bool { return isClosed(p.lost()) }

// isFrozen reports whether the run was frozen at its last due tick. Any goroutine may call it.
func (p *permit) isFrozen() bool { return p != nil && p.frozen.Load() }

// beginTick reports whether the tick may begin that is due now, and whether it is the first after a freeze.
func (p *permit) beginTick(now time.Time) (may, thawed bool) {
	if p == nil {
		return true, false
	}
	may = p.grant.MayRun()
	switch was := p.frozen.Load(); {
	case may && was:
		p.endFreeze(now)
		p.log.Info("the room runs again")
		return true, true
	case may:
	case was:
		p.countFrozen(now)
	default:
		p.frozen.Store(true)
		p.counters.frozen.Add(1)
		p.since = now
		p.log.Warn("the room is frozen: the cluster's directory has not confirmed this node in time")
	}
	return may, false
}

func (p *permit) countFrozen(now time.Time) {
	p.counters.frozenTime.Add(int64(now.Sub(p.since)))
	p.since = now
}

// endFreeze ends a freeze, if there is one.
func (p *permit) endFreeze(now time.Time) {
	if p != nil && p.frozen.Swap(false) {
		p.countFrozen(now)
		p.counters.frozen.Add(-1)
	}
}

// awaitThaw waits until a run that ends may save. The error says why it must not.
func (p *permit) awaitThaw() error {
	for began := time.Now(); ; time.Sleep(thawPoll) {
		switch {
		case p.isLost():
			return errLost
		case p.mayRun():
			return nil
		case time.Since(began) > thawTimeout:
			return errMayNotSave
		}
	}
}

// takeRoom takes the room for its next run. Call it before the image is opened: another node on this machine may still have the
// image open. A run that continues keeps the room and the block; any other needs a new block. Without a cluster it does nothing.
func (l *roomLife) takeRoom(ctx context.Context) error {
	if l.rooms.process.Cluster == nil {
		return nil
	}
	stored := l.rooms.images.storedBlock(l.kind, l.room)
	if g := l.grant; g != nil && !isClosed(g.Lost()) && (!l.blockUsed || stored == g.Block()) {
		return nil
	}
	return l.exchangeGrant(ctx, stored)
}

// exchangeGrant takes the room again, with another block. Meanwhile other nodes leave it to this one.
func (l *roomLife) exchangeGrant(ctx context.Context, stored int) error {
	if g := l.grant; g != nil {
		l.handGrant(g, g.Taking().Node)
	}
	if e := l.rooms.images.findImageElsewhere(l.room.name); e != nil {
		l.rooms.counters.elsewhere.Add(1)
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, takeTimeout)
	defer cancel()
	counters := &l.rooms.counters
	g, err := l.rooms.process.Cluster.TakeRoom(ctx, l.room.name, stored)
	switch {
	case isMoved(err):
		counters.elsewhere.Add(1)
		return err
	case err != nil && ctx.Err() != nil:
		counters.takeFails.Add(1)
		return fmt.Errorf("%w: %w", errNotTaken, err)
	case err != nil:
		counters.takeFails.Add(1)
		return err
	case stored >= 0 && g.Block() == stored:
		counters.takenStored.Add(1)
	default:
		counters.taken.Add(1)
	}
	l.grant, l.blockUsed = g, false
	return nil
}

// takeGrantedBlock returns the grant's block if it suits the plan. Otherwise it takes the room again.
func (l *roomLife) takeGrantedBlock(ctx context.Context, plan *buildPlan) (int, error) {
	block := l.grant.Block()
	if plan.exact && plan.least == block {
		plan.from = nil
		return block, nil
	}
	plan.exact = false // another room has the block of the stored run
	if slices.Contains(plan.spent, block) {
		was := l.grant.Image()
		if err := l.exchangeGrant(ctx, -1); err != nil {
			return 0, err
		}
		if now := l.grant.Image(); was == nil && now != nil || now != nil && now.Name() != was.Name() {
			return 0, errors.New("another node has saved the room meanwhile")
		}
		block = l.grant.Block()
	}
	if slices.Contains(plan.spent, block) {
		return 0, fmt.Errorf("the cluster gives block %d of generations again, in which an earlier run of the room has issued handles", block)
	}
	return block, nil
}

// newPermit returns the permit of a run that has been built.
func (l *roomLife) newPermit(log *zap.Logger) *permit {
	if l.grant == nil {
		return nil
	}
	l.blockUsed = true
	return &permit{grant: l.grant, counters: &l.rooms.counters, log: log}
}

// releaseRoom lets other nodes take the room, after its last save.
func (l *roomLife) releaseRoom() {
	g := l.grant
	if g == nil {
		return
	}
	l.grant, l.blockUsed = nil, false
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	g.Release(ctx, l.rooms.images.storedBlock(l.kind, l.room) == g.Block())
}

// leaveLost ends the sessions of a run whose room is lost, without saving. Their clients ask again, and are sent to the room's node.
func (l *roomLife) leaveLost(was *run) {
	sessions := was.core.Active() + was.core.Away()
	was.log.Warn("the cluster has given the room to another node: the run ends here, unsaved", zap.Int("sessions", sessions))
	l.rooms.mu.Lock()
	l.room.state = roomEnding
	l.rooms.mu.Unlock()
	l.rooms.counters.lost.Add(1)
	l.rooms.counters.dropped.Add(uint64(sessions))
	was.abandon(&wire.Error{Code: wire.Draining, Detail: "the room runs on another node"})
}

// redirection returns the address of the node that has a room, as an error with the code Moved, or nil.
func (m *rooms) redirection(name string) error {
	if !m.isElsewhere(name) {
		return nil
	}
	moved, err := movedToRoom(name, m.addressOf(name), nil)
	if err != nil {
		return nil // TakeRoom says what is wrong with the address
	}
	return moved
}

// movedToRoom is wire.MovedTo for a client that the room's name tells where to ask again if the token is of no use.
func movedToRoom(room, address string, token []byte) (*wire.Error, error) {
	moved, err := wire.MovedTo(address, token)
	if err == nil {
		moved.Detail = wire.RoomIs + room
	}
	return moved, err
}

// isElsewhere reports whether another node has a room.
func (m *rooms) isElsewhere(name string) bool {
	return m.process.Cluster != nil && m.existingRoom(name) == nil && m.addressOf(name) != ""
}

// addressOf returns the address of the other node that has a room, or that has its newest image while nobody runs it, or "". A room on its
// way here is this node's.
func (m *rooms) addressOf(name string) string {
	if m.isArriving(name) {
		return ""
	}
	if address := m.process.Cluster.FindRoom(name); address != "" {
		return address
	}
	if e := m.images.findImageElsewhere(name); e != nil && m.existingRoom(name) == nil {
		return e.Address
	}
	return ""
}

// findElsewhere returns the redirection of a client that asks for a room of another node, with its own token, or nil. A client that
// names no room may have a token that does. If the client can get a pass instead, its token is admitted here first (sendElsewhere), and so
// is one that must not know of the room unless its token says so. A client that resumes
// finds its session there, if the run of the room continues.
func (m *rooms) findElsewhere(ctx context.Context, h *wire.Hello, address string) *wire.Error {
	name := h.Room
	if name == "" && m.process.Admit == nil {
		name = m.config.Default
	}
	if name == "" || wire.IsRoomQuery(name) {
		return nil
	}
	if err := m.unusableRoom(name); err != nil {
		return err
	}
	resumes := len(h.Secret) > 0
	to := m.addressOf(name)
	if to == "" || !resumes && m.process.Admit != nil && m.config.Carry != nil && m.process.Cluster.Reaches(name) {
		return nil
	}
	hidden := m.hiddenFrom(ctx, seatQuestion{Room: name, Run: h.Epoch, Address: m.boundedAddress(address)})
	if hidden != nil {
		if hidden.Code == wire.NoRoom && m.process.Admit != nil {
			return nil
		}
		return hidden
	}
	moved, err := movedToRoom(name, to, nil)
	if err != nil {
		return nil // TakeRoom says what is wrong with the address
	}
	if resumes {
		moved.Detail = wire.SessionThere
	}
	m.counters.redirected.Add(1)
	return moved
}

// unusableRoom returns why a client could not be admitted to a room now, before a token that can be used once is used: the room is frozen,
// or its node is silent.
func (m *rooms) unusableRoom(name string) *wire.Error {
	if m.process.Admit == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byName[name]
	switch {
	case r == nil && m.process.Cluster.IsSilent(name):
		return errNotThere
	case r == nil || r.state != roomOpen:
		return nil
	}
	if now := r.run.Load(); now.loop.permit.isFrozen() && now.loop.silentSince(r.opened) > staleTick {
		return errStalled
	}
	return nil
}

// isMoved reports whether err says that another node has the room.
func isMoved(err error) bool { return errors.Is(err, &wire.Error{Code: wire.Moved}) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
