package session

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/worldd/worldd/internal/must"
	"github.com/worldd/worldd/replication/schema"
	"github.com/worldd/worldd/replication/wire"
	"github.com/worldd/worldd/world"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A run has at least half of the protocol's tick numbers left, whatever its first tick.
func TestTickBase(t *testing.T) {
	for tick, base := range map[uint64]uint64{0: 0, 1<<31 - 1: 0, 1 << 31: 1 << 31, 1<<32 + 5: 1 << 32, 1 << 60: 1 << 60} {
		require.Equal(t, base, tickBase(tick))
		require.GreaterOrEqual(t, uint64(lastRunTick)-(tick-base), uint64(1<<31-1<<16-1), "half of them are left")
	}
}

// The schedule keeps no viewer or update of a session after a tick.
func TestScheduleKeepsNoViewers(t *testing.T) {
	c, attempt := newRoomOf(t, 10, Hooks{})
	for range 10 {
		attempt("")
	}
	for range 60 {
		c.Tick()
	}
	require.NotZero(t, c.Stats().SnapshotsDue)
	require.NotZero(t, cap(c.schedule.viewers))
	for i, v := range c.schedule.viewers[:cap(c.schedule.viewers)] {
		require.True(t, v == nil, "viewer %d", i)
	}
	for i, u := range c.schedule.updates[:cap(c.schedule.updates)] {
		require.True(t, u.Stream == nil && u.Datagrams == nil, "update %d", i)
	}
}

// The core takes randomness only from its configuration.
func TestRandomIsRequired(t *testing.T) {
	_, err := NewCore(Config{WorldConfig: WorldConfig{World: must.Get(world.New(world.Config{})), Schema: schema.NewWithBody()}})
	require.ErrorContains(t, err, "Random is nil")
}

// An error of Admit refuses the session: with its own code, or Unauthorized if it has none.
// After a timeout the code is Internal, because the token may be good.
func TestAdmitErrors(t *testing.T) {
	var admitted error
	c, attempt := newRoomOf(t, 4, Hooks{})
	c.config.Admit = func(context.Context, []byte) (Admission, error) { return Admission{}, admitted }
	want := map[wire.Code]uint64{}
	for code, err := range map[wire.Code]error{
		wire.Internal: context.DeadlineExceeded, wire.Unauthorized: errors.New("no"), wire.Banned: &wire.Error{Code: wire.Banned},
	} {
		admitted, want[code] = err, 1
		attempt("")
		c.Tick()
		require.Equal(t, want, c.Stats().Closed)
	}
}

// Infos describes sessions, and connections without a session, page by page.
func TestInfos(t *testing.T) {
	c, attempt := newRoomOf(t, 4, Hooks{})
	for range 3 {
		attempt("")
	}
	c.Tick()
	silent, _ := c.openConn("")
	c.sessions[1].peer.Gone()
	c.Tick()
	all := c.Infos(0, 10)
	require.Len(t, all, 4)
	for i, info := range all {
		require.EqualValues(t, i+1, info.ID)
		require.Equal(t, []bool{i < 3, i == 1, i != 1}, []bool{info.Joined, info.Away, info.Conn != nil})
	}
	require.Equal(t, silent.ID(), all[3].ID)
	require.Equal(t, all[1:3], c.Infos(1, 2))
	require.Equal(t, all[3:], c.Infos(3, 2))
	require.Empty(t, c.Infos(math.MaxUint64, 1))
}
