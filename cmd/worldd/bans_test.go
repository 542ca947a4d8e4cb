package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/programtest"
	"github.com/worldd/worldd/internal/scenes/messages"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/server/token"
)

// dialAs joins with a new token for a user.
func (s *serving) dialAs(ctx context.Context, i *token.Issuer, c token.Claims) (*client.Client, error) {
	text := must.Get(i.Issue(c, defaultAudience, time.Now(), time.Minute))
	return client.Dial(ctx, client.Config{
		Addr: s.addr, Fingerprint: s.fingerprint,
		Schema: messages.Schema, Token: []byte(text),
	})
}

// newKeys creates a key file, with its public key beside it.
func newKeys(t *testing.T) (i *token.Issuer, public string) {
	key := filepath.Join(t.TempDir(), "key")
	status, _, errs := worldd(t, "token", "new", key)
	require.Equal(t, exitOK, status, errs)
	secret := must.Get(os.ReadFile(key))
	i = must.Get(token.NewIssuer(string(secret)))
	return i, key + ".pub"
}

// untilEnd updates a client until its session has ended, and returns why.
func untilEnd(t *testing.T, ctx context.Context, c *client.Client) wire.Code {
	t.Helper()
	for {
		require.NoError(t, c.Wait(ctx))
		if err := c.Update(); err != nil {
			require.NoError(t, c.Close())
			return wire.CodeOf(err)
		}
	}
}

// The ban list is loaded at the start and at SIGHUP; an unreadable list changes nothing.
func TestBanList(t *testing.T) {
	issuer, public := newKeys(t)
	list := filepath.Join(t.TempDir(), "bans")
	write := func(text string) { require.NoError(t, os.WriteFile(list, []byte(text), 0o600)) }
	write("# cheats\n\n mallory \n")
	log := &programtest.Screen{}
	s := startServingTo(t, log, "--world=calm", "--token-keys="+public, "--bans="+list, "--one-session-per-user")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	_, err := s.dialAs(ctx, issuer, token.Claims{User: "mallory"})
	require.Equal(t, wire.Banned, wire.CodeOf(err), "%v", err)
	ann := must.Get(s.dialAs(ctx, issuer, token.Claims{User: "ann"}))
	eve := must.Get(s.dialAs(ctx, issuer, token.Claims{User: "eve"}))

	for text, complaint := range map[string]string{
		"eve\n" + strings.Repeat("x", token.MaxUser+1): list + ":2: a user name of 129 bytes",
		strings.Repeat("#", maxBanList+1):              "file too long",
	} {
		write(text)
		require.NoError(t, s.process.Process.Signal(syscall.SIGHUP))
		for !strings.Contains(log.String(), complaint) {
			require.NoError(t, eve.Wait(ctx))
			require.NoError(t, eve.Update())
			require.NoError(t, ann.Update())
		}
	}
	write("eve")
	require.NoError(t, s.process.Process.Signal(syscall.SIGHUP))
	require.Equal(t, wire.Banned, untilEnd(t, ctx, eve))
	again := must.Get(s.dialAs(ctx, issuer, token.Claims{User: "ann"}))
	require.Equal(t, wire.SignedInElsewhere, untilEnd(t, ctx, ann))
	require.NoError(t, again.Close())
	short, err := s.dialAs(ctx, issuer, token.Claims{User: "mallory", SessionEnd: time.Now().Add(time.Second)}) // not banned any more
	code := wire.CodeOf(err)
	if err == nil {
		code = untilEnd(t, ctx, short)
	}
	require.Equal(t, wire.SessionExpired, code, "%v", err)
	s.end(syscall.SIGTERM)
}

// An unreadable ban list is a usage error, and nothing is started.
func TestBanListMistakes(t *testing.T) {
	_, public := newKeys(t)
	for path, complaint := range map[string]string{
		t.TempDir():                             "not a regular file",
		filepath.Join(t.TempDir(), "not-there"): "no such file",
	} {
		status, out, errs := worldd(t, "serve", "--listen=127.0.0.1:0", "--token-keys="+public, "--bans="+path)
		require.Equal(t, exitUsage, status)
		require.Empty(t, out)
		require.Contains(t, errs, complaint)
		require.Contains(t, errs, path)
	}
}
