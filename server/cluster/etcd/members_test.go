package etcd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/server/cluster/etcd"
)

// required makes tests fail if the machine has no etcd.
const required = "CLUSTER_TEST_ETCD"

// members are the processes of one engine.
type members struct {
	t    testing.TB
	bin  string
	args [][]string
	urls []string
	runs []*exec.Cmd
	logs []*os.File
}

// startMembers starts an engine of n members, and waits until all of them know a leader. With arguments, which give the only
// member certificates, it does not wait.
func startMembers(t testing.TB, n int, certificates ...string) *members {
	bin, err := exec.LookPath("etcd")
	if err != nil {
		require.Empty(t, os.Getenv(required), "want etcd in PATH (Debian package etcd-server)")
		t.Skip("SKIPPED: NOTHING RAN AGAINST A REAL ENGINE: etcd is missing (Debian package etcd-server)")
	}
	m := &members{t: t, bin: bin, runs: make([]*exec.Cmd, n)}
	ports := loopback.Reserve(t, 2*n)
	var initial []string
	for i := range n {
		initial = append(initial, fmt.Sprintf("m%d=http://%s", i, ports[n+i]))
	}
	for i := range n {
		scheme := "http://"
		if len(certificates) > 0 {
			scheme = "https://"
		}
		m.urls = append(m.urls, scheme+ports[i])
		peer := "http://" + ports[n+i]
		m.args = append(m.args, append([]string{
			"--name", fmt.Sprint("m", i), "--data-dir", filepath.Join(t.TempDir(), "data"), "--initial-cluster", strings.Join(initial, ","),
			"--listen-client-urls", m.urls[i], "--advertise-client-urls", m.urls[i],
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--snapshot-count", "500",
		}, certificates...))
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		require.NoError(t, err)
		m.logs = append(m.logs, log)
	}
	for i := range n {
		m.start(i)
	}
	t.Cleanup(m.end)
	if len(certificates) == 0 {
		m.awaitLeader()
	}
	return m
}

func (m *members) start(i int) {
	m.runs[i] = exec.CommandContext(context.WithoutCancel(m.t.Context()), m.bin, m.args[i]...)
	m.runs[i].Stdout, m.runs[i].Stderr = m.logs[i], m.logs[i]
	require.NoError(m.t, m.runs[i].Start())
}

func (m *members) signal(i int, s syscall.Signal) {
	require.NoError(m.t, m.runs[i].Process.Signal(s))
}

// kill ends a member without warning.
func (m *members) kill(i int) {
	_ = m.runs[i].Process.Kill()
	_ = m.runs[i].Wait()
}

func (m *members) end() {
	for i := range m.runs {
		m.kill(i)
		if m.t.Failed() {
			log, _ := os.ReadFile(m.logs[i].Name())
			m.t.Logf("the end of the log of member %d:\n%s", i, log[max(0, len(log)-2000):])
		}
	}
}

// leader returns the member that leads, or -1 if the members do not agree.
func (m *members) leader() int {
	found, leads := -1, ""
	client := http.Client{Timeout: time.Second}
	for i, u := range m.urls {
		response, err := client.Post(u+"/v3/maintenance/status", "", bytes.NewReader([]byte("{}")))
		if err != nil {
			continue
		}
		var status struct {
			Header struct {
				MemberID string `json:"member_id"`
			} `json:"header"`
			Leader string `json:"leader"`
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		_ = json.Unmarshal(body, &status)
		if status.Leader == "" || leads != "" && status.Leader != leads {
			return -1
		}
		leads = status.Leader
		if status.Leader == status.Header.MemberID {
			found = i
		}
	}
	return found
}

func (m *members) awaitLeader() int {
	m.t.Helper()
	for {
		if i := m.leader(); i >= 0 {
			return i
		}
		select {
		case <-m.t.Context().Done():
			m.t.Fatal("no leader")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// open returns a store that asks the members in order, from one of them on, each for at most the timeout.
func (m *members) open(prefix string, first int, timeout time.Duration) *etcd.Store {
	endpoints := append(append([]string{}, m.urls[first:]...), m.urls[:first]...)
	s, err := etcd.Open(m.t.Context(), etcd.Config{Endpoints: endpoints, Prefix: prefix, Timeout: timeout, Silence: 3 * time.Second, CompactEvery: -1})
	require.NoError(m.t, err)
	m.t.Cleanup(s.Close)
	return s
}
