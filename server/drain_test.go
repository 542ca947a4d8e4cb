package server_test

import (
	"crypto/tls"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
)

// However long a server takes to end, who comes meanwhile is told so, and so is who
// had come and not said anything yet.
func TestDrainTurnsAway(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	h := openHouseWith(t, func(c *server.Config) {
		c.DrainTimeout = patience
		c.Admit = func(token []byte) (string, error) {
			if string(token) == "slow" { // holds the end up
				close(asked)
				<-answer
			}
			return "", nil
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
	mute, err := quic.DialAddr(h.ctx, h.server.Addr().String(),
		&tls.Config{InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}}, &quic.Config{EnableDatagrams: true})
	require.NoError(t, err)
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
