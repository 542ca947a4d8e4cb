package replication_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/worldd/worldd/replication"
	"github.com/worldd/worldd/replication/wire"
)

// idleViewer is a viewedWorld whose client has everything, an empty snapshot included.
type idleViewer struct {
	*viewedWorld
	applied uint32 // records
}

func newIdleViewer(t *testing.T) *idleViewer {
	c := &idleViewer{viewedWorld: newViewedWorld(t, replication.Config{})}
	c.spawn(1, 0)
	c.settle()
	return c
}

// settle acknowledges snapshots until one is omitted.
func (c *idleViewer) settle() {
	for range 10 {
		u := c.snapshot()
		c.applied += uint32(len(records(c.t, u)))
		if len(u.Datagrams) == 0 {
			return
		}
		c.acknowledge(c.applied)
	}
	require.Fail(c.t, "snapshots without news go on")
}

// rows makes the next snapshot and returns how many rows each datagram has.
func (c *idleViewer) rows() []int {
	rows := []int{}
	u := c.snapshot()
	c.applied += uint32(len(records(c.t, u)))
	for _, h := range headers(u) {
		rows = append(rows, h.Rows)
	}
	return rows
}

// moveFocus changes one row of the client's view.
func (c *idleViewer) moveFocus() {
	at, _ := c.world.Position(c.focus)
	at.X++
	c.world.SetPosition(c.focus, at)
}

// If nothing is new, four snapshots a second are sent, and their numbers have no gap.
func TestSnapshotsWithoutNewsAreOmitted(t *testing.T) {
	c := newIdleViewer(t)
	first, tick, sent := c.viewer.Numbers().Seq, c.rep.Tick(), 0
	before := c.rep.Stats().Omitted
	for c.rep.Tick() < tick+10*60 {
		if n := len(c.rows()); n > 0 {
			sent += n
			c.acknowledge(c.applied)
		}
	}
	require.EqualValues(t, sent, c.viewer.Numbers().Seq-first)
	require.InDelta(t, 40, sent, 1)
	require.EqualValues(t, 200-sent, c.rep.Stats().Omitted-before)
}

// A client whose acknowledgements are late gets no more snapshots than another.
func TestLateAcknowledgementsEndNoOmission(t *testing.T) {
	c := newIdleViewer(t)
	const late = 5 // snapshots, which are 250 ms
	before, arrived := c.rep.Stats().Omitted, []uint32{}
	for range 200 {
		c.rows()
		arrived = append(arrived, c.viewer.Numbers().Seq)
		if n := len(arrived) - late; n > 0 {
			require.NoError(t, c.viewer.Acknowledge(wire.Ack{Seen: true, Newest: arrived[n-1], Mask: 1<<64 - 1, Structure: c.applied}))
		}
	}
	require.InDelta(t, 160, c.rep.Stats().Omitted-before, 2)
}

// The server sends further datagrams until the client has acknowledged the one with rows, or three later ones: then it is lost.
func TestUnacknowledgedRowsEndOmission(t *testing.T) {
	c := newIdleViewer(t)
	c.moveFocus()
	require.Equal(t, []int{1}, c.rows())
	require.Equal(t, []int{0}, c.rows())
	acknowledgeNewest := func() {
		require.NoError(t, c.viewer.Acknowledge(wire.Ack{Seen: true, Newest: c.viewer.Numbers().Seq, Structure: c.applied}))
	}
	acknowledgeNewest()
	require.Equal(t, []int{0}, c.rows(), "the row may be late")
	acknowledgeNewest()
	require.Equal(t, []int{0}, c.rows(), "the row may be late")
	acknowledgeNewest()
	require.Equal(t, []int{1}, c.rows(), "the row is lost")
}

// The snapshot after a change is made at once. Further snapshots follow until the client
// has acknowledged an empty one.
func TestChangesEndOmission(t *testing.T) {
	c := newIdleViewer(t)
	c.moveFocus()
	require.Equal(t, []int{1}, c.rows())
	require.Equal(t, []int{0}, c.rows(), "not acknowledged")
	c.acknowledge(c.applied)
	require.Empty(t, c.rows())

	c.moveFocus()
	require.Equal(t, []int{1}, c.rows())
	c.acknowledge(c.applied)
	require.Equal(t, []int{0}, c.rows(), "says that it stands still")
	require.Equal(t, []int{0}, c.rows(), "not acknowledged")
}

func TestNewsEndOmission(t *testing.T) {
	for name, change := range map[string]func(*idleViewer){
		"input":            func(c *idleViewer) { c.viewer.NoteInput(c.rep.Tick() + 1) },
		"unreliable event": func(c *idleViewer) { c.viewer.Send(c.event(spark{})) },
		"event":            func(c *idleViewer) { c.viewer.Send(c.event(boom{})) },
		"enter":            func(c *idleViewer) { c.spawn(2, 0) },
		"handle":           func(c *idleViewer) { c.viewer.NoteSent(c.spawn(9999, 0)); c.world.Destroy(c.focus) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newIdleViewer(t)
			require.Empty(t, c.rows())
			change(c)
			require.NotEmpty(t, c.rows())
			c.settle()
		})
	}
}
