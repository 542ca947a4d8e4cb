package server

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

// Who comes with many others waits for its turn; who comes when too many have come
// proves its address and is let in; who comes when even that is too much is refused at
// once, and told so.
func TestRetryUnderLoad(t *testing.T) {
	w, err := world.New(world.Config{})
	require.NoError(t, err)
	schema := wire.NewSchema()
	require.NoError(t, wire.AddComponent[wire.Body](schema, wire.BodyComponent))
	s, err := Listen(Config{Listen: "127.0.0.1:0", CoreConfig: CoreConfig{World: w, Schema: schema, Epoch: 1}})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	defer func() {
		stop()
		require.NoError(t, <-ended)
	}()
	dial := func() error {
		dialing, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		conn, err := quic.DialAddr(dialing, s.Addr().String(),
			&tls.Config{InsecureSkipVerify: true, NextProtos: []string{wire.ALPN}}, &quic.Config{EnableDatagrams: true})
		if err == nil {
			err = conn.CloseWithError(0, "")
		}
		return err
	}
	require.NoError(t, dial())
	require.Zero(t, s.traffic.retries.Load())
	require.Zero(t, s.traffic.handshakesPaced.Load())
	s.door.paced.SetLimit(2)
	for s.traffic.handshakesPaced.Load() == 0 { // unless half a second went by in between
		s.door.paced.ReserveN(time.Now(), int(s.door.paced.Tokens()))
		require.NoError(t, dial())
	}

	s.door.mu.Lock()
	s.door.unproven.SetBurst(0)
	s.door.unproven.SetLimit(0)
	s.door.mu.Unlock()
	require.NoError(t, dial())
	require.NotZero(t, s.traffic.retries.Load(), "one for each packet of the first flight")

	s.door.mu.Lock()
	s.door.proven.SetBurst(0)
	s.door.proven.SetLimit(0)
	s.door.mu.Unlock()
	var refused *quic.TransportError
	require.True(t, errors.As(dial(), &refused))
	require.Equal(t, quic.ConnectionRefused, refused.ErrorCode)
	require.NotZero(t, s.traffic.handshakesFast.Load())
}
