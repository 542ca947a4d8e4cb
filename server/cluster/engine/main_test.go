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
	"github.com/worldd/worldd/internal/storetest"
	"github.com/worldd/worldd/server/cluster"
	"github.com/worldd/worldd/server/cluster/etcd"
)

// start runs the program until the test ends or stop is called, and returns once it serves.
func start(t *testing.T, args ...string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, args, w, os.Stderr)
		_ = w.Close()
	}()
	stop = func() {
		cancel()
		require.Equal(t, commandline.OK, <-status)
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, `^etcd 3\.[0-9.]+ at http://127`, line)
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return stop
}

func freeAddresses(t *testing.T, n int) (addresses []string) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
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
	address, data := freeAddresses(t, 1)[0], t.TempDir()
	stop := start(t, "--listen", address, "--data", data)
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
	stop()
	defer start(t, "--listen", address, "--data", data)()
	entries, _, err := cluster.ReadAll(t.Context(), open(t, "game", address), "")
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "kept", string(entries[0].Value))
}

func TestThreeMembers(t *testing.T) {
	listen, peers := freeAddresses(t, 3), freeAddresses(t, 3)
	stops := make(chan func(), 3)
	for i := range 3 {
		go func() {
			stops <- start(t, "--listen", listen[i], "--data", t.TempDir(), "--peers", strings.Join(peers, ","), "--member", fmt.Sprint(i))
		}()
	}
	for range 3 {
		defer (<-stops)()
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
