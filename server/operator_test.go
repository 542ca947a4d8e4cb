package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// operate sends a request to the admin port, and retries if the world was too slow to
// answer.
func (h *testServer) operate(method, path string) (code int, body string) {
	h.t.Helper()
	for {
		code, body = h.ask(method, path)
		if code != http.StatusServiceUnavailable {
			return code, body
		}
	}
}

func (h *testServer) ask(method, path string) (code int, body string) {
	h.t.Helper()
	request := must.Get(http.NewRequestWithContext(h.ctx, method, "http://"+h.server.AdminAddr().String()+path, nil))
	response := must.Get(http.DefaultClient.Do(request))
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))
	return response.StatusCode, strings.TrimSpace(string(text))
}

// row has the tested fields of a session in /sessions.
type row struct {
	ID              uint64
	Name, Address   string
	Joined          bool
	Entity          string
	AgeS            float64 `json:"age_s"`
	Interest        int
	RTTMs           float64 `json:"rtt_ms"`
	PacketsSent     uint64  `json:"packets_sent"`
	PacketsReceived uint64  `json:"packets_received"`
}

func (h *testServer) rows(query string) (rows []row) {
	h.t.Helper()
	code, body := h.operate(http.MethodGet, "/sessions"+query)
	require.Equal(h.t, http.StatusOK, code, body)
	require.NoError(h.t, json.Unmarshal([]byte(body), &rows))
	return rows
}

func TestSessionsOfTheOperator(t *testing.T) {
	h := newTestServer(t)
	require.NotNil(t, h.rows(""), "[], not null")
	require.Empty(t, h.rows(""))
	first, second := h.dial(), h.dial()
	var rows []row
	for _, c := range []*client.Client{first, second} {
		h.until(c, "packets, both ways", func() bool {
			h.stay(first, second)
			rows = h.rows("")
			require.Len(t, rows, 2)
			i := slices.Index([]*client.Client{first, second}, c)
			return min(rows[i].PacketsSent, rows[i].PacketsReceived) > 5 && c.Resolve(c.Controlled()) == wire.Live
		})
	}
	require.Equal(t, []uint64{first.Welcome().Session, second.Welcome().Session}, []uint64{rows[0].ID, rows[1].ID})
	for i, r := range rows {
		require.True(t, r.Joined)
		require.Equal(t, "guest", r.Name)
		require.True(t, strings.HasPrefix(r.Address, "127.0.0.1:"), r.Address)
		require.Positive(t, r.AgeS)
		require.Positive(t, r.RTTMs)
		require.GreaterOrEqual(t, r.Interest, 5)
		require.Greater(t, r.PacketsSent, uint64(5), i)
		require.Greater(t, r.PacketsReceived, uint64(5), i)
	}
	require.NotEqual(t, rows[0].Address, rows[1].Address)
	require.Equal(t, first.Controlled().String(), rows[0].Entity)
	require.Equal(t, rows[1].ID, h.rows(fmt.Sprint("?after=", rows[0].ID))[0].ID)
	require.Empty(t, h.rows(fmt.Sprint("?after=", rows[1].ID)))
	code, _ := h.operate(http.MethodGet, "/sessions?after=x")
	require.Equal(t, http.StatusBadRequest, code)
}

// The root page lists the other pages.
func TestIndexOfTheOperator(t *testing.T) {
	h := newWebTestServer(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	code, text := h.operate(http.MethodGet, "/")
	require.Equal(t, http.StatusOK, code)
	asked := 0
	for _, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != http.MethodGet {
			continue
		}
		asked++
		want := http.StatusOK
		if words[1] == "/cluster" { // this server is no node of one
			want = http.StatusNotFound
		}
		code, _ := h.operate(words[0], words[1])
		require.Equal(t, want, code, line)
	}
	require.Equal(t, 12, asked, text)
	require.Contains(t, text, "POST /drain")
	code, _ = h.operate(http.MethodGet, "/metric")
	require.Equal(t, http.StatusNotFound, code)
}

// POST /drain ends sessions and refuses new ones, and the world continues to tick. Pages and
// links of other sites cannot send it.
func TestOperatorDrains(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	c := h.dial()
	request := must.Get(http.NewRequestWithContext(h.ctx, http.MethodPost, fmt.Sprintf("http://%v/drain", h.server.AdminAddr()), nil))
	request.Header.Set("Origin", "https://elsewhere.example")
	response := must.Get(http.DefaultClient.Do(request))
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	code, body := h.operate(http.MethodGet, "/drain") // reports, and drains nothing
	require.Equal(t, http.StatusOK, code, body)
	require.Contains(t, body, `"state":"serving","deadline":null`)
	at := c.Replica().Tick()
	h.until(c, "it is still there", func() bool { return c.Replica().Tick() > at+20 })

	code, body = h.operate(http.MethodPost, "/drain")
	require.Equal(t, http.StatusOK, code, body)
	require.Eventually(t, func() bool { return len(h.rows("")) == 0 }, patience, time.Millisecond)
	code, body = h.ask(http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, "draining", body)
	code, body = h.operate(http.MethodGet, "/healthz")
	require.Equal(t, http.StatusOK, code, body)
}

