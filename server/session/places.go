package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// MaxSeatTime bounds how long a seat stays reserved: a place that nobody takes is lost to all others.
	MaxSeatTime = 10 * time.Minute
	// MaxSeatUser bounds the name of a seat's user, in bytes.
	MaxSeatUser = 128
)

// places are the places of a Core that are kept for sessions to come: seats that the game or a backend has reserved for
// users, and places held for clients on their way to the room. Together with the sessions they never exceed the limit
// when one is added. requests.mu guards it.
type places struct {
	tick    uint64            // of the world, at the newest Receive
	seats   map[string]uint64 // user to the tick at which the seat expires
	held    []*Place          // for clients and sessions on their way
	taken   []*Place          // by sessions that have been handed over: they count in requests.arriving
	encoded []byte            // seats, for AppendSeats; nil: they have changed
}

// expirePlaces begins a tick. The seats of users whose sessions are on their way do not expire.
func (p *places) expirePlaces(tick uint64, onTheWay func(user string) bool) {
	p.tick = tick
	for user, until := range p.seats {
		if until <= tick && !onTheWay(user) {
			p.removeSeat(user)
		}
	}
	p.held = slices.DeleteFunc(p.held, func(held *Place) bool { return held.until <= tick })
}

// Place is a place held in a room for HelloTimeout, counted in ticks, for a client or a session on its way. A session that has
// been handed over keeps it until it has entered or is refused: the disk of the room that it has left may be slow.
type Place struct {
	core  *Core
	until uint64 // tick
}

// Room returns the room of the place.
func (p *Place) Room() *Core { return p.core }

// Release gives up the place. A nil Place is none. Any goroutine may call it.
func (p *Place) Release() {
	if p != nil {
		p.core.requests.releasePlace(p)
	}
}

// kept returns the number of kept places.
func (p *places) kept() int { return len(p.seats) + len(p.held) }

// keptFromOthers returns how many places are kept for others than user and the holder of own, which may be nil.
func (p *places) keptFromOthers(user string, own *Place) int {
	if p.hasSeat(user) || p.holds(own) {
		return p.kept() - 1
	}
	return p.kept()
}

// holds reports whether own is a place that has not expired.
func (p *places) holds(own *Place) bool { return own != nil && slices.Contains(p.held, own) }

func (p *places) hasSeat(user string) bool {
	_, ok := p.seats[user]
	return ok
}

// hold keeps a place of c.
func (p *places) hold(c *Core, lasts time.Duration) *Place {
	held := &Place{c, p.tick + uint64(ticksOf(lasts, c.world.TickHz()))}
	p.held = append(p.held, held)
	return held
}

// take ends the time limit of a held place, unless it is over, for a session that has been handed over.
func (p *places) take(held *Place) {
	if p.holds(held) {
		p.release(held)
		p.taken = append(p.taken, held)
	}
}

// takenFromOthers returns how many places sessions other than the holder of own have taken, which may be nil.
func (p *places) takenFromOthers(own *Place) int {
	if slices.Contains(p.taken, own) {
		return len(p.taken) - 1
	}
	return len(p.taken)
}

// release gives up a place, unless it has expired.
func (p *places) release(own *Place) {
	is := func(x *Place) bool { return x == own }
	p.held, p.taken = slices.DeleteFunc(p.held, is), slices.DeleteFunc(p.taken, is)
}

func (p *places) removeSeats(users []string) {
	for _, user := range users {
		p.removeSeat(user)
	}
}

func (p *places) restoreSeats(seats map[string]uint64) { p.seats, p.encoded = seats, nil }

func (p *places) removeSeat(user string) {
	delete(p.seats, user)
	p.encoded = nil
}

// usePlace ends the seat of user, and the place that its session has held.
func (p *places) usePlace(user string, own *Place) {
	if p.hasSeat(user) {
		p.removeSeat(user)
	}
	if own != nil {
		p.release(own)
	}
}

// reserveSeats reserves a seat for each user until a tick, or extends the one that the user has.
func (p *places) reserveSeats(users []string, until uint64) {
	for _, user := range users {
		p.seats[user] = until
	}
	p.encoded = nil
}

