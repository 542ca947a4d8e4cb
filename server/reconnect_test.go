package server_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// blockableConn is a socket that drops packets in both directions while it is blocked. It sends
// to the server that replaced the dialled one: the tests use a route, since another process may
// take a closed port.
type blockableConn struct {
	net.PacketConn
	shut  *atomic.Bool
	route *route
}

// route maps an address that clients know to the server's current address.
type route struct {
	called net.Addr
	leads  atomic.Pointer[net.UDPAddr] // nil: to the called address
}

func (r *route) leadTo(s *server.Server) { r.leads.Store(s.Addr()) }

func (w blockableConn) WriteTo(p []byte, to net.Addr) (int, error) {
	if w.shut.Load() {
		return len(p), nil
	}
	if now := w.route.leads.Load(); now != nil {
		to = now
	}
	return w.PacketConn.WriteTo(p, to)
}

func (w blockableConn) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := w.PacketConn.ReadFrom(p)
		switch {
		case err != nil:
			return n, from, err
		case !w.shut.Load():
			return n, w.route.called, nil
		}
	}
}

// mobileClient is a client whose sockets can be cut off one after the other.
type mobileClient struct {
	*client.Client
	sockets []*atomic.Bool
	route   *route
	changes []client.StateChange
	results []client.Result
	gone    map[bulk.Handle]bool
}

func (h *testServer) dialMobile(change func(*client.Config)) *mobileClient {
	v := h.dialMobileOpen(change)
	h.t.Cleanup(func() { require.NoError(h.t, v.Close()) })
	return v
}

// dialMobileOpen is dialMobile for clients that the test itself closes.
func (h *testServer) dialMobileOpen(change func(*client.Config)) *mobileClient {
	v := &mobileClient{gone: map[bulk.Handle]bool{}, route: &route{called: h.server.Addr()}}
	config := h.config()
	config.GiveUp = patience
	config.Socket = func() (net.PacketConn, error) {
		udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		shut := &atomic.Bool{}
		v.sockets = append(v.sockets, shut)
		return blockableConn{udp, shut, v.route}, err
	}
	config.State = func(s client.StateChange) { v.changes = append(v.changes, s) }
	config.Result = func(r client.Result) { v.results = append(v.results, r) }
	config.Observer.Destroy = func(at bulk.Handle, _ uint8) { v.gone[at] = true }
	change(&config)
	c := must.Get(client.Dial(h.ctx, config))
	v.Client = c
	return v
}

// shut ends the server and waits for it.
func (h *testServer) shut() {
	h.stop()
	h.ended <- <-h.ended
}

// change is the newest change of state.
func (v *mobileClient) change() client.StateChange { return v.changes[len(v.changes)-1] }

// moved is a socket to a killed server whose address another server has taken: packets to and
// from the killed one are dropped.
type moved struct {
	net.PacketConn
	first net.Addr
	now   *atomic.Pointer[net.UDPAddr] // nil: the server is alive
}

func (m moved) WriteTo(p []byte, to net.Addr) (int, error) {
	if now := m.now.Load(); now != nil {
		to = now
	}
	return m.PacketConn.WriteTo(p, to)
}

func (m moved) ReadFrom(p []byte) (int, net.Addr, error) {
	for {
		n, from, err := m.PacketConn.ReadFrom(p)
		if now := m.now.Load(); err != nil || now == nil || from.String() == now.String() {
			return n, m.first, err
		}
	}
}

