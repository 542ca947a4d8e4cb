package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// A client may be closed within any of its callbacks. It ends once, as closed by the caller,
// and leaves no goroutine (goleak).
func TestCloseFromWithinACallback(t *testing.T) {
	for _, where := range []string{"enter", "destroy", "result", "lost", "unanswered", "ended"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			h := newTestServer(t)
			var v *mobileClient
			closed := false
			closing := func(here string) {
				if here == where && v != nil && !closed {
					closed = true
					require.NoError(t, v.Close())
				}
			}
			v = h.dialMobileOpen(func(c *client.Config) {
				state, result := c.State, c.Result
				c.State = func(s client.StateChange) {
					state(s)
					switch s.State {
					case client.Reconnecting:
						closing("lost")
					case client.Ended:
						closing("ended")
					}
				}
				c.Result = func(r client.Result) {
					result(r)
					if r.Err == client.ErrUnanswered {
						closing("unanswered")
					} else {
						closing("result")
					}
				}
				c.Observer.Enter = func(*client.Entity) { closing("enter") }
				c.Observer.Destroy = func(bulk.Handle, uint8) { closing("destroy") }
			})
			ended := h.stirUntilEnded(v)
			require.True(t, closed)
			require.Equal(t, client.Ended, v.State())
			require.Equal(t, client.Ended, v.change().State)
			ends := 0
			for _, s := range v.changes {
				if s.State == client.Ended {
					ends++
				}
			}
			require.Equal(t, 1, ends, "%v", v.changes)
			if where != "ended" {
				require.EqualError(t, ended, "client: closed")
				require.Equal(t, ended, v.change().Err)
			}
			require.Equal(t, ended, v.Update())
			require.ErrorIs(t, must.Fail(v.DoRaw("poke", 0, nil)), client.ErrNotJoined)
		})
	}
}

// stirUntilEnded causes every event for which a client has a callback, until the client ends.
func (h *testServer) stirUntilEnded(v *mobileClient) error {
	for range 8 {
		must.Get(v.DoRaw("poke", 0, nil))
	}
	other := h.dial()
	until := func(done func() bool) error {
		for !done() {
			require.NoError(h.t, other.Update())
			require.NoError(h.t, v.Wait(h.ctx))
			if err := v.Update(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := until(func() bool {
		return other.Controlled() != 0 && v.Resolve(other.Controlled()) == wire.Live && len(v.results) == 8
	}); err != nil {
		return err
	}
	dying := other.Controlled()
	require.NoError(h.t, other.Close())
	other = h.dial() // a further client
	if err := until(func() bool { return v.Resolve(dying) == wire.Stale }); err != nil {
		return err
	}
	v.sockets[0].Store(true)
	must.Get(v.DoRaw("poke", 0, nil))
	if err := until(func() bool { return v.State() == client.Reconnecting }); err != nil {
		return err
	}
	require.NoError(h.t, v.Close())
	return v.Update()
}
