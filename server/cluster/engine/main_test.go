package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/commandline"
	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/storetest"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
)

// running is the program, which runs until the test ends or stop is called.
type running struct {
	end    context.CancelFunc
	status chan int
	line   chan string // its first line of output; empty if it ends before
}

func start(t *testing.T, args ...string) *running {
	ctx, cancel := context.WithCancel(t.Context())
	p := &running{end: cancel, status: make(chan int, 1), line: make(chan string, 1)}
	r, w := io.Pipe()
	go func() {
		p.status <- run(ctx, args, w, os.Stderr)
		_ = w.Close()
	}()
	go func() {
		output := bufio.NewReader(r)
		line, _ := output.ReadString('\n')
		p.line <- line
		_, _ = io.Copy(io.Discard, output)
	}()
	return p
}

// await returns once the program serves.
func (p *running) await(t *testing.T) *running {
	require.Regexp(t, `^etcd 3\.[0-9.]+ at http://127`, <-p.line)
	return p
}

func (p *running) stop(t *testing.T) {
	p.end()
	require.Equal(t, commandline.OK, <-p.status)
}

func open(t *testing.T, prefix, address string) *etcd.Store {
	s, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{"http://" + address}, Prefix: prefix, CompactEvery: -1, Timeout: time.Minute})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func compact(address string, revision uint64) error {
	response, err := http.Post("http://"+address+"/v3/kv/compaction", "", strings.NewReader(fmt.Sprintf(`{"revision":"%d"}`, revision)))
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// The driver works with the newest etcd, which keeps its data over restarts.
func TestOneMember(t *testing.T) {
	address, data := loopback.Reserve(t, 1)[0], t.TempDir()
	before := start(t, "--listen", address, "--data", data).await(t)
	var games atomic.Uint32
	storetest.Run(t, func(t *testing.T) storetest.Subject {
		prefix := fmt.Sprint("game", games.Add(1))
		return storetest.Subject{
			Store: open(t, prefix, address), Other: open(t, prefix, address),
			Compact: func(_ context.Context, revision uint64) error { return compact(address, revision) },
		}
	})
	_, err := open(t, "game", address).Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte("kept")})
	require.NoError(t, err)
	before.stop(t)
	defer start(t, "--listen", address, "--data", data).await(t).stop(t)
	entries, _, err := cluster.ReadAll(t.Context(), open(t, "game", address), "")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "kept", string(entries[0].Value))
}

func TestThreeMembers(t *testing.T) {
	listen, peers := loopback.Reserve(t, 3), loopback.Reserve(t, 3)
	var members []*running
	for i := range 3 {
		members = append(members, start(t, "--listen", listen[i], "--data", t.TempDir(), "--peers", strings.Join(peers, ","), "--member", fmt.Sprint(i)))
	}
	for _, m := range members {
		defer m.await(t).stop(t)
	}
	_, err := open(t, "game", listen[0]).Swap(t.Context(), cluster.Swap{Key: "k", Value: []byte{}})
	require.NoError(t, err)
	entries, _, err := cluster.ReadAll(t.Context(), open(t, "game", listen[2]), "")
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestWrongCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"--listen 0.0.0.0:2379":                   "not on loopback",
		"--listen 10.0.0.1:2379":                  "not on loopback",
		"--peers 127.0.0.1:2380,192.168.0.1:2380": "not on loopback",
		"--listen localhost":                      "no address",
		"--listen 127.0.0.1:0":                    "no address",
		"--member 1":                              "--member 1",
		"--peers 127.0.0.1:2380 --member -1":      "--member",
	} {
		var stderr strings.Builder
		require.Equal(t, commandline.Usage, run(t.Context(), strings.Fields(args), io.Discard, &stderr), args)
		require.Contains(t, stderr.String(), want)
	}
}

func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	var stderr strings.Builder
	require.Equal(t, commandline.Error, run(t.Context(), []string{"--listen", l.Addr().String(), "--data", t.TempDir()}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), "--listen")
}
