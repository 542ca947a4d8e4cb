package client

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// The first Welcome of a connection continues the session for which Hello asked, in one of three ways, or
// begins another.
func TestWelcomeKinds(t *testing.T) {
	was := wire.Welcome{Session: 7, Epoch: 1, Secret: make([]byte, wire.SecretBytes)}
	const applied = 5
	for _, c := range []struct {
		name string
		sent wire.Hello
		m    wire.Welcome
		want welcomeKind
	}{
		{"resumes", wire.Hello{Secret: was.Secret}, wire.Welcome{Session: 7, Epoch: 1, Resumed: 1, Structure: applied}, sessionResumes},
		{"moved", wire.Hello{Secret: was.Secret}, wire.Welcome{Session: 7, Epoch: 2, Structure: applied + 1}, sessionMoves},
		{"restored", wire.Hello{Secret: was.Secret}, wire.Welcome{Session: 7, Epoch: 1, Structure: applied + 1, Commands: 3}, sessionRestored},
		{"another session", wire.Hello{Secret: was.Secret}, wire.Welcome{Session: 8, Epoch: 1}, sessionBegins},
	} {
		g := greeting{sent: c.sent}
		kind, err := g.kindOf(&c.m, &was, applied)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, kind, c.name)
	}
	for _, m := range []wire.Welcome{
		{Session: 7, Epoch: 1, Structure: applied},
		{Session: 8, Epoch: 1, Structure: applied + 1},
	} {
		g := greeting{sent: wire.Hello{Secret: was.Secret}}
		_, err := g.kindOf(&m, &was, applied)
		require.Error(t, err, "%v", m)
	}
}
