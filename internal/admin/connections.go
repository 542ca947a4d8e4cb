package admin

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxConnections bounds the descriptors of the admin port: Prometheus, probes and
// an operator or two take a few. Saving the world needs descriptors, too.
const maxConnections = 8

// connections bounds the connections of the admin port. When one too many comes,
// the one that has been without a request for the longest is closed, so that idle
// connections, however many, keep no probe out; a listener that waits for a free place
// would. If all have requests under way, the new one is closed.
type connections struct {
	mu   sync.Mutex
	turn uint64
	idle map[net.Conn]uint64 // turn in which its last request ended; 0: one is under way
}

// track is http.Server's ConnState.
func (a *connections) track(c net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.idle[c]
	switch {
	case state == http.StateClosed:
		delete(a.idle, c)
	case state == http.StateNew:
		if len(a.idle) >= maxConnections && !a.evict() {
			closeNow(c)
			return
		}
		a.turn++
		a.idle[c] = a.turn
	case !known: // evicted
	case state == http.StateIdle:
		a.turn++
		a.idle[c] = a.turn
	case state == http.StateActive:
		a.idle[c] = 0
	}
}

// evict closes the connection that has been idle for the longest, if one is idle.
func (a *connections) evict() bool {
	var oldest net.Conn
	for c, turn := range a.idle {
		if turn > 0 && (oldest == nil || turn < a.idle[oldest]) {
			oldest = c
		}
	}
	if oldest == nil {
		return false
	}
	delete(a.idle, oldest)
	closeNow(oldest)
	return true
}

// closeNow closes a connection without TLS's goodbye, which may wait for its reader.
func closeNow(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.Close()
}
