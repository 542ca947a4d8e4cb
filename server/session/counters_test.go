package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/bulk"
	"github.com/worldd/worldd/replication/wire"
)

// Every verdict on a command's target and every reason for rejection has a counter.
func TestRejectionsAreCounted(t *testing.T) {
	d := newTestServer(t)
	c := d.join()
	dead, far := d.spawn(1), d.spawn(15)
	d.ticks(6)
	d.world.Destroy(dead)
	d.core.Tick()
	command := func(id uint32, name string, target bulk.Handle) wire.Message {
		return wire.Command{ID: id, Name: name, Target: target}
	}
	c.send(
		command(1, "poke", c.peer.Session().Entity()), command(2, "poke", dead), command(3, "poke", far),
		command(4, "poke", bulk.NewHandle(9, 77)), command(5, "dance", 0), command(6, "fail", 0), command(7, "typo", 0),
	)
	for range uint32(200) {
		c.Send(command(8, "poke", 0))
	}
	d.core.Tick()
	got := d.core.Stats()
	require.Equal(t, [5]uint64{wire.Pending: 2, wire.Live: 1, wire.Stale: 1}, got.CommandVerdicts)
	limited := got.Rejections[wire.RateLimited]
	require.NotZero(t, limited)
	require.Equal(t, map[wire.Code]uint64{
		wire.StaleHandle: 1, wire.UnknownHandle: 2, wire.UnknownCommand: 1, wire.CommandRefused: 1, wire.BadArguments: 1, wire.RateLimited: limited,
	}, got.Rejections)
	require.Equal(t, got.Rejected, 6+limited)
	require.Equal(t, got.Commands, got.Executed+got.Rejected)
	got.Rejections[wire.OK]++
	require.NotContains(t, d.core.Stats().Rejections, wire.OK, "a copy")
}
