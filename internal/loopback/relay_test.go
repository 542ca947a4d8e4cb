package loopback_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/loopback"
	"github.com/worldd/worldd/internal/must"
)

// echo answers each connection with what it sends, and returns its address.
func echo(t *testing.T, prefix string) string {
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.WriteString(c, prefix)
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// A relay passes bytes in both directions, keeps them while it holds, and breaks connections.
func TestRelay(t *testing.T) {
	r := loopback.NewRelay(t, echo(t, "a"))
	c := must.Get(net.Dial("tcp", r.Addr))
	hear := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		_, err := io.ReadFull(c, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	say := func(text string) { must.Get(io.WriteString(c, text)) }
	say("1")
	hear("a1")

	r.Hold()
	say("2")
	require.NoError(t, c.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	r.Release()
	hear("2")

	r.Break(echo(t, "b"))
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
	c = must.Get(net.Dial("tcp", r.Addr))
	hear("b")
	r.Break(loopback.Reserve(t, 1)[0]) // nobody listens there
	c = must.Get(net.Dial("tcp", r.Addr))
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
}
