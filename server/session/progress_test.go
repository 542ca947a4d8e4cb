package session_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/internal/rowcodec"
	"github.com/worldd/worldd/replication/wire"
)

// A connection whose stream stops while snapshots arrive breaks after 8 s, and its session
// resumes. If the next connection's stream brings nothing at all, the client is at fault.
func TestStuckStreamBreaksItsConnection(t *testing.T) {
	d := newTestServer(t)
	x := &intruder{t: t}
	x.server = d.core.Open(context.Background(), "", x)
	hello := wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version()}
	require.NoError(t, x.server.ReceiveStream(wire.AppendMessage(nil, hello)))
	d.core.Tick()
	s := x.server.Session()
	acknowledge := func(structure uint32) {
		x.input(wire.Ack{Seen: x.newest > 0, Newest: x.newest, Structure: structure})
		d.core.Tick()
	}
	for range 60 {
		acknowledge(x.records)
	}
	d.spawn(1)
	stuck := x.records
	for tick := 0; x.closed == wire.OK; tick++ {
		require.Less(t, tick, 9*60)
		acknowledge(stuck)
		require.True(t, tick > 7*60 || x.closed == wire.OK, "too early")
	}
	require.Equal(t, wire.Timeout, x.closed)
	require.True(t, s.Away())
	require.Zero(t, d.left)
}

// A client that sends datagrams but acknowledges nothing new of snapshots or of structure
// is ended after 15 s. One that keeps up stays, even with no structure to receive.
func TestNoProgressIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		ack  func(newest, structure uint32) wire.Ack
		want wire.Code // OK: it stays
	}{
		"nothing":   {func(_, _ uint32) wire.Ack { return wire.Ack{} }, wire.TooSlow},
		"structure": {func(_, structure uint32) wire.Ack { return wire.Ack{Structure: structure} }, wire.TooSlow},
		"snapshots": {func(newest, _ uint32) wire.Ack { return wire.Ack{Seen: newest > 0, Newest: newest} }, wire.TooSlow},
		"the first only": {func(newest, structure uint32) wire.Ack {
			return wire.Ack{Seen: newest > 0, Newest: min(newest, 1), Structure: structure}
		}, wire.TooSlow},
		"both": {func(newest, structure uint32) wire.Ack {
			return wire.Ack{Seen: newest > 0, Newest: newest, Structure: structure}
		}, wire.OK},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTestServer(t)
			x := &intruder{t: t}
			x.server = d.core.Open(context.Background(), "", x)
			hello := wire.Hello{Protocol: wire.Version, Schema: d.schemaHash(), Tables: rowcodec.DefaultTables().Version()}
			require.NoError(t, x.server.ReceiveStream(wire.AppendMessage(nil, hello)))
			d.core.Tick()
			for tick := range 16 * 60 {
				if x.closed == wire.OK {
					x.input(c.ack(x.newest, x.records))
				}
				if tick == 14*60 {
					require.Equal(t, wire.OK, x.closed, "too early")
				}
				d.core.Tick()
			}
			require.Equal(t, c.want, x.closed)
			require.Equal(t, c.want != wire.OK, d.left == 1)
		})
	}
}
