package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The flags of WebTransport come from the environment too.
func TestWebFlags(t *testing.T) {
	t.Setenv("WORLDD_WEB", "true")
	t.Setenv("WORLDD_WEB_ORIGIN", "https://a.example,ftp://b.example")
	status, out, err := worldd(t, "serve", "--listen=127.0.0.1:0", "--world=calm")
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	require.Contains(t, err, `web origin "ftp://b.example": want https://HOST`)
	require.NotContains(t, err, "a.example")
}
