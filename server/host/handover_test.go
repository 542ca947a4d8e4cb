package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server"
)

// TestSuccessorOfARollback: a server with --image-generation in its command line has skipped images already.
func TestSuccessorOfARollback(t *testing.T) {
	c := &serveCommand{ImageGeneration: []string{"match/a=1"}}
	require.ErrorContains(t, c.checkSucceeds(&server.Config{}, nil), "restart the server without it")
	c.ImageGeneration = nil
	require.NoError(t, c.checkSucceeds(&server.Config{}, nil))
}
