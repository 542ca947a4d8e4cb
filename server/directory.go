package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// maxSeeks bounds the attempts to get a place in rooms that fill meanwhile.
	maxSeeks = 8
	// expectedFor is how long a room that is being made keeps a place for a session that moves there.
	expectedFor = 2 * session.HelloTimeout
	// listFor is how long clients get the same list.
	listFor = 500 * time.Millisecond
	// madeIDBytes is the length of the id of a room that is made for a query: 50 random bits, which nobody guesses in its life.
	madeIDBytes = 10
)

// RoomSeek describes a client or a session that joins any room that suits a query (RoomKind.Choose).
type RoomSeek struct {
	Query wire.RoomQuery
	// User and Value are of its Admission, or of its session.
	User  string
	Value any
	// Rooms are the listed rooms that match the query, the fullest first. Some may have no free place.
	Rooms []wire.RoomInfo
}

// directory finds and makes rooms for queries. Rooms of a kind are chosen one at a time, so that two clients at once neither make two
// rooms where one has space for both, nor fill one beyond its limit.
type directory struct {
	rooms *rooms

	mu       sync.Mutex
	last     uint64          // the last key that was given to a client
	listed   []wire.RoomInfo // the rooms for lists, by name
	listedAt time.Time
}

// seeker is a client or a session that seeks a room.
type seeker struct {
	key     uint64 // in places.expected
	user    string
	value   any
	address string // that a new room counts for
	by      origin
	from    string // room that a session leaves
}

// matching is the state of a kind's queries. A goroutine that chooses among its rooms holds mu.
type matching struct {
	mu       sync.Mutex
	expected map[*Room]map[uint64]expectation // seekers of rooms that are being made, by key
	capacity int                              // of the newest room; 0: unknown
}

// expectation is the place that a room that is being made keeps for a seeker.
type expectation struct {
	query wire.RoomQuery
	until time.Time
}

// keyOfClient returns a key that no session has.
func (d *directory) keyOfClient() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last++
	return d.last | 1<<63
}

// listRooms returns a list of rooms. It is empty while no session may begin.
func (d *directory) listRooms(asked wire.ListRooms) (list wire.RoomList) {
	q, err := wire.ParseRoomQuery(asked.Query)
	if err != nil {
		return list // wire.Parse has refused it
	}
	var b []byte
	for _, info := range d.listedRooms() {
		kind, _, _ := strings.Cut(info.Name, "/")
		if info.Name <= asked.After || q.Kind != "" && q.Kind != kind || !q.Matches(info.Attributes) {
			continue
		}
		before := len(b)
		b = info.AppendLine(b)
		if len(b) > wire.MaxRoomList {
			b, list.More = b[:before], 1
			break
		}
	}
	list.Rooms = string(b)
	return list
}

// listedRooms returns the listed rooms that admit sessions, as they were at most listFor ago: many clients share a search.
func (d *directory) listedRooms() []wire.RoomInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	if now.Sub(d.listedAt) >= listFor {
		d.listed, d.listedAt = d.collectListed(now), now
	}
	return d.listed
}

