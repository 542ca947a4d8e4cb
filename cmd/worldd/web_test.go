package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server"
)

// The flags of WebTransport, also from the environment.
func TestWebFlags(t *testing.T) {
	var none webFlags
	require.Nil(t, none.config())
	require.Equal(t, &server.WebConfig{Origins: []string{"https://a.example"}}, (&webFlags{Web: true, WebOrigin: []string{"https://a.example"}}).config())

	t.Setenv("WORLDD_WEB", "true")
	t.Setenv("WORLDD_WEB_ORIGIN", "https://a.example,ftp://b.example")
	status, out, err := worldd(t, "serve", "--listen=127.0.0.1:0", "--world=calm")
	require.Equal(t, exitUsage, status)
	require.Empty(t, out)
	require.Contains(t, err, `web origin "ftp://b.example": want https://HOST`)
	require.NotContains(t, err, "a.example")
}