// The client of a killed server is reset by its successor, without a timeout.
func TestKilledServerIsNoticed(t *testing.T) {
	t.Parallel()
	kept := must.Get(server.KeptCertificate(filepath.Join(t.TempDir(), "identity.pem")))
	key := must.Get(server.StatelessResetKeyOf(kept))
	open := func() *testServer {
		return newTestServerWith(t, func(c *server.Config) { c.Certificate, c.StatelessResetKey = kept, key })
	}
	h := open()
	var now atomic.Pointer[net.UDPAddr]
	v := h.dialMobile(func(c *client.Config) {
		c.Socket = func() (net.PacketConn, error) {
			udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			return moved{udp, h.server.Addr(), &now}, err
		}
	})
	h.until(v.Client, "plays", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
	now.Store(open().server.Addr())
	h.until(v.Client, "it is noticed", func() bool { return v.State() == client.Reconnecting })
	require.Equal(t, wire.Timeout, wire.CodeOf(v.change().Err))
	require.ErrorContains(t, v.change().Err, "was restarted")
	h.until(v.Client, "is back", func() bool { return v.State() == client.Joined })
	require.False(t, v.change().Resumed)
}

// A cut connection is replaced: the session and its entity stay, and entities that died
// meanwhile are Stale (H3).
func TestConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	v := h.dialMobile(func(c *client.Config) { c.GiveUp = 0 }) // a minute
	other := h.dial()
	h.until(other, "knows itself", func() bool { return other.Controlled() != 0 })
	dying := other.Controlled()
	h.until(v.Client, "sees the other", func() bool { return v.Resolve(dying) == wire.Live && v.Resolve(v.Controlled()) == wire.Live })
	welcome := v.Welcome()
	me := v.Controlled()
	require.Equal(t, client.StateChange{State: client.Joined}, v.change())

	v.sockets[0].Store(true)
	asked := must.Get(v.DoRaw("poke", me, nil))
	h.until(v.Client, "the silence is noticed", func() bool { return v.State() == client.Reconnecting })
	require.Equal(t, wire.Timeout, wire.CodeOf(v.change().Err))
	require.Equal(t, []client.Result{{ID: asked.ID(), Target: me, Err: client.ErrUnanswered}}, v.results)
	require.ErrorIs(t, must.Fail(v.DoRaw("poke", me, nil)), client.ErrNotJoined)
	require.Equal(t, wire.Live, v.Resolve(me), "handles are resolved while away")
	require.NoError(t, other.Close())

	h.until(v.Client, "is back", func() bool { return v.State() == client.Joined })
	require.True(t, v.change().Resumed)
	require.False(t, v.change().NewWorld)
	require.Equal(t, welcome.Session, v.Welcome().Session)
	require.Empty(t, v.Welcome().Secret, "only the client needs it")
	h.until(v.Client, "H3: hears of the death", func() bool { return v.Resolve(dying) == wire.Stale })
	require.True(t, v.gone[dying])
	require.Equal(t, me, v.Controlled())
	require.Equal(t, wire.Live, v.Resolve(me))
	asked = must.Get(v.DoRaw("poke", me, nil))
	require.NoError(t, v.Update())
	h.until(v.Client, "is obeyed", func() bool { return len(v.results) == 2 })
	require.Equal(t, client.Result{ID: asked.ID(), Target: me, Verdict: wire.Live}, v.results[1])
}