// collectListed returns the listed rooms that admit sessions, by name.
func (d *directory) collectListed(now time.Time) (all []wire.RoomInfo) {
	m := d.rooms
	if m.router.Cordoned() || m.refusesSessions() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, r := range m.byName {
		l := r.Listing()
		if l.Visibility == Listed && m.isOpenTo(r, now) {
			sessions, _, free := r.run.Load().core.Places()
			all = append(all, wire.RoomInfo{Name: name, Players: sessions, Free: free, Attributes: l.Attributes})
		}
	}
	slices.SortFunc(all, func(a, b wire.RoomInfo) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// parseQuery returns the query and its kind of rooms.
func (d *directory) parseQuery(text string) (wire.RoomQuery, *kind, error) {
	q, err := wire.ParseRoomQuery(text)
	if err != nil {
		return q, nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("not a query for a room: %v", err)}
	}
	k := d.rooms.kinds[q.Kind]
	if k == nil {
		return q, nil, &wire.Error{Code: wire.NoRoom, Detail: fmt.Sprintf("no kind of rooms is named %q", q.Kind)}
	}
	return q, k, nil
}

// findForClient holds a place for a client in a room that suits a query, which it makes if there is none. It may wait.
func (d *directory) findForClient(ctx context.Context, text, address string, a Admission) (*session.Place, error) {
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	q, k, err := d.parseQuery(text)
	if err != nil {
		return nil, err
	}
	s := seeker{key: d.keyOfClient(), user: a.User, value: a.Value, address: d.rooms.boundedAddress(address)}
	if a.Room == text {
		s.by, s.address = byToken, ""
	}
	for range maxSeeks {
		if d.rooms.countPlaces() >= d.rooms.maxSessions() {
			return nil, &wire.Error{Code: wire.ServerFull}
		}
		r, place, err := d.findPlace(q, k, &s)
		if place != nil || err != nil {
			return place, err
		}
		_, err = d.rooms.awaitOpen(ctx, r)
		place = d.takeExpected(q, k, r, &s)
		if place != nil {
			return place, nil
		}
		if err != nil && !errors.Is(err, errClosing) {
			return nil, err
		}
	}
	return nil, &wire.Error{Code: wire.ServerFull, Detail: "the rooms fill too fast"}
}

// findForSession finds a room for a session that moves to any that suits a query. Without a place the room is being made, or has failed
// to keep one.
func (d *directory) findForSession(text string, s *Session) (name string, place *session.Place, err error) {
	q, k, err := d.parseQuery(text)
	if err != nil {
		return "", nil, err
	}
	r, place, err := d.findPlace(q, k, &seeker{key: s.ID(), user: s.User(), value: s.Value(), by: byGame, from: s.Room()})
	if err != nil {
		return "", nil, err
	}
	return r.name, place, nil
}

// findPlace holds a place in an open room, or makes s expected in a room that is being made.
func (d *directory) findPlace(q wire.RoomQuery, k *kind, s *seeker) (*Room, *session.Place, error) {
	k.matching.mu.Lock()
	defer k.matching.mu.Unlock()
	for range maxSeeks {
		r, err := d.choose(q, k, s)
		if err != nil {
			return nil, nil, err
		}
		core, opening := d.admittingCore(r)
		if opening {
			k.matching.expect(r, s.key, expectation{q, time.Now().Add(expectedFor)})
			return r, nil, nil
		}
		if core == nil {
			continue
		}
		if place := core.HoldPlace(); place != nil {
			return r, place, nil
		}
	}
	return nil, nil, &wire.Error{Code: wire.ServerFull, Detail: "the rooms fill too fast"}
}

// admittingCore returns the core of a room that admits sessions, or nil; opening: the room is being made.
func (d *directory) admittingCore(r *Room) (core *session.Core, opening bool) {
	d.rooms.mu.Lock()
	defer d.rooms.mu.Unlock()
	if r.state == roomOpening {
		return nil, true
	}
	now, err := d.rooms.admittingRun(r)
	if err != nil {
		return nil, false
	}
	return now.core, false
}

// takeExpected ends the expectation of s in a room that has been made, and holds a place there if the room still suits.
func (d *directory) takeExpected(q wire.RoomQuery, k *kind, r *Room, s *seeker) *session.Place {
	k.matching.mu.Lock()
	defer k.matching.mu.Unlock()
	k.matching.forget(r, s.key)
	core, _ := d.admittingCore(r)
	if core == nil || !suits(q, r.Listing()) && r.maker != s.key {
		return nil
	}
	k.matching.capacity = core.MaxSessions()
	return core.HoldPlace()
}

// admitExpected ends the expectation of a session whose room has been made. It returns false if the session was expected, and the room
// does not suit its query any more.
func (d *directory) admitExpected(r *Room, mover uint64) bool {
	k := d.rooms.kinds[r.kind]
	k.matching.mu.Lock()
	defer k.matching.mu.Unlock()
	was, expected := k.matching.expected[r][mover]
	k.matching.forget(r, mover)
	return !expected || mover == r.maker || suits(was.query, r.Listing())
}

func suits(q wire.RoomQuery, l Listing) bool {
	return l.Visibility == Listed && q.Matches(l.Attributes)
}

func (t *matching) expect(r *Room, key uint64, e expectation) {
	if t.expected[r] == nil {
		t.expected[r] = map[uint64]expectation{}
	}
	t.expected[r][key] = e
}

func (t *matching) forget(r *Room, key uint64) {
	delete(t.expected[r], key)
	if len(t.expected[r]) == 0 {
		delete(t.expected, r)
	}
}

// forgetLate forgets seekers whose time is over: sessions that ended before their room was open.
func (t *matching) forgetLate(now time.Time) {
	for r, keys := range t.expected {
		for key, e := range keys {
			if !now.Before(e.until) {
				t.forget(r, key)
			}
		}
	}
}

// choose returns the room for s: one that the game chooses, or the fullest that has a free place, or a new one. Callers hold k.matching.mu.
func (d *directory) choose(q wire.RoomQuery, k *kind, s *seeker) (*Room, error) {
	now := time.Now()
	k.matching.forgetLate(now)
	found := d.findMatches(q, k, s.from, now)
	i := slices.IndexFunc(found, func(m match) bool { return m.info.Free > 0 })
	if k.Choose != nil {
		name, err := d.callChoose(k, newSeek(q, s, found))
		if err != nil {
			return nil, err
		}
		i = slices.IndexFunc(found, func(m match) bool { return m.info.Name == name })
		if i < 0 && name != "" {
			d.rooms.log.Error("RoomKind.Choose has returned a room that is not in RoomSeek.Rooms", zap.String("room", name))
			return nil, errNoChoice
		}
	}
	if i < 0 {
		return d.makeRoom(q, k, s, now)
	}
	return found[i].room, nil
}

func newSeek(q wire.RoomQuery, s *seeker, found []match) RoomSeek {
	seek := RoomSeek{Query: q, User: s.user, Value: s.value}
	for _, m := range found {
		seek.Rooms = append(seek.Rooms, m.info)
	}
	return seek
}

var errNoChoice = &wire.Error{Code: wire.Internal, Detail: "no room was chosen"}

// callChoose calls RoomKind.Choose. The error is for clients.
func (d *directory) callChoose(k *kind, s RoomSeek) (name string, err error) {
	if !d.rooms.process.PanicEnds {
		defer func() {
			if value := recover(); value != nil {
				d.rooms.log.Error("Choose panicked", zap.String("panic", fmt.Sprint(value)), zap.ByteString("stack", debug.Stack()))
				err = errNoChoice
			}
		}()
	}
	name, err = k.Choose(s)
	if e := (*wire.Error)(nil); err != nil && !errors.As(err, &e) {
		err = &wire.Error{Code: wire.JoinRefused, Detail: err.Error()}
	}
	return name, err
}

// match is a room that matches a query.
type match struct {
	room *Room
	info wire.RoomInfo
}

// findMatches returns the rooms of a kind that match q, the fullest first: listed ones that admit sessions, and those that are being made
// for such a query and are not private, before their first tick: later ones may have become so. Callers hold k.matching.mu.
func (d *directory) findMatches(q wire.RoomQuery, k *kind, from string, now time.Time) (found []match) {
	m := d.rooms
	m.mu.Lock()
	for name, r := range m.byName {
		l := r.Listing()
		made := r.state == roomOpening && r.maker != 0 && r.opened.IsZero() && l.Visibility != Private
		if m.kinds[r.kind] == k && name != from && q.Matches(l.Attributes) && (made || l.Visibility == Listed && m.isOpenTo(r, now)) {
			found = append(found, match{room: r})
		}
	}
	m.mu.Unlock()
	for i := range found {
		found[i].info = d.info(k, found[i].room)
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.info.Players, a.info.Players), cmp.Compare(a.info.Name, b.info.Name))
	})
	return found
}

