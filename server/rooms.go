package server

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/worldd/worldd/internal/admin"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
)

const (
	// creationsPerSecond and creationBurst bound how fast clients create rooms: New may build a
	// large world.
	creationsPerSecond = 20
	creationBurst      = 50
	// roomsPerAddress bounds the open rooms that clients of one address have created, so that
	// an attacker cannot take all rooms (room_fairness.go).
	roomsPerAddress = 16
	// buildsPerKind bounds the rooms of a kind that are being made at the same time. A New that
	// never returns blocks only its own kind.
	buildsPerKind = 2
	// maxRestarts bounds how often a room that panics is restored at once within restartWindow.
	maxRestarts   = 3
	restartWindow = 10 * time.Minute
	// failedFor is how long a room that has panicked too often stays closed. brokenFor is the
	// pause after a room could not be made, in which clients are refused.
	failedFor = time.Minute
	brokenFor = time.Second
	// standbyFor is the longest wait for a change of a pinned room that another node has.
	standbyFor = time.Minute
	// staleTick is the age of the newest tick above which a room admits no sessions.
	staleTick = 2 * time.Second
	// stallLimit is how long a server that ends waits for rooms that are stuck in a tick.
	stallLimit = 5 * time.Second
)

// ErrNotRooms is the error of CreateRoom and DrainRoom without Config.Rooms.
var ErrNotRooms = errors.New("server: the server has one world, and no Config.Rooms")

var (
	errClosing  = &wire.Error{Code: wire.Draining, Detail: "the room is closing"}
	errCordoned = &wire.Error{Code: wire.RoomClosed}
	errEnded    = &wire.Error{Code: wire.RoomClosed, Detail: "the room has ended"}
	errStalled  = &wire.Error{Code: wire.Internal, Detail: "the room is not ticking"}
	errUnsuited = &wire.Error{Code: wire.ServerFull, Detail: "the room that was found does not suit the query any more"}
	errFailed   = &wire.Error{Code: wire.Internal, Detail: "the room failed"}
)

// roomState is the state of a room.
type roomState uint8

const (
	roomOpening roomState = iota // also after a panic
	roomOpen
	roomEnding
	roomFailed
)

// String returns the state's name in GET /rooms.
func (s roomState) String() string {
	return [...]string{"opening", "open", "ending", "failed"}[s]
}

// rooms hosts the rooms of a Server, each on its own goroutine (roomLife). A room is made for
// the first client that joins it. That client and later ones wait meanwhile; the other rooms
// tick.
type rooms struct {
	config    RoomsConfig // with defaults
	process   Config
	log       *zap.Logger
	router    *session.Router
	creations *rate.Limiter
	searches  roomSearches

	descriptors *descriptorReserve // nil if no room is saved
	images      *imageFolder
	directory   *directory
	departures  *departures // for Config.Trace
	counters    clusterCounters
	passes      *passes // nil without a cluster
	letters     *letters

	hosting sync.WaitGroup
	mu      sync.Mutex // guards the fields below, all of kind, and the marked ones of Room
	byName  map[string]*Room
	kinds   map[string]*kind
	ranges  ranges
	panics  panicTimes
	older   map[string]int // RoomImages.Older of rooms not saved yet
	cordons cordons
	ended   cordons // rooms that ended for good a short time ago
	bans    []string
	budget  *int // bytes per second and session, from SetLimits; nil: each room's own
	most    int  // maximum of sessions in all rooms
	closing bool
	unsaved []error // errors of rooms that ended while closing
}

// kind holds the state that the rooms of a RoomKind share.
type kind struct {
	RoomKind
	ticks    *admin.TickTimings
	building chan struct{} // holds a token for each room being made
	matching matching
	rooms    int
	schema   *schema.Schema // of the first room
	past     admin.Report   // totals of ended runs
	pastMs   *hdrhistogram.Histogram
	panics   uint64
}

