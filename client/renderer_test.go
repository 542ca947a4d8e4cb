package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication/wire"
)

// The time without a connection is no delay of the link: only the snapshots after the first of a resumed
// session count.
func TestOutageIsNoDelay(t *testing.T) {
	const hz = 20
	s := timing{clock: clock{hz: hz, interval: time.Second / hz}}
	before := uint32(0)
	arrive := func(tick uint32) {
		now := s.clock.timeOf(tick)
		s.clock.addSnapshot(now, tick)
		s.renderer.addSnapshot(now, &s.clock, before)
		before = tick
	}
	for tick := range uint32(4) {
		arrive(tick + 1)
	}
	require.Equal(t, time.Second/hz, s.renderer.delay.value)
	s.resumeAt(&wire.Welcome{TickHz: hz, SnapshotHz: hz})
	arrive(100)
	require.Equal(t, time.Second/hz, s.renderer.delay.value)
	arrive(103)
	require.Equal(t, 3*time.Second/hz, s.renderer.delay.value)
}
