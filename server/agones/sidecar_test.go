package agones

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/worldd/worldd/internal/must"
)

// fakeSidecar answers as Agones does, unless answer says otherwise.
type fakeSidecar struct {
	*testing.T
	url string

	mu     sync.Mutex
	answer func(w http.ResponseWriter, call string) bool // false: as usual
	calls  []string
	logs   *observer.ObservedLogs
}

const gameServerText = `{"object_meta":{"name":"fleet-x"},"status":{"state":"Ready","address":"203.0.113.7","ports":[{"name":"admin","port":7001},{"name":"game","port":7777}]}}`

func startSidecar(t *testing.T) (*fakeSidecar, *Sidecar) {
	f := &fakeSidecar{T: t}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	core, logs := observer.New(zap.InfoLevel)
	f.url, f.logs = server.URL, logs
	s := newSidecar(server.URL, zap.New(core))
	s.every = time.Millisecond
	s.client.Timeout = time.Minute // a call that is late on a busy machine is not repeated
	return f, s
}

func (f *fakeSidecar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := must.Get(io.ReadAll(r.Body))
	call := r.Method + " " + r.URL.Path
	if r.Method == http.MethodPatch {
		call += " " + string(body)
	}
	f.mu.Lock()
	f.calls = append(f.calls, call)
	answer := f.answer
	f.mu.Unlock()
	if answer != nil && answer(w, call) {
		return
	}
	if call == "GET /gameserver" {
		_, _ = io.WriteString(w, gameServerText)
		return
	}
	_, _ = io.WriteString(w, "{}")
}

