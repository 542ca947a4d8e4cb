package server_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
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
			case g.Coins == 3: // in a room that has ended
				return world.Stats{}, (*server.Room)(nil).Do(t.Context(), func(*world.World) error { return nil })
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
		{"/signals/grant", `{"Coins": 3}`, http.StatusUnprocessableEntity, `"code":"no-room","ran":"yes"`},
	} {
		code, body = post(c.path, token, c.body)
		require.Equal(t, c.code, code, body)
		require.Contains(t, body, c.want)
	}
	_, err := h.server.Signal(h.ctx, "", "grant", []byte(`{"Coins": 2}`))
	require.Equal(t, wire.Internal, wire.CodeOf(err), "the game's panics end no room")
}

// The game's own pages and metrics are on the admin port. They need the port's credentials, and their faults end nothing.
func TestAdminPagesOfTheGame(t *testing.T) {
	const token = "0123456789abcdef"
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("a fault") })
	matches := prometheus.NewGauge(prometheus.GaugeOpts{Name: "game_matches", Help: "Matches."})
	matches.Set(7)
	pages := func(c *server.Config) {
		c.AdminAccess.Token = token
		c.AdminRoutes = mux
		c.Collectors = []prometheus.Collector{matches, panickingCollector{}}
	}
	h := newTestServerWith(t, pages)
	ask := func(method, path, bearer, body string) (int, string) {
		request := must.Get(http.NewRequestWithContext(h.ctx, method, "http://"+h.server.AdminAddr().String()+path, strings.NewReader(body)))
		request.Header.Set("Authorization", "Bearer "+bearer)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		return response.StatusCode, string(must.Get(io.ReadAll(response.Body)))
	}
	code, body := ask(http.MethodPost, "/game/echo", token, "hello")
	require.Equal(t, []any{http.StatusOK, "hello"}, []any{code, body})
	code, _ = ask(http.MethodPost, "/game/echo", token+"x", "hello")
	require.Equal(t, http.StatusUnauthorized, code)
	code, _ = ask(http.MethodPost, "/game/echo", token, strings.Repeat("x", 65<<10))
	require.Equal(t, http.StatusRequestEntityTooLarge, code)
	code, _ = ask(http.MethodGet, "/game/panic", token, "")
	require.Zero(t, code, "the connection is closed")
	code, body = ask(http.MethodGet, "/metrics", token, "")
	require.Equal(t, http.StatusOK, code)
	for _, want := range []string{"game_matches 7", "worldd_ticks_behind", "go_goroutines"} {
		require.Contains(t, body, want)
	}
	_, err := server.Listen(server.Config{
		Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Collectors: []prometheus.Collector{matches, matches},
		WorldConfig: server.WorldConfig{World: must.Get(world.New(world.Config{})), Schema: schema.NewWithBody()},
	})
	require.ErrorContains(t, err, "Collectors[1]")
}

// panickingCollector is a collector with a fault.
type panickingCollector struct{}

func (panickingCollector) Describe(chan<- *prometheus.Desc) {}
func (panickingCollector) Collect(chan<- prometheus.Metric) { panic("a fault") }