// Cross-origin requests of the operator's browser are refused.
func TestOperatorIsNoPage(t *testing.T) {
	h := newTestServer(t)
	c := h.dial()
	path := fmt.Sprintf("http://%v/sessions/%d/kick", h.server.AdminAddr(), h.rows("")[0].ID)
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"} {
		request := must.Get(http.NewRequestWithContext(h.ctx, http.MethodPost, path, nil))
		request.Header.Set(header, value)
		response := must.Get(http.DefaultClient.Do(request))
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusForbidden, response.StatusCode, header)
	}
	at := c.Replica().Tick()
	h.until(c, "it is still there", func() bool { return c.Replica().Tick() > at+20 })
}

// The server's end cuts a running profile short. The profile is still returned.
func TestProfileOfTheEnd(t *testing.T) {
	h := newTestServer(t)
	profile, failed := []byte{}, make(chan error)
	go func() {
		response, err := http.Get(fmt.Sprintf("http://%v/debug/pprof/profile?seconds=600", h.server.AdminAddr()))
		if err == nil {
			profile, err = io.ReadAll(response.Body)
			response.Body.Close()
		}
		failed <- err
	}()
	for under := false; !under; {
		_, now := h.operate(http.MethodGet, "/debug/pprof/goroutine?debug=1")
		under = strings.Contains(now, "net/http/pprof.Profile")
	}
	h.stop()
	require.NoError(t, <-failed)
	require.Equal(t, "\x1f\x8b", string(profile[:2]), "gzip")
}

// A recording is made on request, covers one session, and ends by itself.
func TestQlogOnDemand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	h := newTestServerWith(t, func(c *server.Config) { c.QlogDir = folder })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	c := h.dial()
	files := func() []string {
		return must.Get(filepath.Glob(filepath.Join(folder, "*")))
	}
	require.Empty(t, files(), "nothing without a request")
	id := h.rows("")[0].ID
	path := fmt.Sprintf("/sessions/%d/qlog", id)
	code, first := h.operate(http.MethodPost, path+"?seconds=2")
	require.Equal(t, http.StatusOK, code, first)
	require.Equal(t, []string{first}, files())

	// The second recording can begin only after the first, and is long enough that a third
	// request is too early.
	var next string
	h.until(c, "two seconds pass", func() bool {
		code, next = h.operate(http.MethodPost, path+"?seconds=300")
		require.Contains(t, []int{http.StatusOK, http.StatusConflict}, code, next)
		return code == http.StatusOK
	})
	code, body := h.operate(http.MethodPost, path+"?seconds=1")
	require.Equal(t, http.StatusConflict, code, body)
	recorded := func() []byte {
		return must.Get(os.ReadFile(first))
	}
	var text, before []byte
	for !bytes.HasSuffix(text, []byte("}\n")) || !bytes.Equal(text, before) { // the end is written concurrently, in parts
		before = text
		at := c.Replica().Tick()
		h.until(c, "snapshots are sent, and not recorded", func() bool { return c.Replica().Tick() > at+20 })
		text = recorded()
	}
	require.Positive(t, packetsSent(t, text))

	// The end of a session ends its recording.
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool {
		info, err := os.Stat(next)
		return err == nil && info.Size() > 0
	}, patience, 10*time.Millisecond)

	for wrong, want := range map[string]int{
		"/sessions/x/qlog": http.StatusBadRequest, path + "?seconds=0": http.StatusBadRequest, path + "?seconds=301": http.StatusBadRequest,
		"/sessions/0/qlog": http.StatusNotFound, "/sessions/999/qlog": http.StatusNotFound,
	} {
		code, body := h.operate(http.MethodPost, wrong)
		require.Equal(t, want, code, "%s: %s", wrong, body)
	}
	code, _ = h.operate(http.MethodGet, path)
	require.Equal(t, http.StatusMethodNotAllowed, code, "GET must not write")
}

// packetsSent counts the sent packets in a recording, and requires whole records.
func packetsSent(t *testing.T, text []byte) (n int) {
	for _, r := range strings.Split(strings.TrimSpace(string(text)), "\x1e")[1:] {
		var event struct{ Name string }
		require.NoError(t, json.Unmarshal([]byte(r), &event))
		if strings.HasSuffix(event.Name, "packet_sent") {
			n++
		}
	}
	return n
}

func TestQlogIsOff(t *testing.T) {
	h := newTestServer(t)
	h.dial()
	code, body := h.operate(http.MethodPost, fmt.Sprintf("/sessions/%d/qlog", h.rows("")[0].ID))
	require.Equal(t, http.StatusNotFound, code)
	require.Contains(t, body, "qlog is off")
}

// A missing folder does not prevent the start.
func TestQlogFolderIsMissing(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "missing")
	h := newTestServerWith(t, func(c *server.Config) { c.QlogDir = folder })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	h.dial()
	code, body := h.operate(http.MethodPost, fmt.Sprintf("/sessions/%d/qlog", h.rows("")[0].ID))
	require.Equal(t, http.StatusInternalServerError, code)
	require.Contains(t, body, folder)
}

// An operator's terminal shows /sessions, and clients choose their names. The JSON is
// printable, and decodes to the name.
func TestSessionsArePrintable(t *testing.T) {
	const forged = "\x1b]0;root\x07\u202e\u009b"
	h := newTestServer(t)
	config := h.config()
	config.Name = forged
	c := must.Get(client.Dial(h.ctx, config))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	code, body := h.operate(http.MethodGet, "/sessions")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"name":"\u001b]0;root\u0007\u202e\u009b"`)
	require.Equal(t, forged, h.rows("")[0].Name)
}
