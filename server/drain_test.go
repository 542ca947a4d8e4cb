package server_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// A draining server closes new connections, and connections without a Hello, with Draining.
func TestDrainRefusesConnections(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	h := newTestServerWith(t, func(c *server.Config) {
		c.DrainTimeout = patience
		c.Admit = func(_ context.Context, token []byte) (server.Admission, error) {
			if string(token) == "slow" { // delays the end
				close(asked)
				<-answer
			}
			return server.Admission{}, nil
		}
	})
	slow := make(chan error)
	go func() {
		c := h.config()
		c.Token = []byte("slow")
		_, err := client.Dial(h.ctx, c)
		slow <- err
	}()
	<-asked
	mute := must.Get(quic.DialAddr(h.ctx, h.server.Addr().String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}}, &quic.Config{EnableDatagrams: true}))
	h.stop()
	h.wantClosed(mute, wire.Draining)
	for range 3 {
		_, err := client.Dial(h.ctx, h.config())
		require.Equal(t, wire.Draining, wire.CodeOf(err), "%v", err)
	}
	select {
	case err := <-h.ended:
		require.Fail(t, "it has ended already", "%v", err)
	default:
	}
	close(answer)
	require.Equal(t, wire.Draining, wire.CodeOf(<-slow))
	h.ended <- <-h.ended
}

// After DrainTimeout the addresses are free, even if something delays the end.
func TestDrainTimeout(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	h := newTestServerWith(t, func(c *server.Config) {
		c.DrainTimeout = 50 * time.Millisecond
		c.Admit = func(context.Context, []byte) (server.Admission, error) {
			close(asked)
			<-answer
			return server.Admission{}, nil
		}
	})
	refused := make(chan error, 1)
	go func() {
		_, err := client.Dial(h.ctx, h.config())
		refused <- err
	}()
	<-asked
	h.stop()
	require.Error(t, <-refused)
	require.Eventually(t, func() bool {
		next, err := net.ListenUDP("udp", h.server.Addr())
		return err == nil && next.Close() == nil
	}, patience, 10*time.Millisecond)
	select {
	case err := <-h.ended:
		require.Fail(t, "it has left a goroutine behind", "%v", err)
	default:
	}
	close(answer)
	h.ended <- <-h.ended
}
