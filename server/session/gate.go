package session

import "sync/atomic"

// Gate tells whether connections may begin a session. It starts open. Sessions play on, resume, and
// move between rooms while it is closed. Any goroutine may call the methods. A Core with a Router is
// behind the Router's gate.
type Gate struct{ closed atomic.Bool }

// Cordon refuses connections that begin a session, with Draining.
func (g *Gate) Cordon() { g.closed.Store(true) }

// Uncordon admits new sessions again.
func (g *Gate) Uncordon() { g.closed.Store(false) }

// Cordoned reports whether new sessions are refused.
func (g *Gate) Cordoned() bool { return g.closed.Load() }
