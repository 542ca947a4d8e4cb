package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// A connection whose stream stops while snapshots arrive breaks after 8 s, and its session
// resumes. If the next connection's stream never makes progress, the client is at fault.
func TestStuckStreamBreaksItsConnection(t *testing.T) {
	d := newTestServer(t)
	x := d.dial()
	s := x.peer.Session()
	acknowledge := func(structure uint32) {
		x.input(wire.Ack{Seen: x.Newest > 0, Newest: x.Newest, Structure: structure})
	}
	for range 60 {
		acknowledge(x.Records)
	}
	d.spawn(1)
	stuck := x.Records
	for tick := 0; len(x.Closed) == 0; tick++ {
		require.Less(t, tick, 9*60)
		acknowledge(stuck)
		require.True(t, tick > 7*60 || len(x.Closed) == 0, "too early")
	}
	require.Equal(t, []wire.Code{wire.Timeout}, x.Closed)
	require.True(t, s.Away())
	require.Zero(t, d.left)
}

// If neither snapshots nor structure progress, the client does not read: its session ends, and
// does not become away after 8 s.
func TestNothingNewIsTheClientsFault(t *testing.T) {
	d := newTestServer(t)
	x := d.dial()
	ack := func() wire.Ack { return wire.Ack{Seen: x.Newest > 0, Newest: x.Newest, Structure: x.Records} }
	for range 60 {
		x.input(ack())
	}
	last := ack()
	d.spawn(1)
	for tick := 0; len(x.Closed) == 0; tick++ {
		require.Less(t, tick, 16*60)
		x.input(last)
	}
	require.Equal(t, []wire.Code{wire.TooSlow}, x.Closed)
	require.Equal(t, 1, d.left)
}

// A session ends after 15 s if its client sends datagrams without new acknowledgements of
// snapshots or of structure. A client that keeps up stays, even if there is no structure to
// receive.
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
			x := d.dial()
			for tick := range 16 * 60 {
				if len(x.Closed) == 0 {
					x.queueInput(c.ack(x.Newest, x.Records))
				}
				if tick == 14*60 {
					require.Empty(t, x.Closed, "too early")
				}
				d.tick()
			}
			require.Equal(t, c.want, append(x.Closed, wire.OK)[0])
			require.Equal(t, c.want != wire.OK, d.left == 1)
		})
	}
}
