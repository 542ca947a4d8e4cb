package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// A client that reads nothing blocks its sender in a write. It is closed soon after its queue
// fills.
func TestWhoNeverReadsIsClosed(t *testing.T) {
	h := newTestServer(t)
	good := h.dial()
	conn, err := quic.DialAddr(h.ctx, h.server.Addr().String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}},
		&quic.Config{
			EnableDatagrams: true, KeepAlivePeriod: time.Second, // the transport sees a live client
			InitialStreamReceiveWindow: 1 << 10, MaxStreamReceiveWindow: 1 << 10,
		})
	require.NoError(t, err)
	defer conn.CloseWithError(0, "")
	stream := must.Get(conn.OpenStreamSync(h.ctx))
	h.hello(stream)
	command := wire.AppendMessage(nil, wire.Command{ID: 1, Name: strings.Repeat("x", wire.MaxName)})
	var rest []byte // of a partly sent command: other bytes after it would be garbage
	for conn.Context().Err() == nil {
		require.NoError(t, h.ctx.Err(), "the server keeps a client that reads nothing")
		in := wire.Input{Stamp: 1}
		_ = conn.SendDatagram(in.Append(nil))
		require.NoError(t, stream.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		for range 600 {
			if len(rest) == 0 {
				rest = command
			}
			n, err := stream.Write(rest)
			rest = rest[n:]
			if err != nil {
				break
			}
		}
		before := good.Replica().Tick()
		h.until(good, "others go on", func() bool { return good.Replica().Tick() > before })
	}
	var app *quic.ApplicationError
	require.ErrorAs(t, context.Cause(conn.Context()), &app)
	require.Contains(t, []wire.Code{wire.TooSlow, wire.TooFast}, wire.Code(app.ErrorCode))
}

// Reports are read while sessions begin and end.
func TestReportWhileSessionsEnd(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	stop := make(chan struct{})
	var g sync.WaitGroup
	g.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for code, n := range h.server.Report().Sessions.Closed {
				_, _ = code, n
			}
			resp, err := http.Get("http://" + h.server.AdminAddr().String() + "/metrics")
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}
	})
	for range 40 {
		require.NoError(t, must.Get(client.Dial(h.ctx, h.config())).Close())
	}
	close(stop)
	g.Wait()
	http.DefaultClient.CloseIdleConnections()
}

// A silent connection is closed after the handshake, and counted.
func TestMuteStranger(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	conn, _ := h.raw() // the server sees a stream with its first byte
	h.wantClosed(conn, wire.Timeout)
	traffic := h.server.Report().Traffic
	require.Equal(t, [2]uint64{0, 1}, [2]uint64{traffic.Handshakes, traffic.HandshakesFailed})
}

// A client can open one stream only.
func TestOneStream(t *testing.T) {
	h := newTestServer(t)
	conn, stream := h.raw()
	must.Get(stream.Write([]byte{1}))
	_, err := conn.OpenStream()
	require.ErrorAs(t, err, new(*quic.StreamLimitReachedError), "%T", err)
	_, err = conn.OpenUniStream()
	require.ErrorAs(t, err, new(*quic.StreamLimitReachedError), "%T", err)
}

// Silent connections, and clients that do not call Update, do not delay the end for long.
func TestDrainOfAbsentGuests(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	var guests []*client.Client
	for range 8 {
		guests = append(guests, h.dial())
		h.stay(guests...)
	}
	_, stream := h.raw()
	must.Get(stream.Write([]byte{1}))
	h.raw() // the server sees a stream with its first byte
	h.stay(guests...)
	h.close()
	h.ended = make(chan error, 1)
	h.ended <- nil
	for i, g := range guests {
		err := h.ends(g)
		require.Equal(t, wire.Draining, wire.CodeOf(err), "%d: %v", i, err)
	}
}

// A close frame with a long reason is sent.
func TestLongReason(t *testing.T) {
	h := newTestServerWith(t, func(c *server.Config) {
		c.Hooks.Join = func(*server.Session) (world.Entity, error) { return 0, errors.New(strings.Repeat("no ", 2000)) }
	})
	conn, stream := h.raw()
	h.hello(stream)
	h.wantClosed(conn, wire.JoinRefused)
}

// Wait does not block on a connection that has ended.
func TestWaitAfterTheEnd(t *testing.T) {
	t.Parallel()
	h := newTestServer(t)
	c := h.dial()
	h.stop()
	require.Error(t, h.ends(c))
	for range 5 {
		require.NoError(t, c.Wait(h.ctx))
		require.Error(t, c.Update())
	}
}

// Close closes all file descriptors.
func TestCloseLeavesNoSocket(t *testing.T) {
	h := newTestServer(t)
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(files)
	}
	before := count()
	for range 10 {
		require.NoError(t, must.Get(client.Dial(h.ctx, h.config())).Close())
	}
	require.LessOrEqual(t, count(), before, "another test's may have been closed meanwhile")
}

// Datagrams are sent with stream data, which saves packets.
func TestPadBesideDatagrams(t *testing.T) {
	h := newTestServer(t)
	_, stream := h.raw()
	h.hello(stream)
	var frames wire.FrameReader
	buf := make([]byte, 1<<10)
	for pads := 0; pads < 3; {
		n := must.Get(stream.Read(buf))
		frames.Feed(buf[:n])
		for {
			kind, _, ok, err := frames.Next()
			require.NoError(t, err)
			if !ok {
				break
			}
			if kind == wire.TypePad {
				pads++
			}
		}
	}
	_, err := stream.Write(wire.AppendFrame(nil, wire.TypePad, []byte{1}))
	require.NoError(t, err)
	for err == nil {
		_, err = stream.Read(buf)
	}
}
