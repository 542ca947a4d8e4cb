package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/worldd/worldd/replication/wire"
)

// drainedServer is a server whose sessions end only by a drain.
type drainedServer struct {
	pages
	cordoned bool
	mu       sync.Mutex
	drains   []wire.Error
}

// drained returns the drains until now.
func (s *drainedServer) drained() []wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.drains)
}

func newDrainedServer() *drainedServer {
	s := &drainedServer{}
	s.pages = pages{Config{
		Log: zap.NewNop(), Cordon: func() { s.cordoned = true }, Uncordon: func() { s.cordoned = false }, Cordoned: func() bool { return s.cordoned },
		Drain: func(_ context.Context, why wire.Error) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.drains = append(s.drains, why)
			return nil
		},
		Draining: func() bool { return len(s.drained()) > 0 }, Rooms: func() []Room { return []Room{{Name: "empty"}} },
	}, &drainPlan{}, &clusterDrain{}}
	return s
}

// ask answers a request, and returns its status and its report.
func (s *drainedServer) ask(t *testing.T, handler http.HandlerFunc, query string) (int, drainReport) {
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/drain?"+query, nil))
	var report drainReport
	if w.Code == http.StatusOK && w.Body.Len() > 0 {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &report))
	}
	return w.Code, report
}

// TestDrainWithDeadline: a server is cordoned at once, and the sessions that are left end at the deadline of the newest
// request, unless it is cancelled.
func TestDrainWithDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedServer()
		for _, wrong := range []string{"seconds=-1", "seconds=soon", "seconds=1e9", "seconds=NaN", "seconds=60&to=nowhere"} {
			code, _ := s.ask(t, s.drain, wrong)
			require.Equal(t, http.StatusBadRequest, code, wrong)
		}
		require.False(t, s.cordoned, "a refused request changes nothing")

		began := time.Now()
		_, report := s.ask(t, s.drain, "seconds=600")
		require.Equal(t, "cordoned", report.State)
		require.Empty(t, report.Rooms)
		require.WithinDuration(t, began.Add(600*time.Second), *report.Deadline, 0)
		_, report = s.ask(t, s.drain, "seconds=900&to="+url.QueryEscape("127.0.0.1:5"))
		require.WithinDuration(t, began.Add(900*time.Second), *report.Deadline, 0)
		require.Equal(t, "127.0.0.1:5", report.To)
		time.Sleep(899 * time.Second)
		require.Empty(t, s.drained(), "the second request has replaced the first")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Len(t, s.drained(), 1)
		require.Equal(t, wire.Moved, s.drained()[0].Code)
		require.Equal(t, "127.0.0.1:5", s.drained()[0].Address)
		_, report = s.ask(t, s.whatIsLeft, "")
		require.Equal(t, "draining", report.State)
	})
}

// TestDrainCancelled: uncordon cancels a planned drain, and a drain without a time replaces it.
func TestDrainCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDrainedServer()
		s.ask(t, s.drain, "seconds=60")
		s.ask(t, s.uncordon, "")
		time.Sleep(time.Hour)
		require.Empty(t, s.drained())
		_, report := s.ask(t, s.whatIsLeft, "")
		require.Equal(t, drainReport{State: "serving", Rooms: []roomLeft{}}, report)

		s.ask(t, s.drain, "seconds=60")
		s.ask(t, s.drain, "")
		time.Sleep(time.Hour)
		require.Equal(t, []wire.Error{{Code: wire.Draining}}, s.drained())
		code, _ := s.ask(t, s.uncordon, "")
		require.Equal(t, http.StatusConflict, code, "the sessions have ended")
		require.True(t, s.cordoned)
	})
}
