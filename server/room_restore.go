package server

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/imagefile"
	"github.com/worldd/worldd/server/session"
)

const (
	// searchesPerSecond and searchBurst bound how often clients make the server search the disk for a run.
	searchesPerSecond = 20
	searchBurst       = 50
	// searchesPerAddress bounds the clients of one address that wait for a search, so that an attacker delays other
	// addresses by at most searchesPerAddress/searchesPerSecond.
	searchesPerAddress = 8
)

// errSearches lets the client retry: its session may be on the disk.
var errSearches = &wire.Error{Code: wire.ServerFull, Detail: "too many clients return to their rooms at this time"}

// roomSearches bounds the searches of the disk for rooms that clients return to after a restart.
type roomSearches struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	waiting map[string]int // clients by address
}

// newRoomSearches allows expected searches at once. That is the number of clients that may return after a hand-over, which all
// come at the same moment.
func newRoomSearches(expected int) roomSearches {
	return roomSearches{limiter: rate.NewLimiter(searchesPerSecond, max(searchBurst, expected)), waiting: map[string]int{}}
}

// awaitTurn waits until a client of address may search, or returns the reason to refuse it. Clients without an address,
// "", are not bounded.
func (s *roomSearches) awaitTurn(ctx context.Context, address string) error {
	if !s.addWaiting(address) {
		return errSearches
	}
	defer s.removeWaiting(address)
	if err := s.limiter.Wait(ctx); err != nil { // the turn would come after the end of ctx
		return errSearches
	}
	return nil
}

// addWaiting counts a client, and returns false if too many of its address are waiting.
func (s *roomSearches) addWaiting(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address != "" && s.waiting[address] >= searchesPerAddress {
		return false
	}
	s.waiting[address]++
	return true
}

func (s *roomSearches) removeWaiting(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[address]--
	if s.waiting[address] == 0 {
		delete(s.waiting, address)
	}
}

// isStored reports whether a room does not exist, has not ended, and has an image and a journal: a client whose token names it opens it,
// also if clients make no rooms of the kind. So the seats that a backend has reserved outlast the process.
func (m *rooms) isStored(name string) bool {
	kindName, id, err := ParseRoomName(name)
	k := m.kinds[kindName]
	if err != nil || k == nil || !m.images.hasJournal(k) || m.router.Cordoned() {
		return false
	}
	m.mu.Lock()
	gone := m.byName[name] == nil && !m.ended.isClosed(name, time.Now())
	m.mu.Unlock()
	if !gone {
		return false
	}
	_, err = os.Stat(m.config.Images.imagePath(kindName, id))
	return err == nil
}

// restoreRoom makes a stored room for a client that asks for its session there, and waits for the room. RoomKind.Create does not
// matter: the client knows the epoch of a run in the room's journal. The room counts for the client's address, unless only
// the game or tokens create rooms of the kind, which count for none. It returns nil without a room if no journal has this run,
// or the server is cordoned. A private room exists only for clients that know its run, also while it is being made or has failed.
func (m *rooms) restoreRoom(ctx context.Context, name, address string, epoch uint64) error {
	ctx, cancel := context.WithTimeout(ctx, session.HelloTimeout)
	defer cancel()
	r, known := m.existingRoom(name), false
	if r != nil {
		now := r.run.Load()
		known = r.Listing().Visibility != Private || now != nil && now.core.Config().Epoch == epoch || epoch != 0 && m.arrivingRun(r) == epoch
		if !known && now != nil {
			return nil
		}
	}
	if !known {
		address = m.boundedAddress(address)
		stored, err := m.hasStoredRun(ctx, name, address, epoch)
		if err != nil || !stored {
			return err
		}
		kindName, _, _ := strings.Cut(name, "/")
		if m.kinds[kindName].Create != ForAnyone {
			address = ""
		}
		if r, err = m.findRoom(name, byGame, address); err != nil {
			return err
		}
	}
	_, err := m.awaitOpen(ctx, r)
	if moved := (*wire.Error)(nil); errors.As(err, &moved) && moved.Code == wire.Moved { // the directory knew of it only when this node asked for the room
		there := *moved
		there.Detail = wire.SessionThere
		return &there
	}
	return err
}

// hasStoredRun reports whether the journal of a room on this disk has a run. It waits for its turn to search.
func (m *rooms) hasStoredRun(ctx context.Context, name, address string, epoch uint64) (bool, error) {
	kindName, id, err := ParseRoomName(name)
	k := m.kinds[kindName]
	if epoch == 0 || err != nil || k == nil || !m.images.hasJournal(k) || m.router.Cordoned() {
		return false, nil
	}
	if err = m.searches.awaitTurn(ctx, address); err != nil {
		return false, err
	}
	return imagefile.HasRun(m.config.Images.imagePath(kindName, id), epoch), nil
}
