package session

import (
	"encoding/binary"
	"errors"
	"slices"
)

// A room that ends for good leaves the memory of its arrivals to the Router: a room that is restored later may still hold
// their departures. The program keeps it for the next process, as pairs of uvarints: id and moves.

// EndForGood hands the memory of sessions that have come to the Router, before the files of the room are removed. It returns
// the number of sessions.
func (c *Core) EndForGood() int {
	if c.config.Router == nil {
		return 0
	}
	c.passages.settle(c.milestoneNow())
	c.config.Router.rememberArrivals(c.passages.arrived)
	return len(c.passages.arrived)
}

// rememberArrivals takes over the arrivals of a room that has ended for good.
func (r *Router) rememberArrivals(all []arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range all {
		r.arrived = append(r.arrived, arrival{id: a.id, moves: a.moves})
	}
	r.arrived = r.arrived[max(0, len(r.arrived)-maxArrivals):]
}

// hasArrived reports whether t has come to a room that has ended for good since.
func (r *Router) hasArrived(t *traveller) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.arrived, func(a arrival) bool { return a.id == t.id && a.moves > t.moves })
}

// AppendArrivals appends the newest sessions that have come to rooms which then ended for good, at most 4,096, for
// RestoreArrivals. Any goroutine may call it.
func (r *Router) AppendArrivals(b []byte) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.arrived {
		b = binary.AppendUvarint(binary.AppendUvarint(b, a.id), a.moves)
	}
	return b
}

var errArrivals = errors.New("server: damaged list of sessions that have arrived")

// RestoreArrivals restores what AppendArrivals has appended in an earlier process. Call it before rooms restore sessions.
func (r *Router) RestoreArrivals(b []byte) error {
	var all []arrival
	for len(b) > 0 {
		id, n := binary.Uvarint(b)
		moves, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return errArrivals
		}
		all, b = append(all, arrival{id: id, moves: moves}), b[n+m:]
	}
	r.rememberArrivals(all)
	return nil
}
