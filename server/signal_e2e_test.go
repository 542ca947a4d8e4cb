package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A backend sends signals through the admin port: it is authorized, its bodies are bounded, and it learns whether
// the game's function has run.
func TestSignalOfABackend(t *testing.T) {
	const token = "0123456789abcdef"
	type grant struct{ Coins int }
	h := newTestServerWith(t, func(c *server.Config) {
		c.AdminAccess.Token = token
		c.Hooks.Signals = []server.Signal{server.OnSignal("grant", func(w *world.World, g grant) (world.Stats, error) {
			switch {
			case g.Coins < 0:
				return world.Stats{}, &server.Rejection{Text: "coins are positive"}
			case g.Coins == 0:
				return world.Stats{}, &wire.Error{Code: wire.StaleHandle}
			case g.Coins == 1:
				return world.Stats{}, errors.New("not today")
			case g.Coins == 2:
				panic("a fault")
			}
			return w.Stats(), nil
		})}
	})
	post := func(path, bearer, body string) (int, string) {
		request := must.Get(http.NewRequestWithContext(h.ctx, http.MethodPost, "http://"+h.server.AdminAddr().String()+path, strings.NewReader(body)))
		request.Header.Set("Authorization", "Bearer "+bearer)
		response := must.Get(http.DefaultClient.Do(request))
		defer response.Body.Close()
		return response.StatusCode, string(must.Get(io.ReadAll(response.Body)))
	}
	code, body := post("/signals/grant", token, `{"Coins": 5}`)
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"Entities":5,`)
	code, _ = post("/signals/grant", token+"x", `{"Coins": 5}`)
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = post("/signals/grant", token, strings.Repeat(" ", 65<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	for _, c := range []struct {
		path, body string
		code       int
		want       string
	}{
		{"/signals/gift", "", http.StatusNotFound, `"code":"unknown-command","ran":"no"`},
		{"/signals/grant?room=match/1", "", http.StatusNotFound, `"code":"no-room","ran":"no"`},
		{"/signals/grant", `{"coins_of": 1}`, http.StatusBadRequest, `"code":"bad-arguments","ran":"no"`},
		{"/signals/grant", `{"Coins": -1}`, http.StatusUnprocessableEntity, `"code":"command-refused","ran":"yes","text":"coins are positive"`},
		{"/signals/grant", `{"Coins": 0}`, http.StatusUnprocessableEntity, `"code":"stale-handle","ran":"yes"`},
		{"/signals/grant", `{"Coins": 1}`, http.StatusUnprocessableEntity, `"code":"command-refused","ran":"yes","text":"not today"`},
		{"/signals/grant", `{"Coins": 2}`, http.StatusInternalServerError, `"code":"internal","ran":"yes"`},
	} {
		code, body = post(c.path, token, c.body)
		require.Equal(t, c.code, code, body)
		require.Contains(t, body, c.want)
	}
	_, err := h.server.Signal(h.ctx, "", "grant", []byte(`{"Coins": 2}`))
	require.Equal(t, wire.Internal, wire.CodeOf(err), "the game's panics end no room")
}