// isOpenTo reports whether new sessions may begin in r. Callers hold m.mu.
func (m *rooms) isOpenTo(r *Room, now time.Time) bool {
	return r.state == roomOpen && r.deadline.IsZero() && r.eviction == nil && !m.cordons.isClosed(r.name, now) && r.run.Load().loop.silentSince(r.opened) <= staleTick
}

// info describes a room. Seekers that are expected count as players. Callers hold k.matching.mu.
func (d *directory) info(k *kind, r *Room) wire.RoomInfo {
	expected := len(k.matching.expected[r])
	info := wire.RoomInfo{Name: r.name, Players: expected, Attributes: r.Listing().Attributes}
	now := r.run.Load()
	if now == nil {
		info.Free = max(0, cmp.Or(k.MaxSessions, k.matching.capacity, session.DefaultMaxSessions)-expected)
		return info
	}
	sessions, _, free := now.core.Places()
	info.Players, info.Free = sessions+expected, max(0, free-expected)
	return info
}

// makeRoom begins to make a room for s.
func (d *directory) makeRoom(q wire.RoomQuery, k *kind, s *seeker, now time.Time) (*Room, error) {
	m := d.rooms
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closing {
		return nil, &wire.Error{Code: wire.Draining}
	}
	id := strings.ToLower(rand.Text()[:madeIDBytes])
	r, err := m.beginRoom(k, roomOrder{name: q.Kind + "/" + id, kind: q.Kind, id: id, by: s.by, address: s.address, maker: s.key, attributes: q.Attributes}, now)
	if wire.CodeOf(err) == wire.NoRoom {
		err = &wire.Error{Code: wire.NoRoom, Detail: "no room suits, and clients may not make one"}
	}
	return r, err
}
