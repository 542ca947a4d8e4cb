package session

import "sync/atomic"

// connectionIDs issues the ids of connections, in ascending order. Any goroutine may call its methods.
type connectionIDs struct{ last atomic.Uint64 }

// Reserve returns the id of a connection whose stream is not open yet, for OpenReserved.
// Ids order connections: if two ask for the same session, the one with the higher id gets
// it. Reserve may be called from any goroutine.
func (c *connectionIDs) Reserve() uint64 { return c.last.Add(1) }

// newestID returns the id of the newest connection.
func (c *connectionIDs) newestID() uint64 { return c.last.Load() }

// SkipIDs makes later connections have ids above id. Call it before the first Open if rooms restore sessions
// later: a session whose id is in use by then ends.
func (c *connectionIDs) SkipIDs(id uint64) {
	for now := c.last.Load(); now < id && !c.last.CompareAndSwap(now, id); now = c.last.Load() {
	}
}
