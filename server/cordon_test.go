package server_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A cordoned server admits nobody new. Its sessions play on, and resume after an outage. It can be
// undone.
func TestCordon(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	v := h.dialMobile(func(*client.Config) {})
	for range 2 { // twice is as once
		code, body := h.operate(http.MethodPost, "/cordon")
		require.Equal(t, http.StatusOK, code, body)
	}
	code, body := h.ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "cordoned", body)
	code, _ = h.operate(http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, code)
	_, values := h.scrape()
	require.EqualValues(t, 1, values["worldd_cordoned"])
	_, err := client.Dial(h.ctx, h.config())
	require.Equal(t, wire.Draining, wire.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "nobody new")

	id := v.Welcome().Session
	v.sockets[0].Store(true)
	h.until(v.Client, "the connection is lost", func() bool { return v.State() == client.Reconnecting })
	h.until(v.Client, "it resumes", func() bool { return v.State() == client.Joined })
	require.Equal(t, id, v.Welcome().Session)

	code, _ = h.operate(http.MethodPost, "/uncordon")
	require.Equal(t, http.StatusOK, code)
	code, body = h.operate(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusOK, code, body)
	h.stay(h.dial())
}

// Sessions of a cordoned server move between its rooms, and make them.
func TestCordonOfRooms(t *testing.T) {
	t.Parallel()
	h := newRoomServer(t, func(*server.RoomsConfig) {})
	c := h.dialRoom("hall")
	h.server.Cordon()
	_, err := client.Dial(h.ctx, h.config())
	require.Equal(t, wire.Draining, wire.CodeOf(err), "%v", err)
	must.Get(c.DoRaw("go", 0, append([]byte{0xa7}, "match/a"...))) // in MessagePack
	h.until(c, "it moves", func() bool { return c.Welcome().Room == "match/a" && c.Replica().Len() > 0 })
	h.server.Uncordon()
	h.stay(h.dialRoom("match/a"))
}

// A drain can send the clients to another server.
func TestDrainToAnotherServer(t *testing.T) {
	t.Parallel()
	old, next := newTestServer(t), newTestServer(t)
	v := old.dialMobile(func(c *client.Config) { c.Fingerprint, c.InsecureDev = "", true })
	for _, wrong := range []string{"nowhere", "host:port", ":0"} {
		code, body := old.operate(http.MethodPost, "/drain?to="+url.QueryEscape(wrong))
		require.Equal(t, http.StatusBadRequest, code, wrong)
		require.Contains(t, body, "to: ", wrong)
	}
	code, body := old.operate(http.MethodPost, "/drain?to="+next.server.Addr().String())
	require.Equal(t, http.StatusOK, code, body)
	code, body = old.ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "draining", body)
	_, body = old.ask(http.MethodGet, "/drain")
	require.Contains(t, body, `"state":"draining"`)
	old.until(v.Client, "it is at the next server", func() bool {
		return v.State() == client.Joined && next.server.Report().Active == 1
	})
	_, err := client.Dial(old.ctx, old.config())
	require.Equal(t, wire.Draining, wire.CodeOf(err), "%v", err)
}