// countNew returns how many of users have no seat.
func (p *places) countNew(users []string) (n int) {
	for i, user := range users {
		if !p.hasSeat(user) && !slices.Contains(users[:i], user) {
			n++
		}
	}
	return n
}

// appendSeats appends the seats in a fixed order.
func (p *places) appendSeats(b []byte) []byte {
	if p.encoded == nil {
		p.encoded = []byte{}
		for _, user := range slices.Sorted(maps.Keys(p.seats)) {
			p.encoded = append(binary.AppendUvarint(p.encoded, uint64(len(user))), user...)
			p.encoded = binary.AppendUvarint(p.encoded, p.seats[user])
		}
	}
	return append(b, p.encoded...)
}

var errSeats = errors.New("server: damaged seats")

// parseSeats parses what appendSeats has appended.
func parseSeats(b []byte) (map[string]uint64, error) {
	seats := map[string]uint64{}
	last := ""
	for len(b) > 0 {
		n, size := binary.Uvarint(b)
		if size <= 0 || n == 0 || n > MaxSeatUser || uint64(len(b)-size) < n {
			return nil, errSeats
		}
		user := string(b[size : size+int(n)])
		b = b[size+int(n):]
		until, size := binary.Uvarint(b)
		if size <= 0 || user <= last || !utf8.ValidString(user) {
			return nil, errSeats
		}
		seats[user], last, b = until, user, b[size:]
	}
	return seats, nil
}

// CheckSeats checks the arguments of ReserveSeats.
func CheckSeats(users []string, lasts time.Duration) error {
	if lasts < 0 || lasts > MaxSeatTime {
		return &wire.Error{Code: wire.BadArguments, Detail: fmt.Sprintf("seats for %v: want at most %v, or 0 to give them up", lasts, MaxSeatTime)}
	}
	if len(users) == 0 {
		return &wire.Error{Code: wire.BadArguments, Detail: "seats for no user"}
	}
	for _, user := range users {
		if user == "" || len(user) > MaxSeatUser || !utf8.ValidString(user) {
			return &wire.Error{Code: wire.BadArguments, Detail: fmt.Sprintf("a seat for the user %.40q: want 1 to %d bytes of UTF-8", user, MaxSeatUser)}
		}
	}
	return nil
}

// ReserveSeats keeps a place for each of users (Admission.User) for a time, counted in ticks: other clients and sessions do not
// get it. All users get a seat, or none does: the error then has the code ServerFull. A seat ends when a
// session of its user begins in the room, or when the time is over. Users who have a seat keep it for the new time, and 0 gives
// seats up. Only the goroutine that calls Tick may call it.
func (c *Core) ReserveSeats(users []string, lasts time.Duration) error {
	if err := CheckSeats(users, lasts); err != nil {
		return err
	}
	if lasts == 0 {
		c.requests.releaseSeats(users)
		return nil
	}
	if why := c.requests.reserveSeats(c.Active()+c.Away(), users, c.world.Tick()+uint64(ticksOf(lasts, c.world.TickHz()))); why != nil {
		return why
	}
	return nil
}

func (r *requests) releaseSeats(users []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.removeSeats(users)
}

// AppendSeats appends the reserved seats, for RestoreSeats. Any goroutine may call it.
func (r *requests) AppendSeats(b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places.appendSeats(b)
}

// RestoreSeats restores the seats that AppendSeats has appended, in a world that continues: before the first tick.
func (c *Core) RestoreSeats(b []byte) error {
	seats, err := parseSeats(b)
	if err != nil {
		return err
	}
	latest := c.world.Tick() + uint64(ticksOf(MaxSeatTime, c.world.TickHz()))
	for user, until := range seats {
		seats[user] = min(until, latest) // the tick rate may have changed
	}
	c.requests.restoreSeats(seats)
	return nil
}

func (r *requests) restoreSeats(seats map[string]uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.restoreSeats(seats)
}

