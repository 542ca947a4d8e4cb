package botrun

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInterruptedBeforeJoining: an interrupt is not reported as the server's fault.
func TestInterruptedBeforeJoining(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, Config{Addr: "127.0.0.1:1", InsecureDev: true}, nil)
	require.EqualError(t, err, "interrupted before the first bot had joined")
}
