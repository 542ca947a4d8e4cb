package admin

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHealthBeforeTheFirstTick(t *testing.T) {
	var report Report
	p := pages{Config: Config{Report: func() Report { return report }, Draining: func() bool { return false }, Cordoned: func() bool { return false }, MaxSessions: func() int { return 1 }}}
	get := func(handler http.HandlerFunc) (int, string) {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodGet, "/healthz", nil))
		return w.Code, w.Body.String()
	}
	code, text := get(p.healthz)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "no tick yet: the server is starting\n", text)
	code, _ = get(p.readyz)
	require.Equal(t, http.StatusServiceUnavailable, code)
	report.LastTick = time.Now()
	code, text = get(p.healthz)
	require.Equal(t, []any{http.StatusOK, "ok\n"}, []any{code, text})
	code, _ = get(p.readyz)
	require.Equal(t, http.StatusOK, code)
	report.LastTick = time.Now().Add(-time.Hour)
	code, text = get(p.healthz)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "no tick for 1h0m0")
}
