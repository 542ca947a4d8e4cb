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
	"net/netip"
	"sync"
	"time"

	"github.com/worldd/worldd/internal/quicserve"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/session"
)

const (
	// maxRequests bounds the running requests. With maxWaiting it bounds the file descriptors
	// of the admin port: Prometheus and an operator or two need a few, and saving the world
	// also needs descriptors.
	maxRequests = 8
	// maxGameRequests bounds the running requests to the game: signals, and its own pages. A room that is
	// stuck must not keep an operator from the port.
	maxGameRequests = maxRequests - 3
	// maxWaiting is the number of connections for everything else: probes, public pages,
	// clients without credentials, and requests that have not arrived whole.
	maxWaiting     = 4
	maxConnections = maxRequests + maxWaiting
	// minStay is the time that a connection keeps its place before a new one may evict it. A
	// local probe sends its request in less. It bounds the rate of accepting, so a flood of
	// connections delays a probe from the same address, and takes little time of the processor.
	minStay = 5 * time.Millisecond
)

var (
	errManyRequests     = &wire.Error{Code: wire.RateLimited, Detail: fmt.Sprintf("%d requests are under way", maxRequests)}
	errManyGameRequests = &wire.Error{Code: wire.RateLimited, Detail: fmt.Sprintf("%d signals and requests to the game's pages are under way", maxGameRequests)}
)

// connections bounds the connections of the admin port. At the bound, a new connection evicts
// a connection of the address that has most of the waiting ones: the one that has waited longest
// without progress. Connections with a running authorized request are never evicted. They are
// too few to fill the port, so a probe is always answered.
type connections struct {
	mu     sync.Mutex
	turn   uint64
	places map[net.Conn]place
}

// place is one connection's place in the port.
type place struct {
	address netip.Prefix
	turn    uint64    // of its last progress; 0: a request is running
	since   time.Time // of its last progress
	game    bool      // the running request is to the game
}

// pacedListener passes a connection on once there is a place for it.
type pacedListener struct {
	net.Listener
	connections *connections
}

// Accept implements net.Listener.
func (l pacedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		time.Sleep(l.connections.untilPlace(c)) // at most minStay
	}
	return c, err
}

// untilPlace returns the time until c may take a place.
func (a *connections) untilPlace(c net.Conn) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.places) < maxConnections {
		return 0
	}
	return minStay - time.Since(a.places[a.nextEvicted(c)].since)
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
	_, known := a.places[c]
	switch {
	case state == http.StateClosed:
		delete(a.places, c)
	case state == http.StateNew:
		if len(a.places) >= maxConnections {
			evicted := a.nextEvicted(c)
			delete(a.places, evicted)
			closeNow(evicted)
		}
		a.moveToBack(c)
	case known: // otherwise evicted
		a.moveToBack(c)
	}
}

func (a *connections) moveToBack(c net.Conn) {
	a.turn++
	a.places[c] = place{address: quicserve.AddressPrefix(c.RemoteAddr()), turn: a.turn, since: time.Now()}
}

// nextEvicted returns the connection that newcomer would evict. There is always one that waits,
// since maxRequests is less than maxConnections.
func (a *connections) nextEvicted(newcomer net.Conn) (next net.Conn) {
	waiting := map[netip.Prefix]int{quicserve.AddressPrefix(newcomer.RemoteAddr()): 1}
	for _, p := range a.places {
		if p.turn > 0 {
			waiting[p.address]++
		}
	}
	var of place
	for c, p := range a.places {
		more := waiting[p.address] - waiting[of.address]
		if p.turn > 0 && (next == nil || more > 0 || more == 0 && p.turn < of.turn) {
			next, of = c, p
		}
	}
	return next
}

// protect protects c from eviction until the response of its request is written. It returns the reason why it does not:
// too many connections are protected, or c has been evicted.
func (a *connections) protect(c net.Conn, game bool) *wire.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	underWay, toGame := 0, 0
	for _, p := range a.places {
		if p.turn == 0 {
			underWay++
		}
		if p.game {
			toGame++
		}
	}
	p, known := a.places[c]
	switch {
	case !known || underWay >= maxRequests:
		return errManyRequests
	case game && toGame >= maxGameRequests:
		return errManyGameRequests
	}
	p.turn, p.game = 0, game
	a.places[c] = p
	return nil
}

// admitRequest reports whether an authorized request may begin: its body has arrived, and few
// others are running. Otherwise it answers the request.
func (a *connections) admitRequest(w http.ResponseWriter, r *http.Request) bool {
	if !readBody(w, r) {
		return false
	}
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	refusal := a.protect(c, isToGame(r))
	switch {
	case refusal == nil:
		return true
	case isSignal(r):
		answerFailure(w, fmt.Errorf("%w: %w", session.ErrNotRun, refusal))
	default:
		http.Error(w, refusal.Detail, http.StatusServiceUnavailable)
	}
	return false
}

// readBody replaces the body of a request by a copy. It answers the request if the body does
// not arrive within bodyTimeout, or is too long.
func readBody(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	c, most := http.NewResponseController(w), maxBodyOf(r)
	_ = c.SetReadDeadline(time.Now().Add(bodyTimeout)) // net/http's connections support it
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = c.SetReadDeadline(time.Now().Add(answerTimeout))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		ignoreBody(w, r)
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", most), http.StatusRequestEntityTooLarge)
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
