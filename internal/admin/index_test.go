package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
)

// An unknown path names the list of all paths. A known path with another method names its methods.
func TestUnknownPath(t *testing.T) {
	port := must.Get(Handler(Config{Timings: NewTimings()}))
	withGame := must.Get(Handler(Config{Timings: NewTimings(), Routes: http.NotFoundHandler()}))
	for _, c := range []struct {
		of           http.Handler
		method, path string
		status       int
		allow, text  string
	}{
		{port, "GET", "/room", http.StatusNotFound, "", "the admin port has no page /room: GET / lists its pages\n"},
		{port, "POST", "/rooms/drains?room=lobby", http.StatusNotFound, "", "the admin port has no page /rooms/drains: GET / lists its pages\n"},
		{port, "DELETE", "/%1b[31m", http.StatusNotFound, "", `the admin port has no page /\u001b[31m: GET / lists its pages` + "\n"},
		{port, "GET", "/game/shop", http.StatusNotFound, "", "the admin port has no page /game/shop: GET / lists its pages\n"},
		{withGame, "GET", "/game/shop", http.StatusNotFound, "", "404 page not found\n"},
		{port, "GET", "/cordon", http.StatusMethodNotAllowed, "POST", "Method Not Allowed\n"},
		{port, "DELETE", "/drain", http.StatusMethodNotAllowed, "GET, HEAD, POST", "Method Not Allowed\n"},
		{port, "POST", "/rooms", http.StatusMethodNotAllowed, "GET, HEAD", "Method Not Allowed\n"},
	} {
		w := httptest.NewRecorder()
		c.of.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		require.Equal(t, []any{c.status, c.allow, c.text}, []any{w.Code, w.Header().Get("Allow"), w.Body.String()}, "%s %s", c.method, c.path)
	}
	w := httptest.NewRecorder()
	port.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, http.StatusOK, w.Code)
}