func newRooms(c Config, timings *admin.Timings) (*rooms, error) {
	m := &rooms{
		config: c.Rooms.withDefaults(), process: c, log: c.Log, creations: rate.NewLimiter(creationsPerSecond, creationBurst),
		byName: map[string]*Room{}, kinds: map[string]*kind{}, panics: panicTimes{}, cordons: cordons{}, ended: cordons{}, older: maps.Clone(c.Rooms.Images.Older),
		most: cmp.Or(c.Rooms.MaxSessions, session.DefaultMaxSessions), departures: newDepartures(),
	}
	expected := 0
	if c.Sockets != nil {
		expected = m.most
	}
	m.searches = newRoomSearches(expected)
	for name, k := range m.config.Kinds {
		m.kinds[name] = &kind{RoomKind: k, ticks: timings.Ticks(name), building: make(chan struct{}, buildsPerKind), matching: matching{expected: map[*Room]map[uint64]expectation{}}, pastMs: newTickHistogram(roomDigits)}
	}
	m.images, m.directory, m.letters = newImageFolder(m), &directory{rooms: m}, newLetters(m)
	m.images.keepBlocks(&m.ranges)
	m.reserveDescriptors()
	var void func(user string) bool
	var elsewhere func(context.Context, *wire.Hello, string) *wire.Error
	var redeem func([]byte) (Admission, *session.Place, bool, error)
	var cross func(string, *Session) (*session.Crossing, error)
	if c.Cluster != nil {
		m.passes = &passes{rooms: m, issued: map[[passBytes]byte]*pass{}, ordered: map[string][]*orderedPass{}}
		elsewhere, redeem, cross, void = m.findElsewhere, m.passes.redeem, m.cross, m.passes.voidAll
		c.Cluster.Answer(m.passes.answer)
		c.Cluster.Receive(m.letters.receive)
		c.Cluster.AnswerMoves(m.answerMove)
	}
	var err error
	m.router, err = session.NewRouter(session.RouterConfig{
		Elsewhere: elsewhere,
		Admit:     c.boundedAdmit(), Random: c.random(), OneSessionPerUser: c.OneSessionPerUser, PanicEnds: c.PanicEnds, Versions: c.Versions,
		Join: func(ctx context.Context, name, address string, a Admission) (*session.Core, error) {
			now, err := m.joinRoom(ctx, name, address, a)
			if err != nil {
				return nil, err
			}
			return now.core, nil
		},
		Restore: m.restoreRoom,
		Move: func(name string, s *Session) (*session.Core, error) {
			now, err := m.findForMove(name, s.ID())
			if now == nil {
				return nil, err
			}
			return now.core, nil
		},
		Redeem: redeem, VoidPasses: void, Cross: cross, Post: m.letters.post, List: m.directory.listRooms, Find: m.directory.findForClient, FindForMove: m.directory.findForSession,
	})
	if err == nil && m.config.Images.Journal != imagefile.JournalOff {
		err = m.spreadIDs(c.random())
	}
	if err == nil {
		m.images.restoreArrivals()
		m.router.OnPanic(func(p session.HookPanic) {
			m.log.Error("the game panicked: the client is refused", zap.Stringer("hook", p.Hook), zap.String("panic", fmt.Sprint(p.Value)), zap.ByteString("stack", p.Stack))
		})
	}
	return m, err
}

// spreadIDs begins the ids of sessions at a random number below 2^52, which JSON holds exactly: rooms that are
// restored later have sessions of earlier processes.
func (m *rooms) spreadIDs(random io.Reader) error {
	var b [4]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return fmt.Errorf("server: no random number for the ids of sessions: %w", err)
	}
	m.router.SkipIDs(uint64(binary.LittleEndian.Uint32(b[:])) << 20)
	return nil
}

