package session

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// guarded is a tape that several goroutines may use.
type guarded struct {
	mu   sync.Mutex
	tape tape
}

func (c *guarded) SendStream(p []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tape.SendStream(p)
}
func (*guarded) HasUnsent() bool         { return false }
func (c *guarded) SendSnapshot([][]byte) {}
func (c *guarded) Close(code wire.Code, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tape.Close(code, text)
}

// newest returns the newest Welcome, and whether the connection is over.
func (c *guarded) newest() (w wire.Welcome, moves int, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.tape.welcome); n > 0 {
		w = c.tape.welcome[n-1]
	}
	return w, len(c.tape.welcome) - 1, c.tape.closed
}

// Rooms tick on goroutines of their own and send each other all their sessions, while clients
// come, answer, lose their connections and resume. For the race detector.
func TestMovesInParallel(t *testing.T) {
	h := movers(t, func(c *RouterConfig) {
		join, mu := c.Join, sync.Mutex{}
		c.Join = func(ctx context.Context, room, address string, a Admission) (*Core, error) {
			mu.Lock()
			defer mu.Unlock()
			return join(ctx, room, address, a)
		}
	})
	stop := make(chan struct{})
	var rooms, clients sync.WaitGroup
	var resumed atomic.Int64
	for name, c := range h.rooms {
		other := map[string]string{"one": "two", "two": "one"}[name]
		rooms.Go(func() {
			for tick := 0; ; tick++ {
				select {
				case <-stop:
					return
				default:
				}
				for s := range c.Sessions() {
					if (s.ID()+uint64(tick))%7 == 0 {
						_ = s.Move(other)
					}
				}
				c.Tick()
				h.router.ExpireHellos(time.Unix(1, 0))
				runtime.Gosched()
			}
		})
	}
	for range 2 {
		clients.Go(func() {
			hello := wire.Hello{Protocol: wire.Version, Tables: rowcodec.DefaultTables().Version(), Room: "one"}
			for range 5 {
				conn := &guarded{}
				p := h.router.Open(context.Background(), "", conn)
				_ = p.ReceiveStream(wire.AppendMessage(nil, hello))
				answered := 0
				for {
					w, moves, over := conn.newest()
					if over || moves > 2 {
						break
					}
					for ; answered < moves; answered++ {
						_ = p.ReceiveStream(wire.AppendMessage(nil, wire.Arrived{}))
					}
					if moves >= 0 {
						in := wire.Input{Stamp: 1, Ack: wire.Ack{Structure: w.Structure}}
						_, _ = p.ReceiveDatagram(in.Append(nil))
					}
					runtime.Gosched()
				}
				w, _, _ := conn.newest()
				if w.Resumed == 1 || w.Structure > 0 {
					resumed.Add(1)
				}
				hello.Session, hello.Secret, hello.Structure, hello.Room = w.Session, w.Secret, w.Structure, w.Room
				if len(w.Secret) == 0 {
					hello.Session, hello.Structure, hello.Room = 0, 0, "one"
				}
				p.Gone()
			}
		})
	}
	clients.Wait()
	close(stop)
	rooms.Wait()
	require.Positive(t, resumed.Load())
	moved := h.rooms["one"].Stats().MovedIn + h.rooms["two"].Stats().MovedIn
	require.Greater(t, moved, uint64(5))
	for id, p := range h.router.sessions {
		require.Contains(t, []*Core{h.rooms["one"], h.rooms["two"]}, p.core, "session %d", id)
	}
}
