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
	report.LastTick = time.Now().Add(time.Hour) // it does not become stale if the test is paused
	code, text = get(p.healthz)
	require.Equal(t, []any{http.StatusOK, "ok\n"}, []any{code, text})
	code, _ = get(p.readyz)
	require.Equal(t, http.StatusOK, code)
	report.LastTick = time.Now().Add(-time.Hour)
	code, text = get(p.healthz)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "no tick for 1h0m0")
}

// A node that cannot use the cluster's directory admits nobody, and says which node it is. It must not be killed: its rooms continue.
func TestReadinessOfANode(t *testing.T) {
	c := Cluster{Node: "a", Directory: "7", Margin: time.Second, Nodes: []ClusterNode{{Name: "a", Addresses: []string{"a:1"}, Rooms: []string{"lobby"}}}, Images: []ClusterImages{{[]string{"a"}, []string{"lobby"}}}, FewCopies: 1}
	p := pages{Config: Config{
		Report: func() Report { return Report{LastTick: time.Now()} }, Draining: func() bool { return false }, Cordoned: func() bool { return false }, MaxSessions: func() int { return 1 },
		Cluster: func() Cluster { return c },
	}}
	get := func(handler http.HandlerFunc) (int, string) {
		w := httptest.NewRecorder()
		handler(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code, w.Body.String()
	}
	code, _ := get(p.readyz)
	require.Equal(t, http.StatusOK, code)
	for why, bad := range map[string]Cluster{
		"node a: the cluster's directory has not answered in time: rooms are frozen since 2s\n": {Node: "a", Margin: -2 * time.Second},
		"node a: the directory was replaced\n":                                                  {Node: "a", Margin: time.Second, Trouble: "the directory was replaced"},
	} {
		p.Cluster = func() Cluster { return bad }
		code, text := get(p.readyz)
		require.Equal(t, []any{http.StatusServiceUnavailable, why}, []any{code, text})
		code, _ = get(p.healthz)
		require.Equal(t, http.StatusOK, code)
	}
	p.Cluster = func() Cluster { return c }
	code, text := get(p.cluster)
	require.Equal(t, http.StatusOK, code)
	require.JSONEq(t, `{"node":"a","directory":"7","lease_margin_seconds":1,"frozen_rooms":0,"free_blocks":0,"stored_rooms":[],"few_copies":1,"images":[{"nodes":["a"],"rooms":["lobby"]}],
		"nodes":[{"name":"a","addresses":["a:1"],"dead":false,"silent_seconds":0,"rooms":["lobby"]}]}`, text)
	p.Cluster = nil
	code, _ = get(p.cluster)
	require.Equal(t, http.StatusNotFound, code)
}
