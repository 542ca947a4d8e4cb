package admin

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// maxConnections bounds the file descriptors of the admin port: Prometheus, probes and an
// operator or two need a few, and saving the world also needs descriptors.
const maxConnections = 8

// connections bounds the connections of the admin port. A new connection beyond the
// bound evicts the one idle for longest, so idle connections cannot starve a probe, as
// they could with a listener that waits. If all are busy, the new one is closed.
type connections struct {
	mu   sync.Mutex
	turn uint64
	idle map[net.Conn]uint64 // turn of its last request's end; 0: busy
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

// evict closes the connection idle for longest. It returns false if none is idle.
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

// closeNow closes c without TLS's close_notify, whose write may block.
func closeNow(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.Close()
}
