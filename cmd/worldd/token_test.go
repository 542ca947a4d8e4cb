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

	"github.com/worldd/worldd/internal/botrun"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/server/token"
)

// TestTokens covers keys, tokens, a server that requires tokens, and bots with and without
// tokens.
func TestTokens(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	status, out, errs := worldd(t, "token", "new", key)
	require.Equal(t, exitOK, status, errs)
	require.Contains(t, out, "--token-keys "+key+".pub")
	require.Equal(t, os.FileMode(0o600), must.Get(os.Stat(key)).Mode().Perm())
	status, _, errs = worldd(t, "token", "new", key)
	require.Equal(t, exitError, status, "a key is never overwritten")
	require.Contains(t, errs, "exists")
	half := filepath.Join(t.TempDir(), "half")
	require.NoError(t, os.WriteFile(half+".pub", nil, 0o644))
	status, _, errs = worldd(t, "token", "new", half)
	require.Equal(t, exitError, status)
	require.Contains(t, errs, "half.pub: file exists")
	require.NoFileExists(t, half, "a secret key whose public one is nowhere")

	status, out, errs = worldd(t, "token", "issue", "--key", key, "--user", "alice", "--audience", "here")
	require.Equal(t, exitOK, status, errs)
	public := must.Get(os.ReadFile(key + ".pub"))
	verifier := must.Get(token.NewVerifier("here", string(public)))
	claims := must.Get(verifier.Verify([]byte(strings.TrimSpace(out)), time.Now()))
	require.Equal(t, token.Claims{User: "alice"}, claims)
	status, out, errs = worldd(t, "token", "issue", "--key", key, "--user", "alice", "--audience", "here", "--room", "match/17")
	require.Equal(t, exitOK, status, errs)
	claims = must.Get(verifier.Verify([]byte(strings.TrimSpace(out)), time.Now()))
	require.Equal(t, token.Claims{User: "alice", Room: "match/17"}, claims)

	s := startServing(t, "--token-keys="+key+".pub", "--audience=here")
	require.NotContains(t, strings.Join(s.said, "\n"), "anybody may join")
	secret := must.Get(os.ReadFile(key))
	issuer := must.Get(token.NewIssuer(string(secret)))
	c := botrun.Config{Addr: s.addr, Fingerprint: s.fingerprint, Bots: 2, Duration: time.Minute}
	require.ErrorContains(t, must.Fail(botrun.Run(t.Context(), c, nil)), "unauthorized")
	c.Issuer, c.Audience = issuer, "elsewhere"
	require.ErrorContains(t, must.Fail(botrun.Run(t.Context(), c, nil)), "another server")
	c.Audience = "here"
	ctx, enough := context.WithCancel(t.Context())
	defer enough()
	report := must.Get(botrun.Run(ctx, c, func(p *botrun.Progress) {
		if p.Connected == c.Bots {
			enough()
		}
	}))
	require.True(t, report.Passed(), "%+v", report)
	s.end(syscall.SIGTERM)
}

// A server does not start if the file of used tokens has other content.
func TestDamagedSpentTokens(t *testing.T) {
	_, public := newKeys(t)
	spent := filepath.Join(t.TempDir(), "spent")
	args := []string{"--world=calm", "--token-keys=" + public, "--token-spent=" + spent}
	require.NoError(t, os.WriteFile(spent, []byte("no tokens"), 0o600))
	status, out, errs := worldd(t, append([]string{"serve", "--listen=127.0.0.1:0"}, args...)...)
	require.Equal(t, exitError, status)
	require.Empty(t, out)
	require.Contains(t, errs, spent+":1: not a file of used tokens")
}

func TestTokenMistakes(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for _, args := range [][]string{
		{"token"},
		{"token", "issue", "--user=a"},
		{"token", "issue", "--key=" + empty, "--user=a"},
		{"token", "issue", "--key=" + empty + "no", "--user=a"},
		{"serve", "--listen=127.0.0.1:0", "--token-keys=" + empty},
		{"serve", "--listen=127.0.0.1:0", "--token-keys=" + empty + "no"},
	} {
		status, _, errs := worldd(t, args...)
		require.Equal(t, exitUsage, status, "%v: %s", args, errs)
		require.NotEmpty(t, errs)
		if strings.Contains(args[len(args)-1], empty) {
			require.Contains(t, errs, empty, "which file")
		}
	}
}
