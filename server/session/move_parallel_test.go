package session

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/wire"
)

// Rooms tick on separate goroutines and send each other all their sessions, while clients
// join, answer, lose their connections and resume. This is for the race detector.
func TestMovesInParallel(t *testing.T) {
	t.Run("", func(t *testing.T) { testMovesInParallel(t, false) })
	t.Run("held", func(t *testing.T) { testMovesInParallel(t, true) })
}

// testMovesInParallel releases held output on goroutines of its own.
func testMovesInParallel(t *testing.T, held bool) {
	h := newMovingRoomsWith(t, func(c *RouterConfig) {
		join, mu := c.Join, sync.Mutex{}
		c.Join = func(ctx context.Context, room, address string, a Admission) (*Core, error) {
			mu.Lock()
			defer mu.Unlock()
			return join(ctx, room, address, a)
		}
	}, func(c *Config) { c.HoldOutput = held })
	stop := make(chan struct{})
	var rooms, clients sync.WaitGroup
	var resumed atomic.Int64
	for name, c := range h.rooms {
		other := map[string]string{"one": "two", "two": "one"}[name]
		frames := make(chan uint64, 2)
		rooms.Go(func() {
			for tick := range frames {
				c.Release(tick)
			}
		})
		rooms.Go(func() {
			defer close(frames)
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
				c.Receive()
				c.Step()
				frames <- c.World().Tick()
				c.Send(func() bool { return false })
				h.router.Expire(time.Unix(1, 0))
				runtime.Gosched()
			}
		})
	}
	for range 2 {
		clients.Go(func() {
			hello := stage.Hello(nil)
			hello.Room = "one"
			for range 5 {
				conn := h.open()
				_ = conn.Send(hello)
				answered := 0
				for {
					got := conn.Snapshot()
					moves := len(got.Welcomes) - 1
					if len(got.Closed) > 0 || moves > 2 {
						break
					}
					for ; answered < moves; answered++ {
						_ = conn.Send(wire.Arrived{})
					}
					if moves >= 0 {
						_ = conn.SendInput(wire.Ack{Structure: got.Welcomes[moves].Structure})
					}
					runtime.Gosched()
				}
				var w wire.Welcome
				if got := conn.Snapshot().Welcomes; len(got) > 0 {
					w = got[len(got)-1]
				}
				if w.Resumed == 1 || w.Structure > 0 {
					resumed.Add(1)
				}
				hello.Session, hello.Secret, hello.Structure, hello.Room = w.Session, w.Secret, w.Structure, w.Room
				if len(w.Secret) == 0 {
					hello.Session, hello.Structure, hello.Room = 0, 0, "one"
				}
				conn.peer.Gone()
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
