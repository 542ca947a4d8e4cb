package server_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
	"github.com/worldd/worldd/world"
)

// A session with a valid token has its user. Other clients receive the reason of the refusal,
// and no hook of the game is called for them.
func TestAdmit(t *testing.T) {
	t.Parallel()
	secret, public := token.NewKeys()
	issuer := must.Get(token.NewIssuer(secret))
	verifier := must.Get(token.NewVerifier("here", public))
	users := make(chan string, 10)
	h := newTestServerWith(t, func(c *server.Config) {
		c.Admit = func(_ context.Context, text []byte) (server.Admission, error) {
			if string(text) == "closed" {
				return server.Admission{}, &wire.Error{Code: wire.Draining}
			}
			claims, err := verifier.Verify(text, time.Now())
			return server.Admission{User: claims.User}, err
		}
		join := c.Hooks.Join
		c.Hooks.Join = func(s *server.Session) (world.Entity, error) {
			users <- s.User()
			return join(s)
		}
	})
	dial := func(ticket []byte) error {
		c := h.config()
		c.Token = ticket
		joined, err := client.Dial(h.ctx, c)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, joined.Close()) })
		}
		return err
	}
	issue := func(audience string, at time.Time) []byte {
		text := must.Get(issuer.Issue(token.Claims{User: "alice"}, audience, at, time.Minute))
		return []byte(text)
	}
	good := issue("here", time.Now())
	require.NoError(t, dial(good))
	require.Equal(t, "alice", <-users)
	for _, bad := range []struct {
		ticket []byte
		code   wire.Code
		why    error
	}{
		{nil, wire.Unauthorized, token.ErrNone},
		{good, wire.Unauthorized, token.ErrUsed},
		{issue("there", time.Now()), wire.Unauthorized, token.ErrClaims},
		{issue("here", time.Now().Add(-time.Hour)), wire.Unauthorized, token.ErrExpired},
		{[]byte("closed"), wire.Draining, nil},
	} {
		err := dial(bad.ticket)
		var refused *wire.Error
		require.True(t, errors.As(err, &refused), "%v", err)
		require.Equal(t, bad.code, refused.Code)
		if bad.why != nil {
			require.Equal(t, bad.why.Error(), refused.Detail)
		}
	}
	require.Empty(t, users)
}

// Admit's context is cancelled when the client leaves, the server ends, or Admit takes too
// long.
func TestAdmitEnds(t *testing.T) {
	t.Parallel()
	dial := func(ctx context.Context, h *testServer) chan error {
		dialed := make(chan error, 1)
		go func() {
			_, err := client.Dial(ctx, h.config())
			dialed <- err
		}()
		return dialed
	}
	asking := func(c *server.Config, asked chan<- struct{}, ended chan<- error) {
		c.Admit = func(ctx context.Context, _ []byte) (server.Admission, error) {
			asked <- struct{}{}
			<-ctx.Done()
			ended <- ctx.Err()
			return server.Admission{}, ctx.Err()
		}
	}
	asked, ended := make(chan struct{}), make(chan error, 1)
	t.Run("with its client", func(t *testing.T) {
		h := newTestServerWith(t, func(c *server.Config) { asking(c, asked, ended) })
		ctx, leave := context.WithCancel(h.ctx)
		dialed := dial(ctx, h)
		<-asked
		leave()
		require.Error(t, <-dialed)
		require.ErrorIs(t, <-ended, context.Canceled)
	})
	t.Run("with the server", func(t *testing.T) {
		h := newTestServerWith(t, func(c *server.Config) { asking(c, asked, ended) })
		dialed := dial(h.ctx, h)
		<-asked
		h.stop()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Error(t, <-dialed)
		h.ended <- <-h.ended
	})
}
