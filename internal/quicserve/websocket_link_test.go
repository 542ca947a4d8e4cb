package quicserve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/wire"
)

// Probes follow snapshots while TCP sends segments again, and for probesAfterLoss. Else they would cost packets for nothing.
func TestProbesFollowLoss(t *testing.T) {
	accepted := make(chan *websocket.Conn, 1)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		accepted <- must.Get(websocket.Accept(out, r, nil))
	}))
	defer server.Close()
	client, _, err := websocket.Dial(t.Context(), strings.Replace(server.URL, "http", "ws", 1), nil)
	require.NoError(t, err)
	own := <-accepted
	defer func() { _, _ = own.CloseNow(), client.CloseNow() }()
	l := newWebSocketLink(own, nil)

	lost := time.Unix(1000, 0)
	for _, look := range []struct {
		after         time.Duration
		retransmitted uint32
		probes        bool
	}{
		{0, 0, false},
		{time.Second, 1, true},
		{probesAfterLoss, 1, true},
		{probesAfterLoss + time.Second, 1, false},
		{time.Hour, 2, true},
	} {
		l.watchLoss(lost.Add(look.after), look.retransmitted)
		require.NoError(t, l.SendDatagram([]byte("snapshot")))
		require.NoError(t, l.flush())
		require.NoError(t, l.SendDatagram([]byte("next")))
		want := []string{"snapshot", "next"}
		if look.probes {
			want = []string{"snapshot", "", "next"}
		}
		for _, datagram := range want {
			_, m, err := client.Read(t.Context())
			require.NoError(t, err)
			_, got, err := wire.ParseWebSocketMessage(m)
			require.NoError(t, err)
			require.Equal(t, datagram, string(got), "after %s", look.after)
		}
	}
}
