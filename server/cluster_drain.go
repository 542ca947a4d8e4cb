package server

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

const (
	// movesAtOnce bounds the rooms that move at the same time.
	movesAtOnce = 4
	// movePause is the time until the rooms are looked at again that have not moved. maxMoveTries bounds how often one is tried: each failure after
	// the other node has agreed costs its clients their connections.
	movePause    = 250 * time.Millisecond
	maxMoveTries = 3
)

// MoveRooms cordons the server, and moves its rooms to the other nodes of Config.Cluster, several at a time, each to the node with the fewest
// rooms that takes it. It returns when each room has moved or cannot, or when ctx ends, with the names of rooms that are still here: of
// kinds that are not saved, that end anyway, or that no node takes. Their sessions play on. Any goroutine may call it.
func (s *Server) MoveRooms(ctx context.Context) (left []string, err error) {
	switch {
	case s.rooms == nil:
		return nil, ErrNotRooms
	case s.config.Cluster == nil:
		return nil, ErrNotClustered
	}
	s.Cordon()
	d := &roomDrain{rooms: s.rooms, tries: map[string]int{}}
	for ctx.Err() == nil && d.moveSome(ctx) {
		select {
		case <-time.After(movePause):
		case <-ctx.Done():
		}
	}
	left = d.openRooms()
	s.log.Info("the rooms have moved to other nodes", zap.Strings("left", left))
	return left, nil
}

// roomDrain moves all rooms of a server.
type roomDrain struct {
	rooms *rooms

	mu    sync.Mutex
	tries map[string]int // of rooms
	nodes []placement
}

// placement is another node, as a place for rooms.
type placement struct {
	node  string
	rooms int
	full  bool // it takes no rooms at present
}

// openRooms returns the names of the rooms that are here.
func (d *roomDrain) openRooms() (names []string) {
	for _, r := range d.rooms.sortedRooms() {
		d.rooms.mu.Lock()
		if r.state == roomOpen || r.state == roomOpening && r.arrival == nil && !d.rooms.kinds[r.kind].isPinned(r) {
			names = append(names, r.name)
		}
		d.rooms.mu.Unlock()
	}
	return names
}

// mayMove reports whether a room may move, and whether it may now: a room that has come back opens first.
func (d *roomDrain) mayMove(name string) (may, now bool) {
	m := d.rooms
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byName[name]
	may = r != nil && d.tries[name] < maxMoveTries && m.images.reachesOthers(m.kinds[r.kind]) && r.deadline.IsZero() && r.eviction == nil
	return may, may && r.state == roomOpen
}

// moveSome tries to move each room once. It reports whether another look may help.
func (d *roomDrain) moveSome(ctx context.Context) (again bool) {
	d.nodes = d.findNodes()
	if len(d.nodes) == 0 {
		return false
	}
	var work sync.WaitGroup
	turns := make(chan struct{}, movesAtOnce)
	for _, name := range d.openRooms() {
		may, now := d.mayMove(name)
		again = again || may
		if !now {
			continue
		}
		turns <- struct{}{}
		work.Go(func() {
			d.moveAnywhere(ctx, name)
			<-turns
		})
	}
	work.Wait()
	return again
}

// findNodes returns the other nodes that are alive.
func (d *roomDrain) findNodes() (all []placement) {
	status := d.rooms.process.Cluster.Status()
	for _, n := range status.Nodes {
		if !n.Dead && n.Name != status.Node {
			all = append(all, placement{node: n.Name, rooms: len(n.Rooms)})
		}
	}
	return all
}

// moveAnywhere moves a room to the first node that takes it, the emptiest first.
func (d *roomDrain) moveAnywhere(ctx context.Context, name string) {
	for tried := []string{}; ctx.Err() == nil; {
		node := d.choose(tried)
		if node == "" {
			break
		}
		err := d.rooms.moveRoom(ctx, name, node)
		if err == nil || d.rooms.existingRoom(name) == nil {
			return
		}
		_, refused := errors.AsType[*nodeRefusal](err)
		tried = append(tried, node)
		d.noteRefusal(node, refused && wire.CodeOf(err) != wire.NoRoom)
		d.rooms.log.Debug("a room does not move", zap.String("room", name), zap.String("node", node), zap.Error(err))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries[name]++
}

// choose returns the node with the fewest rooms, which gets one more; "": none is left to try.
func (d *roomDrain) choose(tried []string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortStableFunc(d.nodes, func(a, b placement) int { return cmp.Compare(a.rooms, b.rooms) })
	for i := range d.nodes {
		if n := &d.nodes[i]; !n.full && !slices.Contains(tried, n.node) {
			n.rooms++
			return n.node
		}
	}
	return ""
}

// noteRefusal takes back a room of a node; full: it takes no others either.
func (d *roomDrain) noteRefusal(node string, full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.nodes {
		if n := &d.nodes[i]; n.node == node {
			n.rooms--
			n.full = n.full || full
		}
	}
}
