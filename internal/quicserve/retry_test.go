package quicserve

import (
	"context"
	"crypto/tls"
	"errors"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// Under increasing load a handshake is delayed, then must answer a Retry, and then is
// refused at once with CONNECTION_REFUSED.
func TestRetryUnderLoad(t *testing.T) {
	s := newListener("127.0.0.1:0")
	s.Start()
	defer func() {
		s.Refuse()
		require.NoError(t, s.Close())
	}()
	dial := func() error {
		dialing, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	s.limits.paced.SetLimit(2)
	for s.traffic.handshakesPaced.Load() == 0 { // repeat if half a second passed in between
		s.limits.paced.ReserveN(time.Now(), int(s.limits.paced.Tokens()))
		require.NoError(t, dial())
	}

	s.limits.mu.Lock()
	s.limits.unproven.SetBurst(0)
	s.limits.unproven.SetLimit(0)
	s.limits.mu.Unlock()
	require.NoError(t, dial())
	require.NotZero(t, s.traffic.retries.Load(), "one for each packet of the first flight")

	s.limits.mu.Lock()
	s.limits.proven.SetBurst(0)
	s.limits.proven.SetLimit(0)
	s.limits.mu.Unlock()
	var refused *quic.TransportError
	require.True(t, errors.As(dial(), &refused))
	require.Equal(t, quic.ConnectionRefused, refused.ErrorCode)
	require.NotZero(t, s.traffic.handshakesFast.Load())
}