// A client joins a server that restarted with another world by itself, and discards its old
// state.
func TestWorldIsReplaced(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	v := h.dialMobile(func(c *client.Config) { c.Fingerprint, c.InsecureDev = "", true })
	h.until(v.Client, "knows itself", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
	me := v.Controlled()
	h.shut()
	next := newTestServerWith(t, func(c *server.Config) { c.Epoch = testEpoch + 1 })
	v.route.leadTo(next.server)
	h.until(v.Client, "is lost", func() bool { return v.State() == client.Reconnecting })
	require.Equal(t, wire.Draining, wire.CodeOf(v.change().Err))
	h.until(v.Client, "is back", func() bool { return v.State() == client.Joined })
	require.Equal(t, client.StateChange{State: client.Joined, NewWorld: true}, v.change())
	require.Len(t, v.changes, 3)
	require.EqualValues(t, 1, next.server.Report().Traffic.Handshakes, "one handshake: to resume, or else to join")
	require.True(t, v.gone[me])
	w := v.Welcome()
	require.EqualValues(t, testEpoch+1, w.Epoch)
}

// A client of a server that restarted with another schema asks for that schema, and reads the
// items that both have.
func TestSchemaIsReplaced(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	declared := schema.NewWithBody()
	body := must.Get(client.ComponentOf[schema.Body](declared, schema.BodyComponent))
	v := h.dialMobile(func(c *client.Config) { c.Fingerprint, c.InsecureDev, c.Schema = "", true, declared })
	knows := func() bool { return v.Resolve(v.Controlled()) == wire.Live }
	h.until(v.Client, "knows itself", knows)
	require.Equal(t, "crate", v.Entity(v.Controlled()).KindName())
	before := v.Welcome()
	require.Empty(t, before.SchemaText, "the replica has the schema")
	h.shut()
	next := newTestServerWith(t, func(c *server.Config) {
		c.Epoch, c.Schema = testEpoch+1, schema.New()
		must.Get(world.Register[link](c.World, "link"))
		schema.Define[link](c.Schema, "link")
		schema.Define[schema.Body](c.Schema, schema.BodyComponent)
		require.NoError(t, c.Schema.Err())
	})
	v.route.leadTo(next.server)
	h.until(v.Client, "is lost", func() bool { return v.State() == client.Reconnecting })
	h.until(v.Client, "is back", func() bool { return v.State() == client.Joined })
	require.EqualValues(t, 1, next.server.Report().Traffic.Handshakes, "the Welcome has the text of the schema")
	require.NotEqual(t, before.Schema, v.Welcome().Schema)
	h.until(v.Client, "knows itself again", knows)
	e := v.Entity(v.Controlled())
	got := must.Have(body.Get(e))
	require.InDelta(t, 0.5, got.Position[1], 0.25)
	require.Contains(t, e.Format(), "body{Position[0]=")
}

// On servers whose worlds have disjoint ranges of generations, a handle of one server is Stale on each other. A client that
// meets a range again learns that it must forget its handles.
func TestMovedBetweenRanges(t *testing.T) {
	t.Parallel()
	addresses := make(chan string, 4)
	open := func(epoch uint64, block uint32) *testServer {
		const width = world.RunGenerations
		w := stage.NewCrates(world.Config{FirstGeneration: block*width + 1, LastGeneration: (block+1)*width - 1})
		return newTestServerWith(t, func(c *server.Config) {
			c.World, c.Epoch = w.World, epoch
			c.Hooks.Join = func(*server.Session) (world.Entity, error) { return w.Put(0, 0), nil }
			c.Hooks.Leave = func(s *server.Session) { w.Destroy(s.Entity()) }
			c.Hooks.Commands = []server.Command{server.OnRawCommand("travel", func(s *server.Session, _ world.Entity, _ []byte) error {
				return s.Redirect(<-addresses, nil)
			})}
		})
	}
	first, second, third := open(1, 0), open(2, 9), open(3, 4)
	again := open(4, 9)
	v := first.dialMobile(func(c *client.Config) { c.Fingerprint, c.InsecureDev, c.Socket = "", true, nil })
	var past []world.Entity
	travel := func(to *testServer, epoch uint64) {
		first.until(v.Client, "knows itself", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
		past = append(past, v.Controlled())
		addresses <- to.server.Addr().String()
		must.Get(v.DoRaw("travel", 0, nil))
		first.until(v.Client, "is elsewhere", func() bool { w := v.Welcome(); return w.Epoch == epoch })
		first.until(v.Client, "knows itself there", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
	}
	for i, to := range []*testServer{second, third} {
		travel(to, uint64(i)+2)
		require.Equal(t, client.StateChange{State: client.Joined, Moved: true}, v.change())
		for _, h := range past {
			require.Equal(t, wire.Stale, v.Resolve(h), "%v", h)
			require.Nil(t, v.Entity(h))
		}
	}
	require.Equal(t, bulk.NewHandle(past[0].Index(), 1), past[0])
	travel(again, 4)
	require.Equal(t, client.StateChange{State: client.Joined, NewWorld: true}, v.change(), "0v1 of the range may be another entity")
	require.Equal(t, wire.Live, v.Resolve(past[1]), "which it is")
}

// A server redirects a client to another server, both at the handshake and during a session.
func TestMoved(t *testing.T) {
	t.Parallel()
	tokens := make(chan string, 8)
	admit := func(_ context.Context, token []byte) (server.Admission, error) {
		tokens <- string(token)
		return server.Admission{User: "ann"}, nil
	}
	open := func(c *client.Config) { c.Fingerprint, c.InsecureDev = "", true }
	last := newTestServerWith(t, func(c *server.Config) { c.Epoch, c.Admit, c.Room = testEpoch+2, admit, "arena" })
	second := newTestServerWith(t, func(c *server.Config) {
		c.Epoch = testEpoch + 1
		c.Hooks.Commands = append(c.Hooks.Commands, server.OnRawCommand("travel", func(s *server.Session, _ world.Entity, _ []byte) error {
			require.Error(t, s.Redirect("", nil))
			return s.Redirect(last.server.Addr().String(), []byte("to the arena"))
		}))
	})
	first := newTestServerWith(t, func(c *server.Config) {
		c.Admit = func(context.Context, []byte) (server.Admission, error) {
			moved := must.Get(wire.MovedTo(second.server.Addr().String(), nil))
			return server.Admission{}, moved
		}
	})
	v := first.dialMobile(func(c *client.Config) {
		open(c)
		c.Socket = nil
		c.FreshToken = func(context.Context) ([]byte, error) { return nil, errors.New("not asked while moving") }
	})
	w := v.Welcome()
	require.EqualValues(t, testEpoch+1, w.Epoch, "Dial returns in the session of the second server")
	first.until(v.Client, "knows itself", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
	me := v.Controlled()
	must.Get(v.DoRaw("travel", 0, nil))
	first.until(v.Client, "is elsewhere", func() bool { w := v.Welcome(); return w.Epoch == testEpoch+2 })
	require.Equal(t, client.StateChange{State: client.Joined, NewWorld: true}, v.change())
	require.Equal(t, "arena", v.Welcome().Room)
	require.True(t, v.gone[me])
	require.Equal(t, "to the arena", <-tokens)
	require.Empty(t, tokens)

	// A client that two servers redirect to each other gives up after a few moves.
	addresses := make(chan string, 1)
	loop := newTestServerWith(t, func(c *server.Config) {
		c.Admit = func(context.Context, []byte) (server.Admission, error) {
			own := <-addresses
			addresses <- own
			moved := must.Get(wire.MovedTo(own, nil))
			return server.Admission{}, moved
		}
	})
	addresses <- loop.server.Addr().String()
	config := loop.config()
	open(&config)
	_, err := client.Dial(loop.ctx, config)
	require.ErrorContains(t, err, "moved 4 times in a row")
	require.Equal(t, wire.Moved, wire.CodeOf(err))
}

// A client that names a room is admitted to no other room.
func TestRooms(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) { c.Room = "arena" })
	config := h.config()
	config.Room = "arena"
	c := must.Get(client.Dial(h.ctx, config))
	require.Equal(t, "arena", c.Welcome().Room)
	require.NoError(t, c.Close())
	config.Room = "cellar"
	_, err := client.Dial(h.ctx, config)
	require.Equal(t, wire.NoRoom, wire.CodeOf(err))
	require.ErrorContains(t, err, `"cellar"`)
}

// If tokens are valid once, a client that joins another session needs another token.
func TestFreshToken(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spent := map[string]bool{}
	admit := func(_ context.Context, token []byte) (server.Admission, error) {
		mu.Lock()
		defer mu.Unlock()
		if len(token) == 0 || spent[string(token)] {
			return server.Admission{}, &wire.Error{Code: wire.Unauthorized, Detail: "a token is good once"}
		}
		spent[string(token)] = true
		return server.Admission{User: "ann"}, nil
	}
	for _, fresh := range []bool{true, false} {
		h := newTestServerWith(t, func(c *server.Config) { c.Admit = admit })
		issued := 0
		issue := func() []byte {
			issued++
			return fmt.Appendf(nil, "%t %d", fresh, issued)
		}
		v := h.dialMobile(func(c *client.Config) {
			c.Fingerprint, c.InsecureDev, c.Token = "", true, issue()
			if fresh {
				c.FreshToken = func(context.Context) ([]byte, error) {
					if issued == 1 {
						issued++
						return nil, errors.New("the backend is busy")
					}
					return issue(), nil
				}
			}
		})
		h.until(v.Client, "knows itself", func() bool { return v.Resolve(v.Controlled()) == wire.Live })
		h.shut()
		next := newTestServerWith(t, func(c *server.Config) { c.Epoch, c.Admit = testEpoch+1, admit })
		v.route.leadTo(next.server)
		if !fresh {
			require.Equal(t, wire.Unauthorized, wire.CodeOf(h.ends(v.Client)))
			continue
		}
		h.until(v.Client, "is back", func() bool { return len(v.changes) > 2 && v.State() == client.Joined })
		require.Greater(t, issued, 2, "the client retries after an error of the backend")
	}
}

// A client gives up an unreachable server.
func TestClientGivesUp(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	v := h.dialMobile(func(c *client.Config) { c.GiveUp = time.Millisecond })
	h.shut()
	err := h.ends(v.Client)
	require.ErrorContains(t, err, "gave up")
	require.Equal(t, client.Ended, v.State())
	require.Equal(t, err, v.change().Err)
}

// A kicked client receives the reason, and does not reconnect.
func TestKickedStaysAway(t *testing.T) {
	h := newTestServer(t)
	v := h.dialMobile(func(*client.Config) {})
	w := v.Welcome()
	h.server.Kick(w.Session, "no cheating")
	h.server.Kick(w.Session+100, "nobody")
	err := h.ends(v.Client)
	require.Equal(t, wire.Kicked, wire.CodeOf(err))
	require.ErrorContains(t, err, "no cheating")
	require.Equal(t, client.Ended, v.State())
}

// The operator kicks by the ID in /sessions.
func TestOperatorKicks(t *testing.T) {
	h := newTestServer(t)
	v := h.dialMobile(func(*client.Config) {})
	id := h.rows("")[0].ID
	for path, want := range map[string]int{
		"/sessions/x/kick":                       http.StatusBadRequest,
		fmt.Sprintf("/sessions/%d/kick", id+100): http.StatusNotFound,
		fmt.Sprintf("/sessions/%d/kick?reason=%s", id, strings.Repeat("x", 257)): http.StatusBadRequest,
		fmt.Sprintf("/sessions/%d/kick?reason=rude", id):                         http.StatusOK,
	} {
		code, body := h.operate(http.MethodPost, path)
		require.Equal(t, want, code, "%s: %s", path, body)
	}
	err := h.ends(v.Client)
	require.Equal(t, wire.Kicked, wire.CodeOf(err))
	require.ErrorContains(t, err, "rude")
}

// The operator lets a session view the world from the entity of another, and from its own again.
func TestOperatorWatches(t *testing.T) {
	joined := 0
	h := newTestServerWith(t, func(c *server.Config) {
		w, join := c.World, c.Hooks.Join
		c.Hooks.Join = func(s *server.Session) (world.Entity, error) {
			e, err := join(s)
			joined++
			w.SetPosition(e, world.Vec3{X: float32(100*joined - 200)})
			return e, err
		}
	})
	watcher, player := h.dial(), h.dial()
	h.until(player, "its entity", func() bool { return player.Resolve(player.Controlled()) == wire.Live })
	id, other, entity := watcher.Welcome().Session, player.Welcome().Session, player.Controlled()
	for path, want := range map[string]int{
		"/sessions/x/watch":                                         http.StatusBadRequest,
		fmt.Sprintf("/sessions/%d/watch?session=x", id):             http.StatusBadRequest,
		fmt.Sprintf("/sessions/%d/watch?session=%d", id+100, other): http.StatusNotFound,
		fmt.Sprintf("/sessions/%d/watch?session=%d", id, other+100): http.StatusNotFound,
	} {
		code, body := h.operate(http.MethodPost, path)
		require.Equal(t, want, code, "%s: %s", path, body)
	}
	h.stay(watcher, player)
	require.Equal(t, wire.Pending, watcher.Resolve(entity))

	code, body := h.operate(http.MethodPost, fmt.Sprintf("/sessions/%d/watch?session=%d", id, other))
	require.Equal(t, http.StatusOK, code, body)
	require.JSONEq(t, fmt.Sprintf(`{"name": "guest", "entity": "%v"}`, entity), body)
	h.until(watcher, "the entity of the other", func() bool { return watcher.Resolve(entity) == wire.Live })
	require.NotEqual(t, entity, watcher.Controlled())

	code, body = h.operate(http.MethodPost, fmt.Sprintf("/sessions/%d/watch", id))
	require.Equal(t, http.StatusOK, code, body)
	h.until(watcher, "its own view", func() bool { return watcher.Resolve(entity) == wire.Hidden })
}

// A client closed while it reconnects leaves no goroutine (goleak).
func TestCloseWhileReconnecting(t *testing.T) {
	h := newTestServer(t)
	v := h.dialMobile(func(*client.Config) {})
	h.shut()
	h.until(v.Client, "is lost", func() bool { return v.State() == client.Reconnecting })
	require.NoError(t, v.Close())
	require.Equal(t, client.Ended, v.State())
	require.Error(t, v.Update())
}
