package admin

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxRequests bounds the running requests. With maxWaiting it bounds the file descriptors
	// of the admin port: Prometheus and an operator or two need a few, and saving the world
	// also needs descriptors.
	maxRequests = 8
	// maxWaiting is the number of connections for everything else: probes, public pages,
	// clients without credentials, and requests that have not arrived whole.
	maxWaiting     = 4
	maxConnections = maxRequests + maxWaiting
)

// connections bounds the connections of the admin port. At the bound, a new connection evicts
// the connection that has waited longest without progress. Connections with a running
// authorized request are never evicted. They are too few to fill the port, so a probe is always
// answered.
type connections struct {
	mu      sync.Mutex
	turn    uint64
	waiting map[net.Conn]uint64 // turn of its last progress; 0: a request is running
}

// connKey is the context key of a request's connection.
type connKey struct{}

// withConn is http.Server's ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// trackState is http.Server's ConnState.
func (a *connections) trackState(c net.Conn, state http.ConnState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.waiting[c]
	switch {
	case state == http.StateClosed:
		delete(a.waiting, c)
	case state == http.StateNew:
		if len(a.waiting) >= maxConnections {
			a.evictOldest()
		}
		a.moveToBack(c)
	case known: // otherwise evicted
		a.moveToBack(c)
	}
}

func (a *connections) moveToBack(c net.Conn) {
	a.turn++
	a.waiting[c] = a.turn
}

// evictOldest closes the connection that has waited longest. There is always one that waits,
// since maxRequests is less than maxConnections.
func (a *connections) evictOldest() {
	var oldest net.Conn
	for c, turn := range a.waiting {
		if turn > 0 && (oldest == nil || turn < a.waiting[oldest]) {
			oldest = c
		}
	}
	delete(a.waiting, oldest)
	closeNow(oldest)
}

// protect protects c from eviction until its response is written. It returns false if maxRequests
// connections are protected, or c has been evicted.
func (a *connections) protect(c net.Conn) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	underWay := 0
	for _, turn := range a.waiting {
		if turn == 0 {
			underWay++
		}
	}
	if _, known := a.waiting[c]; !known || underWay >= maxRequests {
		return false
	}
	a.waiting[c] = 0
	return true
}

// admitRequest reports whether an authorized request may begin: its body has arrived, and few
// others are running. Otherwise it answers the request.
func (a *connections) admitRequest(w http.ResponseWriter, r *http.Request) bool {
	if !readBody(w, r) {
		return false
	}
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	admitted := a.protect(c)
	if !admitted {
		http.Error(w, fmt.Sprintf("%d requests are under way", maxRequests), http.StatusServiceUnavailable)
	}
	return admitted
}

// readBody replaces the body of a request by a copy. It answers the request if the body does
// not arrive within bodyTimeout, or exceeds maxBody.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout)) // net/http's connections support it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = c.SetReadDeadline(time.Now().Add(answerTimeout))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", maxBody), http.StatusRequestEntityTooLarge)
	case err != nil:
		ignoreBody(w, r)
		http.Error(w, "the body has not arrived", http.StatusRequestTimeout)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil
}

// ignoreBody makes net/http end the connection after the response, instead of waiting for the
// request's body.
func ignoreBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now())
}

// closeNow closes c without TLS's close_notify, whose write may block.
func closeNow(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	_ = c.Close()
}
