//go:build unix

package host

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/shorttest"
	"github.com/worldd/worldd/replication/schema"
)

// agonesCalls are the calls that a sidecar has received.
type agonesCalls struct {
	mu   sync.Mutex
	seen map[string]int
	last string // but for health
}

func (c *agonesCalls) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[r.URL.Path]++
	if r.URL.Path != "/health" {
		c.last = r.URL.Path
	}
}

func (c *agonesCalls) of(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[path]
}

// TestServeInAFleet: Agones hears when a server is ready, needed and ended, and nothing with --agones off.
func TestServeInAFleet(t *testing.T) {
	shorttest.Skip(t, "starts servers")
	calls := &agonesCalls{seen: map[string]int{}}
	sidecar := httptest.NewServer(calls)
	defer sidecar.Close()
	t.Setenv(agonesPort, must.Get(url.Parse(sidecar.URL)).Port())
	i := &installation{t: t, program: "inn", image: filepath.Join(t.TempDir(), "rooms")}

	s := i.start("--agones=off")
	s.until("serves", func() bool { return regexp.MustCompile(`"serving"`).MatchString(s.output()) })
	require.Equal(t, exitOK, s.end(syscall.SIGTERM))
	require.Empty(t, calls.seen)

	s = i.start()
	s.until("is ready", func() bool {
		return calls.of("/ready") > 0 && calls.of("/health") > 0 && calls.of("/v1beta1/counters/rooms") > 0
	})
	require.Zero(t, calls.of("/allocate"), "its pinned room has no sessions")
	protocol := schema.NewWithBody()
	schema.DefineEvent[bell](protocol, "bell")
	addr := regexp.MustCompile(`"serving","addr":"(\S+?)"`).FindStringSubmatch(s.output())[1]
	c := must.Get(client.Dial(t.Context(), client.Config{Addr: addr, InsecureDev: true, Room: "room/1", Schema: protocol, Token: []byte("kept")}))
	s.until("is needed", func() bool { return calls.of("/allocate") > 0 && calls.of("/v1beta1/counters/players") > 1 })
	require.Zero(t, calls.of("/shutdown"))
	require.NoError(t, c.Close())
	require.Equal(t, exitOK, s.end(syscall.SIGTERM))
	require.Equal(t, 1, calls.of("/shutdown"))
	require.Equal(t, "/shutdown", calls.last)

	t.Setenv(agonesPort, "not a port")
	status, out := runInn(t.Context(), inn(), "serve", "--listen=127.0.0.1:0")
	require.Equal(t, exitUsage, status)
	require.Contains(t, out, "want 1 to 65535")
	t.Setenv(agonesPort, "1") // nothing listens there: the game does not depend on it
	s = i.start()
	s.until("serves", func() bool { return regexp.MustCompile(`"serving"`).MatchString(s.output()) })
	s.until("says that there is no sidecar", func() bool { return regexp.MustCompile("sidecar of Agones does not answer").MatchString(s.output()) })
	began := time.Now()
	require.Equal(t, exitOK, s.end(syscall.SIGTERM))
	t.Log("ended after", time.Since(began))
}
