package wire_test

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// forged is a text that clears a terminal, rings, forges a line of a log, and turns text around.
const forged = "\x1b[2J\x07\n{\"level\":\"info\"}\u202e\u009b31m\xff"

// The detail of an error comes from the peer: printing it must not affect a terminal or a
// log.
func TestErrorIsPrintable(t *testing.T) {
	e := &wire.Error{Code: wire.Kicked, Detail: forged}
	require.Equal(t, `wire: kicked: \u001b[2J\u0007\n{"level":"info"}\u202e\u009b31m\ufffd (the operator or the game ended the session)`, e.Error())
	require.Equal(t, forged, e.Detail)
	for _, r := range e.Error() {
		require.True(t, unicode.IsPrint(r))
	}
}