// reserveSeats reserves seats in a room of so many sessions, or returns the reason not to.
func (r *requests) reserveSeats(sessions int, users []string, until uint64) *wire.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := sessions + r.countArriving() + r.places.kept() + r.places.countNew(users) - r.limits.maxSessions
	switch {
	case r.draining:
		why := r.ending
		return &why
	case missing > 0:
		return &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("%d seats more than the room has free", missing)}
	}
	r.places.reserveSeats(users, until)
	return nil
}

// HasSeat reports whether user has a reserved seat. Any goroutine may call it.
func (r *requests) HasSeat(user string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places.hasSeat(user)
}

// Seats returns the number of reserved seats. Any goroutine may call it.
func (r *requests) Seats() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.places.seats)
}

// Places returns the numbers of sessions, of places kept for users and for clients on their way, and of free places, after the
// newest Receive. Any goroutine may call it.
func (r *requests) Places() (sessions, kept, free int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active + r.away, r.places.kept(), max(0, r.freePlaces())
}

// freePlaces returns the number of free places; a session that is away keeps its place. Callers hold r.mu.
func (r *requests) freePlaces() int {
	return r.limits.maxSessions - r.active - r.away - r.countArriving() - r.places.kept()
}

// HoldPlace keeps a free place for a client whose Hello follows. It returns nil if no place is free, or no session may
// begin. Any goroutine may call it.
func (c *Core) HoldPlace() *Place { return c.requests.holdFree(c) }

func (r *requests) holdFree(c *Core) *Place {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining || r.closed || r.freePlaces() <= 0 {
		return nil
	}
	return r.places.hold(c, HelloTimeout)
}

// holdForMove keeps a place in c, which has these requests, for a session of user that moves there, or returns why it would be refused as far
// as this is known. It returns own if the session holds that place already, and nil if its user has a seat. A session may end others that are away.
func (r *requests) holdForMove(c *Core, user string, own *Place) (*Place, *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n := r.limits.maxSessions; {
	case r.draining:
		why := r.ending
		return nil, &why
	case r.active+r.countArriving()+r.places.keptFromOthers(user, own) >= n:
		return nil, errFull(n)
	case r.places.holds(own):
		return own, nil
	case r.places.hasSeat(user):
		return nil, nil
	}
	return r.places.hold(c, HelloTimeout), nil
}

// HoldPlaceFor keeps a place for user for a time, counted in ticks, or returns why a session of user would be refused. For a user who has
// a seat it keeps none besides. Any goroutine may call it.
func (c *Core) HoldPlaceFor(user string, lasts time.Duration) (*Place, error) {
	return c.requests.holdFor(c, user, lasts)
}

func (r *requests) holdFor(c *Core, user string, lasts time.Duration) (*Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.draining:
		why := r.ending
		return nil, &why
	case r.closed:
		return nil, &wire.Error{Code: wire.RoomClosed}
	case r.places.hasSeat(user):
		return &Place{core: c}, nil
	case r.active+r.countArriving()+r.places.kept() >= r.limits.maxSessions:
		return nil, errFull(r.limits.maxSessions)
	}
	return r.places.hold(c, lasts), nil
}

func (r *requests) releasePlace(held *Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.release(held)
}

func errFull(n int) *wire.Error {
	return &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("%d sessions", n)}
}

// placesFor returns the number of places for which a session of user may compete: all but those that are kept for others.
func (r *requests) placesFor(user string, own *Place) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limits.maxSessions - r.places.keptFromOthers(user, own) - r.places.takenFromOthers(own)
}

// countEntered counts a session that has entered, and ends its seat and its place.
func (r *requests) countEntered(user string, own *Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active++
	r.places.usePlace(user, own)
}

// beginTick expires places.
func (r *requests) beginTick(tick uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places.expirePlaces(tick, r.isArriving)
}

// isArriving reports whether a session of user waits for a tick in which it arrives. Callers hold r.mu.
func (r *requests) isArriving(user string) bool {
	return slices.ContainsFunc(r.arriving, func(t *traveller) bool { return t.user == user })
}

// countArriving returns how many arriving sessions need a place besides those that are kept: of the sessions of a user, one has the
// user's seat. Callers hold r.mu.
func (r *requests) countArriving() int {
	n := len(r.arriving)
	for user := range r.places.seats {
		if r.isArriving(user) {
			n--
		}
	}
	return n
}
