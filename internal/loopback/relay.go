package loopback

import (
	"net"
	"sync"
	"testing"
)

// Relay is a TCP address that passes connections on to another one. It passes no UDP.
type Relay struct {
	Addr string

	passing sync.RWMutex // locked while the relay holds what arrives

	mu   sync.Mutex
	to   string
	open []net.Conn
}

// NewRelay returns a relay to an address, which ends with t.
func NewRelay(t testing.TB, to string) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", loopback(0))
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Addr: listener.Addr().String(), to: to}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		r.Break(to)
		running.Wait()
	})
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to := r.dial(from)
			if to == nil {
				continue
			}
			running.Go(func() { r.pass(to, from) })
			running.Go(func() { r.pass(from, to) })
		}
	})
	return r
}

// dial returns the second half of an accepted connection, or closes the first.
func (r *Relay) dial(from net.Conn) net.Conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		_ = from.Close()
		return nil
	}
	r.open = append(r.open, from, to)
	return to
}

func (r *Relay) pass(to, from net.Conn) {
	defer to.Close()
	for buf := make([]byte, 32<<10); ; {
		n, err := from.Read(buf)
		r.passing.RLock()
		_, failed := to.Write(buf[:n])
		r.passing.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

// Break closes all connections. Later ones are passed on to an address that may be another.
func (r *Relay) Break(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
	for _, c := range r.open {
		_ = c.Close()
	}
	r.open = nil
}

// Hold keeps what arrives in both directions until Release, as a network that loses packets does: connections stay open, and what
// was sent arrives late.
func (r *Relay) Hold() { r.passing.Lock() }

// Release passes on what Hold has kept.
func (r *Relay) Release() { r.passing.Unlock() }
