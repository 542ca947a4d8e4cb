package client_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/client"
	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/internal/stage"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
)

// sentTypes returns the types of the messages that a session has sent since the last call.
func sentTypes(s *client.Session) (types []byte) {
	for kind := range stage.Messages(s.TakeStream()) {
		types = append(types, kind)
	}
	return types
}

// Each datagram with a wrong fold makes the client ask for all states once, even if the datagram had
// to wait for structure records.
func TestFaultyDatagramsCauseResyncs(t *testing.T) {
	s := schema.New()
	schema.Define[health](s, "health")
	require.NoError(t, s.Err())
	h := newHandServer(t, s, s)
	require.NoError(t, h.answer(asIs))
	h.enter(1, walker, 1)
	require.Empty(t, sentTypes(h.session))
	other := bulk.NewHandle(walker.Index(), walker.Generation()+2)
	wrong := func(seq, structure uint32) []byte { return wholeRows(s, seq, structure, 8, other) }

	require.Equal(t, client.Faulty, must.Get(h.session.ReceiveDatagram(wrong(1, 1), time.Second)))
	require.Equal(t, []byte{wire.TypeResync}, sentTypes(h.session))
	require.Equal(t, client.Applied, must.Get(h.session.ReceiveDatagram(wholeRows(s, 2, 1, 8, walker), time.Second)))
	require.Empty(t, sentTypes(h.session))
	require.Equal(t, client.Held, must.Get(h.session.ReceiveDatagram(wrong(3, 2), time.Second)))
	require.Empty(t, sentTypes(h.session))
	h.enter(2, bulk.NewHandle(walker.Index()+1, 1), 1)
	require.Equal(t, []byte{wire.TypeResync}, sentTypes(h.session))
	require.EqualValues(t, 2, h.session.Stats().Replica.Faults)
}