// reserveDescriptors opens the descriptors that saves need, and warns if the rooms may need
// more files than the process may open.
func (m *rooms) reserveDescriptors() {
	if m.config.Images.Dir != "" {
		m.descriptors = newDescriptorReserve()
	}
	need := m.config.descriptorsNeeded()
	if limit, known := descriptorLimit(); known && limit < need {
		m.log.Warn("the process may open fewer files than its rooms need: raise the limit (ulimit -n, LimitNOFILE=), or allow fewer rooms; clients are refused when it is reached",
			zap.Uint64("limit", limit), zap.Uint64("needed", need), zap.Int("rooms", m.config.MaxRooms))
	}
}

// origin is the source of a request for a room.
type origin uint8

const (
	byClient origin = iota
	byToken
	byGame
	byOperator
)

// findRoom returns the named room. If there is none, and by may create it, findRoom begins to
// make it. For the operator it also makes a failed room again, and opens the name of a drained
// one. address is the client's, or "" if its rooms are not bounded.
func (m *rooms) findRoom(name string, by origin, address string) (*Room, error) {
	kindName, id, err := ParseRoomName(name)
	if err != nil {
		return nil, &wire.Error{Code: wire.NoRoom, Detail: "not a room's name: want KIND or KIND/ID"}
	}
	k := m.kinds[kindName]
	if k == nil {
		return nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no kind of rooms is named %q", kindName)}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return nil, &wire.Error{Code: wire.Draining}
	}
	now := time.Now()
	if by == byOperator {
		delete(m.cordons, name)
	} else if m.cordons.isClosed(name, now) {
		return nil, errCordoned
	}
	if r := m.byName[name]; r != nil {
		if by == byOperator {
			m.openAgain(r, now)
		}
		return r, nil
	}
	if by <= byToken && m.ended.isClosed(name, now) {
		return nil, errEnded
	}
	return m.beginRoom(k, roomOrder{name: name, kind: kindName, id: id, by: by, address: address}, now)
}

// roomOrder describes a room that is to be made.
type roomOrder struct {
	name, kind, id string
	by             origin
	address        string            // that the room counts for; empty: none
	maker          uint64            // key of the seeker of a query; 0: none
	attributes     map[string]string // of the query
	arrival        *arrival          // nil: the room comes from no other node
}

// beginRoom begins to make a room that does not exist, or returns why it may not. Callers hold m.mu.
func (m *rooms) beginRoom(k *kind, o roomOrder, now time.Time) (*Room, error) {
	pinned := k.Pinned && o.id == ""
	evicted, err := m.findEvicted(k, o.address, now)
	switch {
	case !pinned && (o.by == byClient && k.Create != ForAnyone || o.by == byToken && k.Create == ForGame):
		return nil, noRoom(o.name)
	case err != nil:
		return nil, err
	case o.by <= byToken && !m.creations.Allow():
		return nil, &wire.Error{Code: wire.ServerFull, Detail: "too many rooms are being created"}
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Room{
		name: o.name, kind: o.kind, id: o.id, by: o.by, creator: o.address, maker: o.maker, asked: o.attributes, arrival: o.arrival,
		ready: make(chan struct{}), lastUsed: now, stop: stop, gone: make(chan struct{}),
	}
	r.listing.Store(newListing(Listing{k.Visibility, o.attributes}))
	if evicted != nil {
		m.evictFor(evicted, r)
	}
	m.byName[o.name] = r
	delete(m.ended, o.name)
	k.rooms++
	m.hosting.Go(func() { m.lifeOf(r).hostRoom(ctx) })
	return r, nil
}

// openAgain makes an existing room admit sessions again for the operator. Callers hold m.mu.
func (m *rooms) openAgain(r *Room, now time.Time) {
	if r.state == roomFailed {
		r.by = byOperator
		r.setOpening()
		close(r.retry)
	}
	if r.deadline.After(now) { // otherwise it is ending
		r.deadline = time.Time{}
	}
}

// createRoom makes or opens a room for the operator, and waits for it. A room that is ending is
// made again when it has ended.
func (m *rooms) createRoom(ctx context.Context, name string) error {
	for {
		r, err := m.findRoom(name, byOperator, "")
		if err != nil {
			return err
		}
		if _, err = m.awaitOpen(ctx, r); err == nil {
			return nil
		}
		if !errors.Is(err, errClosing) {
			m.mu.Lock()
			defer m.mu.Unlock()
			return cmp.Or(r.err, err)
		}
		select {
		case <-r.gone:
		case <-ctx.Done():
			return err
		}
	}
}

// drainRoom refuses new sessions of a room, and ends it when it is empty or after within. The
// name of a room that is not pinned stays closed, and the remaining sessions end with
// RoomClosed.
func (m *rooms) drainRoom(name string, within time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byName[name]
	if r == nil {
		return noRoom(name)
	}
	now, pinned := time.Now(), m.kinds[r.kind].isPinned(r)
	r.deadline = now.Add(within)
	if !pinned {
		m.cordons.closeName(name, r.deadline)
	}
	if within <= 0 || r.state == roomFailed && !pinned { // a failed room is empty
		r.stop()
	}
	return nil
}

// sortedRooms returns the rooms by name.
func (m *rooms) sortedRooms() []*Room {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]*Room, 0, len(m.byName))
	for _, r := range m.byName {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Room) int { return cmp.Compare(a.name, b.name) })
	return all
}

