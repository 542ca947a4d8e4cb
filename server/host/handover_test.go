package host

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/server"
	"github.com/worldd/worldd/world"
)

// TestSuccessorOfARollback: a server with --image-generation in its command line has skipped images already.
func TestSuccessorOfARollback(t *testing.T) {
	c := &serveCommand{ImageGeneration: []string{"match/a=1"}}
	require.ErrorContains(t, c.checkSucceeds(&server.Config{}, nil), "restart the server without it")
	c.ImageGeneration = nil
	require.NoError(t, c.checkSucceeds(&server.Config{}, nil))
}

// TestOfferNamesFormats: a process whose files the running one could not read differs.
func TestOfferNamesFormats(t *testing.T) {
	o := (&serveCommand{}).newOffer()
	require.Equal(t, world.ImageVersion, o.ImageFormat)
	require.Equal(t, world.JournalVersion, o.JournalFormat)
}