func (f *fakeSidecar) set(answer func(w http.ResponseWriter, call string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// seen returns the calls so far, without those for health.
func (f *fakeSidecar) seen() (all []string, healthy int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range f.calls {
		if call == "POST /health" {
			healthy++
		} else {
			all = append(all, call)
		}
	}
	return all, healthy
}

// until waits until the calls other than those for health are as wanted.
func (f *fakeSidecar) until(want ...string) {
	f.Helper()
	require.Eventually(f, func() bool { all, _ := f.seen(); return len(all) >= len(want) }, time.Minute, time.Millisecond)
	all, _ := f.seen()
	require.Equal(f, want, all)
}

// play reports states that the test sets.
func (f *fakeSidecar) play(s *Sidecar) (set func(Status), end func()) {
	var mu sync.Mutex
	var now Status
	ctx, cancel := context.WithCancel(f.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Report(ctx, func() Status {
			mu.Lock()
			defer mu.Unlock()
			return now
		})
	}()
	set = func(next Status) {
		mu.Lock()
		defer mu.Unlock()
		now = next
	}
	return set, func() { cancel(); <-ended }
}

func (f *fakeSidecar) healthAgain() {
	f.Helper()
	_, before := f.seen()
	require.Eventually(f, func() bool { _, n := f.seen(); return n > before }, time.Minute, time.Millisecond)
}

// The life of a server: each state is told once, counters when they change, and health while the worlds tick.
func TestReport(t *testing.T) {
	f, s := startSidecar(t)
	set, end := f.play(s)
	counters := []string{`PATCH /v1beta1/counters/rooms {"count":"0"}`, `PATCH /v1beta1/counters/players {"count":"0"}`}
	want := append([]string{}, counters...)
	f.until(want...)
	_, healthy := f.seen()
	require.Zero(t, healthy, "nothing has ticked")

	set(Status{Alive: true, Open: true})
	want = append(want, "POST /ready")
	f.until(want...)
	f.healthAgain()
	set(Status{Alive: true, Open: true, Needed: true, Rooms: 1, Players: 2})
	want = append(want, "POST /allocate", `PATCH /v1beta1/counters/rooms {"count":"1"}`, `PATCH /v1beta1/counters/players {"count":"2"}`)
	f.until(want...)
	set(Status{Alive: true, Needed: true, Rooms: 1, Players: 1}) // cordoned
	want = append(want, `PATCH /v1beta1/counters/players {"count":"1"}`)
	f.until(want...)
	set(Status{Alive: true, Rooms: 1, Players: 1}) // a server that admits nobody does not become ready
	f.healthAgain()
	set(Status{Alive: true, Open: true, Rooms: 1, Players: 1})
	want = append(want, "POST /ready")
	f.until(want...)
	end()
	require.NoError(t, s.Shutdown(t.Context()))
	f.until(append(want, "POST /shutdown")...)
	require.Zero(t, f.logs.Len())
}

// Report ends after the calls under way, so that the sidecar receives none after Shutdown.
func TestReportAwaitsCalls(t *testing.T) {
	f, s := startSidecar(t)
	asked, release := make(chan struct{}, 1), make(chan struct{})
	var answered atomic.Bool
	f.set(func(_ http.ResponseWriter, call string) bool {
		if call == "POST /health" {
			asked <- struct{}{}
			<-release
			answered.Store(true)
		}
		return false
	})
	set, end := f.play(s)
	set(Status{Alive: true})
	<-asked
	time.AfterFunc(50*time.Millisecond, func() { close(release) }) // after end has cancelled
	end()
	require.True(t, answered.Load())
}

// A server that is needed before it was ready is both, in this order.
func TestReadyBeforeAllocated(t *testing.T) {
	f, s := startSidecar(t)
	set, end := f.play(s)
	defer end()
	set(Status{Needed: true, Open: true})
	require.Eventually(t, func() bool {
		all, _ := f.seen()
		return strings.Contains(fmt.Sprint(all), "POST /ready POST /allocate")
	}, time.Minute, time.Millisecond)
}

// A sidecar that fails is asked again, and logged once. Counters that the GameServer does not have are left.
func TestHostileSidecar(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"500":       func(w http.ResponseWriter) { w.WriteHeader(500) },
		"redirects": func(w http.ResponseWriter) { w.Header().Set("Location", "http://198.51.100.1/"); w.WriteHeader(302) },
		"hangs up":  func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"huge": func(w http.ResponseWriter) {
			for range maxAnswer/1024 + 2 {
				_, _ = w.Write(make([]byte, 1024))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := startSidecar(t)
			f.set(func(w http.ResponseWriter, _ string) bool { answer(w); return true })
			set, end := f.play(s)
			defer end()
			set(Status{Alive: true, Open: true})
			require.Eventually(t, func() bool { all, healthy := f.seen(); return len(all) > 4 && healthy > 4 }, time.Minute, time.Millisecond)
			require.Equal(t, 2, f.logs.FilterMessageSnippet("as it should").Len(), "each goroutine once: %v", f.logs.All())
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			require.ErrorContains(t, must.Fail(s.Address(ctx)), "--agones off")
			f.set(nil)
			require.Eventually(t, func() bool { return f.logs.FilterMessageSnippet("answers again").Len() == 2 }, time.Minute, time.Millisecond)
			all, _ := f.seen()
			require.Contains(t, all, "POST /ready")
		})
	}
	t.Run("slow", func(t *testing.T) {
		f, s := startSidecar(t)
		s.client.Timeout = 20 * time.Millisecond
		release := make(chan struct{})
		defer close(release)
		f.set(func(_ http.ResponseWriter, call string) bool {
			if call == "POST /ready" {
				<-release
			}
			return false
		})
		set, end := f.play(s)
		defer end()
		set(Status{Alive: true, Open: true})
		require.Eventually(t, func() bool { all, _ := f.seen(); return len(all) > 3 }, time.Minute, time.Millisecond)
		f.healthAgain()
	})
	t.Run("no counters", func(t *testing.T) {
		f, s := startSidecar(t)
		f.set(func(w http.ResponseWriter, call string) bool {
			if strings.HasPrefix(call, "PATCH") {
				w.WriteHeader(http.StatusNotFound)
				return true
			}
			return false
		})
		set, end := f.play(s)
		defer end()
		set(Status{Open: true, Rooms: 1})
		require.Eventually(t, func() bool { return f.logs.Len() == 2 }, time.Minute, time.Millisecond)
		set(Status{Open: true, Needed: true, Rooms: 2, Players: 2})
		require.Eventually(t, func() bool { all, _ := f.seen(); return all[len(all)-1] == "POST /allocate" }, time.Minute, time.Millisecond)
		require.Equal(t, 2, f.logs.FilterMessageSnippet("no counter").Len())
	})
}

// The address is the GameServer's, with the port of the game. Until it has one, the sidecar is asked again.
func TestAddress(t *testing.T) {
	f, s := startSidecar(t)
	require.Equal(t, "203.0.113.7:7777", must.Get(s.Address(t.Context())))
	wrong := []string{"{", `{}`, `{"status":{"address":"x","ports":[{"port":0}]}}`, `{"status":{"address":"x","ports":[{"port":"7"}]}}`, `{"status":{"address":"2001:db8::1","ports":[{"name":"default","port":70}]}}`}
	f.set(func(w http.ResponseWriter, _ string) bool {
		_, _ = io.WriteString(w, wrong[0])
		if len(wrong) > 1 {
			wrong = wrong[1:]
		}
		return true
	})
	require.Equal(t, "[2001:db8::1]:70", must.Get(s.Address(t.Context())))
	for _, port := range []string{"", "0", "x", "70000"} {
		_, err := New(port, zap.NewNop())
		require.ErrorContains(t, err, "want 1 to 65535", port)
	}
	require.Equal(t, "http://localhost:9358", must.Get(New("9358", zap.NewNop())).url)
}