// countSessions returns the number of sessions in all rooms.
func (m *rooms) countSessions() (n int) {
	for _, r := range m.sortedRooms() {
		if run := r.run.Load(); run != nil {
			n += int(run.loop.sessions.Load())
		}
	}
	return n
}

func (m *rooms) maxSessions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}

// drainAll ends the sessions of all rooms because of why, and refuses new ones.
func (m *rooms) drainAll(ctx context.Context, why wire.Error) error {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	m.router.Drain()
	var asked sync.WaitGroup
	for _, r := range m.sortedRooms() {
		if now := r.run.Load(); now != nil {
			now.core.EndWith(why)
			asked.Go(func() { _ = now.loop.runBetweenTicks(ctx, now.core.Drain) }) // a stuck room has no sessions to save
		}
	}
	asked.Wait()
	return nil
}

// refusesSessions reports whether new sessions are refused in all rooms.
func (m *rooms) refusesSessions() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closing
}

// startPinned makes the pinned rooms. Rooms that are not ready when ctx ends are no error, nor is a crash loop: the log has
// it (hostRoom), and the other rooms serve. Nor are rooms that another node has, or that the cluster
// has not given yet: leases may be longer than takeTimeout.
func (m *rooms) startPinned(ctx context.Context) error {
	m.images.start()
	var errs []error
	for name, k := range m.kinds {
		if k.Pinned {
			if err := m.createRoom(ctx, name); err != nil && ctx.Err() == nil && !errors.Is(err, ErrCrashLoop) && !isMoved(err) && !errors.Is(err, errNotTaken) {
				errs = append(errs, fmt.Errorf("server: room %s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// endRooms ends all rooms and waits for them. It gives up on rooms that are stuck in a tick or in New.
func (m *rooms) endRooms() error {
	m.mu.Lock()
	m.closing = true
	for _, r := range m.byName {
		r.stop()
	}
	m.mu.Unlock()
	m.images.stop()
	m.router.Drain()
	ended := make(chan struct{})
	go func() {
		m.hosting.Wait()
		close(ended)
	}()
	began := time.Now()
	for {
		select {
		case <-ended:
			return errors.Join(m.unsaved...) // no room is left to add one
		case <-time.After(stallLimit / 10):
		}
		if stuck, saving := m.unendedRooms(); saving == 0 && time.Since(began) > stallLimit {
			return fmt.Errorf("server: these rooms are stuck, and were not saved: %v", stuck)
		}
	}
}

// unendedRooms returns the names of rooms that still tick or are being made, and the number of
// those that are ending.
func (m *rooms) unendedRooms() (stuck []string, saving int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, r := range m.byName {
		if r.state == roomEnding {
			saving++
		} else {
			stuck = append(stuck, name)
		}
	}
	slices.Sort(stuck)
	return stuck, saving
}
