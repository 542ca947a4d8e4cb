package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server"
)

func TestWebFlags(t *testing.T) {
	var none webFlags
	require.Nil(t, none.webConfig())
	require.Equal(t, &server.WebConfig{Origins: []string{"https://a.example"}}, (&webFlags{Web: true, WebOrigin: []string{"https://a.example"}}).webConfig())
}
