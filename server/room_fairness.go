package server

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

// evictableAfter is how long a room must have had no session and no call before it may end in favour of
// another. By then each client that was admitted to it has joined or been refused.
const evictableAfter = session.HelloTimeout + time.Second

// eviction is the end of an idle room in favour of another, which begins when over is closed.
type eviction struct {
	over  chan struct{}
	ended bool // set before over is closed; false: a session has reached the room meanwhile
}

// addressShare returns how many of most places one address may take if used are taken: half of
// the rest, so that a few addresses do not take all, but at least one.
func addressShare(most, used int) int { return max((most-used)/2, 1) }

// findEvicted returns the room that must end before a client of address can begin a room of
// kind k, or nil if there is space. The error says why no room may begin. Callers hold m.mu.
func (m *rooms) findEvicted(k *kind, address string, now time.Time) (evicted *Room, err error) {
	for _, bound := range []struct {
		most int
		has  func(*Room) bool
	}{
		{k.MaxRooms, func(r *Room) bool { return m.kinds[r.kind] == k }},
		{m.config.MaxRooms, func(*Room) bool { return true }},
	} {
		used, own := 0, 0
		var idle []*Room
		for _, r := range m.byName {
			if r.eviction != nil || !bound.has(r) {
				continue
			}
			used++
			if r.creator == address {
				own++
			}
			if m.isEvictable(r, now) {
				idle = append(idle, r)
			}
		}
		if most := min(addressShare(bound.most, used), roomsPerAddress); address != "" && own >= most {
			return nil, &wire.Error{Code: wire.ServerFull, Detail: fmt.Sprintf("your network has created %d rooms", own)}
		}
		if used < bound.most || evicted != nil {
			continue
		}
		i := session.EvictionCandidate(idle, (*Room).ownerAddress, func(r *Room) time.Duration { return now.Sub(r.lastUsed) }, address)
		if i < 0 {
			return nil, &wire.Error{Code: wire.ServerFull, Detail: "too many rooms"}
		}
		evicted = idle[i]
	}
	return evicted, nil
}

// ownerAddress returns the address that created r. A room that is not counted for an address
// owns itself.
func (r *Room) ownerAddress() string {
	if r.creator == "" {
		return r.name
	}
	return r.creator
}

// isEvictable reports whether r may end in favour of another room: it is idle, and would end by
// itself. Callers hold m.mu.
func (m *rooms) isEvictable(r *Room, now time.Time) bool {
	k := m.kinds[r.kind]
	return r.state == roomOpen && r.deadline.IsZero() && r.by != byOperator && !k.isPinned(r) && k.IdleAfter > 0 &&
		now.Sub(r.lastUsed) >= evictableAfter && r.run.Load().loop.silentSince(r.opened) <= staleTick
}

// evictFor ends evicted in favour of r. Callers hold m.mu.
func (m *rooms) evictFor(evicted, r *Room) {
	evicted.eviction = &eviction{over: make(chan struct{})}
	r.awaits = evicted.eviction
	evicted.logger(m.log).Info("the room is idle, and ends for another: the server has its maximum of rooms", zap.String("for", r.name))
}

// endEviction tells the room that waits for r whether r has ended. Callers hold m.mu.
func (r *Room) endEviction(ended bool) {
	if e := r.eviction; e != nil {
		e.ended = ended
		close(e.over)
		r.eviction = nil
	}
}

// awaitEviction waits until the room that r replaces has ended. Only the goroutine that owns r may
// call it.
func (r *Room) awaitEviction(ctx context.Context) error {
	e := r.awaits
	if e == nil {
		return nil
	}
	r.awaits = nil
	select {
	case <-e.over:
	case <-ctx.Done():
		return errClosing
	}
	if !e.ended {
		return &wire.Error{Code: wire.ServerFull, Detail: "too many rooms"}
	}
	return nil
}
