package server_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/server/token"
	"github.com/worldd/worldd/world"
)

// TestAdmit: who shows a good token is known by its user, everybody else is
// told why not, and the game never hears of them.
func TestAdmit(t *testing.T) {
	secret, public := token.NewKeys()
	issuer, err := token.NewIssuer(secret)
	require.NoError(t, err)
	verifier, err := token.NewVerifier("here", public)
	require.NoError(t, err)
	users := make(chan string, 10)
	h := openHouseWith(t, func(c *server.Config) {
		c.Admit = func(text []byte) (string, error) {
			if string(text) == "closed" {
				return "", &wire.Error{Code: wire.Draining}
			}
			return verifier.Verify(text, time.Now())
		}
		join := c.Game.Join
		c.Game.Join = func(s *server.Session) (world.Entity, error) {
			users <- s.User()
			return join(s)
		}
	})
	dial := func(ticket []byte) error {
		c := h.config()
		c.Token = ticket
		guest, err := client.Dial(h.ctx, c)
		if err == nil {
			t.Cleanup(func() { require.NoError(t, guest.Close()) })
		}
		return err
	}
	issue := func(audience string, at time.Time) []byte {
		text, err := issuer.Issue("alice", audience, at, time.Minute)
		require.NoError(t, err)
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
